"""Every public sample is told for what it is: the format of each file, and of a file of no use the way out."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from ingest.errors import UnknownFormat
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Refusal
from ingest.sniff import recognize
from tests.support.readers import head_of
from tests.support.shared import shared

TOLD = {  # first pattern that fits, by hand from the page of each folder -> format
    "*.md": "",
    "aggregate-only-reports/inference_perf_stage_5_lifecycle_metrics.json": "inference_perf_summary",
    "aggregate-only-reports/sglang_bench_serving_online.jsonl": "bench_serve",  # refused when it is read
    "ai-sdk-spans/*.json": "span_objects",
    "aibrix-multiround-qa/*.csv*": "multiround_qa",
    "aiperf-profile-export/*_aiperf.json": "aiperf_summary",
    "aiperf-profile-export/*.jsonl.gz": "aiperf",
    "azure-llm-2023-conv/*.csv.gz": "azure_trace",
    "gateway-logs/apisix_access.log": "apisix",
    "gateway-logs/envoy_ai_gateway_access.jsonl": "envoy_ai_gateway",
    "guidellm-report/*.json.gz": "guidellm",
    "jaeger-json/*.json": "jaeger",
    "langfuse-trace-export/*.json": "langfuse",
    "langsmith-runs/*.json": "langsmith",
    "litellm-logs/agent_calls_*.jsonl": "flat",
    "litellm-logs/*.json": "litellm",
    "llmperf-leaderboard/*.json": "llmperf",
    "mooncake-conversation/*.jsonl.gz": "mooncake",
    "openai-header-timings/*.jsonl.gz": "openai_headers",
    "otlp-json/*.binpb": "otlp_protobuf",
    "otlp-json/*_legacy_zstd.bin": "otlp_protobuf",
    "otlp-json/logs.json": "otlp_other_signals",
    "otlp-json/metrics.json": "otlp_other_signals",
    "otlp-json/*": "otlp_json",
    "otlp-reencoded/*": "otlp_json",
    "provider-stage-timings/*.jsonl": "response_bodies",
    "vllm-bench-serve/*.json.gz": "bench_serve",
    "zipkin-json/*.json": "zipkin",
}
REFUSED = {form.name: form.reader for form in FORMATS if isinstance(form.reader, Refusal)}


def told(path: Path) -> str:
    head = head_of(path)
    try:
        found = recognize(head, FORMATS)
    except UnknownFormat:
        return ""
    if found.name in REFUSED:
        assert path.name in REFUSED[found.name].says(head)
    return found.name


def test_every_sample_is_told_for_what_it_is() -> None:
    folder = shared("data")
    paths = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    expected = {name: next((form for pattern, form in TOLD.items() if fnmatch(name, pattern)), None) for name in paths}
    assert {name: told(path) for name, path in paths.items()} == expected
    assert len(paths) > 70
