"""Recognition by content: shape, keys under truncation, formats of every file we know."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ingest.errors import ConfigError, UnknownFormat
from ingest.formats.catalog import FORMATS
from ingest.sniff import encoding_of, head_of, json_keys, looks_like, named, read_head, recognize, shape_of
from ingest.unpack import open_source
from tests.support.shared import shared


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b'{"a": 1}\n{"a": 2}\n', "json_lines"),
        (b'{"a": 1}', "json_lines"),
        (b'{"a": "' + b"x" * 100, "json_lines"),
        (b'{\n  "a": 1\n}\n', "json_document"),
        (b'[{"a": 1}, {"a": 2}]', "json_document"),
        (b'torn"}\n{"a": 1}\n{"a": 2}\n', "json_lines"),
        (b"a;b\n1;2\n", "csv"),
        (b"a\tb\n1\t2\n", "csv"),
        (b"# Title, with a comma\nand a sentence\n", "text"),
        (b"one line of text", "text"),
        (b"PAR1....", "parquet"),
        (b"\x89PNG\r\n\x1a\n", "binary"),
        (b"\x00\x01\x02\x03" * 4, "binary"),
        (b"\x00\x00\x00\x20\x0a" + b"\x01" * 30, "protobuf"),
    ],
)
def test_the_shape_is_told_by_the_bytes(data: bytes, shape: str) -> None:
    assert shape_of(data) == shape


def test_keys_are_found_to_depth_three_of_the_first_element() -> None:
    data = json.dumps([{"a": {"b": {"c": {"d": 1}}}, "l": [{"m": 1}], "t": 'x"{'}, {"later": 1}]).encode()
    assert json_keys(data) == {"a", "a.b", "a.b.c", "l", "l.m", "t"}


def test_keys_bear_a_cut_anywhere() -> None:
    data = json.dumps({"first": {"inner": 1}, "second": [1, 2], "third": "text"}).encode()
    whole = json_keys(data)
    assert [end for end in range(len(data)) if not json_keys(data[:end]) <= whole] == []
    assert json_keys(data[:30]) >= {"first", "first.inner"}


def test_utf_16_is_told_with_and_without_a_mark() -> None:
    text = '{"request_id": "r-1"}'
    assert [encoding_of(text.encode(name)) for name in ("utf-8", "utf-16", "utf-16-le", "utf-16-be")] == [
        "utf-8",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
    ]


def test_a_packed_source_is_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"model": "m", "input_tokens": 1}\n'))
    assert read_head(open_source(path)).keys == {"model", "input_tokens"}


def test_an_unknown_format_is_described() -> None:
    with pytest.raises(
        UnknownFormat, match=r"photo\.png is not a trace file, not read: no known format \(a PNG image\)"
    ):
        recognize(head_of("photo.png", b"\x89PNG\r\n\x1a\n"), FORMATS)


def test_prose_with_commas_is_text_and_no_table() -> None:
    head = head_of("README.md", b"# A title, and more\n\nprose, as here\n")
    assert looks_like(head) == "no known format (text)"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"coverage.xml": {"lines": 1}, "src/a.py": {}}, "JSON with the keys coverage.xml, src/a.py"),
        ({"total": {"a.b": 1}}, "JSON with the keys total"),
        ({f"k{n}": n for n in range(9)}, "JSON with the keys k0, k1, k2, k3, k4, k5, k6, k7, …"),
        ({"who paid for this and why so late": 1}, "JSON with the keys text of 33 characters"),
        ({}, "JSON without keys"),
        ([1, 2], "JSON without keys"),
    ],
)
def test_json_of_no_format_is_told_by_its_outermost_keys(value: object, told: str) -> None:
    assert looks_like(head_of("x.json", json.dumps(value).encode())) == f"no known format ({told})"


def test_a_misspelt_format_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match='Did you mean "simulator"'):
        named(FORMATS, "simulater")


SAMPLES = {
    "data/ai-sdk-spans/all-spans.json": "span_objects",
    "data/aibrix-multiround-qa/raw/naive_output_4.1.csv": "multiround_qa",
    "data/aibrix-multiround-qa/requests.csv.gz": "multiround_qa",
    "data/aiperf-profile-export/*_profile_export.jsonl.gz": "aiperf",
    "data/aiperf-profile-export/*_aiperf.json": "aiperf_summary",
    "data/azure-llm-2023-conv/*.csv.gz": "azure_trace",
    "data/gateway-logs/apisix_access.log": "apisix",
    "data/gateway-logs/*.jsonl": "envoy_ai_gateway",
    "data/guidellm-report/*.json.gz": "guidellm",
    "data/jaeger-json/*.json": "jaeger",
    "data/langfuse-trace-export/*.json": "langfuse",
    "data/langsmith-runs/*.json": "langsmith",
    "data/litellm-logs/agent_calls_tau2_retail.jsonl": "flat",
    "data/litellm-logs/s*.json": "litellm",
    "data/llmperf-leaderboard/*.json": "llmperf",
    "data/mooncake-conversation/*.jsonl.gz": "mooncake",
    "data/openai-header-timings/*.jsonl.gz": "openai_headers",
    "data/otlp-json/*.binpb": "otlp_protobuf",
    "data/otlp-json/*_legacy_zstd.bin": "otlp_protobuf",
    "data/otlp-json/logs.json": "otlp_other_signals",
    "data/otlp-json/metrics.json": "otlp_other_signals",
    "data/provider-stage-timings/*.jsonl": "response_bodies",
    "data/vllm-bench-serve/*.json.gz": "bench_serve",
    "data/zipkin-json/*.json": "zipkin",
    "incidents/sample/*/requests.jsonl.gz": "simulator",
    "incidents/sample/*/replica_hours.jsonl": "replica_hours",
    "cases/07-eight-requests/requests.jsonl": "flat",
    "cases/*/requests.csv": "flat",
    "cases/11-bom-crlf-nan-and-torn-lines/requests.jsonl": "flat",
    "cases/03-gateway-rows-without-a-first-token/spend_logs.jsonl": "litellm",
    "cases/09-week-of-another-timezone/logs/*.jsonl": "litellm",
}
SPANS = (
    "data/otlp-json/ai_sdk_file_exporter*.jsonl*",
    "data/otlp-json/jaeger_ui_otlp_in.json",
    "data/otlp-json/trace.json",
    "data/otlp-json/mixed_signals.jsonl",
    "data/otlp-reencoded/*.jsonl*",
    "samples/otlp/[!e]*.json*",
    "samples/otlp/envoy_ai_gateway.json",
    "incidents/sample/*/traces.otlp.jsonl.gz",
    "cases/0[456]-*/traces.jsonl",
)


@pytest.mark.parametrize(("pattern", "expected"), [*SAMPLES.items(), *((pattern, "otlp_json") for pattern in SPANS)])
def test_every_sample_is_recognized(pattern: str, expected: str) -> None:
    paths = sorted(shared(".").glob(pattern))
    assert paths
    assert {path.name: recognize(read_head(open_source(path)), FORMATS).name for path in paths} == dict.fromkeys(
        (path.name for path in paths), expected
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "**/README.md",
        "incidents/sample/*/[prst]*[!l].json",
        "cases/*/case.json",
        "cases/*/*.yaml",
        "samples/otlp/expected.json",
    ],
)
def test_what_lies_beside_traces_is_no_trace_file(pattern: str) -> None:
    paths = sorted(shared(".").glob(pattern))
    assert paths
    for path in paths:
        with pytest.raises(UnknownFormat):
            recognize(read_head(open_source(path)), FORMATS)
