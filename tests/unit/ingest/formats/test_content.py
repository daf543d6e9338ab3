"""Which attributes are dropped at reading."""

from __future__ import annotations

import pytest

from ingest.formats.attributes import PICKS
from ingest.formats.content import CONTENT, FIGURE_ENDS, SECRETS, is_content
from ingest.store.span_columns import is_known

COLLATERAL = (
    *("prompt_tokens", "prompt_id", "prompt_template_version", "promptTokens", "prompt_length", "prompt_name"),
    *("completion_tokens", "gen_ai.prompt_tokens", "gen_ai.completion_tokens", "gen_ai.input_tokens", "prompt.id"),
    *("gen_ai.prompt.name", "llm.prompt_template.version", "ai.response.reasoningTokens", "exception.type"),
    *("ai.prompt_cost", "llm.openai.max_tokens", "embedding.text_length", "all_messages_count"),
)


@pytest.mark.parametrize(
    "name",
    [
        "gen_ai.input.messages",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.0.content",
        "input.value",
        "output.value",
        "traceloop.entity.input",
        "ai.prompt.messages",
        "ai.response.text",
        "langfuse.observation.input",
        "gcp.vertex.agent.llm_request",
        "llm.openai.messages",
        "request_data",
        "mlflow.spanInputs",
        "llm.headers",
        "metadata.user_api_key_hash",
        "metadata.requester_ip_address",
        "litellm.api_key.hash",
        "http.request.header.authorization",
        "MY_API_KEY".lower(),
        "url.full",
        "prompt",
        "prompts",
        "prompt_text",
        "prompt.customer.name",
        "gen_ai.prompt.0.tool_calls.0.id",
        "llm.prompt_template.variables",
        "llm.prompt_template.variables.name",
        "langfuse.observation.input.customer.name",
        "metadata.user_api_key_user_id",
        "my_secret_id",
        "http.request.header.content_length",
        "exception.message",
    ],
)
def test_prompts_answers_and_credentials_are_content(name: str) -> None:
    assert is_content(name)
    assert is_known(name)


@pytest.mark.parametrize(
    "name", ["deployment.environment", "langfuse.release", "custom.flag", "hw.gpu", "gen_ai.tool.name", *COLLATERAL]
)
def test_plain_facts_are_kept(name: str) -> None:
    assert not is_content(name)


def test_no_field_of_figures_is_taken_for_content() -> None:
    told_by_text = {"parameters", "finish_reason", "metadata", "team", "user", "route"}  # read first, then dropped
    figures = {name for pick, names in PICKS.items() if pick not in told_by_text for name in names}
    assert sorted(name for name in figures if is_content(name)) == []


def test_every_pattern_of_texts_keeps_the_figures_of_them_and_every_pattern_of_secrets_nothing() -> None:
    open_ended = [pattern.removesuffix("*") for pattern in CONTENT if pattern.endswith("*") and "*" not in pattern[:-1]]
    lost = {
        f"{name}_{end}"
        for name in open_ended
        if not name.endswith(".")
        for end in FIGURE_ENDS
        if is_content(f"{name}_{end}")
    }
    secret = {pattern.removesuffix("*") for pattern in SECRETS}
    assert sorted(name for name in lost if name.rpartition("_")[0] not in secret) == []
    assert all(is_content(pattern.replace("*", "x")) for pattern in CONTENT)
