"""Request metrics of the serving simulators Vidur and Sarathi.

Input: CSV with `request_scheduling_delay`, `request_e2e_time`, `prefill_e2e_time`, token counts; seconds.
Output: RawRequest, seen at the (simulated) server. No wall time exists: arrivals are gaps, kept beside.
Source: format page, 2 (from the specification). The end of the prefill is the first token; what lies between
scheduling delay and it is prefill, what follows is decode; restarts are preemptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.heads import named
from ingest.formats.request_rows import DAY_NS, Times, checked, extra, timed, unread_time

COLUMNS = {"request_scheduling_delay", "request_e2e_time"}
GAP = "request_inter_arrival_delay"
CLOCKS = {GAP: v.integer}


def sniff(head: Head) -> float:
    return 0.96 if set(head.columns) >= COLUMNS else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    counted = "arrivals are gaps; their sum, in the order of the file, counts from the start of the trace"
    yield relative.note(source, counted)
    arrived = 0
    for row in csv_rows(source, head.delimiter):
        if isinstance(row, RawReject):
            yield row
        else:
            gap, unread = v.duration_ns(row.value.get(GAP), "s") or 0, unread_time(row.value, CLOCKS)
            if gap > DAY_NS and not unread:
                unread = named(GAP, row.value.get(GAP), "is longer than 24 hours")
            arrived += 0 if unread else max(gap, 0)
            columns = _columns(row.value, relative.placed(source, arrived))
            yield checked(columns, line=row.line, offset=row.offset, raw=row.text, unread=unread)


def _columns(row: Mapping[str, str], started: int | None) -> dict[str, Any]:
    e2e, queue, first = (
        v.duration_ns(row.get(name), "s")
        for name in ("request_e2e_time", "request_scheduling_delay", "prefill_e2e_time")
    )
    tokens_out = v.integer(row.get("request_num_decode_tokens"))
    is_split = first is not None and queue is not None and e2e is not None and queue <= first <= e2e
    times = Times(
        started_ns=started,
        e2e_ns=e2e,
        ttft_ns=first,
        output_tokens=tokens_out,
        is_served=True,
        stages={
            "queue_ns": queue,
            "prefill_ns": first - queue if is_split and first is not None and queue is not None else None,
            "decode_ns": e2e - first if is_split and e2e is not None and first is not None else None,
        },
    )
    made = timed(times, "ok")
    return made | {
        "flags": [*made["flags"], "simulated"],
        "vantage": "server",
        "status_class": "ok",
        "request_id": v.text(row.get("Request Id")),
        "input_tokens": v.integer(row.get("request_num_prefill_tokens")),
        "output_tokens": tokens_out,
        "preemptions": v.real(row.get("request_num_restarts")),
        "attributes": extra(inter_arrival_ns=v.duration_ns(row.get(GAP), "s")),
    }


REDUNDANT = ("request_execution_time", "request_execution_plus_preemption_time*", "*_normalized")


FORMAT = Format(
    name="vidur",
    title="Vidur and Sarathi request metrics",
    says="simulated requests with queue, prefill and decode, no times of day",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
