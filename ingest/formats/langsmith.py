"""LangSmith: runs as exported (array, lines, Parquet) or as the SDK sends them in halves.

Input: runs with `run_type` and `dotted_order`, or `{"post": [...], "patch": [...]}`. Output: RawSpan per run.
Source: format page, 5.12. Halves are merged by id; a run without its patch is still open. Naive and offset times are
mixed; naive ones are UTC. The first token is `first_token_time`, else the first `new_token` event that carries more
than the role. Usage stands in `outputs.usage_metadata` or beside; cost is text. Inputs and outputs are not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawSpan, RowReader, Source
from ingest.formats.json_rows import Row, json_rows
from ingest.formats.parquet_rows import parquet_rows
from ingest.formats.unread import merged


@dataclass(frozen=True)
class _Run:
    """One run, halves merged, and the line it stands on."""

    value: dict[str, Any]
    line: int | None


def sniff(head: Head) -> float:
    names = head.keys | set(head.columns)
    keys = names | {key.split(".", 1)[1] for key in names if key.startswith(("post.", "patch.", "runs."))}
    if {"run_type", "dotted_order"} <= keys or {"run_type", "trace_id", "start_time"} <= keys:
        return 0.95
    return 0.8 if {"post", "patch"} <= head.keys and "dotted_order" in keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    if head.shape == "parquet":
        for line, cells in enumerate(parquet_rows(source), 1):
            yield _span(_Run(cells, line))
        return
    paths = (("runs", "[]"),) if "runs" in head.keys else ()
    for row in json_rows(source, *paths):
        if isinstance(row, RawReject):
            yield row
        else:
            for run in _runs(row):
                yield _span(run)


def _runs(row: Row) -> Iterator[_Run]:
    """The run itself, or the runs of a body of halves, in order of their first mention."""
    if "post" not in row.value and "patch" not in row.value:
        yield _Run(row.value, row.line)
        return
    runs: dict[str, dict[str, Any]] = {}
    for half in (*v.listing(row.value.get("post")), *v.listing(row.value.get("patch"))):
        if isinstance(half, dict):
            key = v.text(half.get("id")) or ""
            runs[key] = merged(runs.get(key, {}), half, skips=(None, {}, [], ""))
    for run in runs.values():
        yield _Run(run, row.line)


def _trace_id(value: object) -> str:
    found = v.text(value)
    return (v.trace_id(found) or v.hashed_id("langsmith", found)) if found else ""


def _span_id(value: object) -> str:
    found = v.text(value)
    return v.hashed_id("langsmith", found, digits=16) if found else ""


def _span(told: _Run) -> RawSpan:
    run = told.value
    kind = (v.text(run.get("run_type")) or "chain").lower()
    parent = v.text(run.get("parent_run_id"))
    start, end = v.instant_ns(run.get("start_time")) or 0, v.instant_ns(run.get("end_time")) or 0
    error = v.text(run.get("error"))
    attributes: dict[str, object] = {"langsmith.span.kind": kind} | _identity(run)
    if kind == "llm":
        attributes |= _call(run, start, end)
    if error:
        attributes["error.type"] = v.error_name(error)
    return RawSpan(
        trace_id=_trace_id(v.first(run.get("trace_id"), run.get("id"))),
        span_id=_span_id(run.get("id")),
        parent_span_id=_span_id(parent) if parent else None,
        name=v.text(run.get("name")) or kind,
        kind=3 if kind == "llm" else 1,
        start_ns=start,
        end_ns=end,
        status_code=2 if error or v.text(run.get("status")) == "error" else 0,
        attributes={key: str(value) for key, value in attributes.items() if value is not None},
        scope="langsmith",
        line=told.line,
    )


def _call(run: Mapping[str, Any], start: int, end: int) -> dict[str, object]:
    """Attributes of a model call."""
    outputs, metadata = v.mapping(run.get("outputs")), v.mapping(v.at(run, "extra", "metadata"))
    used = v.mapping(v.first(outputs.get("usage_metadata"), v.at(outputs, "llm_output", "token_usage"), {}))
    tokens_in = v.integer(v.first(used.get("input_tokens"), used.get("prompt_tokens"), run.get("prompt_tokens")))
    tokens_out = v.integer(
        v.first(used.get("output_tokens"), used.get("completion_tokens"), run.get("completion_tokens"))
    )
    reads, writes = (v.integer(v.at(used, "input_token_details", name)) for name in ("cache_read", "cache_creation"))
    cost = v.number(run.get("total_cost"))
    choices = v.listing(outputs.get("choices"))
    first = _first_token(run)
    is_streamed = first is not None and start < first and (not end or first < end)
    stated_stream = v.flag(v.at(run, "inputs", "stream"))
    return {
        "gen_ai.response.model": v.first(v.text(outputs.get("model")), v.text(metadata.get("ls_model_name"))),
        "gen_ai.request.model": v.first(v.text(v.at(run, "inputs", "model")), v.text(metadata.get("ls_model_name"))),
        "gen_ai.provider.name": v.provider(metadata.get("ls_provider")),
        "gen_ai.response.id": v.text(outputs.get("id")),
        "gen_ai.usage.input_tokens": tokens_in,
        "gen_ai.usage.output_tokens": tokens_out,
        "gen_ai.usage.cache_read.input_tokens": reads,
        "gen_ai.usage.cache_creation.input_tokens": writes,
        "gen_ai.usage.reasoning.output_tokens": v.integer(v.at(used, "output_token_details", "reasoning")),
        "gen_ai.response.finish_reasons": v.finish_reason(v.at(choices[0], "finish_reason")) if choices else None,
        "gen_ai.cost.total_cost": format(cost, "f") if cost and v.stated_cost(cost, tokens_in, tokens_out) else None,
        "gen_ai.response.time_to_first_chunk": format(v.seconds(first - start), "f") if is_streamed and first else None,
        "gen_ai.request.stream": "true"
        if is_streamed
        else None
        if stated_stream is None
        else str(stated_stream).lower(),
    }


def _first_token(run: Mapping[str, Any]) -> int | None:
    """The instant of the first token, framing chunks that carry only the role left out."""
    stated = v.instant_ns(run.get("first_token_time"))
    if stated is not None:
        return stated
    events = [event for event in v.listing(run.get("events")) if v.at(event, "name") == "new_token"]
    told = [event for event in events if not _is_framing(event)] or events
    return v.instant_ns(v.at(told[0], "time")) if told else None


def _is_framing(event: object) -> bool:
    """Whether a chunk of the OpenAI kind has neither text nor a tool call in it."""
    choices = v.listing(v.at(event, "kwargs", "token", "choices"))
    delta = v.mapping(v.at(choices[0], "delta")) if choices else {}
    if not delta:
        return False
    return not any(value for key, value in delta.items() if key not in ("role", "refusal"))


def _identity(run: Mapping[str, Any]) -> dict[str, object]:
    metadata = v.mapping(v.at(run, "extra", "metadata"))
    is_root = not v.text(run.get("parent_run_id"))
    sessions = (metadata.get(name) for name in ("session_id", "thread_id", "conversation_id"))
    return {
        "user.id": v.identity(v.first(metadata.get("user_id"), metadata.get("user"))),
        "session.id": v.first(*map(v.identity, sessions)),
        "tenant.id": v.identity(v.first(metadata.get("tenant_id"), metadata.get("tenant"))),
        "scenario": v.text(metadata.get("scenario")),
        "langsmith.trace.name": v.text(run.get("name")) if is_root else None,
    }


REDUNDANT = (  # of the SDK, and of the answer what usage and choices say
    *("*dotted_order", "*extra.runtime", "*.extra.metadata.ls_method", "*.extra.metadata.ls_model_type", "*serialized"),
    *("*outputs.choices.index", "*outputs.choices.logprobs", "*outputs.created", "*outputs.object"),
    *(
        "*outputs.system_fingerprint",
        "*outputs.service_tier",
        "*total_tokens",
        "*events.kwargs.token.*",
        "*attachments",
    ),
    *("*session_name", "*inputs.extra_*", "*inputs.stream_options", "post.events", "post.extra"),
)


FORMAT = Format(
    name="langsmith",
    title="LangSmith runs",
    says="runs as exported, or as the SDK sends them",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
