"""Objectives in sentences."""

from __future__ import annotations

from analysis.explain import explain_objective
from analysis.objectives import read_objectives


def lines(text: str, settings: str = "") -> list[str]:
    read = read_objectives(f"{settings}\nobjectives:\n  - {{id: x, {text}}}")
    return explain_objective(read.items[0], read.settings)


def test_a_target_tells_good_policy_windows_and_burn() -> None:
    told = lines(
        "title: Chat, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 60ms}], where: {scenario: chat}, "
        "target: 99%, window: 4h, period: 7d",
        "timezone: Europe/Berlin\non_shed: excluded",
    )
    assert told[:3] == [
        "x: Chat",
        "At least 99 % of the judged requests must be good.",
        "A request is good if it did not fail and Time to first token is at most 2s and Time per output token is at most 60ms.",
    ]
    assert "Only requests with scenario chat." in told
    assert "  refused for load (429, 503): left out, counted" in told
    assert "  given up by the caller: bad if the limit had already passed, else left out, counted" in told
    assert told[-6:] == [
        "Fewer than 100 judged requests give no verdict: too few.",
        "Error budget: 1 % of the requests of 7d. Endangered if it burns faster than",
        "  13.44 times its pace over 1h and over 5m",
        "  3.5 times its pace over 6h and over 30m",
        "  1.4 times its pace over 1d and over 2h",
        "  0.98 times its pace over 3d and over 6h",
    ]


def test_the_other_forms_say_over_what_they_are_taken() -> None:
    assert lines("metric: e2e, threshold: 5s, statistic: p95")[1] == (
        "Kept if P95 of End-to-end latency is at most 5s, over requests with status ok that have the figure."
    )
    assert lines("metric: cost, threshold: 3 USD, statistic: sum, per: user")[1] == (
        "Kept if the sum of Cost is at most 3 USD, over all requests."
    )
    assert lines("metric: gpu_utilization, threshold: 30%")[1] == (
        "Kept if GPU utilization is at least 30%, over replica hours and the tokens beside them."
    )
    assert lines("metric: availability, target: 99%")[2] == "A request is good if it did not fail."
