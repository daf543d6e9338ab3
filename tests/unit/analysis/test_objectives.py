"""objectives.yaml: every form of the design, and the complaint about every slip."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.errors import ObjectivesError
from analysis.objectives import Objective, default_objectives, load_objectives, read_objectives
from analysis.settings import Buckets, Policy, Settings
from ingest.errors import ConfigError, UnreadableInput

DESIGN = """
timezone: Europe/Berlin
on_shed: excluded
buckets: {input: [512, 2k, 8k], output: [64, 1k]}
objectives:
  - id: chat.ttft_p95
    metric: ttft
    where: {scenario: chat}
    threshold: 2100ms
    target: 95%
    window: 4h
    min_requests: 150
  - id: rag.cost
    metric: cost
    where: {scenario: [rag, search], streaming: true}
    statistic: mean
    threshold: 0.0039 USD
  - id: user.cost
    metric: cost
    statistic: sum
    per: user
    threshold: 263.74 USD
  - id: lm-large.gpu_cost
    metric: gpu_cost_per_million_output_tokens
    where: {model: lm-large}
    threshold: 29.7 USD
  - id: chat.good
    all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 60ms}, {metric: e2e, threshold: 30s}]
    where: {scenario: chat}
    target: 99%
    period: 28d
  - id: tail
    metric: e2e
    statistic: p99.9
    threshold: {"<2k": 8s, else: 30s}
