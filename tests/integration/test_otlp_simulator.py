"""The simulator's two forms of the same requests: spans give the rows that the flat file states."""

from __future__ import annotations

import gzip
import json

import pytest

from ingest.schema import STAGES
from tests.support.otlp import Json, load, rows, store_for
from tests.support.shared import shared

TIMES = (
    *("gateway_ms", "network_ms", "retrieval_ms", "rerank_ms", "guardrail_ms", "queue_ms", "prefill_ms", "decode_ms"),
    *("tool_ms", "postprocess_ms", "ttft_ms", "e2e_ms", "itl_max_ms"),
)
SAME = {
    "request_id": "request_id",
    "session_id": "session",
    "user_id": "user",
    "tenant": "tenant",
    "scenario": "scenario",
    "requested_model": "requested_model",
    "model": "model",
    "deployment_version": "deployment_version",
    "replica": "replica",
    "region": "region",
    "streaming": "streaming",
    "status_code": "http_status",
    "error_type": "error_type",
    "degraded": "degraded",
    "cold_start": "cold_start",
    "llm_calls": "llm_calls",
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
    "queue_depth": "queue_depth",
    "preemptions": "preemptions",
}
CLASSES = {200: "ok", 429: "shed", 499: "cancelled", 500: "error", 503: "shed", 504: "timeout"}
ROUNDING_NS = 2000  # the flat file is rounded to 1 us, and so are the bounds of the spans; per call


def told(flat: Json) -> Json:
    return {
        "times": {name: flat[name] or None for name in TIMES},
        "same": {name: flat[name] for name in SAME},
        "attempts": flat["retries"] + 1,
        "status_class": CLASSES[flat["status_code"]],
    }


def seen(row: Json, flat: Json) -> Json:
    tolerance = ROUNDING_NS / 1e6 * max(1, row["llm_calls"])
    times = {name: (row[name.replace("_ms", "_ns")] or 0) / 1e6 for name in TIMES}
    return {
        "times": {
            name: flat[name] or None if abs(times[name] - (flat[name] or 0)) <= tolerance else times[name]
            for name in TIMES
        },
        "same": {name: row[column] for name, column in SAME.items()},
        "attempts": row["attempts"],
        "status_class": row["status_class"],
    }


@pytest.mark.parametrize("case", ["healthy", "replica_down"])
def test_spans_and_flat_rows_of_a_simulated_service_tell_the_same_requests(case: str) -> None:
    folder = shared(f"incidents/sample/{case}")
    with gzip.open(folder / "requests.jsonl.gz", "rt") as lines:
        flat = {row["trace_id"]: row for row in map(json.loads, lines)}
    with store_for(folder) as store:
        counts = load(store, folder / "traces.otlp.jsonl.gz")
        found = rows(store)
    assert (counts.accepted, counts.rejected) == (counts.read, 0)
    assert found.keys() == flat.keys()
    for trace, row in flat.items():
        assert told(row) == seen(found[trace], row)


def test_stages_of_every_simulated_request_sum_to_its_length() -> None:
    folder = shared("incidents/sample/healthy")
    with store_for(folder) as store:
        load(store, folder / "traces.otlp.jsonl.gz")
        found = rows(store).values()
    excess = [sum(row[f"{stage}_ns"] or 0 for stage in STAGES) - row["e2e_ns"] for row in found]
    assert min(excess) == 0
    assert max(excess) < 20 * ROUNDING_NS  # spans of the file overlap by their rounding
