"""OTLP protobuf against a pure parse of its messages by the protobuf library, in one run: CPU seconds, time, memory.

Run with: pytest tests/benchmarks/test_protobuf_ratio.py -m benchmark -s
The size is 200,000 requests, some 1 million spans and 0.7 GB; TAILWISE_BENCH_REQUESTS makes it smaller.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.assemble import SpanOptions, assemble
from ingest.formats.otlp_protobuf import messages
from ingest.messages import load_messages
from ingest.sniff import read_head
from ingest.store.yardstick import cpu_s
from ingest.unpack import open_source
from tests.support.generated import generated
from tests.support.otlp import store_for

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

# Goal: 12. Measured on 311,709 spans while other jobs ran on the two cores: spans 15, with requests 24, where a field of
# all spans at a time and a table of all columns took 21 and 30. The library's parse makes no row and reads no attribute;
# columns are 6 of it, judging them 3, writing them 4, requests 8.
REQUESTS_RATIO = 32.0  # CPU seconds
PEAK_MB = 2500


class Watch:
    """CPU seconds and seconds since it was made."""

    def __init__(self) -> None:
        self._cpu, self._start = cpu_s(), time.perf_counter()

    def told(self) -> tuple[float, float]:
        return cpu_s() - self._cpu, time.perf_counter() - self._start


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with generated(tmp_path_factory.mktemp("traces"), "otlp-proto") as path:
        yield path


def parse(path: Path) -> tuple[float, float]:
    """CPU seconds and seconds that the library takes for all messages; reading and cutting them are not counted."""
    head = read_head(open_source(path)).data
    cpu = spent = 0.0
    with path.open("rb") as stream:
        for message in messages(stream, head):
            watch = Watch()
            ExportTraceServiceRequest.FromString(message.body)
            told = watch.told()
            cpu, spent = cpu + told[0], spent + told[1]
    return cpu, spent


def least(runs: int, measured: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    return min(measured() for _ in range(runs))


@pytest.mark.parametrize("attributes", ["mapped", "all"])
def test_spans_and_requests_cost_some_parses(attributes: Literal["mapped", "all"], traces: Path) -> None:
    cpu, spent = least(3, lambda: parse(traces))
    source = open_source(traces)
    with store_for(traces.parent) as store, store.writing() as cursor:
        watch = Watch()
        counts = load_messages(cursor, source, read_head(source), "first", SpanOptions(attributes=attributes))
        spans = watch.told()
        made = assemble(cursor)
        requests = watch.told()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"\n{attributes}: {counts.accepted} spans, {made.requests} requests; parse {cpu:.2f} s CPU; spans "
        f"{spans[0] / cpu:.1f}x CPU, {spans[1] / spent:.1f}x time; with requests {requests[0] / cpu:.1f}x CPU, "
        f"{requests[1] / spent:.1f}x time; peak {peak} MB"
    )
    assert counts.rejected == 0
    if attributes == "mapped":
        assert requests[0] / cpu <= REQUESTS_RATIO
    assert peak <= PEAK_MB
