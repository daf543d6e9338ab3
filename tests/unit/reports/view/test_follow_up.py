"""What the recommendations of the selection before did, on the page."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import AnalysisResult, FollowUp, Prediction, RecommendationCheck
from reports.text import NBSP, Text
from reports.view.blocks import Block, Cell, Fold, Message, Panel, Table
from reports.view.comparison import comparison_part
from reports.view.follow_up import MOST_ROWS, check_words, follow_up_blocks
from reports.writers.page_markdown import page_markdown
from tests.support.results import week

EN = Text.of("en", "UTC")
PREDICTED = Prediction(0.995, 0.99, 0.999, None, None, None, "back_to_normal", "")
CHECK = RecommendationCheck(
    objective="chat.ttft",
    recommendation="scale_out",
    entry="KB-01",
    title="Add replicas",
    stage="queue",
    segment={"region": "us-east"},
    window=("2026-02-25T12:00:00Z", "2026-02-25T16:00:00Z"),
    predicted=PREDICTED,
    then_attainment=0.883,
    then_value=None,
    now_verdict="met",
    now_window=("2026-03-04T12:00:00Z", "2026-03-04T16:00:00Z"),
    now_attainment=0.993,
    now_value=None,
    outcome="inside",
    evidence_holds=False,
    followed="followed",
    says="The evidence of its rule is gone; 3 replicas serve the segment, 1 then.",
)


def with_checks(*checks: RecommendationCheck) -> AnalysisResult:
    return replace(week(), follow_up=FollowUp("Week 9", "report 2026-W09-r1", list(checks)))


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def rows(block: Block) -> list[list[str]]:
    assert isinstance(block, Panel | Fold)
    table = block.blocks[0]
    assert isinstance(table, Table)
    return [[words(row.head), *map(words, row.cells)] for row in table.rows]


def test_each_recommendation_shows_then_predicted_now_and_whether_it_was_followed() -> None:
    panel = comparison_part(with_checks(CHECK), EN).blocks[0]
    assert isinstance(panel, Panel)
    assert panel.title == "What the recommendations of Week 9 did"
    assert rows(panel) == [
        [
            "Add replicas · region us-east",
            "chat.ttft",
            "88.3 %",
            "99.5 % (99.0–99.9)",
            "99.3 %",
            "as predicted",
            "followed. The evidence of its rule is gone; 3 replicas serve the segment, 1 then.",
        ]
    ]


def test_a_figure_that_is_a_value_is_shown_with_its_unit() -> None:
    value = Prediction(None, None, None, 1.5, 1.2, 1.9, "remedy", "")
    check = replace(
        CHECK, predicted=value, then_value=4.2, now_value=4.5, now_attainment=None, outcome="worse",
        followed="not_followed", evidence_holds=True, says="The evidence of its rule still holds; nothing changed.",
    )  # fmt: skip
    said = check_words(check, with_checks(check), EN).replace(NBSP, " ")
    assert said == (
        "chat.ttft (region us-east): 4.20 s then, 1.50 s (1.20–1.90 s) predicted, 4.50 s now: worse than predicted; "
        "not followed. The evidence of its rule still holds; nothing changed."
    )


def test_without_a_prediction_then_and_now_are_shown_all_the_same() -> None:
    said = rows(follow_up_blocks(with_checks(replace(CHECK, predicted=None, outcome="unknown")), EN)[0])[0]
    assert said[2:6] == ["88.3 %", "–", "99.3 %", "not comparable"]


def test_a_long_list_stands_behind_a_fold() -> None:
    panel, fold = follow_up_blocks(with_checks(*[CHECK] * (MOST_ROWS + 2)), EN)
    assert (len(rows(panel)), len(rows(fold))) == (MOST_ROWS, MOST_ROWS + 2)


def test_nothing_advised_is_said_and_nothing_earlier_is_silent() -> None:
    (message,) = follow_up_blocks(with_checks(), EN)
    assert isinstance(message, Message)
    assert message.sentences[0].text == "Week 9 advised nothing, so there is nothing to follow up."
    assert follow_up_blocks(week(), EN) == []


def test_the_markdown_report_tells_it_in_a_line_each() -> None:
    found = page_markdown(with_checks(*[CHECK] * 7)).decode().splitlines()
    start = found.index("## What the recommendations of Week 9 did")
    assert found[start + 2].startswith("- **Add replicas** (scale\\_out). chat.ttft (region us-east): 88.3 % then")
    assert found[start + 7] == "- 2 more"
