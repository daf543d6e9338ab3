"""What kind of step a span is, emitter by emitter."""

from __future__ import annotations

import pytest

from ingest.formats.stages import KIND_COLUMNS, RULES, classify
from ingest.schema import STAGES

CLASSES = {*STAGES, "call", "engine", "thread", "first_token", "container", "server", "ignored"} | {
    f"slice.{part}" for part in ("queue", "prefill", "decode", "network")
}


def kind_of(told: dict[str, str], stages: tuple[tuple[str, str], ...] = ()) -> tuple[str | None, str | None]:
    values = {key.replace("has_", "has."): value for key, value in told.items()}
    return classify([values.get(column) for column in KIND_COLUMNS], stages)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"name": "llm_request", "has_total_s": "", "scope": "vllm.tracing.otel"}, ("engine", "vllm")),
        ({"name": "Load model", "scope": "vllm.model_executor"}, ("ignored", "vllm")),
        ({"name": "vllm_queue"}, ("slice.queue", "vllm")),
        ({"name": " Req 8c1f0e5d", "module": "sglang::request"}, ("engine", "sglang")),
        ({"name": "Scheduler [TP 0]", "scope": "sglang server", "thread": "Scheduler"}, ("thread", "sglang")),
        ({"name": "prefill_forward", "scope": "sglang server"}, ("slice.prefill", "sglang")),
        ({"name": "any", "has_kv_transfer_s": ""}, ("engine", "tensorrt_llm")),
        ({"name": "compute", "scope": "triton-server"}, ("engine", "triton")),
        ({"name": "generate", "has_total_text": ""}, ("engine", "tgi")),
        ({"name": "http-request"}, ("gateway", "dynamo")),
        ({"name": "engine.generate"}, ("call", "dynamo")),
        ({"name": "llm_d.epp.schedule"}, ("gateway", "llm-d")),
        ({"name": "llm_d.pd_proxy.decode"}, ("call", "llm-d")),
        ({"name": "router /v1/completions"}, ("gateway", "production-stack")),
        ({"name": "llm.time_to_first_response_chunk"}, ("first_token", "aibrix")),
        ({"name": "replica_handle_request app"}, ("call", "ray")),
        ({"name": "ChatCompletion", "scope": "envoyproxy/ai-gateway", "kind_openinference": "LLM"}, ("call", "envoy")),
        ({"name": "litellm_request", "scope": "litellm"}, ("call", "litellm")),
        ({"name": "raw_gen_ai_request", "scope": "litellm"}, ("ignored", "litellm")),
        ({"name": "execute_guardrail pii", "scope": "litellm"}, ("guardrail", "litellm")),
        ({"name": "auth /v1", "scope": "litellm"}, ("gateway", "litellm")),
        ({"name": "POST /v1/chat", "scope": "fastapi", "service": "litellm", "kind": "2"}, ("gateway", "litellm")),
        ({"name": "chat gpt", "operation": "chat"}, ("call", "genai")),
        ({"name": "embeddings x", "operation": "embeddings"}, ("retrieval", "genai")),
        ({"name": "execute_tool f", "operation": "execute_tool"}, ("tool", "genai")),
        ({"name": "invoke_agent a", "operation": "invoke_agent"}, ("container", "genai")),
        ({"name": "retrieve.task", "kind_traceloop": "task"}, ("retrieval", "openllmetry")),
        ({"name": "moderation.task", "kind_traceloop": "task"}, ("guardrail", "openllmetry")),
        ({"name": "flow.workflow", "kind_traceloop": "workflow"}, ("container", "openllmetry")),
        ({"name": "chroma.query", "kind_database": "chroma"}, ("retrieval", "openllmetry")),
        ({"name": "ChatOpenAI", "kind_openinference": "LLM"}, ("call", "openinference")),
        ({"name": "x", "kind_openinference": "RERANKER"}, ("rerank", "openinference")),
        ({"name": "x", "kind_langfuse": "generation"}, ("call", "langfuse")),
        ({"name": "x", "kind_ai_sdk": "ai.streamText.doStream"}, ("call", "ai_sdk")),
        ({"name": "x", "kind_ai_sdk": "ai.streamText"}, ("container", "ai_sdk")),
        ({"name": "x", "kind_spring": "vector_store"}, ("retrieval", "spring")),
        ({"name": "x", "kind_langsmith": "llm"}, ("call", "langsmith")),
        ({"name": "x", "kind_mlflow": '"CHAT_MODEL"'}, ("call", "mlflow")),
        ({"name": "x", "kind_mlflow": '"PARSER"'}, ("postprocess", "mlflow")),
        ({"name": "tools/call f", "kind_mcp": "tools/call"}, ("tool", "mcp")),
        ({"name": "chat.completions gpt-4"}, ("call", "semantic_kernel")),
        ({"name": "workflow.run"}, ("container", "agent_framework")),
        ({"name": "handle", "kind_logfire": "pending_span"}, ("ignored", "logfire")),
        ({"name": "network.ingress"}, ("network", "names")),
        ({"name": "postprocess.validate"}, ("postprocess", "names")),
        ({"name": "GET /", "kind": "2"}, ("server", "http")),
        ({"name": "GET", "kind": "3"}, (None, None)),
    ],
)
def test_the_kind_of_a_step(told: dict[str, str], expected: tuple[str | None, str | None]) -> None:
    assert kind_of(told) == expected


def test_a_house_names_its_steps_before_every_rule() -> None:
    own = (("vector.*", "retrieval"), ("llm_*", "tool"))
    assert kind_of({"name": "vector.find"}, own) == ("retrieval", "mapping")
    assert kind_of({"name": "llm_request", "has_total_s": ""}, own) == ("tool", "mapping")


def test_every_rule_gives_a_class_that_the_assembly_knows_and_looks_at_columns_that_exist() -> None:
    assert {rule.cls for rule in RULES} <= CLASSES
    assert {column for rule in RULES for column in rule.when} <= set(KIND_COLUMNS)
