"""The whole report as a page model, with its labels, definitions and blocks."""

from __future__ import annotations

import pytest

from analysis.result import AnalysisResult
from reports.text import LANGUAGES
from reports.view.page import page_of
from tests.support.results import empty, quiet_week, week


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("result", [week(), quiet_week(), empty()], ids=["week", "quiet", "empty"])
def test_thirteen_parts_stand_whatever_the_result_holds(result: AnalysisResult, lang: str) -> None:
    page = page_of(result, lang)
    assert [part.anchor for part in page.parts] == [f"p{n}" for n in range(3, 14)]
    assert [part.anchor for part in page.parts if not part.blocks] == []


def test_the_footer_names_the_zone_and_simulated_data() -> None:
    assert page_of(week(), "en").footer == "Simulated data: made by a simulator, not by a service in use. Times in UTC."
    assert page_of(quiet_week(), "en").footer == "Times in UTC."


def test_both_languages_show_the_same_figures() -> None:
    def figures(lang: str) -> list[tuple[str, str]]:
        page = page_of(week(), lang)
        return [(head.value, head.unit if head.unit == "USD" else "") for head in page.heads.heads]

    assert figures("en") == figures("zh")
    assert page_of(week(), "zh").title == "第 10 周：星期六 4 个目标未达标"


def test_a_page_without_the_embedded_result_says_where_it_is() -> None:
    assert page_of(week(), "en", embedded=False).parts[-1].lead.startswith("The exact figures are too many to embed")
