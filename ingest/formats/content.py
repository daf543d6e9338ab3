"""Which attributes are never stored, and which are understood without a column, as data.

Output: is_content; CONTENT (patterns of names whose values are dropped at reading), NAMES (what of them is kept all the
same), KNOWN (patterns of names that are kept as attributes and not listed as "not understood").
Source: places where emitters put prompts, answers, keys and addresses; the general conventions of OpenTelemetry.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache

# Prompts and answers: patterns of names whose values are never stored, but for figures and names of them (is_content).
TEXTS: tuple[str, ...] = (
    "gen_ai.*messages",
    "gen_ai.prompt*",
    "gen_ai.completion*",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.tool.message",
    "gen_ai.input*",
    "gen_ai.output.messages*",
    "gen_ai.request.instructions",
    "input.value",
    "output.value",
    "llm.input_messages*",
    "llm.output_messages*",
    "llm.prompts*",
    "llm.completions*",
    "llm.prompt_template*",
    "llm.function_call",
    "llm.tools*",
    "llm.request.functions*",
    "llm.openai.*",
    "llm.anthropic.*",
    "llm.invocation_parameters",
    "retrieval.documents*",
    "reranker.*documents*",
    "reranker.query",
    "embedding.embeddings*",
    "embedding.text*",
    "traceloop.entity.input*",
    "traceloop.entity.output*",
    "ai.prompt*",
    "ai.response.text*",
    "ai.response.object*",
    "ai.response.reasoning*",
    "ai.response.toolCalls*",
    "ai.response.files*",
    "ai.result.*",
    "ai.toolCall.args",
    "ai.toolCall.result",
    "ai.value*",
    "ai.embedding*",
    "ai.documents*",
    "langfuse.observation.input*",
    "langfuse.observation.output*",
    "langfuse.trace.input*",
    "langfuse.trace.output*",
    "langfuse.observation.status_message",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_call_args",
    "gcp.vertex.agent.tool_response",
    "gcp.vertex.agent.data",
    "request_data",
    "response_data",
    "all_messages*",
    "pydantic_ai.all_messages*",
    "final_result",
    "tool_arguments",
    "tool_response",
    "model_request_parameters",
    "mlflow.spanInputs",
    "mlflow.spanOutputs",
    "tool.parameters",
    "tool.json_schema",
    "input",
    "output",
    "prompt*",
    "completion",
    "logfire.msg*",
    "logfire.json_schema",
    "litellm.request.messages*",
    "error.message",
    "error.stack*",
    "exception.*",
    "message",
)

# Credentials, addresses and headers: never stored, whatever the rest of the name says.
SECRETS: tuple[str, ...] = (
    "llm.headers",
    "ai.request.headers*",
    "metadata.user_api_key*",
    "metadata.requester_*",
    "metadata.headers*",
    "metadata.spend_logs_metadata*",
    "litellm.metadata.user_api_key*",
    "litellm.api_key*",
    "*api_key*",
    "*authorization*",
    "*password*",
    "*secret*",
    "http.request.header.*",
    "http.response.header.*",
    "url.full",
    "url.query",
    "http.url",
    "http.target",
    "client.address",
    "net.peer.ip",
    "net.sock.*",
    "network.peer.address",
    "user_agent.original",
    "http.user_agent",
)

CONTENT = (*TEXTS, *SECRETS)

# Names and figures that would be taken for what they belong to.
NAMES: tuple[str, ...] = (
    "gen_ai.prompt.name",
    "gen_ai.prompt.id",
    "gen_ai.prompt.version",
    "prompt.id",
    "prompt.name",
    "prompt.version",
    "prompt.vendor",
    "llm.prompt_template.name",
    "llm.prompt_template.id",
    "llm.prompt_template.version",
    "gen_ai.completion.*.finish_reason",
    "llm.completions.*.finish_reason",
    "exception.type",
    "exception.escaped",
)
FIGURE_ENDS = frozenset(  # last word of a name that tells a figure or a name of a text, and not the text
    (
        *("tokens", "count", "length", "len", "size", "chars", "bytes", "id", "version", "name", "hash", "type"),
        *("format", "ms", "s", "ns", "time", "duration", "cost", "price", "score", "ratio", "index"),
    )
)
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

# Understood, and of no column: parameters and the general conventions of OpenTelemetry. Kept as attributes, not
# listed as "not understood".
KNOWN: tuple[str, ...] = (
    "gen_ai.request.*",
    "gen_ai.usage.*",
    "gen_ai.aggregated_usage.*",
    "gen_ai.latency.time_in_*",
    "gen_ai.cost.*",
    "gen_ai.agent.*",
    "gen_ai.tool.*",
    "gen_ai.data_source.*",
    "gen_ai.openai.*",
    "openai.*",
    "llm.token_count.*",
    "llm.usage.*",
    "ai.usage.*",
    "ai.response.*",
    "ai.settings.*",
    "ai.toolCall.*",
    "operation.name",
    "span.kind",
    "error",
    "resource.name",
    "http.*",
    "url.*",
    "server.*",
    "client.*",
    "network.*",
    "net.*",
    "db.*",
    "rpc.*",
    "messaging.*",
    "code.*",
    "thread.*",
    "process.*",
    "host.*",
    "service.*",
    "telemetry.*",
    "deployment.*",
    "k8s.*",
    "otel.*",
    "langfuse.*",
    "logfire.*",
    "traceloop.entity.*",
    "litellm.*",
)


@cache
def is_content(name: str) -> bool:
    """Whether the attribute may hold prompts, answers, credentials or addresses, and is dropped.

    `prompt_tokens` and `gen_ai.prompt_template_version` are kept: the part of the name that stands in the place of the
    pattern's end says that it is a figure or a name. What lies deeper (`input.customer.name`) is part of the text.
    """
    if any(fnmatchcase(name, pattern) for pattern in SECRETS):
        return True
    if any(fnmatchcase(name, pattern) for pattern in NAMES):
        return False
    found = [pattern for pattern in TEXTS if fnmatchcase(name, pattern)]
    return bool(found) and not (_is_figure(name) and all(name.count(".") == pattern.count(".") for pattern in found))


def _is_figure(name: str) -> bool:
    words = _WORDS.findall(name.rpartition(".")[2])
    return len(words) > 1 and words[-1].lower() in FIGURE_ENDS
