"""Raw requests of the Python readers -> rows of `requests` and `calls`, or reasons why they cannot be.

Input: RawRequest under canonical names. Output: one Polars frame per table, and rejects.
The same rules as for flat tables (store/flat_rows): times in range, nothing negative, a key for every request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import polars as pl

from ingest.bounds import FIGURE_FLAG, LAST_NS, MAX_COST_USD, MAX_FIGURE, most
from ingest.errors import Reject
from ingest.formats.contract import RawRequest
from ingest.formats.heads import head_of, named
from ingest.schema import CALLS, NS_PER_S, REQUESTS, Column, polars_schema
from ingest.store.retention import REASON, Range, is_closed

DAY_NS = 86_400 * NS_PER_S
PICO = 10**12  # pico-USD per USD
Fault = tuple[str, str]  # reason of errors.REJECT_REASONS; column, value and rule
FIRST_NS = 1_420_070_400 * NS_PER_S  # 2015-01-01
_REQUEST_COLUMNS = {column.name: column for column in REQUESTS}
_CALL_COLUMNS = {column.name: column for column in CALLS}
_TOKENS = tuple(name for name in _REQUEST_COLUMNS if name.endswith("_tokens"))
_DURATIONS = tuple(
    column.name
    for column in REQUESTS
    if column.unit == "ns" and column.kind == "int" and column.name not in ("started_ns", "ended_ns")
)


@dataclass(frozen=True)
class Stamp:
    """What every row of one load has in common."""

    upload_id: str
    source: str
    now_ns: int
    sampling_rate: float = 1.0
    keeps_attributes: bool = True
    closed: tuple[Range, ...] = ()  # days that were rolled up


@dataclass
class Normalizer:
    """Turns batches of one source into rows; counts equal rows without an id, which are as many requests."""

    stamp: Stamp
    seen: dict[str, int] = field(default_factory=dict)

    def rows(self, batch: Sequence[RawRequest]) -> tuple[pl.DataFrame, pl.DataFrame, list[Reject]]:
        """Rows of requests, rows of calls, and rejects, in source order."""
        requests: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        rejects: list[Reject] = []
        for raw in batch:
            values = {name: _typed(_REQUEST_COLUMNS[name], value) for name, value in raw.values.items()}
            told = [{name: _typed(_CALL_COLUMNS[name], value) for name, value in call.items()} for call in raw.calls]
            fault = _fault(values, self.stamp) or next(filter(None, map(_beyond, told)), None)
            if fault:
                rejects.append(Reject(raw.line, None, fault[0], _head(raw), fault[1]))
                continue
            row = self._stamped(values, raw)
            requests.append(row)
            calls.extend(_call(row["request_key"], index, call, self.stamp) for index, call in enumerate(told))
        return _frame(requests, REQUESTS), _frame(calls, CALLS), rejects

    def _stamped(self, values: Mapping[str, Any], raw: RawRequest) -> dict[str, Any]:
        row = {name: value for name, value in values.items() if value is not None}
        row |= {
            "request_key": row.get("request_key") or self._key(row),
            "upload_id": self.stamp.upload_id,
            "source": self.stamp.source,
            "sampling_rate": row.get("sampling_rate") or self.stamp.sampling_rate,
            "n_call_rows": len(raw.calls),
            "status_class": row.get("status_class") or "ok",
            "flags": [*(row.get("flags") or []), *([FIGURE_FLAG] if _is_far(raw.values) else [])],
        }
        if not self.stamp.keeps_attributes:
            row.pop("attributes", None)
        return row

    def _key(self, row: Mapping[str, Any]) -> str:
        identity = row.get("request_id") or row.get("trace_id")
        if identity is not None:
            return f"{self.stamp.source}:{identity}@{row.get('started_ns', '')}"
        told = {name: value for name, value in row.items() if name != "token_gaps_ns"}  # its times are in it already
        text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
        key = f"{self.stamp.source}#{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"
        self.seen[key] = self.seen.get(key, 0) + 1
        return key if self.seen[key] == 1 else f"{key}*{self.seen[key]}"


def _typed(column: Column, value: object) -> Any:
    """The value in the column's dtype; what is none (NaN, a container) is null."""
    if value is None or column.kind in ("text", "texts", "ints"):
        return list(value) if isinstance(value, tuple) else value
    if column.kind == "json":
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    if column.kind == "bool":
        return bool(value)
    if not isinstance(value, (int, float)) or not isfinite(value):
        return None
    if column.kind == "float":
        return float(value) if abs(value) <= MAX_FIGURE else None
    return round(value)


