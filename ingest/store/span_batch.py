"""Spans of a Python reader as the relation of raw spans.

Input: a batch of RawSpan, or a piece of protobuf messages. Output: RawRelation with the columns of span_source.RAW.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import duckdb
import polars as pl

from ingest.errors import HEAD_CHARACTERS
from ingest.formats.attributes import RESOURCE_PICKS
from ingest.formats.contract import RawSpan
from ingest.formats.otlp_columns import Piece
from ingest.formats.span_events import EVENT_TYPES, event_figures
from ingest.mapping import Mapping as OwnNames
from ingest.store.frames import lent
from ingest.store.span_columns import PROMOTED, identified, promoted
from ingest.store.spans import RawRelation

_INTEGERS = ("line", "encoding", "started", "ended")
SEPARATOR = "\x1f"  # the control character for it; values of one span are joined by it on their way into the table
IDS = ("trace_id", "span_id", "parent_id")
FEW_SHAPES = 256  # lists of names
LATEST_NS = (1 << 63) - 1  # what the store holds


def relation(cursor: duckdb.DuckDBPyConnection, batch: Sequence[RawSpan], own: OwnNames) -> RawRelation:
    """The batch as raw spans, held in a temporary table of the cursor; `line` is the number within the batch."""
    gather(cursor, batch, own, before=0)
    return gathered()


def gather(cursor: duckdb.DuckDBPyConnection, batch: Sequence[RawSpan], own: OwnNames, *, before: int) -> None:
    """Adds the batch to the raw spans of the cursor.

    Args:
        before: how many of them there are; with 0 it begins anew.
    """
    made = "INSERT INTO span_batch" if before else "CREATE OR REPLACE TEMP TABLE span_batch AS"
    with lent(cursor, "span_frame", pl.DataFrame(_columns(batch, own, before), schema=_schema())):
        cursor.execute(f"{made} SELECT * REPLACE ({_split('names')}, {_split('vals')}) FROM span_frame")


def gathered() -> RawRelation:
    """The raw spans of the cursor; `line` is their number."""
    sql = identified("SELECT * EXCLUDE (trace_state), kept_share(trace_state) AS kept FROM span_batch")
    return RawRelation(sql, sql)


@contextmanager
def piece_relation(cursor: duckdb.DuckDBPyConnection, piece: Piece, own: OwnNames) -> Iterator[RawRelation]:
    """The spans of some protobuf messages as raw spans, held meanwhile; `line` is the place of the message.

    Ids become hex and times null where they are unset; a time beyond what the store holds is its latest instant.
    """
    wanted = promoted(own)
    parameters: dict[str, Any] = {"promoted_as": [PROMOTED + name for name in wanted]} if wanted else {}
    names = "list_concat(names, $promoted_as)" if wanted else "names"
    with lent(cursor, "span_piece", piece.shapes):
        keys = cursor.execute(f"SELECT hash({names}) FROM span_piece ORDER BY shape", parameters).fetchall()
    shapes = piece.shapes.select(
        pl.Series("shape_key", [key for (key,) in keys], dtype=pl.UInt64),
        (pl.col("names").list.len() + len(wanted)).cast(pl.Int64).alias("n_attributes"),
        *(() if len(keys) <= FEW_SHAPES else ("names",)),
    )
    lists = piece.shapes["names"].to_list()
    if len(keys) <= FEW_SHAPES:  # a list in every row costs more than to look up those of the few that are asked for
        parameters["lists"] = lists
        names = names.replace("names", "list_extract(CAST($lists AS VARCHAR[][]), shape + 1)", 1)
    known = {key: (*some, *parameters.get("promoted_as", ())) for (key,), some in zip(keys, lists, strict=True)}
    told = piece.spans.with_columns(pl.col(*IDS).bin.encode("hex")).hstack(shapes[piece.spans["shape"]])
    told = told.hstack(piece.groups.drop("group")[piece.spans["group"]])
    sql = f"""SELECT place AS line, NULL::VARCHAR AS line_state,
    left(concat_ws(' ', name, trace_id, span_id), {HEAD_CHARACTERS}) AS text, 0 AS encoding, scope, trace_id, span_id, parent_id,
    kept_share(trace_state) AS kept, nullif(name, '') AS name, kind::VARCHAR AS kind,
    least(started, {LATEST_NS})::BIGINT AS started, nullif(least(ended, {LATEST_NS})::BIGINT, 0) AS ended,
    status::VARCHAR AS status, dropped, {", ".join(EVENT_TYPES)}, {names} AS names,
    {"list_concat(vals, extra)" if wanted else "vals"} AS vals, {", ".join(RESOURCE_PICKS)}, shape_key, n_attributes,
    {_id("trace_id", 16, or_of=8)} AS trace_told, {_id("span_id", 8)} AS span_told, {_id("parent_id", 8)} AS parent_told
