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

from ingest import messages as messages_module
from ingest.assemble import AssemblyCounts, SpanCounts, SpanOptions, assemble
from ingest.formats import otlp_compiled
from ingest.formats.otlp_kernel import Kernel, plain
from ingest.formats.otlp_protobuf import messages
from ingest.messages import load_messages
from ingest.sniff import read_head
from ingest.store.yardstick import cpu_s
from ingest.unpack import open_source
from tests.support.generated import generated
from tests.support.otlp import store_for

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

# Goals: 12 times the library's parse without the extra `protobuf`, 5.5 with it, of the time on two quiet cores. Compiled
# code is loaded before it is measured, which takes a second once. The library's parse makes no row and reads no attribute.
SPANS_RATIO = {"arrays": 14.0, "compiled": 11.0}  # CPU seconds
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


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAILWISE_BENCH_REQUESTS", "2000")
        with generated(tmp_path_factory.mktemp("few"), "otlp-proto") as path:
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


KERNELS: dict[str, Callable[[], Kernel]] = {"arrays": plain, "compiled": otlp_compiled.kernel}


def spans_and_requests(
    traces: Path, kernel: Kernel, attributes: Literal["mapped", "all"]
) -> tuple[SpanCounts, AssemblyCounts, tuple[float, float], tuple[float, float]]:
    """Counts of both; CPU seconds and seconds of the spans, and of both."""
    source = open_source(traces)
    with (
        pytest.MonkeyPatch.context() as patch,
        store_for(traces.parent) as store,
        store.writing() as cursor,
    ):
        patch.setattr(messages_module, "kernel_for", lambda size: kernel)
        watch = Watch()
        counts = load_messages(cursor, source, read_head(source), "first", SpanOptions(attributes=attributes))
        spans = watch.told()
        return counts, assemble(cursor), spans, watch.told()


@pytest.mark.parametrize("attributes", ["mapped", "all"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_spans_and_requests_cost_some_parses(
    kernel: str, attributes: Literal["mapped", "all"], traces: Path, few: Path
) -> None:
    spans_and_requests(few, KERNELS[kernel](), attributes)
    cpu, spent = least(3, lambda: parse(traces))
    counts, made, spans, requests = spans_and_requests(traces, KERNELS[kernel](), attributes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"\n{kernel}, {attributes}: {counts.accepted} spans, {made.requests} requests; parse {cpu:.2f} s CPU; spans "
        f"{spans[0] / cpu:.1f}x CPU, {spans[1] / spent:.1f}x time; with requests {requests[0] / cpu:.1f}x CPU, "
        f"{requests[1] / spent:.1f}x time; peak {peak} MB"
    )
    assert counts.rejected == 0
    if attributes == "mapped":
        assert spans[0] / cpu <= SPANS_RATIO[kernel]
    assert peak <= PEAK_MB
