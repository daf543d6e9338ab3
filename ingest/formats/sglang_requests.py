"""SGLang: request metrics log of the server.

Input: one JSON object a line; `request_parameters` is JSON in text, figures stand at the top or in `meta_info`.
Output: RawRequest, seen at the server, with queue and prefill.
Source: format page, 5.10 (from the specification). Times are Unix seconds, durations seconds; the time after
`request_finished_ts` until the answer left is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time
from ingest.formats.unread import merged

CLOCKS = dict.fromkeys(("request_received_ts", "request_finished_ts", "response_sent_to_client_ts"), v.instant_ns)


def sniff(head: Head) -> float:
    keys = head.keys | {key.removeprefix("meta_info.") for key in head.keys}
    if "request_parameters" in keys and "meta_info" in keys:
        return 0.95
    return 0.93 if keys & {"forward_entry_time", "api_server_dispatch_finish_ts", "response_sent_to_client_ts"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
        else:
            yield checked(
                _columns(row.value),
                line=row.line,
                offset=row.offset,
                raw=row.data,
                unread=unread_time(merged(v.mapping(row.value.get("meta_info")), row.value), CLOCKS),
            )


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    figures = merged(v.mapping(row.get("meta_info")), row)
    parameters = v.mapping(row.get("request_parameters"))
    received, entered, prefilled, finished, sent = (
        v.instant_ns(figures.get(name), "s")
        for name in (
            "request_received_ts",
            "forward_entry_time",
            "prefill_finished_time",
            "request_finished_ts",
            "response_sent_to_client_ts",
        )
    )
    tokens_out = v.integer(figures.get("completion_tokens"))
    finish = v.mapping(figures.get("finish_reason")) or {"type": figures.get("finish_reason")}
    status, error = _outcome(finish)
    post = sent - finished if sent is not None and finished is not None and sent >= finished else None
    e2e = v.duration_ns(figures.get("e2e_latency"), "s")
    ended = sent if sent is not None else finished
    times = Times(
        started_ns=received,
        ended_ns=ended if received is not None and ended is not None and ended >= received else None,
        e2e_ns=e2e + (post or 0) if e2e is not None else None,
        ttft_ns=v.duration_ns(figures.get("first_token_latency"), "s"),
        last_token_ns=e2e,
        streaming=v.flag(parameters.get("stream")),
        output_tokens=tokens_out,
        is_served=True,
        stages={
            "queue_ns": v.duration_ns(figures.get("queue_time"), "s"),
            "prefill_ns": _between(entered, prefilled),
            "postprocess_ns": post,
        },
    )
    model = v.first(v.text(parameters.get("model")), v.text(figures.get("model")))
    return timed(times, status) | {
        "vantage": "server",
        "status_class": status,
        "error_type": error,
        "request_id": v.first(v.text(figures.get("id")), v.text(parameters.get("rid"))),
        "model": model,
        "requested_model": model,
        "user": v.identity(parameters.get("user")),
        "finish_reason": v.finish_reason(finish.get("type")),
        "input_tokens": v.integer(figures.get("prompt_tokens")),
        "cached_input_tokens": v.integer(figures.get("cached_tokens")),
        "output_tokens": tokens_out,
        "attributes": extra(weight_version=v.text(figures.get("weight_version"))),
    }


def _between(start: int | None, end: int | None) -> int | None:
    return end - start if start is not None and end is not None and end >= start else None


def _outcome(finish: Mapping[str, Any]) -> tuple[str, str | None]:
    """Status and error of a finish reason; an abort with a status code is the server's, without one the client's."""
    if v.text(finish.get("type")) != "abort":
        return "ok", None
    code = v.integer(finish.get("status_code"))
    return v.status_of_http(code) or "cancelled", v.first(v.text(finish.get("err_type")), "abort")


REDUNDANT = ("*api_server_dispatch_finish_ts",)


FORMAT = Format(
    name="sglang_requests",
    title="SGLang request metrics log",
    says="one line per request of the server, with queue and prefill",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
