"""Response bodies that carry stage timings: Groq, Cerebras, Ollama, llama.cpp, vLLM.

Input: captured bodies, bare or wrapped as `{host, status, stream, date, response}`. Output: RawRequest, seen at the
server; the only bodies with queue, prefill and decode.
Source: format page, 5.13. Groq's `total_time` is without the queue, Cerebras' with it; Ollama counts nanoseconds and
its `created_at` is the end; vLLM's first token counts from scheduling, so the queue is added. `created` is whole
seconds and flagged as approximate. An id that a service gives to every answer is no id. The figures of an answer
that sums up inner calls (`usage_breakdown`) are told per call; its first token is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import Row, json_rows, reject
from ingest.formats.request_rows import Times, checked, gap_columns, timed, unread_time, usage, with_cached

CONSTANT_IDS = ("stub",)
MARKS = ("usage.queue_time", "x_groq", "time_info", "eval_duration", "timings.prompt_ms", "metrics.queue_time_ms")
CLOCKS = dict.fromkeys(("created", "created_at"), v.instant_ns)


def sniff(head: Head) -> float:
    keys = head.keys | {key.removeprefix("response.") for key in head.keys}
    is_body = keys & {"usage", "eval_count", "created_at", "timings", "x_groq", "time_info"}
    if is_body and any(mark in keys for mark in MARKS):
        return 0.93
    has_inner = "x_groq.usage" in keys or b'"queue_time"' in head.data
    return 0.9 if is_body and has_inner and "spans" not in keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        yield row if isinstance(row, RawReject) else _request(row)


def _request(row: Row) -> RawRow:
    wrapper = row.value if isinstance(row.value.get("response"), dict) else {}
    body: dict[str, Any] = wrapper.get("response") or row.value
    http = v.integer(wrapper.get("status"))
    status = v.status_of_http(http) or "ok"
    stated_stream = v.flag(wrapper.get("stream"))
    is_chunk = v.text(body.get("object")) == "chat.completion.chunk"
    streaming = stated_stream if stated_stream is not None else True if is_chunk else None
    told = _ollama(body, wrapper) or _timed_usage(body) or _llama_cpp(body) or _vllm(body)
    if told is None:
        return reject("not_a_request", row.line, row.offset, row.data)
    times, columns = told
    inner = _inner_calls(body)
    made = timed(_with(times, streaming=streaming, is_split=len(inner) > 1), status)
    flags = [*made["flags"], *columns.pop("flags")]
    identifier = v.text(body.get("id"))
    columns |= {
        "flags": flags,
        "vantage": "server",
        "status_class": status,
        "http_status": http,
        "request_id": None if identifier in CONSTANT_IDS else identifier,
        "model": v.text(body.get("model")),
        "requested_model": v.text(body.get("model")),
        "provider": _provider(body, wrapper),
        "finish_reason": _finish(body),
        "service_tier": _tier(body),
        "llm_calls": max(len(inner), 1),
    }
    if len(inner) > 1:
        columns |= _generation_of_several(made, columns, len(inner))
    calls = inner if len(inner) > 1 else ()
    unread = unread_time(body, CLOCKS)
    return checked(made | columns, line=row.line, offset=row.offset, raw=row.data, calls=calls, unread=unread)


Told = tuple[Times, dict[str, Any]]


def _with(times: Times, *, streaming: bool | None, is_split: bool) -> Times:
    return Times(
        started_ns=times.started_ns,
        ended_ns=times.ended_ns,
        e2e_ns=times.e2e_ns,
        ttft_ns=None if is_split else times.ttft_ns,
        streaming=streaming,
        output_tokens=times.output_tokens,
        is_served=True,
        stages=times.stages,
    )


def _timed_usage(body: Mapping[str, Any]) -> Told | None:
    """Groq, whose times stand in the usage, and Cerebras, whose times stand beside it; seconds."""
    info = v.mapping(body.get("time_info"))
    stated = v.mapping(v.first(body.get("usage"), v.at(body, "x_groq", "usage")))
    figures = info or stated
    if not any(key in figures for key in ("queue_time", "prompt_time", "completion_time")):
        return None
    queue, prefill, decode, whole = (
        v.duration_ns(figures.get(key), "s") for key in ("queue_time", "prompt_time", "completion_time", "total_time")
    )
    tokens = with_cached(usage(stated))
    e2e = whole if info else v.total(queue, whole) if whole is not None else v.total(queue, prefill, decode)
    created = v.first(v.instant_ns(info.get("created"), "s"), v.instant_ns(body.get("created"), "s"))
    tokens["flags"] = [*tokens["flags"], *(["approximate_time"] if created is not None else [])]
    times = Times(
        started_ns=created,
        e2e_ns=e2e,
        ttft_ns=v.total(queue, prefill) if prefill is not None else None,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"queue_ns": queue, "prefill_ns": prefill, "decode_ns": decode},
    )
    return times, tokens


def _ollama(body: Mapping[str, Any], wrapper: Mapping[str, Any]) -> Told | None:
    """Ollama: nanoseconds; loading the model is a wait before the prompt; a cached prompt has no count."""
    if "total_duration" not in body and "eval_duration" not in body:
        return None
    whole, load, prefill, decode = (
        v.duration_ns(body.get(key), "ns")
        for key in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    )
    tokens_out = v.integer(body.get("eval_count"))
    ended = v.instant_ns(body.get("created_at"))
    times = Times(
        started_ns=ended - whole if ended is not None and whole is not None else None,
        ended_ns=ended,
        e2e_ns=whole,
        ttft_ns=v.total(load, prefill) if prefill is not None else None,
        output_tokens=tokens_out,
        stages={"queue_ns": load, "prefill_ns": prefill, "decode_ns": decode},
    )
    arrivals = [v.instant_ns(moment) for moment in v.listing(wrapper.get("chunk_created_at"))]
    gaps = [after - before for before, after in pairwise(arrivals) if before is not None and after is not None]
    return times, gap_columns(gaps, "chunk") | {
        "input_tokens": v.integer(body.get("prompt_eval_count")),
        "output_tokens": tokens_out,
        "flags": [],
    }


def _llama_cpp(body: Mapping[str, Any]) -> Told | None:
    """llama.cpp: `timings` in milliseconds, without queue."""
    timings = v.mapping(body.get("timings"))
    if "prompt_ms" not in timings and "predicted_ms" not in timings:
        return None
    prefill, decode = v.duration_ns(timings.get("prompt_ms"), "ms"), v.duration_ns(timings.get("predicted_ms"), "ms")
    tokens = with_cached(usage(body.get("usage")))
    cached, fresh = v.integer(timings.get("cache_n")), v.integer(timings.get("prompt_n"))
    tokens["input_tokens"] = v.first(tokens["input_tokens"], v.total(fresh, cached))
    tokens["output_tokens"] = v.first(tokens["output_tokens"], v.integer(timings.get("predicted_n")))
    tokens["cached_input_tokens"] = v.first(tokens.get("cached_input_tokens"), cached)
    created = v.instant_ns(body.get("created"), "s")
    tokens["flags"] = [*tokens["flags"], *(["approximate_time"] if created is not None else [])]
    times = Times(
        started_ns=created,
        e2e_ns=v.total(prefill, decode),
        ttft_ns=prefill,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"prefill_ns": prefill, "decode_ns": decode},
    )
    return times, tokens


def _vllm(body: Mapping[str, Any]) -> Told | None:
    """vLLM: `metrics` in milliseconds; its first token counts from scheduling, the queue stands apart."""
    metrics = v.mapping(body.get("metrics"))
    if "queue_time_ms" not in metrics and "time_to_first_token_ms" not in metrics:
        return None
    queue, prefill, decode = (
        v.duration_ns(metrics.get(key), "ms")
        for key in ("queue_time_ms", "time_to_first_token_ms", "generation_time_ms")
    )
    tokens = with_cached(usage(body.get("usage")))
    is_whole = None not in (queue, prefill)
    created = v.instant_ns(body.get("created"), "s")
    tokens["flags"] = [*tokens["flags"], *(["approximate_time"] if created is not None else [])]
    times = Times(
        started_ns=created,
        e2e_ns=v.total(queue, prefill, decode) if is_whole and decode is not None else None,
        ttft_ns=v.total(queue, prefill) if is_whole else None,
        output_tokens=v.integer(tokens["output_tokens"]),
        stages={"queue_ns": queue, "prefill_ns": prefill, "decode_ns": decode},
    )
    return times, tokens


def _inner_calls(body: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Rows of table calls of an answer that sums up several."""
    calls = []
    for model in v.listing(v.at(body, "usage_breakdown", "models")):
        figures = v.mapping(v.at(model, "usage"))
        call: dict[str, Any] = {**usage(figures)}
        calls.append(
            call
            | {
                "model": v.text(v.at(model, "model")),
                "queue_ns": v.duration_ns(figures.get("queue_time"), "s"),
                "prefill_ns": v.duration_ns(figures.get("prompt_time"), "s"),
                "decode_ns": v.duration_ns(figures.get("completion_time"), "s"),
                "status_class": "ok",
            }
        )
    return tuple({key: value for key, value in call.items() if value is not None} for call in calls)


