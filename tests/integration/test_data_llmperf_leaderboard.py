"""Facts of the LLMPerf responses, as their page states them, from the reader alone."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.readers import nearest_rank, numbers, requests, told_format, tpots_ns
from tests.support.shared import shared

# file: statuses, short answers, output tokens
COUNTS = {
    "anyscale_70b": ({"ok": 150}, 0, 22042),
    "bedrock_70b": ({"ok": 150}, 49, 18640),
    "fireworks_70b": ({"ok": 150}, 0, 22577),
    "perplexity_70b": ({"ok": 148, "shed": 2}, 0, 21943),
    "together_70b": ({"ok": 150}, 0, 23789),
}
# file: n, nr50, nr95, nr99, max of TTFT of rows without error code
TTFT = {
    "anyscale_70b": (150, 0.211417, 0.367074, 0.49129, 0.592821),
    "bedrock_70b": (101, 0.38772, 0.542103, 0.686971, 0.717338),
    "fireworks_70b": (150, 0.516232, 0.78842, 0.955792, 0.957612),
    "perplexity_70b": (148, 0.365315, 0.636355, 0.659394, 0.685494),
    "together_70b": (150, 0.634963, 0.778175, 0.875925, 0.891344),
}
E2E = {  # of all rows; the page counts the two zeros of perplexity, which are unknown here
    "anyscale_70b": (150, 2.257432, 3.163228, 3.734177, 3.797027),
    "bedrock_70b": (150, 6.921745, 7.809308, 8.093416, 8.167376),
    "fireworks_70b": (150, 3.7708, 4.217388, 4.494495, 4.552339),
    "together_70b": (150, 2.436439, 3.050753, 3.537733, 3.558019),
}
TPOT = {
    "anyscale_70b": (150, 0.013834, 0.020546, 0.034846, 0.039002),
    "bedrock_70b": (150, 0.043785, 0.049597, 0.051326, 0.05136),
    "fireworks_70b": (150, 0.021634, 0.024498, 0.026259, 0.026288),
    "perplexity_70b": (148, 0.030474, 0.035706, 0.03638, 0.036719),
    "together_70b": (150, 0.011494, 0.014934, 0.018867, 0.023813),
}


def told(name: str) -> list[dict[str, object]]:
    return requests(shared(f"data/llmperf-leaderboard/{name}.json"))


def is_short(row: dict[str, object]) -> bool:
    return isinstance(row["flags"], list) and "short_answer" in row["flags"]


def spread(values: list[float]) -> tuple[int, ...]:
    ranks = (nearest_rank(values, share) for share in (0.5, 0.95, 0.99))
    return (len(values), *(round(value / 1000) for value in (*ranks, max(values))))


def in_us(facts: tuple[float, ...]) -> tuple[int, ...]:
    return (int(facts[0]), *(round(value * 1e6) for value in facts[1:]))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_tokens_are_those_of_the_page(name: str) -> None:
    found = told(name)
    statuses, n_short, tokens_out = COUNTS[name]
    assert told_format(shared(f"data/llmperf-leaderboard/{name}.json")) == "llmperf"
    assert dict(Counter(str(row["status_class"]) for row in found)) == statuses
    assert sum(is_short(row) for row in found) == n_short
    assert (sum(numbers(found, "input_tokens")), sum(numbers(found, "output_tokens"))) == (82500, tokens_out)


@pytest.mark.parametrize("name", COUNTS)
def test_latencies_are_those_of_the_page(name: str) -> None:
    found = told(name)
    assert in_us(TTFT[name]) == spread([float(n) for n in numbers((r for r in found if not is_short(r)), "ttft_ns")])
    assert in_us(TPOT[name]) == spread(tpots_ns(found))
    if name in E2E:
        assert in_us(E2E[name]) == spread([float(n) for n in numbers(found, "e2e_ns")])


def test_a_failed_row_has_no_latency_of_zero() -> None:
    failed = [row for row in told("perplexity_70b") if row["status_class"] == "shed"]
    assert [(row.get("e2e_ns"), row.get("ttft_ns"), row["http_status"]) for row in failed] == [(None, None, 429)] * 2
