"""OTLP metrics and logs are refused."""

from __future__ import annotations

from tests.support.readers import DATA, refusal


def test_metrics_are_refused_with_the_number_of_resources() -> None:
    assert (
        refusal(DATA / "otlp_other_signals" / "metrics.json")
        == "metrics.json holds OTLP metrics (2 resources), no spans. Export traces, or add the traces pipeline to the file exporter"
    )
