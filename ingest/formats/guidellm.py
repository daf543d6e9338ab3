"""GuideLLM: benchmark reports of both layouts.

Input: `{"metadata", "args", "benchmarks": [{"config", "requests": {"successful", "errored", "incomplete"}}]}`, one
document on one line of 4 kB a request, read request by request. Output: RawRequest, seen at the client.
Source: format page, 5.7. Times are Unix seconds in `info.timings`; E2E is end - start, TTFT first token - start.
The tool's `time_per_output_token_ms` contains the first token and is not read. `queued` to `request_start` is time in
the load generator, `targeted_start` is one value for all in some runs: neither is arrival or queue. Requests in
`incomplete` were cut off by the end of the run: cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RawRun, RowReader, Source
from ingest.formats.json_rows import json_rows
from ingest.formats.request_rows import FROM_SEND, Times, checked, extra, timed, unread_time

STATUS = {"successful": "ok", "errored": "error", "incomplete": "cancelled"}
CLOCKS = dict.fromkeys(("request_start", "request_end", "first_token_iteration", "last_token_iteration"), v.instant_ns)
OLD_CLOCKS = dict.fromkeys(("request_start_time", "request_end_time"), v.instant_ns)


def sniff(head: Head) -> float:
    return 0.95 if "benchmarks" in head.keys and head.keys & {"metadata", "args", "config"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    shared: dict[object, dict[str, Any]] = {}
    models: list[str | None] = []
    runs: dict[object, int | None] = {}
    with_requests: set[object] = set()
    measured = ("benchmarks", "[]", "scheduler_metrics")
    for row in json_rows(source.looked_ahead, ("benchmarks", "[]", "config"), measured, ("args",)):
        if isinstance(row, RawReject):
            continue  # the second reading tells it
        if row.path == ("args",):
            models.append(_model(row.value))
        elif row.path[2] == "scheduler_metrics":
            runs[row.document, row.path[1]] = _measured_ns(row.value)
        else:
            shared[row.document, row.path[1]] = {"scenario": _scenario(row.value), "model": _model(row.value)}
    for row in json_rows(source, ("benchmarks", "[]", "requests", "*", "[]")):
        if isinstance(row, RawReject):
            yield row
            continue
        group = str(row.path[3])
        if group not in STATUS:
            continue  # `total` of some versions repeats the others
        with_requests.add((row.document, row.path[1]))
        columns = _columns(row.value, STATUS[group]) | shared.get((row.document, row.path[1]), {})
        columns["model"] = v.first(_body_model(row.value), columns.get("model"), *models)
        columns["requested_model"] = columns["model"]
        timings = v.mapping(v.at(row.value, "info", "timings"))
        unread = unread_time(timings, CLOCKS) or unread_time(row.value, OLD_CLOCKS)
        yield checked(columns, line=row.line, offset=row.offset, raw=row.data, unread=unread)
    for run in with_requests:
        yield RawRun(runs.get(run))
    yield FROM_SEND


def _columns(request: Mapping[str, Any], status: str) -> dict[str, Any]:
    timings = v.mapping(v.at(request, "info", "timings"))
    start, first, last, end = (
        v.instant_ns(v.first(timings.get(name), request.get(other)), "s")
        for name, other in (
            ("request_start", "request_start_time"),
            ("first_token_iteration", "first_token_time"),
            ("last_token_iteration", "last_token_time"),
            ("request_end", "request_end_time"),
        )
    )
    iterations = v.integer(timings.get("token_iterations"))
    is_streamed = iterations is None or iterations > 1
    tokens_out = v.integer(v.first(request.get("output_tokens"), v.at(request, "output_metrics", "total_tokens")))
    message = v.first(v.text(v.at(request, "info", "error")), v.text(request.get("error")))
    if status == "error":
        status = v.status_of_error(message)
    is_timed = start is not None and is_streamed
    times = Times(
        started_ns=start,
        ended_ns=end,
        ttft_ns=first - start if is_timed and first is not None and start is not None else None,
        last_token_ns=last - start if is_timed and last is not None and start is not None else None,
        streaming=is_streamed if first is not None else None,
        output_tokens=tokens_out,
    )
    queued = v.instant_ns(timings.get("queued"), "s")
    return timed(times, status) | {
        "request_id": v.first(v.text(request.get("request_id")), v.text(v.at(request, "info", "request_id"))),
        "session": v.text(v.at(request, "info", "conversation_id")),
        "vantage": "client",
        "status_class": status,
        "error_type": v.error_name(message),
        "input_tokens": v.integer(
            v.first(request.get("prompt_tokens"), v.at(request, "input_metrics", "total_tokens"))
        ),
        "cached_input_tokens": v.integer(request.get("cached_tokens")),
        "output_tokens": tokens_out,
        "attributes": extra(
            response_id=v.text(request.get("response_id")),
            generator_wait_ns=start - queued if start is not None and queued is not None else None,
        ),
    }


def _measured_ns(metrics: Mapping[str, Any]) -> int | None:
    """How long a benchmark was measured, warm-up and cool-down left out, as the tool divides its rates by."""
    first, last = (v.instant_ns(metrics.get(f"measure_{edge}_time"), "s") for edge in ("start", "end"))
    return last - first if first is not None and last is not None else None


def _scenario(config: Mapping[str, Any]) -> str | None:
    strategy = v.mapping(v.first(config.get("strategy"), config.get("spec"), config.get("profile")))
    kind = v.first(*(v.text(strategy.get(key)) for key in ("type_", "kind", "type")))
    rate = v.text(strategy.get("rate"))
    concurrency = v.first(*(v.text(strategy.get(key)) for key in ("streams", "max_concurrency", "concurrency")))
    parts = (kind, f"rate {rate}" if rate else None, f"concurrency {concurrency}" if concurrency else None)
    return ", ".join(part for part in parts if part) or None


def _model(config: Mapping[str, Any]) -> str | None:
    places = (v.at(config, "backend", "model"), v.at(config, "backend_kwargs", "model"), config.get("model"))
    return next((model for model in map(v.text, places) if model), None)


def _body_model(request: Mapping[str, Any]) -> str | None:
    return v.text(v.at(request, "request_args", "body", "model"))


REDUNDANT = (  # figures that follow from those which are read, moments of the generator, sizes of texts
    *("info.status", "info.traceback", "info.scheduler_*", "info.started_at", "info.completed_at", "info.turn_index"),
    *("info.timings.dequeued", "info.timings.finalized", "info.timings.*_request_iteration", "info.timings.resolve_*"),
    *("info.timings.request_iterations", "info.timings.scheduled_at", "info.timings.targeted_start"),
    *("*put_metrics.text_*", "*put_metrics.audio_*", "*put_metrics.image_*", "*put_metrics.video_*"),
    *("request_latency", "inter_token_latency_ms", "time_to_first_token_ms", "time_per_output_token_ms"),
    *("*tokens_per_*", "total_tokens", "type_"),
)


FORMAT = Format(
    name="guidellm",
    title="GuideLLM benchmark report",
    says="requests of a load test with client-side timings, by strategy",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
