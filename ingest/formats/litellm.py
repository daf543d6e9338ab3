"""LiteLLM: rows of the spend log (table dump as JSON, JSON lines or CSV) and payloads of the logging callback.

Input: one row per call through the proxy. Output: RawRequest, seen at the gateway.
Source: format page, 5.4. Times come as naive text (UTC), text with offset, or epoch seconds. `completionStartTime`
equal to `endTime` means not streamed. `response_time` is not read: versions disagree on its meaning. A replay from
the response cache made no tokens and costs nothing. `metadata` and others are JSON in text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawNote, RawReject, RawRow, RowReader, Source
from ingest.formats.csv_rows import csv_rows
from ingest.formats.heads import Cells
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time, usage, with_cached
from ingest.selection import zone_of

EMBEDDINGS = ("embedding", "aembedding")
USERS = ("user_api_key_end_user_id", "user_api_key_user_id")
OPENED = ("metadata", "hidden_params")  # which some sinks write as JSON in text
CLOCKS = ("startTime", "completionStartTime", "endTime")


def sniff(head: Head) -> float:
    keys = set(head.columns) | head.keys
    keys |= {key.removeprefix("data.") for key in keys}
    if "startTime" not in keys or not keys & {"call_type", "request_id"}:
        return 0.0
    return 0.96 if keys & {"spend", "response_cost"} and keys & {"call_type", "completionStartTime"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    zone = zone_of(source.timezone)
    is_naive = False
    for item in _entries(source, head):
        if isinstance(item, RawReject):
            yield item
            continue
        is_naive = is_naive or v.is_naive(item[0].get("startTime"))
        yield _request(*item, zone)
    if is_naive:
        yield RawNote(v.naive_note(source.timezone))


Entry = tuple[Mapping[str, Any], int, int | None, bytes | str | Cells]


def _entries(source: Source, head: Head) -> Iterator[Entry | RawReject]:
    """Rows with line, offset and raw text, of whatever layout."""
    if head.shape == "csv":
        for cells in csv_rows(source, head.delimiter, opened=OPENED):
            yield cells if isinstance(cells, RawReject) else (cells.value, cells.line, cells.offset, cells.text)
        return
    paths = (("data", "[]"),) if "data" in head.keys and "startTime" not in head.keys else ()
    for row in json_rows(source, *paths, opened=OPENED):
        yield row if isinstance(row, RawReject) else (row.value, row.line, row.offset, row.data)


def _request(row: Mapping[str, Any], line: int, offset: int | None, raw: bytes | str | Cells, zone: tzinfo) -> RawRow:
    metadata = v.mapping(row.get("metadata"))
    status, http, error_type = _outcome(row, metadata)
    is_cached = v.flag(row.get("cache_hit")) is True
    tokens = _tokens(row, metadata, is_failed=status != "ok")
    start, first, end = (v.instant_ns(row.get(key), zone=zone) for key in CLOCKS)
    overhead = v.duration_ns(v.at(row, "hidden_params", "litellm_overhead_time_ms"), "ms")
    if is_cached and start is not None and end is not None:
        overhead = end - start  # no model was asked
    streaming = v.flag(row.get("stream"))
    times = Times(
        started_ns=start,
        ended_ns=end,
        ttft_ns=first - start if first is not None and start is not None else None,
        streaming=streaming,
        output_tokens=v.integer(tokens.get("output_tokens")),
        stages={"gateway_ns": overhead if overhead is not None and overhead >= 0 else None},
    )
    cost = v.first(v.pico_usd(row.get("spend")), v.pico_usd(row.get("response_cost")))
    if cost == 0 and v.total(tokens["input_tokens"], tokens["output_tokens"]):
        cost = None
    columns = timed(times, status) | _identity(row, metadata)
    flags = [*columns["flags"], *tokens.pop("flags")]
    return checked(
        columns
        | tokens
        | {
            "flags": flags,
            "vantage": "gateway",
            "status_class": status,
            "http_status": http,
            "error_type": error_type,
            "finish_reason": _finish(row),
            "response_cached": True if is_cached else None,
            "attempts": retries + 1 if (retries := v.integer(metadata.get("attempted_retries"))) else None,
            "degraded": True if v.integer(metadata.get("attempted_fallbacks")) else None,
            "source_cost_usd": cost,
        },
        line=line,
        offset=offset,
        raw=raw,
        unread=unread_time(row, dict.fromkeys(CLOCKS, v.instant_ns)),
    )


def _tokens(row: Mapping[str, Any], metadata: Mapping[str, Any], *, is_failed: bool) -> dict[str, Any]:
    """Token columns: counts of the row, parts from the usage object; zeros of a failure are unknown counts."""
    stated = usage(v.first(v.at(metadata, "usage_object"), v.at(row, "response", "usage")))
    found: dict[str, Any] = dict(stated)
    for column, key in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        count = v.integer(row.get(key))
        found[column] = count if count is not None else stated[column]
    if is_failed and not found["output_tokens"] and not found["input_tokens"]:
        found |= {"input_tokens": None, "output_tokens": None}
    return with_cached(found)


def _outcome(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[str, int | None, str | None]:
    """Status class, HTTP status and error class."""
    stated = (v.text(row.get("status")) or v.text(metadata.get("status")) or "success").lower()
    error = v.mapping(v.first(row.get("error_information"), metadata.get("error_information")))
    code, name = v.integer(error.get("error_code")), v.text(error.get("error_class"))
    if stated in ("success", "ok") and not (code and code >= 400):
        return "ok", None, None
    http = code if code and 100 <= code <= 599 else None
    by_name = v.status_of_error(name)
    status = v.status_of_http(http)
    return (by_name if status in (None, "ok") or by_name == "timeout" else status or by_name), http, name


def _identity(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    route = v.first(v.text(metadata.get("user_api_key_request_route")), v.text(metadata.get("request_route")))
    tags = [v.clean(str(tag)) for tag in v.listing(row.get("request_tags")) if isinstance(tag, str)]
    provider_model = v.text(v.at(row, "hidden_params", "litellm_model_name"))
    return {
        "request_id": v.first(v.text(row.get("request_id")), v.text(row.get("id"))),
        "model": v.text(row.get("model")) or provider_model,
        "requested_model": v.first(v.text(row.get("model_group")), v.text(row.get("model"))),
        "provider": v.provider(row.get("custom_llm_provider")),
        "user": v.first(*map(v.identity, (*map(row.get, ("end_user", "user")), *map(metadata.get, USERS)))),
        "tenant": v.first(
            v.identity(row.get("team_id")),
            v.identity(metadata.get("user_api_key_team_id")),
            v.identity(metadata.get("user_api_key_team_alias")),
            v.identity(row.get("api_key")),
            v.identity(metadata.get("user_api_key_hash")),
        ),
        "session": v.first(v.identity(row.get("session_id")), v.identity(row.get("trace_id"))),
        "scenario": v.first(v.text(row.get("scenario")), next((tag for tag in tags if "User-Agent" not in tag), None)),
        "route": route,
        "replica": v.text(row.get("model_id")),
        "attributes": extra(call_type=v.text(row.get("call_type")), tags=tags),
    }


def _finish(row: Mapping[str, Any]) -> str | None:
    choices = v.listing(v.at(row, "response", "choices"))
    return v.finish_reason(v.at(choices[0], "finish_reason")) if choices else None


REDUNDANT = (  # repetitions of what stands beside, keys of the cache, and `response_time`, on which versions disagree
    *("*total_tokens", "response_time", "*api_base", "*cache_key", "saved_cache_cost", "*model_map_information"),
    *("hidden_params.model_id", "hidden_params.response_cost", "hidden_params.additional_headers", "error_str"),
    *("error_information.llm_provider", "error_information.traceback", "*proxy_server_request", "*_debug_info"),
    *("response.id", "response.model", "response.object", "response.created", "response.system_fingerprint"),
    *("response.choices.index", "metadata.status"),
)


FORMAT = Format(
    name="litellm",
    title="LiteLLM spend logs and callback payloads",
    says="one row per call through the proxy, as JSON, JSON lines or CSV",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
