"""Traces that mislead, as the page of conventions lists them (sections 3 to 6): what becomes of each, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.load import load_paths
from ingest.schema import STAGES
from ingest.store.database import Store
from tests.support.loads import PLAIN
from tests.support.otlp import Json, request, span, write_lines

Trap = tuple[str, list[Json], dict[str, Any]]  # spans of one trace as export requests, columns of its request
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
USED = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}
NS = 1_000_000_000
STAGE_COLUMNS = {f"{stage}_ns" for stage in STAGES}


def calls(*told: tuple[str, float, float, dict[str, Any]], **around: Any) -> list[Json]:
    """A root and spans below it."""
    scope = around.pop("scope", "app")
    name, start, end = around.pop("root", ("POST /chat", 0.0, 10.0))
    root = span(name, start, end, span_id="root", kind=around.pop("kind", 2), attributes=around)
    below = [
        span(name, start, end, span_id=f"s{n}", parent=attributes.get("@under", "root"), kind=attributes.get("@kind", 3),
             attributes={key: value for key, value in attributes.items() if key[0] != "@"})
        for n, (name, start, end, attributes) in enumerate(told)
    ]  # fmt: skip
    return [request([root, *below], scope)]


SGLANG = [
    span(" Req 8c1f0e5d", 0, 4, span_id="e", kind=2, attributes={
        "module": "sglang::request", "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 21,
        "gen_ai.latency.e2e": 4.0, "gen_ai.latency.time_to_first_token": 1.5, "gen_ai.latency.time_in_model_prefill": 1.5,
        "gen_ai.latency.time_in_model_decode": 2.5, "gen_ai.response.model": "m",
    }),
    *(
        one
        for rank in (0, 1)
        for one in (
            span(f"Scheduler [TP {rank}]", 0, 4, span_id=f"t{rank}", parent="e", attributes={"thread_label": "Scheduler", "tp_rank": rank}),
            span("prefill_waiting", 0, 0.5 + rank, span_id=f"q{rank}", parent=f"t{rank}"),
            span("prefill_forward", 0.5 + rank, 1.5 + rank, span_id=f"p{rank}", parent=f"t{rank}"),
        )
    ),
]  # fmt: skip
ENVOY = {"gen_ai.operation.name": "chat", "gen_ai.request.stream": True} | USED
TRAPS: list[Trap] = [
    (
        "totals on an agent are not added to its calls",
        calls(("chat m", 1, 3, CHAT | USED), ("chat m", 4, 6, CHAT | USED), **{
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper", "gen_ai.usage.input_tokens": 200,
            "gen_ai.usage.output_tokens": 40, "gen_ai.usage.cost": 9.0,
        }),
        {"input_tokens": 200, "output_tokens": 40, "llm_calls": 2, "scenario": "helper"},
    ),
    (
        "costs are those of the calls",
        calls(("chat m", 1, 3, CHAT | USED | {"gen_ai.usage.cost": 0.25}), ("chat m", 4, 6, CHAT | USED | {"gen_ai.usage.cost": 0.5}), **{
            "gen_ai.operation.name": "invoke_agent", "gen_ai.usage.cost": 0.75,
        }),
        {"source_cost_usd": 750_000_000_000},
    ),
    (
        "a wrapper of the AI SDK and its call are one",
        calls(
            ("ai.streamText", 1, 6, {"ai.operationId": "ai.streamText", "ai.usage.inputTokens": 100, "ai.usage.outputTokens": 20}),
            ("ai.streamText.doStream", 2, 6, {"@under": "s0", "ai.operationId": "ai.streamText.doStream", "ai.usage.inputTokens": 100,
                                              "ai.usage.outputTokens": 20, "ai.response.msToFirstChunk": 500, "ai.response.model": "m"}),
        ),
        {"llm_calls": 1, "input_tokens": 100, "output_tokens": 20, "ttft_ns": 2_500_000_000, "call_ttft_ns": NS // 2, "streaming": True},
    ),
    (
        "call_llm of the ADK around generate_content is one call",
        calls(
            ("call_llm", 1, 6, USED | {"gen_ai.request.model": "m"}),
            ("generate_content m", 1, 5, {"@under": "s0", "gen_ai.operation.name": "generate_content"} | USED),
            scope="gcp.vertex.agent",
        ),
        {"llm_calls": 1, "input_tokens": 100},
    ),
    (
        "framework and client library around each other are one call, named from the inside",
        calls(
            ("ChatOpenAI", 1, 6, {"openinference.span.kind": "LLM", "llm.model_name": "alias", "llm.token_count.prompt": 100}),
            ("chat m", 1, 6, {"@under": "s0", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1"} | USED),
        ),
        {"llm_calls": 1, "input_tokens": 100, "model": "m-1"},
    ),
    (
        "the engine beside the model span of a proxy is joined by its id",
        calls(
            ("litellm_request", 1, 6, {"gen_ai.response.id": "x", "gen_ai.request.model": "alias"} | USED),
            ("llm_request", 2, 5, {"@kind": 2, "gen_ai.request.id": "x", "gen_ai.latency.e2e": 3.0, "gen_ai.latency.time_in_queue": 0.5,
                                   "gen_ai.latency.time_in_model_prefill": 1.0, "gen_ai.latency.time_in_model_decode": 1.5,
                                   "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 20}),
            ("raw_gen_ai_request", 1, 6, {"gen_ai.usage.input_tokens": 100, "gen_ai.operation.name": "chat"}),
            scope="litellm",
        ),
        {"llm_calls": 1, "input_tokens": 100, "queue_ns": NS // 2, "prefill_ns": NS, "decode_ns": NS * 3 // 2},
    ),
    (
        "tokens of an embedding are no input of a model call",
        calls(
            ("embed", 0, 1, {"openinference.span.kind": "EMBEDDING", "llm.token_count.prompt": 5000}),
            ("ChatOpenAI", 1, 6, {"openinference.span.kind": "LLM", "llm.token_count.prompt": 100, "llm.token_count.completion": 20}),
        ),
        {"llm_calls": 1, "input_tokens": 100, "retrieval_ns": NS},
    ),
    (
        "every rank of an engine repeats the slices, and its prefill attribute holds the queue",
        [request(SGLANG, "sglang server")],
        {"queue_ns": NS // 2, "prefill_ns": NS, "decode_ns": NS * 5 // 2, "unattributed_ns": 0, "llm_calls": 1},
    ),
    (
        "an event of the first token at the end is not believed",
        [request([span("ChatCompletion", 0, 2, kind=2, attributes=ENVOY, events=[("First Token Stream Event", 1.9995)])], "envoyproxy/ai-gateway")],
        {"ttft_ns": None, "streaming": True},
    ),
    (
        "the same event clearly before the end is",
        [request([span("ChatCompletion", 0, 2, kind=2, attributes=ENVOY, events=[("First Token Stream Event", 0.5)])], "envoyproxy/ai-gateway")],
        {"ttft_ns": NS // 2},
    ),
    (
        "an engine's first token means nothing to who was not streamed to",
        calls(
            ("chat m", 1, 6, CHAT | USED | {"gen_ai.request.stream": False}),
            ("llm_request", 2, 5, {"@under": "s0", "@kind": 2, "gen_ai.latency.e2e": 3.0, "gen_ai.latency.time_to_first_token": 0.5}),
        ),
        {"ttft_ns": None, "streaming": False},
    ),
    (
        "several sequences have no time per token",
        [request([span("llm_request", 0, 4, kind=2, attributes={
            "gen_ai.usage.num_sequences": 2, "gen_ai.latency.e2e": 4.0, "gen_ai.latency.time_in_queue": 0.5,
            "gen_ai.latency.time_to_first_token": 1.0, "gen_ai.usage.prompt_tokens": 100, "gen_ai.usage.completion_tokens": 40,
        })], "vllm.llm_engine")],
        {"generation_ns": None, "queue_ns": NS // 2, "output_tokens": 40},
    ),
    (
        "a transfer of the cache is network",
        [request([span("llm_request", 0, 4, kind=2, attributes={
            "gen_ai.latency.kv_cache_transfer_time": 0.25, "gen_ai.latency.time_in_queue": 0.5, "gen_ai.latency.e2e": 4.0,
            "gen_ai.latency.time_to_first_token": 1.0,
        }, events=[("kv_cache_transfer_start", 0.5), ("kv_cache_transfer_end", 0.75)])], "trtllm")],
        {"queue_ns": NS // 2, "network_ns": NS // 4, "prefill_ns": None},
    ),
    (
        "a request that a guardrail stopped had no model call and is well",
        calls(("guardrail.input", 0, 1, {}), root=("POST /v1/chat/completions", 0.0, 1.0), **{"http.response.status_code": 200, "http.route": "/v1/chat/completions"}),
        {"llm_calls": 0, "ttft_ns": None, "status_class": "ok", "guardrail_ns": NS},
    ),
    (
        "an engine that sets no status failed where the server above it says so",
        calls(("llm_request", 2, 5, {"@kind": 2, "gen_ai.latency.e2e": 3.0}), **{"http.response.status_code": 500}),
        {"status_class": "error", "http_status": 500},
    ),
    (
        "names of the resource stand in where no span tells",
        [request([span("chat m", 0, 1, kind=3, attributes=CHAT)], resource={
            "service.namespace": "team", "service.version": "v7", "cloud.region": "eu", "service.name": "svc",
        })],
        {"tenant": "team", "deployment_version": "v7", "region": "eu", "scenario": None},
    ),
    (
        "figures of several calls: batch by time of decode, preemptions as sum, the rest the largest",
        calls(*(
            ("llm_request", at, at + 2, {
                "@kind": 2, "gen_ai.latency.e2e": 2.0, "gen_ai.latency.time_in_model_decode": decode, "gen_ai.request.id": f"r{at}",
                "inference.batch_size": batch, "inference.preemptions": 1, "inference.queue_depth": batch, "inference.kv_cache_usage": 0.5,
            })
            for at, decode, batch in ((1, 0.5, 4), (4, 1.5, 8))
        )),
        {"batch_size": 7.0, "preemptions": 2.0, "queue_depth": 8.0, "kv_cache_usage": 0.5, "llm_calls": 2},
    ),
    (
        "a failed attempt's time counts, and the status is that of the last",
        calls(("chat m", 1, 3, CHAT | {"error.type": "RateLimitError"}), ("chat m", 4, 6, CHAT | USED)),
        {"status_class": "ok", "e2e_ns": 10 * NS, "input_tokens": 100},
    ),
    (
        "the model asked for is the outermost's",
        calls(("chat alias", 1, 6, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "alias"} | USED),
              ("chat m", 1, 6, {"@under": "s0", "gen_ai.response.model": "m-1"} | CHAT)),
        {"requested_model": "alias", "model": "m-1", "llm_calls": 1},
    ),
    (
        "trace generator: parts below the root are one call",
        calls(("retrieval", 0, 1, {}), ("tokenize", 1, 1.5, {}), ("queue", 2, 3, {}), ("prefill", 3, 4, {}), ("decode", 4, 8, {}), ("postprocess", 8, 9, {}),
              **{"llm.status": "timeout", "gen_ai.usage.output_tokens": 5}),
        {"llm_calls": 1, "queue_ns": NS, "prefill_ns": NS, "decode_ns": 4 * NS, "retrieval_ns": NS, "postprocess_ns": NS, "status_class": "timeout"},
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Request rows of all traps by trace id, read at once."""
    lines: list[Json] = []
    for number, (_, requests, _) in enumerate(TRAPS):
        for told in requests:
            for one in told["resourceSpans"][0]["scopeSpans"][0]["spans"]:
                one["traceId"] = f"{number + 1:032x}"
            lines.append(told)
    path = write_lines(tmp_path_factory.mktemp("traps") / "a.jsonl", lines)
    with Store.open() as store:
        (receipt,) = load_paths([path], store, PLAIN)
        assert receipt.rejected == 0
        return {row["trace_id"]: row for row in store.read("requests").to_dicts()}


@pytest.mark.parametrize("number", range(len(TRAPS)), ids=[trap[0] for trap in TRAPS])
def test_a_trap_is_seen(number: int, rows: dict[str, dict[str, Any]]) -> None:
    row, expected = rows[f"{number + 1:032x}"], TRAPS[number][2]
    assert {name: row[name] for name in expected} == expected
    stages = sum(value for name, value in row.items() if name in STAGE_COLUMNS and value)
    assert row["e2e_ns"] is None or stages == row["e2e_ns"]
