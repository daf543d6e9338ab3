"""Which attributes are dropped at reading."""

from __future__ import annotations

import pytest

from ingest.formats.attributes import PICKS
from ingest.store.span_columns import is_content, is_known


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
    ],
)
def test_prompts_answers_and_credentials_are_content(name: str) -> None:
    assert is_content(name)
    assert is_known(name)


@pytest.mark.parametrize(
    "name", ["deployment.environment", "langfuse.release", "custom.flag", "hw.gpu", "gen_ai.tool.name"]
)
def test_plain_facts_are_kept(name: str) -> None:
    assert not is_content(name)


def test_no_field_of_figures_is_taken_for_content() -> None:
    told_by_text = {"parameters", "finish_reason", "metadata", "team", "user", "route"}  # read first, then dropped
    figures = {name for pick, names in PICKS.items() if pick not in told_by_text for name in names}
    assert sorted(name for name in figures if is_content(name)) == []
