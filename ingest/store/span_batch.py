"""Spans of a Python reader as the relation of raw spans.

Input: a batch of RawSpan. Output: RawRelation over a registered frame with the columns of span_source.RAW.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import duckdb
import polars as pl

from ingest.errors import HEAD_CHARACTERS
from ingest.formats.attributes import FIRST_TOKEN_EVENTS, RESOURCE_PICKS
from ingest.formats.contract import RawSpan
from ingest.mapping import Mapping as OwnNames
from ingest.store.database import ArrowFrame
from ingest.store.span_columns import PROMOTED
from ingest.store.spans import RawRelation

_INTEGERS = ("line", "encoding", "started", "ended", "event_first_ns", "event_gap_ns", "slice_from_ns", "slice_to_ns")
_SLICE_STARTS = ("QUEUE_START", "HTTP_SEND_START", "GRPC_SEND_START", "kv_cache_transfer_start")
_SLICE_ENDS = ("HTTP_SEND_END", "GRPC_SEND_END", "kv_cache_transfer_end")

Events = tuple[tuple[str, int, Mapping[str, str]], ...]


def relation(cursor: duckdb.DuckDBPyConnection, batch: Sequence[RawSpan], own: OwnNames) -> RawRelation:
    """The batch as raw spans, held in a temporary table of the cursor; `line` is the number within the batch."""
    frame = pl.DataFrame([_row(number, span, own) for number, span in enumerate(batch, start=1)], schema=_schema())
    cursor.register("span_frame", ArrowFrame(frame))
    try:
        cursor.execute("CREATE OR REPLACE TEMP TABLE span_batch AS SELECT * FROM span_frame")
    finally:
        cursor.unregister("span_frame")
    sql = "SELECT * EXCLUDE (trace_state), kept_share(trace_state) AS kept FROM span_batch"
    return RawRelation(sql, sql)


def _schema() -> dict[str, pl.DataType]:
    texts = (
        *("line_state", "text", "scope", "trace_id", "span_id", "parent_id", "trace_state", "name", "kind", "status"),
        *("event_error", "event_finish", *RESOURCE_PICKS),
    )
    return (
        dict.fromkeys(_INTEGERS, pl.Int64())
        | {"dropped": pl.Int32()}
        | dict.fromkeys(texts, pl.String())
        | dict.fromkeys(("names", "vals"), pl.List(pl.String()))
    )


def _row(number: int, span: RawSpan, own: OwnNames) -> dict[str, object]:
    promoted = {PROMOTED + name: span.resource.get(name) for name in own.dimensions.values()}
    attributes: dict[str, str | None] = {**span.attributes, **promoted}
    return {
        "line": number,
        "encoding": 0,
        "text": f"{span.name} {span.trace_id} {span.span_id}"[:HEAD_CHARACTERS],
        "scope": span.scope,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "parent_id": span.parent_span_id,
        "trace_state": span.trace_state,
        "name": span.name,
        "kind": str(span.kind),
        "started": span.start_ns,
        "ended": span.end_ns,
        "status": str(span.status_code),
        "dropped": span.dropped_events,
        "names": list(attributes),
        "vals": [None if value is None else str(value) for value in attributes.values()],
        **_events(span.events),
        **{
            pick: next((span.resource[name] for name in names if span.resource.get(name)), None)
            for pick, names in RESOURCE_PICKS.items()
        },
    }


def _events(events: Events) -> dict[str, object]:
    if not events:
        return {}
    chunks = sorted(at for name, at, _ in events if name.endswith(".chunk") and name in FIRST_TOKEN_EVENTS)
    return {
        "event_first_ns": _earliest(events, FIRST_TOKEN_EVENTS),
        "event_gap_ns": max((b - a for a, b in pairwise(chunks)), default=None),
        "event_error": _said(events, "exception", "exception.type"),
        "event_finish": _said(events, "gen_ai.choice", "finish_reason"),
        "slice_from_ns": _earliest(events, _SLICE_STARTS),
        "slice_to_ns": _earliest(events, _SLICE_ENDS),
    }


def _earliest(events: Events, names: Iterable[str]) -> int | None:
    return min((at for name, at, _ in events if name in names), default=None)


def _said(events: Events, event: str, attribute: str) -> str | None:
    return next((attributes.get(attribute) for name, _, attributes in events if name == event), None)
