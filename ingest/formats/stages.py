"""What kind of step a span is: ordered rules of all emitters, as data.

Input: what a span tells of its kind. Output: its class and emitter by RULES, the first whose conditions all hold.
Source: span names and kind attributes as the emitters write them, engines first, then gateways, frameworks and
instrumentations of client libraries, then the names of stages themselves.

Classes: a stage of schema.STAGES, or
    call         a model call, as a client or gateway sees it
    engine       a model call, as the engine itself tells it
    slice.X      a part X of an engine's work told as a span (queue, prefill, decode, network)
    thread       an engine's thread, parent of slices
    first_token  a span that lasts until the first token
    container    agent, workflow, chain: its own time is unattributed
    server       a plain HTTP server span: a gateway if its service is one, else a container
    ignored      repeats another span, trails the request, or is none (start-up)
A span of no rule is part of the span around it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

# columns that a rule may look at: of the span itself, and PICKS of attributes.py
KIND_PICKS: tuple[str, ...] = (
    "operation",
    "kind_openinference",
    "kind_traceloop",
    "kind_request",
    "kind_langfuse",
    "kind_ai_sdk",
    "kind_spring",
    "kind_langsmith",
    "kind_mlflow",
    "kind_logfire",
    "kind_database",
    "kind_mcp",
    "module",
    "thread",
    "provider",
)
PRESENCE_PICKS: tuple[str, ...] = ("total_s", "total_text", "kv_transfer_s", "queue_s", "output_tokens", "model")


@dataclass(frozen=True)
class Rule:
    """One rule: `when` maps a column (scope, name, service, kind, a KIND_PICK) to a regular expression that must be
    found in it, or `has.PICK` to "" where the attribute must only be there."""

    cls: str
    emitter: str
    when: dict[str, str] = field(default_factory=dict)


def _family(emitter: str, column: str, classes: dict[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(cls, emitter, {column: pattern}) for pattern, cls in classes.items())


_TASKS = {  # names of tasks and tools of no declared kind
    r"(?i)retriev|vector.?search|similarity.?search": "retrieval",
    r"(?i)re-?rank": "rerank",
    r"(?i)guard|moderat": "guardrail",
    r"(?i)format|parse|validat|post-?process": "postprocess",
}

_ENGINES: tuple[Rule, ...] = (
    Rule("ignored", "logfire", {"kind_logfire": "^pending_span$"}),
    Rule("engine", "triton", {"scope": "^triton-server$", "name": "^compute$"}),
    Rule("postprocess", "triton", {"scope": "^triton-server$", "name": "(?i)^post-?_?process"}),
    Rule("container", "triton", {"scope": "^triton-server$"}),
    Rule("engine", "sglang", {"module": "^sglang::request$"}),
    Rule("engine", "sglang", {"scope": "^sglang", "name": "^ ?Req [0-9a-f]{8}$"}),
    Rule("thread", "sglang", {"scope": "^sglang", "thread": "."}),
    Rule(
        "slice.queue", "sglang", {"scope": "^sglang", "name": "^(prefill_waiting|prefill_bootstrap|decode_bootstrap)$"}
    ),
    Rule("slice.prefill", "sglang", {"scope": "^sglang", "name": "^prefill_forward$"}),
    Rule("slice.decode", "sglang", {"scope": "^sglang", "name": "^decode_forward$"}),
    Rule("slice.network", "sglang", {"scope": "^sglang", "name": "^(prefill_transfer_kv_cache|decode_transferred)$"}),
    Rule("engine", "tensorrt_llm", {"has.kv_transfer_s": ""}),
    Rule("gateway", "tensorrt_llm", {"name": "^disaggregated_request$"}),
    Rule("engine", "tgi", {"has.total_text": "", "name": "^(generate|generate_stream|chat_completions|completions)$"}),
    Rule("ignored", "tgi", {"scope": "^opentelemetry-otlp$", "name": "^(prefill|decode|concat|filter|clear_cache)"}),
    Rule("gateway", "llm.tracing", {"scope": r"^llm\.tracing$", "kind": "^2$", "name": "^(POST|GET) "}),
    Rule("engine", "vllm", {"name": "^llm_request$", "has.total_s": ""}),
    Rule("engine", "vllm", {"scope": "^vllm", "name": "^llm_request$"}),
    Rule("slice.queue", "vllm", {"name": "^(vllm_)?queue$"}),
    Rule("slice.prefill", "vllm", {"name": "^(vllm_)?prefill$"}),
    Rule("slice.decode", "vllm", {"name": "^(vllm_)?decode$"}),
    Rule("slice.network", "vllm", {"name": "^vllm_async_kv_transfer$"}),
    Rule("ignored", "vllm", {"scope": "^vllm", "name": "(?i)^load model|compil|warm ?up|profil|^init"}),
)

_GATEWAYS: tuple[Rule, ...] = (
    Rule("gateway", "dynamo", {"name": "^(http-request|prefill_routing)$"}),
    Rule("call", "dynamo", {"name": "^(handle_payload|engine\\.generate)$"}),
    Rule("gateway", "llm-d", {"name": r"^(gateway\.request|llm_d\.epp\.)"}),
    Rule("call", "llm-d", {"name": r"^llm_d\.pd_proxy\."}),
    Rule("gateway", "production-stack", {"name": r"^(router /|vllm\.routing|process\.)"}),
    Rule("call", "aibrix", {"name": r"^(llm\.inference|process_request)$"}),
    Rule("first_token", "aibrix", {"name": r"^llm\.time_to_first_response_chunk$"}),
    Rule("gateway", "ray", {"name": "^(proxy_http_request|route_to_replica)"}),
    Rule("call", "ray", {"name": "^replica_handle_request"}),
    Rule("call", "envoy", {"scope": "^envoyproxy/ai-gateway"}),
    Rule("call", "litellm", {"name": "^litellm_request$"}),
    Rule("ignored", "litellm", {"scope": "^litellm$", "name": "^(raw_gen_ai_request|self|batch_write_to_db.*)$"}),
    Rule("guardrail", "litellm", {"scope": "^litellm$", "name": "^(execute_)?guardrail"}),
    Rule("call", "litellm", {"scope": "^litellm$", "operation": "^a?(chat|text_?completion|completion|responses)$"}),
    Rule("retrieval", "litellm", {"scope": "^litellm$", "operation": "^a?embeddings?$"}),
    Rule("gateway", "litellm", {"scope": "^litellm$"}),
    Rule("gateway", "litellm", {"service": "^litellm", "kind": "^2$"}),
)

_FRAMEWORKS: tuple[Rule, ...] = (
    *_family(
        "langfuse",
        "kind_langfuse",
        {
            "^generation$": "call",
            "^trace$": "ignored",
            "^(embedding|retriever)$": "retrieval",
            "^tool$": "tool",
            "^guardrail$": "guardrail",
            "^evaluator$": "postprocess",
            ".": "container",
        },
    ),
    *_family(
        "ai_sdk",
        "kind_ai_sdk",
        {
            r"\.(doStream|doGenerate)$": "call",
            r"^ai\.toolCall$": "tool",
            r"\.doEmbed$": "retrieval",
            r"(?i)\.doRerank$": "rerank",
            r"^ai\.": "container",
        },
    ),
    Rule("container", "spring", {"kind_spring": "^(chat_client|advisor)$"}),
    Rule("retrieval", "spring", {"kind_spring": "^vector_store$"}),
    Rule("tool", "spring", {"kind_spring": "^tool_call$"}),
    *_family(
        "langsmith",
        "kind_langsmith",
        {
            "(?i)^llm$": "call",
            "(?i)^(retriever|embedding)$": "retrieval",
            "(?i)^tool$": "tool",
            "(?i)^parser$": "postprocess",
            ".": "container",
        },
    ),
    *_family(
        "mlflow",
        "kind_mlflow",
        {
            "(CHAT_MODEL|LLM)": "call",
            "(RETRIEVER|EMBEDDING)": "retrieval",
            "RERANKER": "rerank",
            "TOOL": "tool",
            "GUARDRAIL": "guardrail",
            "(PARSER|EVALUATOR)": "postprocess",
            ".": "container",
        },
    ),
    *_family(
        "openinference",
        "kind_openinference",
        {
            "(?i)^llm$": "call",
            "(?i)^(retriever|embedding)$": "retrieval",
            "(?i)^reranker$": "rerank",
            "(?i)^tool$": "tool",
            "(?i)^guardrail$": "guardrail",
            "(?i)^evaluator$": "postprocess",
            ".": "container",
        },
    ),
    Rule("tool", "openllmetry", {"kind_traceloop": "^tool$"}),
    *(Rule(cls, "openllmetry", {"kind_traceloop": "^task$", "name": pattern}) for pattern, cls in _TASKS.items()),
    Rule("container", "openllmetry", {"kind_traceloop": "^(workflow|agent|task)$"}),
)

_OPERATIONS: tuple[Rule, ...] = (
    Rule("tool", "mcp", {"kind_mcp": "^tools/call"}),
    Rule("container", "adk", {"name": "^(invocation|agent_run)"}),
    Rule("call", "adk", {"name": "^call_llm$"}),
    Rule("call", "logfire", {"scope": r"^logfire\.", "operation": "^(chat|text_completion|generate_content)$"}),
    *_family(
        "genai",
        "operation",
        {
            "^a?(chat|text_?completion|generate_content|completion|responses)$": "call",
            "^a?(embeddings?|retrieval)$": "retrieval",
            "^rerank$": "rerank",
            "^execute_tool$": "tool",
            ".": "container",
        },
    ),
    Rule("rerank", "openllmetry", {"kind_request": "^rerank$"}),
    Rule("retrieval", "openllmetry", {"kind_request": "^embeddings?$"}),
    Rule("call", "openllmetry", {"kind_request": "^a?(chat|completion)$"}),
    Rule(
        "retrieval",
        "openllmetry",
        {"kind_database": "(?i)^(chroma|pinecone|qdrant|weaviate|milvus|marqo|lancedb|pgvector|vespa|faiss)"},
    ),
    Rule("call", "semantic_kernel", {"name": r"^(chat|text)\.completions "}),
    Rule("container", "agent_framework", {"name": r"^(workflow\.run|executor\.process|edge_group\.process)"}),
    Rule("container", "strands", {"name": "^execute_event_loop_cycle"}),
    Rule("tool", "pydantic_ai", {"name": "^running tool"}),
    Rule("container", "pydantic_ai", {"name": "^(agent run|running \\d+ tools?)"}),
)

_NAMES: tuple[Rule, ...] = (
    Rule("network", "names", {"name": r"^network\."}),
    Rule("gateway", "names", {"name": r"^gateway\."}),
    Rule("guardrail", "names", {"name": r"^guardrail"}),
    Rule("retrieval", "names", {"name": r"^retriev(al|e|er)\b"}),
    Rule("rerank", "names", {"name": r"^rerank"}),
    Rule("tool", "names", {"name": r"^execute_tool\b"}),
    Rule("postprocess", "names", {"name": r"^post-?process"}),
    Rule("unattributed", "names", {"name": r"^(de)?tokenize$"}),
    Rule("container", "names", {"name": r"^invoke_(agent|workflow)\b"}),
    Rule("call", "names", {"name": r"^llm_request$"}),
    Rule("call", "names", {"provider": ".", "has.output_tokens": "", "has.model": ""}),
    Rule("server", "http", {"kind": "^2$"}),
)

RULES: tuple[Rule, ...] = (*_ENGINES, *_GATEWAYS, *_FRAMEWORKS, *_OPERATIONS, *_NAMES)

KIND_COLUMNS: tuple[str, ...] = ("scope", "name", "kind", "service", *KIND_PICKS, *(f"has.{p}" for p in PRESENCE_PICKS))


def classify(step: Sequence[str | None], stages: Sequence[tuple[str, str]] = ()) -> tuple[str | None, str | None]:
    """Class and emitter of a span, or (None, None) if no rule knows it.

    Args:
        step: values of KIND_COLUMNS in that order; null is "not told", and for `has.X` "not there".
        stages: patterns of span names (* is any text) and their stage, from a mapping file; they go first.
    """
    told = dict(zip(KIND_COLUMNS, step, strict=True))
    name = told["name"] or ""
    for pattern, stage in stages:
        if fnmatchcase(name, pattern):
            return stage, "mapping"
    for rule in RULES:
        if all(_holds(told[column], pattern) for column, pattern in rule.when.items()):
            return rule.cls, rule.emitter
    return None, None


def _holds(value: str | None, pattern: str) -> bool:
    return value is not None and re.search(pattern, value) is not None