def _is_far(values: Mapping[str, object]) -> bool:
    """Whether a figure was told that is too large to be one."""
    figures = (value for name, value in values.items() if _REQUEST_COLUMNS[name].kind == "float")
    return any(isinstance(value, (int, float)) and isfinite(value) and abs(value) > MAX_FIGURE for value in figures)


def _beyond(values: Mapping[str, Any]) -> Fault | None:
    """Why a number of a request or call is beyond what one can be (ingest/bounds)."""
    for name, value in values.items():
        column = _REQUEST_COLUMNS.get(name) or _CALL_COLUMNS[name]
        if value is None or column.kind not in ("int", "money"):
            continue
        if name in ("started_ns", "ended_ns"):
            if abs(value) > LAST_NS:
                return "time_out_of_range", named(name, value, "is out of range")
        elif column.unit == "ns":
            if value > DAY_NS:
                return "duration_too_long", named(name, value, "is longer than 24 hours")
        elif abs(value) > (limit := MAX_COST_USD * PICO if column.kind == "money" else most(name)):
            return "bad_value", named(name, value, f"is above {limit:,}, which no row can have")
    return None


def _fault(values: Mapping[str, Any], stamp: Stamp) -> Fault | None:
    """Why the row cannot be."""
    started, ended = values.get("started_ns"), values.get("ended_ns")
    for names, reason in ((_TOKENS, "negative_tokens"), (_DURATIONS, "negative_duration")):
        below = next((name for name in names if (values.get(name) or 0) < 0), None)
        if below is not None:
            return reason, named(below, values[below], "is below 0")
    if started == 0:
        return "start_unset", named("started_ns", 0, "is no start")
    for name in ("started_ns", "ended_ns"):
        moment = values.get(name)
        if moment is not None and not FIRST_NS <= moment <= stamp.now_ns + DAY_NS:
            return "time_out_of_range", named(name, moment, "is out of range, in ns since 1970")
    if started is not None and ended is not None and ended < started:
        return "end_before_start", named("ended_ns", ended, f"lies {started - ended:,} ns before started_ns")
    if is_closed(stamp.closed, started):
        return REASON, named("started_ns", started, "lies in a day that was rolled up")
    beyond = _beyond(values)
    if beyond:
        return beyond
    known = ("started_ns", "e2e_ns", "ttft_ns", "input_tokens", "output_tokens")
    return ("no_time", "") if all(values.get(name) is None for name in known) else None


def _call(request_key: str, index: int, call: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    return {**call} | {"request_key": request_key, "call_index": index, "upload_id": stamp.upload_id}


def _frame(rows: Sequence[Mapping[str, Any]], columns: tuple[Column, ...]) -> pl.DataFrame:
    """A frame of the columns that any row has, in the order of the table."""
    present = {name for row in rows for name in row}
    schema = {name: dtype for name, dtype in polars_schema(columns).items() if name in present}
    kinds = {column.name: column.kind for column in columns}
    lists = [name for name in schema if kinds[name] == "ints"]
    plain = {name: dtype for name, dtype in schema.items() if name not in lists}
    frame = pl.DataFrame([{name: row.get(name) for name in plain} for row in rows], schema=plain)
    return frame.with_columns(_lists(name, rows) for name in lists).select(list(schema)) if lists else frame


def _lists(name: str, rows: Sequence[Mapping[str, Any]]) -> pl.Series:
    """A column of lists of integers."""
    told = (row.get(name) for row in rows)
    return pl.Series(name, [None if one is None else pl.Series(one) for one in told], pl.List(pl.Int64()))


def _head(raw: RawRequest) -> str:
    return head_of(json.dumps(dict(raw.values), ensure_ascii=False, default=str))
