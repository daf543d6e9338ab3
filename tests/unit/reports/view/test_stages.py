"""Where the time goes."""

from __future__ import annotations

from dataclasses import replace

from reports.charts.data import StackedBars
from reports.text import NBSP, Text
from reports.view.blocks import Figure, Message
from reports.view.stages import stages_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def bars(index: int) -> tuple[Figure, StackedBars]:
    figure = stages_part(week(), EN).blocks[index]
    assert isinstance(figure, Figure)
    data = figure.charts[0].data
    assert isinstance(data, StackedBars)
    return figure, data


def test_stages_stand_in_order_of_time_for_all_slow_and_bad_requests() -> None:
    figure, data = bars(0)
    assert data.groups == ("all", "slowest 5 %", "bad")
    assert [segment.name for segment in data.segments] == [
        "gateway", "network", "guardrail", "retrieval", "rerank", "queue", "prefill", "decode", "tool", "postprocess",
    ]  # fmt: skip
    queue = data.segments[5]
    assert (queue.values, queue.token, queue.deep) == ((0.117, 0.73, 1.09), "stage-queue", False)
    assert [total.replace(NBSP, " ") for total in data.totals] == ["6.55 s", "41.8 s", "19.1 s"]
    assert figure.says.replace(NBSP, " ") == (
        "Most of all time is decode: 88 %. What bad requests have more of is queue: 1.09 s against 0.117 s."
    )


def test_a_stage_too_narrow_for_its_word_has_none() -> None:
    _, data = bars(0)
    assert [segment.labels for segment in data.segments if any(segment.labels)] == [("decode", "decode", "decode")]


def test_time_before_the_first_token_has_a_figure_of_its_own() -> None:
    figure, data = bars(1)
    assert [segment.name for segment in data.segments] == [
        "gateway",
        "network",
        "guardrail",
        "retrieval",
        "rerank",
        "queue",
        "prefill",
    ]
    assert sum(segment.values[0] or 0 for segment in data.segments) == 1.0
    assert figure.says.replace(NBSP, " ") == "Most of the time before the first token is prefill: 60 %."


def test_without_means_of_slow_requests_shares_are_drawn() -> None:
    result = week()
    plain = [
        replace(s, mean_seconds_slowest_5_percent=None, mean_seconds_bad=None, share_bad=None) for s in result.stages
    ]
    figure = stages_part(replace(result, stages=plain), EN).blocks[0]
    assert isinstance(figure, Figure)
    data = figure.charts[0].data
    assert isinstance(data, StackedBars)
    assert (data.groups, data.unit, data.totals) == (("all", "slowest 5 %"), "ratio", ("", ""))


def test_the_inside_of_a_call_that_nobody_measured_is_hatched() -> None:
    result = week()
    stages = [
        replace(result.stages[0], stage="before_first_token"),
        replace(result.stages[0], stage="after_first_token"),
    ]
    figure = stages_part(replace(result, stages=stages), EN).blocks[0]
    assert isinstance(figure, Figure)
    assert [(swatch.token, swatch.style) for swatch in figure.legend] == [
        ("stage-before", "hatched"),
        ("stage-after", "hatched"),
    ]


def test_without_stages_the_part_says_what_to_log() -> None:
    part = stages_part(empty(), EN)
    assert [type(block) for block in part.blocks] == [Message]
    assert isinstance(part.blocks[0], Message)
    assert "gen_ai.latency.time_in_queue" in part.blocks[0].sentences[0].text


def test_the_mix_at_the_p99_stands_in_the_table() -> None:
    result = week()
    at_p99 = [replace(stage, share_p99=0.5 if stage.stage == "queue" else 0.0) for stage in result.stages]
    figure = stages_part(replace(result, stages=at_p99), EN).blocks[0]
    assert isinstance(figure, Figure)
    assert figure.table is not None
    assert [column.label for column in figure.table.columns][-2:] == ["Share at P99", "n"]
    queue = next(line for line in figure.table.rows if "queue" in line.head.lines[0][0].text)
    assert queue.cells[-2].lines[0][0].text.replace(NBSP, " ") == "50.0 %"
    assert "percentiles of stages do not add" in (figure.table.caption or "")
