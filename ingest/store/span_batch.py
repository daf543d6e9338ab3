"""Spans of a Python reader as the relation of raw spans.

Input: a batch of RawSpan. Output: RawRelation over a registered frame with the columns of span_source.RAW.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

import duckdb
import polars as pl

from ingest.errors import HEAD_CHARACTERS
from ingest.formats.attributes import FIRST_TOKEN_EVENTS, RESOURCE_PICKS
from ingest.formats.contract import RawSpan
from ingest.mapping import Mapping as OwnNames
from ingest.store.database import ArrowFrame
from ingest.store.span_columns import PROMOTED, promoted
from ingest.store.spans import RawRelation

_INTEGERS = ("line", "encoding", "started", "ended", "event_first_ns", "event_gap_ns", "slice_from_ns", "slice_to_ns")
_SLICE_STARTS = ("QUEUE_START", "HTTP_SEND_START", "GRPC_SEND_START", "kv_cache_transfer_start")
_SLICE_ENDS = ("HTTP_SEND_END", "GRPC_SEND_END", "kv_cache_transfer_end")

_EVENTS = ("event_first_ns", "event_gap_ns", "event_error", "event_finish", "slice_from_ns", "slice_to_ns")
SEPARATOR = "\x1f"  # the control character for it; parts are joined by it on their way into the table

Events = tuple[tuple[str, int, Mapping[str, str]], ...]


def relation(cursor: duckdb.DuckDBPyConnection, batch: Sequence[RawSpan], own: OwnNames) -> RawRelation:
    """The batch as raw spans, held in a temporary table of the cursor; `line` is the number within the batch."""
    cursor.register("span_frame", ArrowFrame(pl.DataFrame(_columns(batch, own), schema=_schema())))
    try:
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE span_batch AS SELECT * REPLACE ({_split('names')}, {_split('vals')}) "
            "FROM span_frame"
        )
    finally:
        cursor.unregister("span_frame")
    sql = "SELECT * EXCLUDE (trace_state), kept_share(trace_state) AS kept FROM span_batch"
    return RawRelation(sql, sql)


def _split(column: str) -> str:
    """SQL of a list that came as one text, which is several times faster than a list per span."""
    return f"CASE WHEN {column} IS NULL THEN [] ELSE string_split({column}, chr({ord(SEPARATOR)})) END AS {column}"


def _schema() -> dict[str, pl.DataType]:
    texts = (
        *("line_state", "text", "scope", "trace_id", "span_id", "parent_id", "trace_state", "name", "kind", "status"),
        *("event_error", "event_finish", *RESOURCE_PICKS, "names", "vals"),
    )
    return dict.fromkeys(_INTEGERS, pl.Int64()) | {"dropped": pl.Int32()} | dict.fromkeys(texts, pl.String())


def _columns(batch: Sequence[RawSpan], own: OwnNames) -> dict[str, object]:
    """Values of the whole batch, column by column; columns of the schema that no span fills are null."""
    wanted = promoted(own)
    told = [_attributes(span, wanted) for span in batch]
    picked = {id(span.resource): _picked(span.resource) for span in batch}
    events = [_events(span.events) for span in batch]
    nothing = [None] * len(batch)
    columns: dict[str, object] = dict.fromkeys((*_INTEGERS, "line_state", "event_error", "event_finish"), nothing)
    columns |= {name: [event.get(name) for event in events] for name in _EVENTS} if any(events) else {}
    return columns | {
        "line": range(1, len(batch) + 1),
        "encoding": [0] * len(batch),
        "text": [f"{span.name} {span.trace_id} {span.span_id}"[:HEAD_CHARACTERS] for span in batch],
        "scope": [span.scope for span in batch],
        "trace_id": [span.trace_id for span in batch],
        "span_id": [span.span_id for span in batch],
        "parent_id": [span.parent_span_id for span in batch],
        "trace_state": [span.trace_state for span in batch],
        "name": [span.name for span in batch],
        "kind": [str(span.kind) for span in batch],
        "started": [span.start_ns for span in batch],
        "ended": [span.end_ns for span in batch],
        "status": [str(span.status_code) for span in batch],
        "dropped": [span.dropped_events for span in batch],
        "names": [_joined(attributes) for attributes in told],
        "vals": [_joined(attributes.values()) for attributes in told],
        **{pick: [picked[id(span.resource)][pick] for span in batch] for pick in RESOURCE_PICKS},
    }


def _attributes(span: RawSpan, promoted: Sequence[str]) -> Mapping[str, str]:
    """Attributes, and what the mapping promotes of the resource."""
    if not promoted:
        return span.attributes
    return {**span.attributes, **{PROMOTED + name: span.resource.get(name) or "" for name in promoted}}


def _joined(parts: Collection[str]) -> str | None:
    """The parts as one text; a separator within a part, which no emitter writes, becomes a blank."""
    if not parts:
        return None
    text = SEPARATOR.join(parts)
    if text.count(SEPARATOR) == len(parts) - 1:
        return text
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def _picked(resource: Mapping[str, str]) -> dict[str, str | None]:
    return {
        pick: next((resource[name] for name in names if resource.get(name)), None)
        for pick, names in RESOURCE_PICKS.items()
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