FROM span_piece"""
    with lent(cursor, "span_piece", told):
        yield RawRelation(sql, sql, parameters, known)


def _id(column: str, size: int, or_of: int = 0) -> str:
    """SQL of an id of so many bytes, told as hex, which may be one of fewer, or null."""
    fewer = f" WHEN {2 * or_of} THEN {'0' * 2 * (size - or_of)!r} || {column}" if or_of else ""
    return f"CASE strlen({column}) WHEN {2 * size} THEN {column}{fewer} END"


def _values(column: str) -> str:
    """SQL of a list that came as one text, which is several times faster than a list per span."""
    return f"CASE WHEN {column} IS NULL THEN [] ELSE string_split({column}, chr({ord(SEPARATOR)})) END"


def _split(column: str) -> str:
    return f"{_values(column)} AS {column}"


def _schema() -> dict[str, pl.DataType]:
    texts = (
        *("line_state", "text", "scope", "trace_id", "span_id", "parent_id", "trace_state", "name", "kind", "status"),
        *(*RESOURCE_PICKS, "names", "vals"),
    )
    integers = dict.fromkeys(_INTEGERS, pl.Int64()) | {"dropped": pl.Int32()}
    return integers | dict.fromkeys(texts, pl.String()) | EVENT_TYPES


def _columns(batch: Sequence[RawSpan], own: OwnNames, before: int) -> dict[str, object]:
    """Values of the whole batch, column by column; columns of the schema that no span fills are null."""
    wanted = promoted(own)
    told = [_attributes(span, wanted) for span in batch]
    picked = {id(span.resource): _picked(span.resource) for span in batch}
    events = [_events(span) for span in batch]
    nothing = [None] * len(batch)
    columns: dict[str, object] = dict.fromkeys((*_INTEGERS, "line_state", *EVENT_TYPES), nothing)
    columns |= {name: [event.get(name) for event in events] for name in EVENT_TYPES} if any(events) else {}
    return columns | {
        "line": range(before + 1, before + len(batch) + 1),
        "encoding": [0] * len(batch),
        "text": [f"{span.name} {span.trace_id} {span.span_id}"[:HEAD_CHARACTERS] for span in batch],
        "scope": [span.scope for span in batch],
        "trace_id": [span.trace_id for span in batch],
        "span_id": [span.span_id for span in batch],
        "parent_id": [span.parent_span_id for span in batch],
        "trace_state": [span.trace_state for span in batch],
        "name": [span.name or None for span in batch],
        "kind": [str(span.kind) for span in batch],
        "started": [_near(span.start_ns) for span in batch],
        "ended": [_near(span.end_ns) or None for span in batch],
        "status": [str(span.status_code) for span in batch],
        "dropped": [int(span.dropped_events > 0) for span in batch],  # only whether any is asked
        "names": [_joined(attributes) for attributes in told],
        "vals": [_joined(attributes.values()) for attributes in told],
        **{pick: [picked[id(span.resource)][pick] for span in batch] for pick in RESOURCE_PICKS},
    }


def _near(instant: int) -> int:
    """The instant, cut to what the store holds; no span can be there."""
    return instant if -LATEST_NS < instant < LATEST_NS else LATEST_NS if instant > 0 else -LATEST_NS


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


def _events(span: RawSpan) -> dict[str, object]:
    return event_figures((name, at, partial(_as_told, told)) for name, at, told in span.events) if span.events else {}


def _as_told(told: Mapping[str, str]) -> Mapping[str, str]:
    return told
