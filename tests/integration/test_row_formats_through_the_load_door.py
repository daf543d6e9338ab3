"""Row formats through the load door: what each file of the shared folders becomes, and what the store then holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from ingest.load import LoadOptions, load_paths
from ingest.receipts import Receipt
from ingest.selection import Selection
from ingest.store.database import Store
from tests.support.readers import DATA
from tests.support.shared import shared

# folder: file: state, format, read, accepted, duplicate, rejected
FOLDERS: dict[str, dict[str, tuple[str, str | None, int, int, int, int]]] = {
    "aggregate-only-reports": {
        "inference_perf_stage_5_lifecycle_metrics.json": ("skipped", None, 0, 0, 0, 0),
        "sglang_bench_serving_online.jsonl": ("skipped", "bench_serve", 0, 0, 0, 0),
    },
    "ai-sdk-spans": {"all-spans.json": ("done", "span_objects", 10, 10, 0, 0)},
    "aiperf-profile-export": {
        "llama3-8b_concurrency1_profile_export.jsonl.gz": ("done", "aiperf", 64, 64, 0, 0),
        "llama3-8b_concurrency1_profile_export_aiperf.json": ("skipped", None, 0, 0, 0, 0),
        "qwen_concurrency8_profile_export.jsonl.gz": ("done", "aiperf", 64, 64, 0, 0),
        "run1_old_schema_profile_export.jsonl.gz": ("done", "aiperf", 100, 100, 0, 0),
    },
    "azure-llm-2023-conv": {"AzureLLMInferenceTrace_conv.csv.gz": ("done", "azure_trace", 19366, 19366, 0, 0)},
    "gateway-logs": {
        "apisix_access.log": ("done", "apisix", 1, 1, 0, 0),
        "envoy_ai_gateway_access.jsonl": ("done", "envoy_ai_gateway", 1, 1, 0, 0),
    },
    "guidellm-report": {"benchmark.json.gz": ("done", "guidellm", 500, 500, 0, 0)},
    "jaeger-json": {
        "ui_01.json": ("done", "jaeger", 5, 4, 1, 0),
        "ui_flamegraph_trace.json": ("done", "jaeger", 4, 4, 0, 0),
    },
    "langfuse-trace-export": {
        "google-adk-2025-08-28.json": ("done", "langfuse", 5, 5, 0, 0),
        "llamaindex-2025-06-05.json": ("done", "langfuse", 2, 2, 0, 0),
        "microsoft-agent-2025-12-17.json": ("done", "langfuse", 4, 4, 0, 0),
        "openai-agents-2025-09-30.json": ("done", "langfuse", 5, 5, 0, 0),
        "pydantic-ai-tools-2025-12-04.json": ("done", "langfuse", 12, 12, 0, 0),
        "vercel-aisdk-2025-11-17.json": ("done", "langfuse", 3, 3, 0, 0),
    },
    "langsmith-runs": {
        "py_wrap_openai.json": ("done", "langsmith", 1, 1, 0, 0),
        "py_wrap_openai_stream.json": ("done", "langsmith", 1, 1, 0, 0),
    },
    "llmperf-leaderboard": {
        f"{name}_70b.json": ("done", "llmperf", 150, 150, 0, 0)
        for name in ("anyscale", "bedrock", "fireworks", "perplexity", "together")
    },
    "mooncake-conversation": {"conversation_first20min.jsonl.gz": ("done", "mooncake", 3658, 3658, 0, 0)},
    # the same exchange is recorded by several tests: 381 ids and 43 rows without one are 424 requests
    "openai-header-timings": {"openai_calls.jsonl.gz": ("done", "openai_headers", 548, 424, 124, 0)},
    "provider-stage-timings": {
        "groq_cerebras_responses.jsonl": ("done", "response_bodies", 90, 89, 1, 0),  # one response is recorded twice
        "ollama_responses.jsonl": ("done", "response_bodies", 30, 30, 0, 0),
    },
    "vllm-bench-serve": {
        f"day06_c{n}_i128_o64_n64.json.gz": ("done", "bench_serve", 64, 64, 0, 0) for n in (16, 1, 2, 4, 8)
    },
    "zipkin-json": {
        "messaging-kafka.json": ("done", "zipkin", 28, 28, 0, 0),
        "skew.json": ("done", "zipkin", 4, 4, 0, 0),
        "yelp.json": ("done", "zipkin", 16, 16, 0, 0),
    },
}
# folder: requests in the store, input, cached input, output, reasoning tokens, cost in pico-USD
SUMS = {
    "aiperf-profile-export": (228, 61750, 0, 47220, 19792, 0),
    "azure-llm-2023-conv": (19366, 22361870, 0, 4088665, 0, 0),
    "gateway-logs": (2, 38, 0, 15, 0, 0),
    "guidellm-report": (500, 99500, 0, 52500, 0, 0),
    # nested generations once, the sums of an agent not at all: 62 + 85 of the call inside the AI SDK's wrapper
    "langfuse-trace-export": (6, 1890, 0, 534, 0, 3_020_199_997),
    "langsmith-runs": (2, 18, 0, 18, 0, 0),
    "llmperf-leaderboard": (750, 412500, 0, 108991, 0, 0),
    "mooncake-conversation": (3658, 49028610, 0, 1274811, 0, 0),
    "provider-stage-timings": (119, 71383, 256, 14845, 1532, 0),
    "vllm-bench-serve": (320, 50240, 0, 20480, 0, 0),
}


def told(receipts: list[Receipt]) -> dict[str, tuple[str, str | None, int, int, int, int]]:
    return {
        receipt.name: (
            *(receipt.state, receipt.format, receipt.read),
            *(receipt.accepted, receipt.duplicate, receipt.rejected),
        )
        for receipt in receipts
        if receipt.name != "README.md"
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_what_it_is_and_every_row_is_accounted_for(folder: str) -> None:
    with Store.open() as store:
        receipts = load_paths([shared(f"data/{folder}")], store, LoadOptions())
        found = store.requests(Selection())
    assert told(receipts) == FOLDERS[folder]
    assert all(receipt.read == receipt.accepted + receipt.duplicate + receipt.rejected for receipt in receipts)
    if folder in SUMS:
        names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "source_cost_usd")
        assert (found.height, *(found.get_column(name).sum() for name in names)) == SUMS[folder]


@pytest.mark.parametrize(
    "folder", ["aiperf-profile-export", "llmperf-leaderboard", "langfuse-trace-export", "zipkin-json"]
)
def test_the_same_rows_in_another_file_change_nothing(folder: str, tmp_path: Path) -> None:
    again = shutil.copytree(shared(f"data/{folder}"), tmp_path / "again")
    for path in again.iterdir():
        path.chmod(0o644)
        if path.suffix == ".json" and path.name != "README.md":
            path.write_bytes(path.read_bytes() + b"\n")  # other bytes, the same content
    with Store.open() as store:
        load_paths([shared(f"data/{folder}")], store, LoadOptions())
        before = store.requests(Selection()).drop("upload_id").sort("request_key")
        receipts = load_paths([again], store, LoadOptions())
        after = store.requests(Selection()).drop("upload_id").sort("request_key")
    assert before.equals(after)
    assert sum(receipt.accepted for receipt in receipts) == 0


def test_no_prompt_address_or_key_of_any_sample_reaches_the_store(tmp_path: Path) -> None:
    for path in DATA.glob("*/*"):
        if "torn" not in path.name:
            target = tmp_path / path.parent.name / path.name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(path, target)
    with Store.open() as store:
        load_paths([tmp_path], store, LoadOptions())
        with store.cursor() as cursor:
            for table in ("requests", "calls", "spans"):
                text = pl.DataFrame(cursor.sql(f"SELECT to_json(t)::VARCHAR AS row FROM {table} t")).get_column("row")
                assert text.len() > 5
                for mark in ("private", "someone@", "192.0.2.", "127.0.0.1", "sk-live"):
                    assert text.filter(text.str.contains(mark, literal=True)).to_list() == []
