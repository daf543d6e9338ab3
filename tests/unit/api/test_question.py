"""Questions: which range a week, a range or nothing means, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.question import Books, Question, check_dimensions, parse_where
from ingest.errors import ConfigError
from ingest.selection import Selection, parse_instant


def test_nothing_asked_is_everything_loaded() -> None:
    assert Question().selection("Europe/Berlin") == Selection(timezone="Europe/Berlin")


def test_a_week_runs_from_monday_to_monday_local_time() -> None:
    asked = Question(week="2026-W13").selection("Europe/Berlin")  # the clock goes forward on its Sunday
    hours = ((asked.end_ns or 0) - (asked.start_ns or 0)) / 3.6e12
    assert (asked.start_ns, hours) == (parse_instant("2026-03-22T23:00:00Z", "UTC"), 167.0)


def test_the_week_before_the_first_of_a_year_is_the_last_of_the_year_before() -> None:
    assert Question(week="2026-W01").selection_before("UTC") == Question(week="2025-W52").selection("UTC")


def test_before_a_range_is_the_range_of_the_same_length() -> None:
    asked = Question(start="2026-03-02T10:00", end="2026-03-02T12:00", where=(("model", "m"),))
    before = Question(start="2026-03-02T08:00", end="2026-03-02T10:00", where=(("model", "m"),))
    assert asked.selection_before("Asia/Kolkata") == before.selection("Asia/Kolkata")


def test_an_open_range_has_nothing_before_it() -> None:
    assert Question(start="2026-03-02").selection_before("UTC") is None


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (
            Question(week="2026-W10", start="2026-03-02"),
            "a week and a range were both given; give --week, or --from and --to",
        ),
        (
            Question(start="2026-03-02", end="2026-03-01"),
            'the range ends ("2026-03-01") before it begins ("2026-03-02"); exchange the two',
        ),
    ],
)
def test_what_contradicts_itself_is_refused(question: Question, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        question.selection("UTC")
    assert caught.value.message == says


def test_filters_keep_what_stands_after_the_first_equals_sign() -> None:
    assert parse_where(["scenario=chat", "user=a=b", "tenant="]) == (
        ("scenario", "chat"),
        ("user", "a=b"),
        ("tenant", ""),
    )


def test_a_filter_without_equals_sign_is_refused() -> None:
    with pytest.raises(ConfigError, match='filter "chat" is not of the form dimension=value'):
        parse_where(["chat"])


def test_a_mistyped_dimension_is_refused_and_a_promoted_one_is_not() -> None:
    check_dimensions(["team", "scenario"], ["team"])
    with pytest.raises(ConfigError) as caught:
        check_dimensions(["scenrio"], [])
    assert caught.value.message == 'dimension "scenrio" is not known. Did you mean "scenario"?'


def test_files_of_a_question_go_before_those_of_the_service() -> None:
    own, others = Books(objectives=Path("a")), Books(Path("b"), Path("c"), None)
    assert own.over(others) == Books(Path("a"), Path("c"), None)


def test_what_is_no_text_is_refused_and_told_as_it_can_be() -> None:
    says = "is no text: it has bytes that are no UTF-8, or half a character"
    for name, make in (
        ("week", lambda: Question(week="\ud800")),
        ("timezone", lambda: Question(timezone="\ud800")),
        ("where", lambda: Question(where=(("model", "\ud800"),))),
        ("where", lambda: parse_where(["\ud800"])),
    ):
        with pytest.raises(ConfigError) as caught:
            make()
        assert caught.value.message == f"{name} '\\ud800' {says}"


@pytest.mark.parametrize("week", ["9999-W52", "0001-W01", "2262-W20", "1677-W38", "1970-W53"])
def test_a_week_beyond_the_reach_of_the_store_is_refused(week: str) -> None:
    with pytest.raises(ConfigError, match=f'week "{week}" lies outside 1971 to 2200'):
        Question(week=week).selection("UTC")


@pytest.mark.parametrize("instant", ["9999-12-31", "0001-01-01T00:00:00+14:00", "2262-04-12", "1677-09-01"])
def test_an_instant_beyond_the_reach_of_the_store_is_refused(instant: str) -> None:
    for question in (Question(start=instant), Question(end=instant)):
        with pytest.raises(ConfigError, match="lies outside 1971 to 2200"):
            question.selection("UTC")


def test_the_first_week_of_all_has_none_before_it() -> None:
    assert Question(week="1971-W01").selection("UTC").start_ns is not None
    assert Question(week="1971-W01").selection_before("UTC") is None
