"""OpenSLO documents out, and in again."""

from __future__ import annotations

from dataclasses import replace

from analysis.objectives import default_objectives, read_objectives
from analysis.openslo_export import write_openslo

TEXT = """
timezone: Europe/Berlin
objectives:
  - {id: a, metric: ttft, threshold: 2100ms, target: 95%, where: {scenario: [chat, rag]}, window: 4h, min_requests: 150}
  - {id: b, metric: ttft, threshold: {"<2k": 800ms, else: "500ms + 0.4ms/token"}, target: 99%, period: 28d}
  - {id: c, title: All good, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 60ms}], target: 99.9%}
  - {id: d, metric: availability, target: 99%, per: tenant}
  - {id: e, metric: e2e, threshold: 5s, statistic: p95}
"""


def test_what_is_written_is_read_back_the_same() -> None:
    objectives = read_objectives(TEXT)
    text = write_openslo(objectives)
    again = read_objectives(text)
    assert text.startswith("# not in OpenSLO: e, whose goal is a p95; there are targets alone\n")
    assert again.settings.timezone == "Europe/Berlin"
    for before, after in zip(objectives.items[:4], again.items, strict=True):
        limits = [(c.metric.id, c.threshold.bands, c.threshold.otherwise) for c in before.conditions]
        assert [(c.metric.id, c.threshold.bands, c.threshold.otherwise) for c in after.conditions] == limits
        assert replace(after, conditions=()) == replace(before, conditions=())


def test_names_are_those_of_the_specification_and_ids_are_kept() -> None:
    read = read_objectives("objectives: [{id: Chat_TTFT.p95, metric: ttft, threshold: 2s, target: 95%}]")
    text = write_openslo(read)
    assert "name: chat-ttft.p95\n" in text
    assert "timeWindow" not in text
    assert [item.id for item in read_objectives(text).items] == ["Chat_TTFT.p95"]


def test_the_defaults_can_be_written() -> None:
    text = write_openslo(default_objectives())
    assert text.count("apiVersion: openslo/v1") == 4
    assert [item.id for item in read_objectives(text).items] == [item.id for item in default_objectives().items]


def test_settings_that_openslo_has_no_words_for_are_told() -> None:
    own = "on_shed: excluded\nbuckets: {input: [1k, 4k]}\nobjectives: [{id: r, metric: error_rate, threshold: 2%}]"
    assert write_openslo(read_objectives(own)).splitlines() == [
        "# not in OpenSLO: r, whose goal is a limit on error_rate; there are targets alone",
        "# not in OpenSLO: on_shed: excluded",
        "# not in OpenSLO: buckets of input at 1024, 4096 tokens",
    ]
