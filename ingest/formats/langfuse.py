"""Langfuse: the download of one trace, and observations as lines, array, CSV or Parquet (scheduled export, API v2).

Input: camel-case or snake-case observations. Output: RawSpan per observation, under the attribute names of the GenAI
conventions, so that the assembly of all spans merges nested generations, keeps the sums of an AGENT out and makes
one request of a trace; a reader of its own would repeat that.
Source: format page, 5.3. `usageDetails` keeps the cached parts outside of `input`: the grand total is the sum of all
`input*` keys (likewise `output*`). `latency` has no fixed unit and is not read. An observation without end is open.
The wrappers of the AI SDK (`ai.generateText` around `ai.generateText.doGenerate`) are typed as generations and are
told as spans. Several observations at the top of a trace get one parent, the trace itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.heads import Cells, named
from ingest.formats.json_rows import Row, json_rows, reject
from ingest.formats.memo import Memo, memo
from ingest.formats.parquet_rows import parquet_rows
from ingest.formats.unread import merged, renamed

_SDK_WRAPPER = re.compile(r"ai\.(generate|stream)(Text|Object)$")
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])")
_CACHE_READ = ("input_cache_read", "input_cached_tokens", "cache_read_input_tokens", "prompt_details.cache_read")
_CACHE_WRITE = ("input_cache_creation", "cache_creation_input_tokens", "input_cache_write")
_REASONING = ("output_reasoning_tokens", "completion_details.reasoning", "output_reasoning")


_ASKERS = {"user_id", "session_id"}
_OF_TRACE = ("id", "name", "user_id", "session_id", "environment", "release", "version", "tags")  # what is read of it
_TRACE_MARKS = {"bookmarked", "public", "html_path", "release", "project_id", "scores", "environment", "tags"}


@dataclass
class _Top:
    """What the observations at the top of one trace span together; `count`: 2 stands for more, `first`: span id."""

    count: int = 0
    start_ns: int = 0
    end_ns: int = 0
    first: str = ""
    name: str = ""

    @classmethod
    def read(cls, told: str) -> _Top:
        """What `written` wrote."""
        count, start, end, first, name = told.split(" ", 4)
        return cls(int(count), int(start), int(end), first, name)

    def written(self) -> str:
        return f"{self.count} {self.start_ns} {self.end_ns} {self.first} {self.name}"


Tops = Memo | dict[str, str]  # trace id -> a written _Top


def sniff(head: Head) -> float:
    keys = set(head.columns) | head.keys
    if {"trace", "observations"} <= keys:
        return 0.97
    names = _names(head)
    if _is_of_traces(names):
        return 0.9
    if not {"trace_id", "type", "start_time"} <= names or "dotted_order" in names:
        return 0.0
    return 0.95 if names & {"usage_details", "provided_model_name", "parent_observation_id"} else 0.0


def _names(head: Head) -> set[str]:
    """Names of the first row in snake case; rows of a page of the API lie below its key `data`."""
    keys = {key.removeprefix("data.") for key in head.keys} if "data" in head.keys else head.keys
    return {_snake(key) for key in (*head.columns, *keys)}


def _is_of_traces(names: set[str]) -> bool:
    """Whether rows are traces, which older exports tell apart from their observations."""
    return {"id", "timestamp"} <= names and bool(_ASKERS & names) and len(_TRACE_MARKS & names) > 1


def read(source: Source, head: Head) -> Iterator[RawRow]:
    if "observations" in head.keys and "trace" in head.keys:
        yield from _download(source)
        return
    if _is_of_traces(_names(head)):
        yield from _traces(source, head)
        return
    with memo() as tops:
        yield from _spans(_observations(source.looked_ahead, head), _observations(source, head), tops, lambda _: {})
        for trace_id, top in _several(tops):
            yield _root(trace_id, top, {})


Item = tuple[dict[str, Any], int, bytes | str | Cells]


def _traces(source: Source, head: Head) -> Iterator[RawRow]:
    """Traces without their observations, or with them inside: who asked, told to all spans of the trace.

    A trace alone has no end, so it is no step of its own: its span only tells name, user and session, in whatever
    order the files come.
    """
    for item in _rows(source, head, (("data", "[]"),) if "data" in head.keys else ()):
        if isinstance(item, RawReject):
            yield item
            continue
        trace, line, raw = item
        inside = [_snake_keys(one) for one in v.listing(trace.get("observations")) if isinstance(one, dict)]
        tops: dict[str, str] = {}
        for one in inside:
            one.setdefault("trace_id", trace.get("id"))
            _note_top(tops, one)
        for one in inside:
            yield _span(one, line, raw, trace, tops)
        for trace_id, top in _several(tops):
            yield _root(trace_id, top, trace)
        if not inside:
            yield _record(trace, line, raw)


def _record(trace: Mapping[str, Any], line: int, raw: bytes | str | Cells) -> RawSpan | RawReject:
    """The span that tells of a trace what its observations do not."""
    trace_id, start = _trace_id(trace.get("id")), v.instant_ns(trace.get("timestamp"))
    if trace_id is None or start is None:
        reason, key = ("no_trace_id", "id") if trace_id is None else ("start_unset", "timestamp")
        return reject(reason, line, None, raw, named(key, trace.get(key), "is none"))
    return RawSpan(
        trace_id=trace_id,
        span_id=v.hashed_id("langfuse record", trace_id, digits=16),
        parent_span_id=None,
        name=v.text(trace.get("name")) or "trace",
        kind=1,
        start_ns=start,
        end_ns=start,
        status_code=0,
        attributes={"langfuse.observation.type": "trace"} | _identity({}, trace),
        scope="langfuse-sdk",
        line=line,
    )


def _observations(source: Source, head: Head) -> Iterator[Item | RawReject]:
    """Observations under snake-case names, of whatever layout."""
    paths = (("data", "[]"), ("observations", "[]")) if "data" in head.keys or "observations" in head.keys else ()
    yield from _rows(source, head, paths)


def _rows(source: Source, head: Head, paths: tuple[tuple[str, ...], ...]) -> Iterator[Item | RawReject]:
    """Rows under snake-case names, of whatever layout."""
    if head.shape == "parquet":
        for number, cell in enumerate(parquet_rows(source), 1):
            yield _snake_keys(cell), number, ""
        return
    if head.shape == "csv":
        for cells in csv_rows(source, head.delimiter):
            if isinstance(cells, RawReject):
                yield cells
            else:
                yield _snake_keys(cells.value), cells.line, cells.text
        return
    for row in json_rows(source, *paths):
        if isinstance(row, RawReject):
            yield row
        else:
            yield _snake_keys(row.value), row.line, row.data


def _download(source: Source) -> Iterator[RawRow]:
    """Spans of one or more downloads `{"trace": ..., "observations": [...]}`."""
    with memo() as traces, memo() as known, memo() as tops:
        for row in json_rows(source, ("trace",), ("[]", "trace"), under="trace"):
            if not isinstance(row, RawReject) and row.path:
                trace = _snake_keys(row.value)
                told = json.dumps({name: trace.get(name) for name in _OF_TRACE})
                traces[_place(row, -1)] = told
                known[_trace_id(trace.get("id")) or ""] = told
        yield from _spans(_told(source.looked_ahead, traces), _told(source, traces), tops, lambda row: row["trace"])
        for trace_id, top in _several(tops):
            yield _root(trace_id, top, json.loads(known.get(trace_id) or "{}"))


def _place(row: Row, end: int) -> str:
    """Where the download lies that a row is found in, so far below it, as a key."""
    return "/".join(map(str, (row.document, *row.path[:end])))


def _told(source: Source, traces: Memo) -> Iterator[Item | RawReject]:
    """Observations of all downloads under snake-case names, each with its trace."""
    for row in json_rows(source, ("observations", "[]"), ("[]", "observations", "[]")):
        if isinstance(row, RawReject):
            yield row
            continue
        if row.path:
            trace, observations = json.loads(traces.get(_place(row, -2)) or "{}"), [row.value]
        else:  # a line that holds a download
            trace = _snake_keys(v.mapping(row.value.get("trace")))
            observations = [one for one in v.listing(row.value.get("observations")) if isinstance(one, dict)]
        for one in observations:
            yield merged({"trace_id": trace.get("id")}, _snake_keys(one), {"trace": trace}), row.line, row.data


def _snake(key: str) -> str:
    return _CAMEL.sub(r"_\1", key).lower()


def _snake_keys(row: Mapping[str, Any]) -> dict[str, Any]:
    return renamed(row, _snake)


def _trace_id(value: object) -> str | None:
    """Langfuse's own trace ids may be any text; a hash then stands for them."""
    found = v.text(value)
    return (v.trace_id(found) or v.hashed_id("langfuse", found)) if found else None


