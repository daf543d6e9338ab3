"""Aggregates of OpenAI and of activity pages are refused."""

from __future__ import annotations

from tests.support.readers import DATA, refusal


def test_buckets_are_refused() -> None:
    assert (
        refusal(DATA / "openai_usage" / "page.json")
        == "page.json has usage or costs per time bucket, no requests. Costs per request need request logs or traces"
    )


def test_a_row_per_day_and_model_is_refused() -> None:
    assert (
        refusal(DATA / "openai_usage" / "activity.csv")
        == "activity.csv has one row per day and model. Costs per request need request logs"
    )
