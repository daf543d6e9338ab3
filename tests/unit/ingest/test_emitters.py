"""Every attribute name of every emitter gives its field, in its unit, as the page of conventions says (sections 2, 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.load import load_paths
from ingest.store.database import Store
from tests.support.loads import PLAIN
from tests.support.otlp import request, span, write_lines

Case = tuple[str, dict[str, Any], dict[str, Any]]  # name, fields of the call's span, columns of the request
CALL = {"gen_ai.operation.name": "chat"}
STREAMED = CALL | {"gen_ai.request.stream": True}
COUNTED = CALL | {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}


def one(name: str, value: object, *column: object, on: dict[str, Any] = CALL) -> Case:
    """A call with one attribute gives one column."""
    return (
        f"{name}={value}",
        {"attributes": on | {name: value}},
        {str(column[0]): column[1] if len(column) > 1 else value},
    )


def each(column: str, expected: object, told: object, *names: str, on: dict[str, Any] = CALL) -> list[Case]:
    return [one(name, told, column, expected, on=on) for name in names]


USAGE = {"input": 100, "output": 20, "input_cached_tokens": 30, "input_cache_creation": 7, "output_reasoning_tokens": 5}
OPENAI = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 30}}
LITELLM = "{'completion_tokens': 20, 'prompt_tokens': 100, 'prompt_tokens_details': {'cached_tokens': 30, 'audio_tokens': None}}"
CASES: list[Case] = [
    *each(
        "request_id", "r-1", "r-1",
        *("request.id", "gen_ai.response.id", "gen_ai.request.id", "ai.response.id", "triton.request_id"),
        *("vllm.request_id", "x_request_id"),
    ),
    *each("provider", "openai", "OpenAI", "gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
    *each("provider", "azure", "azure/gpt-4o", "litellm.provider.model"),
    *each("model", "gpt-4o", "azure/gpt-4o", "litellm.provider.model"),
    *[
        one("gen_ai.provider.name", old, "provider", new)
        for old, new in (
            ("vertex_ai", "gcp.vertex_ai"), ("gemini", "gcp.gemini"), ("az.ai.inference", "azure.ai.inference"),
            ("az.ai.openai", "azure.ai.openai"), ("xai", "x_ai"), ("aws.bedrock", "aws.bedrock"),
        )
    ],
    one("ai.model.provider", "openai.responses", "provider", "openai", on={"ai.operationId": "ai.streamText.doStream"}),
    *each(
        "model", "m-9b", "m-9b",
        *("gen_ai.response.model", "langfuse.observation.model.name", "llm.model_name", "ai.response.model"),
        *("triton.model_name", "gen_ai.request.model", "ai.model.id", "mlflow.llm.model", "target_model", "vllm.model"),
    ),
    one("llm.invocation_parameters", '{"model": "m-9b"}', "model", "m-9b"),
    *each("requested_model", "alias", "alias", "litellm.model_group", "gen_ai.request.model", "ai.model.id"),
    *each(
        "input_tokens", 100, 100,
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens"),
        "ai.usage.promptTokens",
    ),
    *each(
        "output_tokens", 20, 20,
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        *("ai.usage.outputTokens", "ai.usage.completionTokens"),
    ),
    *each("input_tokens", 57, "57", "gen_ai.usage.input_tokens"),
    *each("input_tokens", 57, 57.0, "gen_ai.usage.input_tokens"),
    *each(
        "cached_input_tokens", 30, 30,
        *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cached_tokens"),
        *("llm.token_count.prompt_details.cache_read", "ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"), on=COUNTED,
    ),
    *each(
        "cache_write_tokens", 7, 7,
        *("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        *("gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens"),
        *("llm.token_count.prompt_details.cache_write", "llm.token_count.prompt_details.cache_creation"),
        "ai.usage.inputTokenDetails.cacheWriteTokens", on=COUNTED,
    ),
    *each(
        "reasoning_tokens", 5, 5,
        *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        *("llm.token_count.completion_details.reasoning", "gen_ai.usage.details.reasoning_tokens"),
        *("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"), on=COUNTED,
    ),
    *[
        (f"{column} of {name}", {"attributes": CALL | {name: text}}, {column: value})
        for name, text, told in (
            ("langfuse.observation.usage_details", json.dumps(USAGE), (137, 25, 30, 7, 5)),
            ("langfuse.observation.usage_details", json.dumps(OPENAI), (100, 20, 30, None, None)),
            ("mlflow.chat.tokenUsage", json.dumps({"input_tokens": 100, "output_tokens": 20}), (100, 20, None, None, None)),
            ("metadata.usage_object", LITELLM, (100, 20, 30, None, None)),
        )
        for column, value in zip(
            ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens"), told, strict=True
        )
    ],
    *each("ttft_ns", 250_000_000, 0.25, "gen_ai.response.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk", on=STREAMED),
    *each("ttft_ns", 250_000_000, 0.25, "gen_ai.server.time_to_first_token", on=STREAMED | {"telemetry.sdk.name": "openlit"}),
    *each("ttft_ns", 250_000_000, 250, "gen_ai.server.time_to_first_token", on=STREAMED | {"gen_ai.system": "strands-agents"}),
    *each("ttft_ns", 250_000_000, 250, "gen_ai.server.time_to_first_token", on=STREAMED | {"gen_ai.provider.name": "strands-agents"}),
    *each("ttft_ns", 250_500_000, 250.5, "ai.response.msToFirstChunk", "ai.stream.msToFirstChunk", on=STREAMED),
    *each("ttft_ns", 250_000_000, 250, "app.time_to_first_token_ms", on=STREAMED),
    *each("ttft_ns", 250_000_000, 250_000, "gen_ai.response.time_to_first_token", on=STREAMED),
    *each(
        "ttft_ns", 250_000_000, "2026-11-18T11:06:40.250Z", "langfuse.observation.completion_start_time", on=STREAMED
    ),
    *each(
        "ttft_ns", 250_000_000, '"2026-11-18T11:06:40.250Z"', "langfuse.observation.completion_start_time", on=STREAMED
    ),
    *[
        (f"event {event}", {"attributes": STREAMED, "events": [(event, 0.25), (event, 0.5)]}, {"ttft_ns": 250_000_000})
        for event in (
            "First Token Stream Event", "gen_ai.first_token", "gen_ai.content.completion.chunk",
            "llm.content.completion.chunk", "ai.stream.firstChunk",
        )
    ],
    (
        "lost events tell no first chunk",
        {"attributes": STREAMED, "events": [("gen_ai.content.completion.chunk", 0.25)], "droppedEventsCount": 3},
        {"ttft_ns": None, "streaming": True},
    ),
    ("no first token of an answer that was not streamed", {"attributes": CALL | {"gen_ai.request.stream": False, "gen_ai.server.time_to_first_token": 1.0}}, {"ttft_ns": None}),
    ("no first token of an answer without tokens", {"attributes": STREAMED | {"gen_ai.usage.output_tokens": 0, "gen_ai.response.time_to_first_chunk": 0.25}}, {"ttft_ns": None}),
    *each(
        "streaming", True, True,
        *("gen_ai.request.stream", "gen_ai.is_streaming", "llm.is_streaming", "litellm.request.streaming"),
        *("vllm.is_streaming", "llm_d.pd_proxy.decode.streaming", "langsmith.request.streaming", "stream"),
    ),
    *each("streaming", True, "True", "llm.is_streaming"),
    *each("streaming", False, "False", "llm.is_streaming"),
    one("ai.operationId", "ai.streamText.doStream", "streaming", True, on={}),
    one("llm.invocation_parameters", '{"stream": true}', "streaming", True),
    one("gen_ai.response.time_to_first_chunk", 0.25, "streaming", True),
    one("gen_ai.usage.output_tokens", 2, "streaming", None),
    *each(
        "finish_reason", "stop", "stop",
        *("gen_ai.response.finish_reason", "llm.finish_reason", "ai.response.finishReason", "gen_ai.completion.0.finish_reason"),
    ),
    one("langfuse.observation.metadata.finish_reason", '"stop"', "finish_reason", "stop"),
    one("gen_ai.response.finish_reasons", ["STOP"], "finish_reason", "stop"),
    one("gen_ai.response.finish_reasons", '["stop"]', "finish_reason", "stop"),
    *[
        one("gen_ai.response.finish_reasons", [told], "finish_reason", meant)
        for told, meant in (
            ("tool_call", "tool_calls"), ("tool-calls", "tool_calls"), ("tool_use", "tool_calls"), ("end_turn", "stop"),
            ("max_tokens", "length"),
        )
    ],
    *[
        (f"HTTP {status} by {name}", {"kind": 2, "attributes": CALL | {name: status}}, {"status_class": meant})
        for status, meant in (
            (200, "ok"), (499, "cancelled"), (429, "shed"), (503, "shed"), (504, "timeout"), (404, "rejected"), (500, "error"),
        )
        for name in ("http.response.status_code", "http.status_code")
    ],
    ("status 2", {"attributes": CALL, "status": {"code": 2}}, {"status_class": "error"}),
    one("langfuse.observation.level", "ERROR", "status_class", "error"),
    ("aborted", {"attributes": CALL | {"gen_ai.response.finish_reasons": ["abort"]}}, {"status_class": "error"}),
    (
        "error.type of digits alone is no type",
        {"attributes": CALL | {"error.type": "429"}, "status": {"code": 2}}, {"error_type": None, "status_class": "error"},
    ),
    *[
        (f"error {name}", {"attributes": CALL | {"error.type": name}, "status": {"code": 2}}, {"error_type": name, "status_class": meant})
        for name, meant in (("RateLimitError", "shed"), ("openai.RateLimitError", "shed"), ("TimeoutError", "timeout"), ("AI_APICallError", "error"))
    ],
    ("error.code", {"attributes": CALL | {"error.code": "401x"}, "status": {"code": 2}}, {"error_type": "401x"}),
    *each(
        "user", "u-1", "u-1",
        *("user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id"),
        *("ai.telemetry.metadata.userId", "gen_ai.user", "llm.user", "gen_ai.request.user", "litellm.end_user.id"),
        "metadata.user_api_key_end_user_id",
    ),
    *each(
        "tenant", "t-1", "t-1",
        *("tenant.id", "tenant", "traceloop.association.properties.tenant", "traceloop.association.properties.customer_id"),
        *("ai.telemetry.metadata.tenant", "litellm.team.id", "metadata.user_api_key_team_id"),
    ),
    one("langfuse.trace.metadata.tenant", '"t-1"', "tenant", "t-1"),
    one("metadata", '{"tenant": "t-1"}', "tenant", "t-1"),
    one("metadata", '{"scenario": "rag"}', "scenario", "rag"),
    *each(
        "session", "s-1", "s-1",
        *("gen_ai.conversation.id", "session.id", "langfuse.session.id", "traceloop.association.properties.session_id"),
        *("ai.telemetry.metadata.sessionId", "gcp.vertex.agent.session_id", "gen_ai.thread.id"),
    ),
    *each(
        "scenario", "rag", "rag",
        *("scenario", "app.scenario", "traceloop.association.properties.scenario", "ai.telemetry.functionId"),
        *("traceloop.workflow.name", "langfuse.trace.name", "gen_ai.workflow.name", "langsmith.trace.name"),
    ),
    one("gen_ai.agent.name", "helper", "scenario", None),
    *each("route", "/v1/x/{id}", "/v1/x/{id}", "http.route", "litellm.request.route", "metadata.user_api_key_request_route", "uri", "route"),
    one("uri", "https://host/v1/chat?key=1", "route", None),
    *each(
        "source_cost_usd", 1_500_000_000, 0.0015,
        *("gen_ai.cost.total_cost", "litellm.cost.total", "llm.cost.usd", "operation.cost", "gen_ai.usage.cost", "llm.cost.total"),
        "mlflow.llm.cost",
    ),
    one("langfuse.observation.cost_details", '{"total": 0.0015}', "source_cost_usd", 1_500_000_000),
    *each("region", "eu", "eu", "cloud.region"),
    *each("deployment_version", "v7", "v7", "deployment.version"),
    *each("degraded", True, True, "app.degraded"),
    *each("cold_start", True, True, "app.cold_start"),
    one("gateway.retries", 2, "attempts", 3),
    *each("batch_size", 8.0, 8, "inference.batch_size", "llm.batch.size"),
    *each("queue_depth", 3.0, 3, "inference.queue_depth"),
    *each("kv_cache_usage", 0.5, 0.5, "inference.kv_cache_usage", "llm.kv_cache.utilization"),
    *each("preemptions", 1.0, 1, "inference.preemptions", "llm.preemptions"),
    *each("itl_max_ns", 40_000_000, 0.04, "inference.itl_max_seconds"),
    *each(
        "replica", "p-1", "p-1",
        *("llm.replica", "vllm.backend_url", "target_pod", "llm_d.pd_proxy.decode.target", "instance_id", "worker_id"),
        "service.instance.id",
    ),
    *[
        (f"{told!r} is no value", {"attributes": CALL | {"gen_ai.response.model": told, "gen_ai.request.model": "m"}}, {"model": "m"})
        for told in ("", "None", "null")
    ],
    (
        "several generations of names on one span are no sum",
        {"attributes": CALL | {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.prompt_tokens": 100, "llm.token_count.prompt": 100}},
        {"input_tokens": 100},
    ),
    (
        "input stated without its cached parts",
        {"attributes": CALL | {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.cache_read.input_tokens": 30, "gen_ai.usage.cache_creation.input_tokens": 5}},
        {"input_tokens": 45, "flags": ["input_below_cached"]},
    ),
    ("vLLM", {
        "kind": 2, "name": "llm_request", "attributes": {
            "gen_ai.latency.e2e": 0.9, "gen_ai.latency.time_in_queue": 0.1, "gen_ai.latency.time_in_model_prefill": 0.2,
            "gen_ai.latency.time_in_model_decode": 0.5, "gen_ai.latency.time_to_first_token": 0.35, "gen_ai.usage.completion_tokens": 11,
        }}, {
            "e2e_ns": 900_000_000, "queue_ns": 100_000_000, "prefill_ns": 200_000_000, "decode_ns": 500_000_000, "vantage": "server",
            "call_ttft_ns": 350_000_000, "unattributed_ns": 100_000_000, "generation_ns": 500_000_000, "generation_basis": "engine",
        }),
    ("vLLM, unset marks", {
        "kind": 2, "name": "llm_request", "attributes": {
            "gen_ai.latency.e2e": 0.9, "gen_ai.latency.time_in_queue": -0.1, "gen_ai.latency.time_in_model_prefill": 90_000.0,
        }}, {"queue_ns": None, "prefill_ns": None, "decode_ns": None}),
    ("TGI", {"name": "generate", "attributes": {
        "total_time": "1s", "queue_time": "80.5ms", "inference_time": "0.8s", "time_per_token": "40ms", "validation_time": "900µs",
    }}, {"queue_ns": 80_500_000, "model_ns": 800_000_000, "output_tokens": 20, "generation_ns": None}),
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Request rows of all cases by trace id, one trace a case, read at once."""
    requests = []
    for number, (_, told, _) in enumerate(CASES):
        fields: dict[str, Any] = {"kind": 3} | told
        spans = [span(str(fields.pop("name", "chat")), span_id="a", trace=f"case {number}", **fields)]
        requests.append(request(spans, resource={"x": "y"}))
    path: Path = write_lines(tmp_path_factory.mktemp("emitters") / "a.jsonl", requests)
    with Store.open() as store:
        (receipt,) = load_paths([path], store, PLAIN)
        assert receipt.accepted == len(CASES), receipt.rejects
        return {row["trace_id"]: row for row in store.read("requests").to_dicts()}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[name for name, _, _ in CASES])
def test_a_name_gives_its_field(number: int, rows: dict[str, dict[str, Any]]) -> None:
    _, _, expected = CASES[number]
    row = rows[str(span("x", trace=f"case {number}")["traceId"])]
    assert {name: row[name] for name in expected} == expected