def _generation_of_several(made: Mapping[str, Any], columns: Mapping[str, Any], n_calls: int) -> dict[str, Any]:
    """The decode time of several calls gives a TPOT only where there are more tokens than calls."""
    tokens_out = columns.get("output_tokens")
    if made.get("decode_ns") is None or not isinstance(tokens_out, int) or tokens_out <= n_calls:
        return {"generation_ns": None, "generation_basis": None}
    return {"generation_ns": made["decode_ns"], "generation_basis": "engine"}


def _provider(body: Mapping[str, Any], wrapper: Mapping[str, Any]) -> str | None:
    host = v.text(wrapper.get("host")) or ""
    for name in ("groq", "cerebras", "ollama"):
        if name in host:
            return name
    if "time_info" in body:
        return "cerebras"
    if "x_groq" in body:
        return "groq"
    return "ollama" if "eval_duration" in body or "total_duration" in body else None


def _tier(body: Mapping[str, Any]) -> str | None:
    found = v.text(body.get("service_tier"))
    return found if found in ("flex", "priority", "batch") else None


def _finish(body: Mapping[str, Any]) -> str | None:
    choices = v.listing(body.get("choices"))
    stated = v.at(choices[0], "finish_reason") if choices else body.get("done_reason")
    return v.finish_reason(stated)


REDUNDANT = ("*.done", "*choices.index", "*system_fingerprint", "*total_tokens", "*x_groq.id", "*x_groq.seed", "date")


FORMAT = Format(
    name="response_bodies",
    title="Response bodies with stage timings",
    says="captured answers of Groq, Cerebras, Ollama, llama.cpp or vLLM",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