def _span_id(value: object) -> str:
    found = (v.text(value) or "").lower()
    if len(found) == 16 and re.fullmatch(r"[0-9a-f]{16}", found):
        return found
    return v.hashed_id("langfuse", found, digits=16)


def _root_id(trace_id: str) -> str:
    return v.hashed_id("langfuse trace", trace_id, digits=16)


def _note_top(tops: Tops, row: Mapping[str, Any]) -> None:
    trace_id, start = _trace_id(row.get("trace_id")), v.instant_ns(row.get("start_time"))
    if v.text(row.get("parent_observation_id")) or trace_id is None or start is None:
        return
    end = v.instant_ns(row.get("end_time")) or start
    told = tops.get(trace_id)
    span = _span_id(row.get("id"))
    top = _Top.read(told) if told else _Top(1, start, end, span, v.text(row.get("trace_name")) or "")
    if span != top.first:  # the same one told twice is no second one
        top.count = 2
    top.start_ns, top.end_ns = min(top.start_ns, start), max(top.end_ns, end)
    tops[trace_id] = top.written()


def _several(tops: Tops) -> Iterator[tuple[str, _Top]]:
    """The traces of several observations at the top."""
    return ((trace_id, top) for trace_id, told in tops.items() if (top := _Top.read(told)).count > 1)


