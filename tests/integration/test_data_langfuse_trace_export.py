"""Facts of the Langfuse downloads, as their page states them, from the reader alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ingest.formats import values as v
from ingest.formats.contract import RawSpan
from tests.support.readers import nearest_rank, spans, told_format
from tests.support.shared import shared

FOLDER = "data/langfuse-trace-export"
# file: trace id, observations, generations, input, output, cost of generations, cost of all, first start, last end
FACTS = {
    "pydantic-ai-tools-2025-12-04": (
        *("7a38edd8123db47ad8dcb8aa4c5e3926", 12, 4, 1315, 209, "0.000322649999", "0.000322649999"),
        *("2025-12-04T14:51:22.049Z", "2025-12-04T14:51:29.473Z"),
    ),
    "openai-agents-2025-09-30": (
        *("fee618f96dc31e0ca38b2f7b26eb8b29", 5, 2, 140, 44, "0.000632", "0.000632"),
        *("2025-09-30T09:03:59.962Z", "2025-09-30T09:04:02.152Z"),
    ),
    "google-adk-2025-08-28": (
        *("b82a0bdc1994fc5d1c8576ca032543f7", 5, 2, 67, 9, "0.0000103", "0.0000103"),
        *("2025-08-28T07:32:30.303Z", "2025-08-28T07:32:32.151Z"),
    ),
    "microsoft-agent-2025-12-17": (
        *("8e419d3288419b5d944270505640e183", 4, 2, 293, 106, "0.00028525", "0.00065625"),
        *("2025-12-17T09:37:37.258Z", "2025-12-17T09:37:41.622Z"),
    ),
    "vercel-aisdk-2025-11-17": (
        *("df41e597d0a85e0d7a6ae8ebfaa70aa0", 3, 2, 76, 128, "0.001374999999", "0.001374999999"),
        *("2025-11-17T14:55:18.786Z", "2025-11-17T14:55:21.831Z"),
    ),
    "llamaindex-2025-06-05": (
        *("12ea412956f99347b0503c1144acd0ec", 2, 1, 13, 81, "0.000842499999", "0.000842499999"),
        *("2025-06-05T15:45:52.971Z", "2025-06-05T15:45:55.750Z"),
    ),
}
WALL_MS = {  # nr50, nr95, nr99 of generation walls
    "pydantic-ai-tools-2025-12-04": (1707.0, 2362.0, 2362.0),
    "openai-agents-2025-09-30": (1036.0, 1150.0, 1150.0),
    "google-adk-2025-08-28": (911.0, 924.0, 924.0),
    "microsoft-agent-2025-12-17": (1065.0, 3289.0, 3289.0),
    "vercel-aisdk-2025-11-17": (3043.0, 3045.0, 3045.0),
    "llamaindex-2025-06-05": (2776.0, 2776.0, 2776.0),
}
WRAPPER = "ai.generateText"  # typed as a generation, told as a span, so that its call is not counted twice


def told(name: str) -> list[RawSpan]:
    path = shared(f"{FOLDER}/{name}.json")
    assert told_format(path) == "langfuse"
    return spans(path)


def generations(found: list[RawSpan]) -> list[RawSpan]:
    return [
        span for span in found if span.attributes["langfuse.observation.type"] == "generation" or span.name == WRAPPER
    ]


def tokens(found: list[RawSpan], side: str) -> int:
    return sum(int(span.attributes.get(f"gen_ai.usage.{side}_tokens", 0)) for span in found)


def cost(found: list[RawSpan]) -> Decimal:
    return sum((Decimal(span.attributes.get("gen_ai.cost.total_cost", "0")) for span in found), Decimal(0))


@pytest.mark.parametrize("name", FACTS)
def test_counts_tokens_and_costs_are_those_of_the_page(name: str) -> None:
    found = told(name)
    models = generations(found)
    facts = (
        *(found[0].trace_id, len(found), len(models), tokens(models, "input"), tokens(models, "output")),
        *(cost(models), cost(found), min(span.start_ns for span in found), max(span.end_ns for span in found)),
    )
    trace, *counts, cost_models, cost_all, first, last = FACTS[name]
    expected = (trace, *counts, Decimal(cost_models), Decimal(cost_all), v.instant_ns(first), v.instant_ns(last))
    assert expected == facts


@pytest.mark.parametrize("name", WALL_MS)
def test_walls_of_generations_come_from_start_and_end_whatever_latency_says(name: str) -> None:
    walls = [(span.end_ns - span.start_ns) / 1e6 for span in generations(told(name))]
    assert WALL_MS[name] == tuple(nearest_rank(walls, share) for share in (0.5, 0.95, 0.99))


def test_the_wrapper_of_the_ai_sdk_is_no_second_call() -> None:
    found = told("vercel-aisdk-2025-11-17")
    kinds = [(span.name, span.attributes["langfuse.observation.type"]) for span in found]
    assert kinds == [("ai.generateText", "span"), ("ai.generateText.doGenerate", "generation"), ("getWeather", "tool")]


def test_user_and_session_of_the_trace_stand_on_every_span() -> None:
    for name, user, session in (
        ("google-adk-2025-08-28", "demo-user", "demo-session"),
        ("llamaindex-2025-06-05", "user_123", "session_abc"),
    ):
        found = {(span.attributes.get("user.id"), span.attributes.get("session.id")) for span in told(name)}
        assert found == {(user, session)}


def test_no_prompt_and_no_address_is_kept() -> None:
    for name in FACTS:
        for span in told(name):
            assert "@" not in "".join(span.attributes.values())
            assert all(len(value) < 200 for value in span.attributes.values())
