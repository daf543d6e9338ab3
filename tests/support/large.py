"""Large files of spans in every format that Python reads, for benchmarks: two spans a trace, one of them a model call.

Each file is one array, document or run of lines, as its tool exports it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

Json = dict[str, Any]
Write = Callable[[int, Path], None]

START_NS = 1_795_000_000_000_000_000
STEP_NS = 100_000_000
CALL_NS = 2_000_000_000
TRACES_OF_PART = 20_000  # of a table that is written in parts
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "lm-large",
    "gen_ai.usage.input_tokens": 1200,
    "gen_ai.usage.output_tokens": 240,
    "gen_ai.response.time_to_first_chunk": 0.4,
    "user.id": "u-7",
}


def _ids(number: int) -> tuple[str, str, str]:
    """Trace id, id of the root, id of the call."""
    trace = f"{number * 0x9E3779B97F4A7C15 % (1 << 128) | 1 << 127:032x}"
    return trace, f"{number * 2 + (1 << 62):016x}", f"{number * 2 + 1 + (1 << 62):016x}"


def _start(number: int) -> int:
    return START_NS + number * STEP_NS


def _iso(instant_ns: int) -> str:
    return datetime.fromtimestamp(instant_ns / 1e9, UTC).isoformat()


def _zipkin(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start, told = _start(number) // 1000, {key: str(value) for key, value in CALL.items()}
    own = {"serviceName": "gateway"}
    return [
        {"traceId": trace, "id": root, "name": "turn", "kind": "SERVER", "timestamp": start, "duration": CALL_NS // 500}
        | {"localEndpoint": own, "tags": {}},
        {"traceId": trace, "id": call, "parentId": root, "name": "chat", "kind": "CLIENT", "timestamp": start + 1000}
        | {"duration": CALL_NS // 1000, "localEndpoint": own, "tags": told},
        {"traceId": trace, "id": call, "parentId": root, "name": "chat", "kind": "SERVER", "timestamp": start + 2000}
        | {"duration": CALL_NS // 1100, "localEndpoint": {"serviceName": "engine"}, "shared": True},
    ]


def _jaeger(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = _start(number) // 1000
    tags = [{"key": key, "type": "string", "value": value} for key, value in CALL.items()]
    above = [{"refType": "CHILD_OF", "traceID": trace, "spanID": root}]
    shared: Json = {"traceID": trace, "processID": "p1", "logs": []}
    spans = [
        shared
        | {"spanID": root, "operationName": "turn", "references": [], "startTime": start, "duration": CALL_NS // 500}
        | {"tags": []},
        shared
        | {"spanID": call, "operationName": "chat", "references": above, "startTime": start + 1000}
        | {"duration": CALL_NS // 1000, "tags": tags},
    ]
    return [{"traceID": trace, "spans": spans, "processes": {"p1": {"serviceName": "gateway", "tags": tags[:1]}}}]


def _attributes(values: Mapping[str, object]) -> list[Json]:
    return [{"key": key, "value": {"stringValue": str(value)}} for key, value in values.items()]


def _tempo(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = _start(number)
    spans = [
        {"traceId": trace, "spanId": root, "name": "turn", "startTimeUnixNano": start}
        | {"endTimeUnixNano": start + 2 * CALL_NS},
        {"traceId": trace, "spanId": call, "parentSpanId": root, "name": "chat", "startTimeUnixNano": start + 10**6}
        | {"endTimeUnixNano": start + CALL_NS, "attributes": _attributes(CALL)},
    ]
    resource = {"attributes": _attributes({"service.name": "gateway"})}
    return [{"resource": resource, "scopeSpans": [{"scope": {"name": "app"}, "spans": spans}]}]


def _observation(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = _start(number)
    shared: Json = {"traceId": trace, "userId": "u-7", "metadata": {}, "level": "DEFAULT"}
    return [
        shared
        | {"id": root, "type": "SPAN", "name": "turn", "startTime": _iso(start), "endTime": _iso(start + 2 * CALL_NS)}
        | {"parentObservationId": None},
        shared
        | {"id": call, "type": "GENERATION", "name": "chat", "startTime": _iso(start + 10**6)}
        | {"endTime": _iso(start + CALL_NS), "completionStartTime": _iso(start + 10**8), "model": "lm-large"}
        | {"usageDetails": {"input": 1200, "output": 240, "total": 1440}, "parentObservationId": None},
    ]


def _download(number: int) -> list[Json]:
    trace = _ids(number)[0]
    asked = "what is the time of the year " * 10
    told = {"id": trace, "name": "turn", "userId": "u-7", "timestamp": _iso(_start(number)), "input": asked}
    return [{"trace": told, "observations": _observation(number)}]


def _run(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = _start(number)
    used = {"input_tokens": 1200, "output_tokens": 240, "total_tokens": 1440}
    extra = {"metadata": {"ls_model_name": "lm-large", "ls_provider": "openai", "user_id": "u-7"}}
    return [
        {"id": root, "trace_id": root, "dotted_order": f"{number}", "name": "turn", "run_type": "chain", "extra": extra}
        | {"start_time": _iso(start), "end_time": _iso(start + 2 * CALL_NS), "session_id": trace},
        {"id": call, "trace_id": root, "parent_run_id": root, "dotted_order": f"{number}.1", "name": "chat"}
        | {"run_type": "llm", "start_time": _iso(start + 10**6), "end_time": _iso(start + CALL_NS), "extra": extra}
        | {"outputs": {"usage_metadata": used}},
    ]


def _phoenix(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = _start(number)
    told = {
        "llm": {"model_name": "lm-large", "token_count": {"prompt": 1200, "completion": 240}},
        "user": {"id": "u-7"},
    }
    return [
        {"context": {"trace_id": trace, "span_id": root}, "parent_id": None, "span_kind": "CHAIN", "name": "turn"}
        | {"start_time": _iso(start), "end_time": _iso(start + 2 * CALL_NS), "attributes": {}},
        {"context": {"trace_id": trace, "span_id": call}, "parent_id": root, "span_kind": "LLM", "name": "chat"}
        | {"start_time": _iso(start + 10**6), "end_time": _iso(start + CALL_NS), "attributes": told},
    ]


def _span_object(number: int) -> list[Json]:
    trace, root, call = _ids(number)
    start = divmod(_start(number), 10**9)
    end = (start[0] + 2, start[1])
    return [
        {"spanContext": {"traceId": trace, "spanId": root}, "name": "turn", "kind": 1, "startTime": start}
        | {"endTime": (start[0] + 4, start[1]), "attributes": {}},
        {"spanContext": {"traceId": trace, "spanId": call}, "parentSpanId": root, "name": "chat", "kind": 2}
        | {"startTime": start, "endTime": end, "attributes": CALL},
    ]


def _lines(made: Callable[[int], list[Json]]) -> Write:
    def write(traces: int, path: Path) -> None:
        with path.open("w") as out:
            for number in range(traces):
                out.writelines(json.dumps(row) + "\n" for row in made(number))

    return write


def _document(made: Callable[[int], list[Json]], before: str = "[", after: str = "]") -> Write:
    def write(traces: int, path: Path) -> None:
        with path.open("w") as out:
            out.write(before)
            for number in range(traces):
                out.write(("," if number else "") + ",".join(json.dumps(row) for row in made(number)))
            out.write(after)

    return write


def _flat_rows(made: Callable[[int], list[Json]], numbers: range) -> pl.DataFrame:
    def flattened(row: Json, prefix: str = "") -> Iterator[tuple[str, object]]:
        for key, value in row.items():
            if isinstance(value, dict):
                yield from flattened(value, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}", value

    rows = [dict(flattened(row)) for number in numbers for row in made(number)]
    return pl.DataFrame(rows, infer_schema_length=None)


def _csv(made: Callable[[int], list[Json]]) -> Write:
    def write(traces: int, path: Path) -> None:
        with path.open("wb") as out:
            for first in range(0, traces, TRACES_OF_PART):
                part = _flat_rows(made, range(first, min(first + TRACES_OF_PART, traces)))
                part.write_csv(out, include_header=not first)

    return write


def _parquet(made: Callable[[int], list[Json]]) -> Write:
    def write(traces: int, path: Path) -> None:
        parts = []
        for first in range(0, traces, TRACES_OF_PART):
            parts.append(path.with_suffix(f".{first}"))
            _flat_rows(made, range(first, min(first + TRACES_OF_PART, traces))).write_parquet(parts[-1])
        pl.scan_parquet(parts).sink_parquet(path)
        for part in parts:
            part.unlink()

    return write


def _phoenix_row(number: int) -> list[Json]:
    return _phoenix(number)


def _exported(number: int) -> list[Json]:
    """Rows of a scheduled export: usage as text."""
    return [
        row | {"usageDetails": json.dumps(row.get("usageDetails"))} | {"metadata": "{}"} for row in _observation(number)
    ]


FORMS: dict[str, Write] = {
    "zipkin.json": _document(_zipkin),
    "zipkin.jsonl": _lines(_zipkin),
    "jaeger.json": _document(_jaeger, '{"data":[', "]}"),
    "jaeger.jsonl": _lines(_jaeger),
    "tempo.json": _document(_tempo, '{"batches":[', "]}"),
    "langfuse.json": _document(_observation),
    "langfuse.jsonl": _lines(_observation),
    "langfuse.csv": _csv(_exported),
    "langfuse.parquet": _parquet(_exported),
    "langfuse_downloads.json": _document(_download),
    "langsmith.jsonl": _lines(_run),
    "langsmith.json": _document(_run),
    "phoenix.jsonl": _lines(_phoenix),
    "phoenix.csv": _csv(_phoenix_row),
    "phoenix.parquet": _parquet(_phoenix_row),
    "span_objects.json": _document(_span_object),
    "span_objects.jsonl": _lines(_span_object),
}