"""


def one(text: str) -> Objective:
    return read_objectives(f"objectives:\n  - {{id: x, {text}}}").items[0]


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        read_objectives(text)
    return raised.value.message


def test_every_form_of_the_design_is_read() -> None:
    read = read_objectives(DESIGN)
    assert read.settings == Settings(
        "Europe/Berlin", Buckets((512, 2048, 8192), (64, 1024)), Policy(on_shed="excluded")
    )
    chat, rag, user, gpu, good, tail = read.items
    assert (chat.target, chat.window_s, chat.min_requests, chat.where) == (
        0.95,
        14_400,
        150,
        (("scenario", ("chat",)),),
    )
    assert (rag.statistic, rag.where) == ("mean", (("scenario", ("rag", "search")), ("streaming", ("true",))))
    assert rag.threshold is not None
    assert rag.threshold.constant == 0.0039
    assert (user.statistic, user.per) == ("sum", "user")
    assert (gpu.target, gpu.statistic, gpu.per_request) == (None, None, False)
    assert [condition.metric.id for condition in good.conditions] == ["ttft", "tpot", "e2e"]
    assert (good.joint, good.period_s, good.threshold) == (True, 28 * 86_400, None)
    assert (str(tail.percentile), tail.min_requests) == ("999/1000", 30)


def test_without_a_file_four_objectives_hold() -> None:
    read = default_objectives()
    assert [(item.id, item.metric, item.target) for item in read.items] == [
        ("default.ttft", "ttft", 0.95),
        ("default.tpot", "tpot", 0.95),
        ("default.good", "all_of", 0.95),
        ("default.availability", "availability", 0.99),
    ]
    assert [c.threshold.constant for c in read.items[2].conditions] == [2.0, 0.1]
    assert read.source == "default"


def test_a_target_may_be_a_percentage_or_a_ratio() -> None:
    assert one("metric: ttft, threshold: 2s, target: 99.9%").target == 0.999
    assert one("metric: ttft, threshold: 2s, target: 0.999").target == 0.999


def test_a_rate_takes_a_bare_number_or_a_percentage() -> None:
    for text in ("1%", "0.01"):
        threshold = one(f"metric: error_rate, threshold: {text}").threshold
        assert threshold is not None
        assert threshold.constant == 0.01
    assert one("metric: error_rate, statistic: rate, threshold: 1%").statistic == "rate"
    assert one("metric: availability, threshold: 99%").target is None


def test_a_complaint_names_file_line_objective_value_and_remedy() -> None:
    text = "objectives:\n  - id: chat-ttft\n    metric: ttfb\n    threshold: 2s\n    target: 95%\n"
    message = complaint(text)
    assert message.startswith('objectives.yaml, line 3, "chat-ttft": metric "ttfb" is not known. Known: ')
    assert message.endswith('Did you mean "ttft"?')
    assert complaint(text.replace("ttfb", "ttft").replace("2s", "500")) == (
        'objectives.yaml, line 4, "chat-ttft": threshold 500 has no unit. Write 500ms or 0.5s'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metric: ttft, threshold: 2s, targt: 95%", 'key "targt" is not known'),
        ("metric: ttft, threshold: 2s", "needs a target or a statistic"),
        ("metric: ttft, target: 95%", "threshold is missing"),
        ("metric: ttft, threshold: 2s, target: 95%, statistic: p95", "target and statistic exclude each other"),
        ("metric: ttft, threshold: 2s, statistic: median", 'statistic "median" is not known'),
        ("metric: ttft, threshold: 2s, target: 100%", "must lie between 0 and 100 %"),
        ("metric: ttft, threshold: 2s, target: often", "target often is no number. Write 95% or 0.95"),
        ("metric: ttft, threshold: 2s, statistic: p95, period: 7d", "period needs a target"),
        ("metric: ttft, threshold: 2s, target: 95%, window: 4", "window 4 has no unit"),
        ("metric: ttft, threshold: 2s, target: 95%, window: 1ms", "must be whole seconds"),
        ("metric: ttft, threshold: 2s, target: 95%, min_requests: 0", "must be a whole number from 1 on"),
        (
            "metric: ttft, threshold: 2s, target: 95%, min_requests: '\N{SUPERSCRIPT TWO}'",
            "must be a whole number from 1",
        ),
        ("metric: ttft, threshold: 2s, target: 95%, window: 1e30d", "window 1e30 is above 1e+15, the largest number"),
        ("metric: ttft, threshold: 2s, target: 95%, window: 4000d", "window 4000d is longer than 10 years"),
        ("metric: ttft, threshold: 2s, target: 95%, period: 4000d", "period 4000d is longer than 10 years"),
        ("metric: ttft, threshold: 1e400s, target: 95%", "threshold 1e400 has more than 60 digits"),
        ("metric: ttft, threshold: 1e10s, target: 95%", "threshold 1e10s is longer than 1000000000 s"),
        ("metric: ttft, threshold: 500ms + 1e400ms/token, target: 95%", "threshold 1e400 has more than 60 digits"),
        ("metric: ttft, threshold: 2s, target: 1e400%", "target 1e400 has more than 60 digits"),
        ("metric: ttft, threshold: 2s, statistic: p0", 'statistic "p0" is not known'),
        ("metric: ttft, threshold: 2s, statistic: p00.0", 'statistic "p00.0" is not known'),
        ("metric: ttft, threshold: 2s, target: 95%, where: {modle: x}", 'Did you mean "model"?'),
        ("metric: ttft, threshold: 2s, target: 95%, where: {model: []}", "takes one value or a list of values"),
        ("metric: ttft, threshold: 2s, target: 95%, per: usr", 'Did you mean "user"?'),
        ("metric: error_rate, target: 95%", "takes a threshold and no target"),
        ("metric: error_rate, threshold: 1%, statistic: p95", "takes no statistic p95"),
        ("metric: availability", "target is missing"),
        ("metric: availability, target: 99%, threshold: 99%", "takes a target or a threshold, not both"),
        ("metric: cost, threshold: {'<2k': 1 USD}, statistic: mean", "needs a target or a percentile, not mean"),
        ("metric: error_rate, threshold: {'<2k': 1%}", "its threshold is one value"),
        ("all_of: [{metric: ttft, threshold: 2s}]", "all_of needs a target"),
        ("all_of: [], target: 95%", "all_of is empty"),
        ("metric: quality, threshold: {'<2k': 0.8}, statistic: p50", "by length it takes a target alone"),
        ("all_of: [{metric: error_rate, threshold: 1%}], target: 95%", "is no figure of one request"),
        ("all_of: [{metric: ttft}], target: 95%", "threshold is missing"),
        ("all_of: [{metric: ttft, threshold: 2s}], metric: ttft, target: 95%", "exclude each other"),
        ("all_of: [{metric: ttft, threshold: 2s}, {metric: ttft, threshold: 3s}], target: 95%", "one metric twice"),
    ],
)
def test_a_slip_is_refused(text: str, message: str) -> None:
    found = complaint(f"objectives:\n  - {{id: x, {text}}}")
    assert found.startswith("objectives.yaml, line 2")
    assert message in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objective: []", 'key "objective" is not known. Known: '),
        ("timezone: Mars/Base", 'time zone "Mars/Base" is not known'),
        ("objectives: {id: x}", "objectives takes a list"),
        ("objectives: [3]", "entry 1 of objectives must be a mapping"),
        ("objectives: [{metric: ttft}]", "id is missing"),
        ("on_shed: maybe", 'on_shed "maybe" is not known. Known: bad, excluded.'),
        ("policy: {on_shad: bad}", 'key "on_shad" is not known'),
        ("buckets: {input: [2k, 512]}", "input must rise from edge to edge"),
        ("buckets: {input: 2k}", "input takes a list of lengths"),
        ("buckets: {input: [2M]}", "2M is no length in tokens"),
        ("- 1", "the file must be a mapping of keys"),
        ("a: [", "this is no valid YAML"),
        ("timezone: UTC\ntimezone: UTC", "this is no valid YAML"),
    ],
)
def test_a_slip_outside_the_objectives_is_refused(text: str, message: str) -> None:
    assert message in complaint(text)


def test_an_id_stands_once() -> None:
    text = "objectives:\n  - {id: x, metric: availability, target: 99%}\n  - {id: x, metric: availability, target: 98%}"
    assert complaint(text) == 'objectives.yaml, line 3, "x": id "x" stands twice; ids must differ'


@pytest.mark.parametrize("identity", ["a/b", "..", ".a", "a b", "a?b", "'a\\nb'", "x" * 201])
def test_an_id_that_no_address_could_hold_is_refused(identity: str) -> None:
    found = complaint(f"objectives:\n  - id: {identity}\n    metric: availability\n    target: 99%\n")
    assert found.startswith("objectives.yaml, line 2, ")
    assert found.endswith('must be of letters, digits, ".", "_" and "-", at most 200, and not begin with "."')


def test_an_empty_file_promises_nothing() -> None:
    assert read_objectives("").items == ()


def test_policies_may_stand_at_the_top_or_under_policy() -> None:
    assert read_objectives("policy: {on_client_cancel: excluded}").settings.policy.on_client_cancel == "excluded"
    assert read_objectives("on_client_cancel: bad").settings.policy.on_client_cancel == "bad"
    assert read_objectives("on_degraded: good\non_shed: exclude").settings.policy == Policy(on_shed="excluded")


def test_a_file_that_is_no_text_is_an_error_of_input(tmp_path: Path) -> None:
    path = tmp_path / "objectives.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableInput):
        load_objectives(path)
    with pytest.raises(UnreadableInput):
        load_objectives(tmp_path / "absent.yaml")


def test_errors_are_of_one_type_and_code() -> None:
    with pytest.raises(ObjectivesError) as raised:
        read_objectives("objectives:\n  - {id: x, metric: ttft, threshold: 5, target: 95%}")
    assert raised.value.code == "objectives"
