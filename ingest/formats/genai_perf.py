"""GenAI-Perf: the profile export of a run.

Input: `{"experiments": [{"experiment": {...}, "requests": [...]}]}`. Output: RawRequest, seen at the client.
Source: format page, 5.5 (from the specification). Times are nanoseconds; token counts are not stored, so TPOT is
unknown. TTFT is the first response of several; a single response was not streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import FROM_SEND, Times, checked, gap_columns, timed, unread_time

CLOCKS = {"timestamp": v.instant_ns}


def sniff(head: Head) -> float:
    return 0.95 if "experiments" in head.keys and "benchmarks" not in head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    scenarios: dict[object, str | None] = {}
    for row in json_rows(source, ("experiments", "[]", "experiment"), under="experiment"):
        if not isinstance(row, RawReject):
            scenarios[row.document, row.path[1]] = _scenario(row.value)
    for row in json_rows(source, ("experiments", "[]", "requests", "[]")):
        if isinstance(row, RawReject):
            yield row
            continue
        columns = _columns(row.value) | {"scenario": scenarios.get((row.document, row.path[1]))}
        yield checked(columns, line=row.line, offset=row.offset, raw=row.data, unread=unread_time(row.value, CLOCKS))
    yield FROM_SEND


def _scenario(experiment: Mapping[str, Any]) -> str | None:
    mode, value = v.text(experiment.get("mode")), v.text(experiment.get("value"))
    return f"{mode} {value}" if mode and value else mode


def _columns(request: Mapping[str, Any]) -> dict[str, Any]:
    start = v.instant_ns(request.get("timestamp"), "ns")
    moments = [v.instant_ns(moment, "ns") for moment in v.listing(request.get("response_timestamps"))]
    ends = [moment for moment in moments if moment is not None]
    is_streamed = len(ends) > 1
    status = "ok" if ends else "error"
    times = Times(
        started_ns=start,
        ended_ns=ends[-1] if ends else None,
        ttft_ns=ends[0] - start if is_streamed and start is not None else None,
        streaming=is_streamed if ends else None,
    )
    gaps = [after - before for before, after in pairwise(ends)]
    return timed(times, status) | gap_columns(gaps, "chunk") | {"vantage": "client", "status_class": status}


REDUNDANT = ("request_inputs", "response_outputs")  # prompts and answers


FORMAT = Format(
    name="genai_perf",
    title="GenAI-Perf profile export",
    says="requests of a load test with the instants of their responses",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
