"""AIPerf: records of a profile run, one line per request, in the older and the newer schema.

Input: JSON lines with `metadata`, `metrics`, `error`. Output: RawRequest, seen at the client.
Source: format page, 5.5. Times in `metadata` are Unix nanoseconds; metrics carry their unit. `request_latency` and
end - start are two clocks up to 0.25 ms apart: E2E is the former, as in the tool's own percentiles. The time to the
response headers is an upper bound of the network. Warm-up records are load, not result: set apart as not_a_request.
Cancelled requests (code 499) have no latencies. Chunks are not tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, Refusal, RowReader, Source
from ingest.formats.json_rows import json_rows, reject
from ingest.formats.request_rows import FROM_SEND, Times, checked, extra, gap_columns, timed, unread_time

MEASURED_PHASE = "profiling"
_UNITS: Mapping[str, v.Unit] = {"ns": "ns", "us": "us", "ms": "ms", "s": "s", "sec": "s", "nanoseconds": "ns"}
CLOCKS = dict.fromkeys(("request_start_ns", "timestamp_ns", "request_end_ns"), v.instant_ns)


def sniff(head: Head) -> float:
    marks = {"metadata.worker_id", "metadata.x_request_id", "metadata.benchmark_phase", "metadata.credit_phase"}
    return 0.96 if {"metadata", "metrics"} <= head.keys and marks & head.keys else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
            continue
        metadata, error = v.mapping(row.value.get("metadata")), row.value.get("error")
        phase = v.first(v.text(metadata.get("benchmark_phase")), v.text(metadata.get("credit_phase")))
        if phase not in (None, MEASURED_PHASE) or not metadata:
            yield reject("not_a_request", row.line, row.offset, row.data)
            continue
        columns = _columns(metadata, v.mapping(row.value.get("metrics")), error)
        unread = unread_time(metadata, CLOCKS)
        yield checked(columns, line=row.line, offset=row.offset, raw=row.data, unread=unread)
    yield FROM_SEND


def _columns(metadata: Mapping[str, Any], metrics: Mapping[str, Any], error: object) -> dict[str, Any]:
    status, http, error_type = _outcome(metadata, error)
    start = v.instant_ns(v.first(metadata.get("request_start_ns"), metadata.get("timestamp_ns")), "ns")
    acknowledged = v.instant_ns(metadata.get("request_ack_ns"), "ns")
    issued = v.instant_ns(metadata.get("credit_issued_ns"), "ns")
    ttft = v.first(_duration(metrics, "time_to_first_token"), _duration(metrics, "ttft"))
    tokens_out = _count(metrics, "output_sequence_length")
    network = acknowledged - start if acknowledged is not None and start is not None else None
    is_ok = status == "ok"
    times = Times(
        started_ns=start,
        ended_ns=v.instant_ns(metadata.get("request_end_ns"), "ns") if is_ok else None,
        e2e_ns=_duration(metrics, "request_latency"),
        ttft_ns=ttft,
        streaming=True if ttft is not None else None,
        output_tokens=tokens_out,
        stages={"network_ns": network if is_ok and network is not None and network >= 0 else None},
    )
    first_answer = _duration(metrics, "time_to_first_output_token")
    gaps = v.at(metrics, "inter_chunk_latency", "value")
    unit = _UNITS.get(v.text(v.at(metrics, "inter_chunk_latency", "unit")) or "ms", "ms")
    return (
        timed(times, status)
        | gap_columns((v.duration_ns(gap, unit) for gap in gaps) if isinstance(gaps, list) else (), "chunk")
        | {
            "request_id": v.text(metadata.get("x_request_id")),
            "session": v.first(v.text(metadata.get("x_correlation_id")), v.text(metadata.get("conversation_id"))),
            "vantage": "client",
            "ttfa_ns": first_answer if first_answer and first_answer > 0 else None,
            "input_tokens": _count(metrics, "input_sequence_length"),
            "output_tokens": tokens_out,
            "reasoning_tokens": _count(metrics, "reasoning_token_count"),
            "status_class": status,
            "http_status": http,
            "error_type": error_type,
            "attributes": extra(
                conversation_id=v.text(metadata.get("conversation_id")),
                turn_index=v.integer(metadata.get("turn_index")),
                worker_id=v.text(metadata.get("worker_id")),
                send_delay_ns=start - issued if start is not None and issued is not None else None,
            ),
        }
    )


def _outcome(metadata: Mapping[str, Any], error: object) -> tuple[str, int | None, str | None]:
    if error in (None, "", {}) and v.flag(metadata.get("was_cancelled")) is not True:
        return "ok", None, None
    code, name = v.integer(v.at(error, "code")), v.text(v.at(error, "type"))
    http = code if code is not None and 100 <= code <= 599 else None
    status = v.status_of_http(http)
    if v.flag(metadata.get("was_cancelled")) is True:
        status = "cancelled"
    return status if status not in (None, "ok") else v.status_of_error(name), http, name


def _duration(metrics: Mapping[str, Any], name: str) -> int | None:
    unit = _UNITS.get(v.text(v.at(metrics, name, "unit")) or "ms")
    found = v.duration_ns(v.at(metrics, name, "value"), unit) if unit else None
    return found if found != 0 else None


def _count(metrics: Mapping[str, Any], name: str) -> int | None:
    return v.integer(v.at(metrics, name, "value"))


def sniff_summary(head: Head) -> float:
    if "metadata" in head.keys and "metrics" in head.keys:
        return 0.0
    is_summary = "input_config" in head.keys or {"request_throughput", "request_latency"} <= head.keys
    return 0.9 if is_summary and "backend" not in head.keys else 0.0


REDUNDANT = (  # figures that follow from those which are read, and marks of the tool's own processes
    *("metadata.record_processor_id", "metadata.cancellation_time_ns", "metadata.session_num"),
    *("metrics.*_length.unit", "metrics.*_count.unit", "metrics.inter_token_latency", "metrics.*throughput*"),
    *("metrics.output_token_count", "metrics.time_to_second_token", "metrics.ttst", "metrics.request_count"),
    *("metrics.error_request_count", "metrics.min_request_timestamp", "metrics.max_response_timestamp"),
)


FORMAT = Format(
    name="aiperf",
    title="AIPerf profile export",
    says="one line per request of a load test, with client-side latencies",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)

SUMMARY = Format(
    name="aiperf_summary",
    title="AIPerf summary",
    says="percentiles of a run without its requests; refused",
    sniff=sniff_summary,
    reader=Refusal(
        lambda head: (
            f"{head.name} is an AIPerf summary: it has percentiles but no requests. "
            "Load profile_export.jsonl of the same run"
        )
    ),
)