def _root(trace_id: str, top: _Top, trace: Mapping[str, Any]) -> RawSpan:
    """The span of the trace itself, above several observations."""
    return RawSpan(
        trace_id=trace_id,
        span_id=_root_id(trace_id),
        parent_span_id=None,
        name=v.text(trace.get("name")) or top.name or "trace",
        kind=1,
        start_ns=top.start_ns,
        end_ns=top.end_ns,
        status_code=0,
        attributes={"langfuse.observation.type": "span"} | _identity({}, trace),
        scope="langfuse-sdk",
        is_made=True,
    )


def _spans(
    ahead: Iterable[Item | RawReject],
    items: Iterable[Item | RawReject],
    tops: Tops,
    trace_of: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Iterator[RawSpan | RawReject]:
    """Spans of observations that are gone through twice: first for what stands on top of each trace."""
    for item in ahead:
        if not isinstance(item, RawReject):
            _note_top(tops, item[0])
    for item in items:
        if isinstance(item, RawReject):
            yield item
        else:
            row, line, raw = item
            yield _span(row, line, raw, trace_of(row), tops)


def _span(
    row: Mapping[str, Any], line: int, raw: bytes | str | Cells, trace: Mapping[str, Any], tops: Tops
) -> RawSpan | RawReject:
    trace_id, start = _trace_id(row.get("trace_id")), v.instant_ns(row.get("start_time"))
    if trace_id is None or start is None:
        reason, key = ("no_trace_id", "trace_id") if trace_id is None else ("start_unset", "start_time")
        return reject(reason, line, None, raw, named(key, row.get(key), "is none"))
    parent = v.text(row.get("parent_observation_id"))
    has_root = not parent and _Top.read(tops.get(trace_id) or "0 0 0  ").count > 1
    parent_id = _span_id(parent) if parent else _root_id(trace_id) if has_root else None
    end = v.instant_ns(row.get("end_time"))
    name = v.text(row.get("name")) or "observation"
    kind = (v.text(row.get("type")) or "span").lower()
    if kind == "generation" and _SDK_WRAPPER.match(name):
        kind = "span"
    attributes = {"langfuse.observation.type": kind} | _call(row, start, end) | _identity(row, trace)
    return RawSpan(
        trace_id=trace_id,
        span_id=_span_id(row.get("id")),
        parent_span_id=parent_id,
        name=name,
        kind=3 if kind == "generation" else 1,
        start_ns=start,
        end_ns=end if end is not None else start if kind == "event" else 0,
        status_code=2 if v.text(row.get("level")) == "ERROR" else 0,
        attributes=attributes,
        scope="langfuse-sdk",
        line=line,
    )


def _call(row: Mapping[str, Any], start: int, end: int | None) -> dict[str, str]:
    """Attributes of the model call: model, tokens, cost, first token."""
    usage = {key: v.integer(value) for key, value in _details(row.get("usage_details")).items()} or _older_usage(row)
    tokens_in, tokens_out = _side(usage, "input", row), _side(usage, "output", row)
    found: dict[str, object] = {
        "gen_ai.response.model": v.first(v.text(row.get("model")), v.text(row.get("provided_model_name"))),
        "gen_ai.usage.input_tokens": tokens_in,
        "gen_ai.usage.output_tokens": tokens_out,
        "gen_ai.usage.cache_read.input_tokens": v.first(*(usage.get(key) for key in _CACHE_READ)),
        "gen_ai.usage.cache_creation.input_tokens": v.first(*(usage.get(key) for key in _CACHE_WRITE)),
        "gen_ai.usage.reasoning.output_tokens": v.first(*(usage.get(key) for key in _REASONING)),
    }
    costs = (row.get(key) for key in ("total_cost", "calculated_total_cost", "total_price"))
    stated = v.first(_details(row.get("cost_details")).get("total"), *costs)
    if v.stated_cost(stated, tokens_in, tokens_out) and (cost := v.number(stated)) is not None:
        found["gen_ai.cost.total_cost"] = format(cost, "f")
    first_token = v.instant_ns(row.get("completion_start_time"))
    if first_token is not None and start < first_token < (end or first_token + 1):
        found["gen_ai.response.time_to_first_chunk"] = format(v.seconds(first_token - start), "f")
        found["gen_ai.request.stream"] = "true"
    return {key: str(value) for key, value in found.items() if value is not None}


def _older_usage(row: Mapping[str, Any]) -> dict[str, int | None]:
    """Counts of exports before `usageDetails`: `usage` with input and output, or counts beside; 0 of all is none."""
    told = {_snake(key): value for key, value in _details(row.get("usage")).items()}
    sides = {"input": ("input", "prompt_tokens"), "output": ("output", "completion_tokens")}
    found = {side: v.integer(v.first(told.get(a), told.get(b), row.get(b))) for side, (a, b) in sides.items()}
    return found if any(found.values()) else {}


def _details(value: object) -> dict[str, Any]:
    """Counts or costs by key: an object, its text, or the key-value pairs that a map of Parquet reads as."""
    if isinstance(value, list):
        return {str(pair.get("key")): pair.get("value") for pair in value if isinstance(pair, dict)}
    return v.mapping(value)


def _side(usage: Mapping[str, int | None], side: str, row: Mapping[str, Any]) -> int | None:
    """All tokens of one side: the bare count and every part that is kept outside of it."""
    parts = [count for key, count in usage.items() if key == side or key.startswith(f"{side}_")]
    outside = [usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")]
    known = v.total(*parts, *(outside if side == "input" else ()))
    if known is not None:
        return known
    named = usage.get("prompt_tokens" if side == "input" else "completion_tokens")
    return named if named is not None else v.integer(row.get(f"{side}_usage")) or None


def _identity(row: Mapping[str, Any], trace: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "user.id": v.identity(v.first(v.text(row.get("user_id")), trace.get("user_id"))),
        "session.id": v.identity(v.first(v.text(row.get("session_id")), trace.get("session_id"))),
        "langfuse.trace.name": v.text(v.first(v.text(row.get("trace_name")), trace.get("name"))),
        "langfuse.environment": v.text(v.first(v.text(row.get("environment")), trace.get("environment"))),
        "langfuse.release": v.text(v.first(v.text(row.get("release")), trace.get("release"))),
        "langfuse.version": v.text(v.first(v.text(row.get("version")), trace.get("version"))),
        "langfuse.prompt.id": v.text(row.get("prompt_id")),
        "langfuse.prompt.name": v.text(row.get("prompt_name")),
        "langfuse.prompt.version": v.text(row.get("prompt_version")),
        "langfuse.trace.tags": ",".join(
            v.clean(str(tag)) for tag in v.listing(v.first(row.get("tags"), trace.get("tags")))
        ),
    }
    return {key: value for key, value in found.items() if value}


REDUNDANT = (  # moments of the store, prices that its counts and costs hold, and what `latency` says in two units
    *("*createdAt", "*created_at", "*updatedAt", "*updated_at", "*latency", "time_to_first_token", "timeToFirstToken"),
    *("*projectId", "*project_id", "internal*", "input_cost", "inputCost", "output_cost", "outputCost"),
    *("provided*_details", "provided*Details", "provided*_cost", "totalUsage", "total_usage", "usagePricing*"),
    *("usage_pricing_*", "*.bookmarked", "*.public", "*.corrections", "*.scores", "*.observations", "*.timestamp"),
)


FORMAT = Format(
    name="langfuse",
    title="Langfuse traces and observations",
    says="download of one trace, or observations and traces as JSON, JSON lines or CSV",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
