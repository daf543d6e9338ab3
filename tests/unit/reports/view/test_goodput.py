"""From offered to good."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import Fluidity, TimePoint, Waterfall, WaterfallStep
from reports.charts.data import Lines, Losses
from reports.text import NBSP, Text
from reports.view.blocks import Figure, Message
from reports.view.goodput import goodput_part, with_silence
from tests.support.results import at, empty, week

EN = Text.of("en", "UTC")


def figure(index: int) -> Figure:
    found = goodput_part(week(), EN).blocks[index]
    assert isinstance(found, Figure)
    return found


def test_losses_are_drawn_per_step_in_order() -> None:
    data = figure(0).charts[0].data
    assert isinstance(data, Losses)
    assert list(zip(data.steps, data.values, data.ends, strict=True)) == [
        ("not judged", 1.0, "1 lost, 113,526 left"),
        ("failed or cancelled", 35.0, "35 lost, 113,491 left"),
        ("over the limit of TTFT", 1187.0, "1,187 lost, 112,304 left"),
        ("over the limit of TPOT", 498.0, "498 lost, 111,806 left"),
        ("over the limit of E2E", 352.0, "352 lost, 111,454 left"),
    ]
    assert figure(0).says.replace(NBSP, " ") == (
        "113,527 offered, 111,454 good (98.2 % of valid). In tokens: 762 output tokens per second in good requests."
    )


def test_the_fluidity_index_is_one_line_where_times_of_tokens_are_told() -> None:
    told = Fluidity(64, 60, 0.9, 0.9375, (0.85, 0.975), 0.9712, 0, ["default.good"])
    plain = goodput_part(week(), EN).lead
    for by_chunk, chunks in ((0, ""), (7, " For 7 of them a deadline is that of a chunk.")):
        good = replace(week().goodput, fluidity=replace(told, by_chunk=by_chunk))
        lead = goodput_part(replace(week(), goodput=good), EN).lead.replace(NBSP, " ")
        assert lead == plain.replace(NBSP, " ") + (
            " Of 64 requests with times of tokens, 93.8 % kept at least 90.0 % of their token deadlines"
            " (fluidity index, mean 0.971; limits of default.good)." + chunks
        )
    zh = goodput_part(replace(week(), goodput=good), Text.of("zh", "UTC")).lead.replace(NBSP, " ")
    assert "流畅度指数" in zh
    assert "7 个请求的期限按数据块计算" in zh


def test_offered_and_good_share_their_times_and_the_incident_is_marked() -> None:
    data = figure(1).charts[0].data
    assert isinstance(data, Lines)
    good, offered = data.lines
    assert good.x == offered.x
    assert len(good.x) == 168
    assert [(band.start, band.end) for band in data.bands] == [("2026-03-07 12:45:00", "2026-03-07 16:15:00")]


def test_a_stretch_without_requests_is_zero_and_no_line_crosses_it() -> None:
    points = [TimePoint(at(hour), 2.0, 1.0, 9) for hour in (0, 1, 2, 8)]
    filled = with_silence(points, EN)
    assert [(point.offered, point.n) for point in filled] == [
        (2.0, 9),
        (2.0, 9),
        (2.0, 9),
        (0.0, 0),
        (0.0, 0),
        (2.0, 9),
    ]
    assert [EN.moment(point.at) for point in filled[3:5]] == ["Mon 2 March 03:00", "Mon 2 March 07:00"]


def test_a_note_of_the_result_is_told() -> None:
    result = week()
    noted = replace(result, goodput=replace(result.goodput, note="Judged by default.good alone."))
    assert goodput_part(noted, EN).lead.endswith("Judged by default.good alone.")


def test_without_judged_requests_the_part_gives_the_reason() -> None:
    part = goodput_part(empty(), EN)
    assert isinstance(part.blocks[0], Message)
    assert part.blocks[0].sentences[0].text == "no joint objective"


def test_traffic_of_another_kind_is_told_and_not_counted() -> None:
    result = week()
    steps = [replace(result.goodput.waterfall[0], left=60_000), *result.goodput.waterfall[1:]]
    part = goodput_part(replace(result, goodput=replace(result.goodput, waterfall=steps)), EN)
    assert "It is about 60,000 of 113,527 requests; the others are not counted here." in part.lead


def test_each_of_several_joint_objectives_has_its_figure() -> None:
    result = week()
    falls = [
        Waterfall(
            name, 7, 8, [WaterfallStep("offered", 9, 0), WaterfallStep("valid", 8, 1), WaterfallStep("good", 7, 1)]
        )
        for name in ("chat.good", "rag.good")
    ]
    part = goodput_part(replace(result, goodput=replace(result.goodput, waterfalls=falls)), EN)
    figures = [block for block in part.blocks if isinstance(block, Figure)]
    assert [found.title for found in figures[:2]] == [
        "From offered to good: chat.good",
        "From offered to good: rag.good",
    ]
    assert figures[0].says.replace(NBSP, " ") == "9 offered, 7 good (87.5 % of valid)."


def test_an_objective_about_some_requests_does_not_call_the_others_lost() -> None:
    result = week()
    some = replace(result.goodput, objective="chat.good", valid=50_000)
    part = goodput_part(replace(result, goodput=some), EN)
    assert "It judges 50,000 of 113,527 requests; the others are excluded." in part.lead
    assert isinstance(part.blocks[1], Figure)
    assert part.blocks[1].says.startswith("The filled gap is what was not good, or not judged.")
    assert [swatch.label for swatch in part.blocks[1].legend] == ["offered", "good", "not good, or not judged"]
