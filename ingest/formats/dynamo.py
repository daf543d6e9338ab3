"""Dynamo: request trace of its frontend.

Input: JSON lines `{"timestamp", "event": {"schema", "event_type", "request", "agent_context"}}`. Output: RawRequest of
every `request_end`, seen at the server, with queue and prefill; other event types are no requests.
Source: format page, 5.10 (from the specification). `timestamp` counts from the opening of the sink and is never a
date; `request_received_ms` is Unix time. Decode is not stated and not derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import json_rows, reject
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time

SCHEMAS = (b"dynamo.request.trace.", b"dynamo.agent.trace.")
CLOCKS = {"request_received_ms": v.instant_ns}


def sniff(head: Head) -> float:
    return 0.96 if "event.schema" in head.keys and any(schema in head.data for schema in SCHEMAS) else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
            continue
        event = v.mapping(row.value.get("event"))
        if event.get("event_type") != "request_end" or not v.mapping(event.get("request")):
            yield reject("not_a_request", row.line, row.offset, row.data)
            continue
        unread = unread_time(v.mapping(event.get("request")), CLOCKS)
        yield checked(_columns(event), line=row.line, offset=row.offset, raw=row.data, unread=unread)


def _columns(event: Mapping[str, Any]) -> dict[str, Any]:
    request, agent = v.mapping(event.get("request")), v.mapping(event.get("agent_context"))
    tokens_out = v.integer(request.get("output_tokens"))
    error = v.first(v.text(request.get("error")), v.text(request.get("error_type")))
    status = v.status_of_error(error) if error else "ok"
    ended = v.instant_ns(event.get("event_time_unix_ms"), "ms")
    times = Times(
        started_ns=v.instant_ns(request.get("request_received_ms"), "ms"),
        ended_ns=ended if request.get("total_time_ms") is None else None,
        e2e_ns=v.duration_ns(request.get("total_time_ms"), "ms"),
        ttft_ns=v.duration_ns(request.get("ttft_ms"), "ms"),
        output_tokens=tokens_out,
        is_served=True,
        stages={
            "queue_ns": v.duration_ns(request.get("prefill_wait_time_ms"), "ms"),
            "prefill_ns": v.duration_ns(request.get("prefill_time_ms"), "ms"),
        },
    )
    model = v.text(request.get("model"))
    return timed(times, status) | {
        "vantage": "server",
        "status_class": status,
        "error_type": error,
        "request_id": v.first(v.text(request.get("x_request_id")), v.text(request.get("request_id"))),
        "model": model,
        "requested_model": model,
        "session": v.identity(agent.get("session_id")),
        "scenario": v.text(agent.get("session_type_id")),
        "replica": _worker(request.get("worker")),
        "input_tokens": v.integer(request.get("input_tokens")),
        "cached_input_tokens": v.integer(request.get("cached_tokens")),
        "output_tokens": tokens_out,
        "queue_depth": v.real(request.get("queue_depth")),
        "finish_reason": v.finish_reason(request.get("finish_reason")),
        "attributes": extra(
            engine_request_id=v.text(request.get("request_id")), kv_hit_rate=v.real(request.get("kv_hit_rate"))
        ),
    }


def _worker(worker: object) -> str | None:
    """Name of the worker that decoded, where several served."""
    if not isinstance(worker, dict):
        return v.text(worker)
    names = ("decode_worker_id", "worker_id", "prefill_worker_id", "instance_id")
    return next((found for found in (v.text(worker.get(name)) for name in names) if found), None)


REDUNDANT = ("timestamp", "event.schema", "event.event_time_unix_ms", "event.request.avg_itl_ms")


FORMAT = Format(
    name="dynamo",
    title="Dynamo request trace",
    says="one event per request of the frontend, with queue and prefill",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
