"""OpenSLO documents in."""

from __future__ import annotations

import pytest

from analysis.objectives import read_objectives
from analysis.openslo import is_openslo
from ingest.errors import ConfigError

TEXT = """apiVersion: openslo/v1
kind: Service
metadata: {name: chat}
spec: {description: the chat}
---
apiVersion: openslo/v1
kind: SLI
metadata: {name: first-token}
spec:
  thresholdMetric:
    metricSource:
      type: tailwise
      spec: {metric: ttft, where: {scenario: chat}, window: 4h, min_requests: 150}
---
apiVersion: openslo/v1
kind: SLO
metadata: {name: chat-ttft, displayName: First token}
spec:
  service: chat
  indicatorRef: first-token
  timeWindow:
    - {duration: 28d, isRolling: true, calendar: {startTime: "2026-01-01 00:00:00", timeZone: Europe/Berlin}}
  budgetingMethod: Occurrences
  objectives:
    - {op: lte, value: 2.1, target: 0.95}
    - {displayName: Worst, op: lte, value: 10, targetPercent: 99.9}
---
apiVersion: openslo/v1
kind: SLO
metadata: {name: available}
spec:
  service: chat
  indicator:
    metadata: {name: ok}
    spec:
      ratioMetric:
        counter: true
        good: {metricSource: {type: tailwise, spec: {metric: availability}}}
        total: {metricSource: {type: tailwise, spec: {metric: requests_per_second}}}
  objectives: [{target: 0.99}]
"""


def test_slos_become_objectives() -> None:
    read = read_objectives(TEXT, "slo.yaml")
    first, worst, available = read.items
    assert read.settings.timezone == "Europe/Berlin"
    assert (first.id, first.title, first.metric, first.target) == ("chat-ttft.1", "First token", "ttft", 0.95)
    assert first.threshold is not None
    assert (first.threshold.constant, first.period_s, first.window_s) == (2.1, 28 * 86_400, 14_400)
    assert (first.where, first.min_requests) == ((("scenario", ("chat",)),), 150)
    assert (worst.id, worst.title, worst.target) == ("chat-ttft.2", "Worst", 0.999)
    assert (available.id, available.metric, available.target) == ("available", "availability", 0.99)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("openslo/v1\nkind: SLI", "openslo/v1alpha\nkind: SLI", 'apiVersion "openslo/v1alpha" is not read'),
        ("{metric: ttft, where", "{query: sum(x), where", "holds a query of another system"),
        ("{metric: ttft, where", "{metric: ttfb, where", 'metric "ttfb" is not known'),
        ("window: 4h", "windows: 4h", 'key "windows" is not known'),
        ("indicatorRef: first-token", "indicatorRef: second", 'indicatorRef "second": no document of kind SLI'),
        ("Occurrences", "Timeslices", "budgetingMethod Timeslices is not read"),
        ("{op: lte, value: 2.1", "{op: lt, value: 2.1", 'op "lt" is not read for ttft'),
        ("duration: 28d", "duration: 1M", "duration 1M is no fixed length"),
        ("target: 0.95", "aim: 0.95", "target is missing"),
        ("target: 0.99}", "target: 99}", "must lie between 0 and 100 %"),
        ("thresholdMetric", "someMetric", "an indicator needs a thresholdMetric"),
        ("indicatorRef: first-token", "description: none", "indicator is missing"),
        ("name: available", "name: chat-ttft.2", 'id "chat-ttft.2" stands twice; ids must differ'),
        ("Europe/Berlin", "Mars/Base", 'time zone "Mars/Base" is not known'),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(ConfigError) as raised:
        read_objectives(TEXT.replace(before, after), "slo.yaml")
    assert raised.value.message.startswith("slo.yaml, line ")
    assert message in raised.value.message


def test_a_file_of_objectives_is_no_openslo() -> None:
    assert is_openslo(TEXT)
    assert not is_openslo("objectives: []")


def test_what_has_no_meaning_here_is_noted_with_its_line() -> None:
    text = TEXT.replace("isRolling: true", "isRolling: false").replace(
        "  service: chat\n  ind", "  alertPolicies: []\n  ind"
    )
    assert read_objectives(text, "slo.yaml").notes == (
        'slo.yaml, line 1: Service "chat" is not read; objectives are SLO and SLI',
        'slo.yaml, line 19, "chat-ttft": alertPolicies are not read',
        'slo.yaml, line 22, "chat-ttft": a window by the calendar is read as a rolling one of the same length',
        'slo.yaml, line 32, "available": alertPolicies are not read',
    )


def test_a_document_in_json_is_read_too() -> None:
    text = """{
      "apiVersion": "openslo/v1", "kind": "SLO", "metadata": {"name": "fast"},
      "spec": {"indicator": {"spec": {"thresholdMetric": {"metricSource": {"spec": {"metric": "ttft"}}}}},
               "objectives": [{"op": "lte", "value": 2, "target": 0.95}]}}"""
    assert [(item.id, item.target) for item in read_objectives(text).items] == [("fast", 0.95)]
