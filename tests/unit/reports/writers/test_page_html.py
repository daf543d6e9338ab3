"""The page: its structure, its escaping, its size; never byte by byte."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from analysis.result import AnalysisResult, CostRow
from reports.text import NBSP
from reports.writers.page_html import SIZE_CAP, page_html
from reports.writers.result_json import result_from_json
from tests.support.results import HOSTILE, empty, quiet_week, week

PARTS = ["p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13"]


@cache
def drawn() -> bytes:
    """The page of the hand-made week, drawn once for all tests of this module."""
    return page_html(week())


class Outline(HTMLParser):
    """Sections, headings, scripts, addresses and attributes of a page; the other language's template left out."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.charts = 0
        self.tables = 0
        self.figures = 0
        self.inside_template = 0
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "action", "data", "poster")]
        if tag == "template":
            self.inside_template += 1
        if self.inside_template:
            return
        if tag == "section":
            self.sections.append(named.get("id") or "")
        if tag == "script":
            self.scripts.append(named)
        self.charts += "chart" in (named.get("class") or "").split()
        self.figures += tag == "figure"
        self.tables += tag == "table"

    def handle_endtag(self, tag: str) -> None:
        if tag == "template":
            self.inside_template -= 1

    def handle_data(self, data: str) -> None:
        if not self.inside_template:
            self.text.append(data)


def outline(content: bytes) -> Outline:
    parsed = Outline()
    parsed.feed(content.decode())
    return parsed


@pytest.mark.parametrize("result", [week(), quiet_week(), empty()], ids=["week", "quiet", "empty"])
def test_all_thirteen_parts_stand_in_order(result: AnalysisResult) -> None:
    assert outline(page_html(result)).sections == PARTS


@pytest.mark.parametrize("result", [week(), quiet_week(), empty()], ids=["week", "quiet", "empty"])
def test_nothing_points_outside_and_no_handler_stands_in_the_markup(result: AnalysisResult) -> None:
    found = outline(page_html(result))
    assert [address for address in found.addresses if not address.startswith(("#", "data:image/svg+xml"))] == []
    assert found.handlers == []


def test_the_chart_script_is_inlined_once_and_left_out_without_charts() -> None:
    mark = b"plotly.js (cartesian"
    assert drawn().count(mark) == 1
    assert page_html(empty()).count(mark) == 0


def test_an_empty_selection_has_words_in_place_of_charts() -> None:
    found = outline(page_html(empty()))
    words = " ".join(found.text)
    assert found.charts == 0
    assert "No request has a stage time: the traces hold neither spans below the request" in words
    assert "No request has input and output tokens" in words
    assert "No request has a price" in words


def test_every_figure_has_a_table_beside_its_charts() -> None:
    content = drawn().decode()
    figures = re.findall(r"<figure.*?</figure>", content, re.DOTALL)
    assert len(figures) == 22  # eleven in each language
    assert [figure[:120] for figure in figures if "<table" not in figure] == []


def test_names_from_traces_are_text_and_never_markup() -> None:
    content = drawn().decode()
    assert HOSTILE not in content
    assert "&lt;script&gt;alert(&#39;tenant&#39;)&lt;/script&gt;" in content
    assert "<img src=x" not in content
    assert "<b>bold</b>" not in content


def test_control_characters_of_names_are_dots_and_megabytes_are_cut() -> None:
    told = week()
    strange = replace(told.costs.unpriced[0], model="m\x1b[31m\x07\u202e70b")
    huge = replace(told.costs.unpriced[0], provider="p" * 1_000_000)
    content = page_html(replace(told, costs=replace(told.costs, unpriced=[strange, huge]))).decode()
    visible = outline(content.encode()).text
    assert any("m·[31m··70b" in text for text in visible)
    assert [text for text in visible if "70b" in text and {"\x1b", "\x07", "\u202e"} & set(text)] == []
    assert [len(text) for text in visible if "p" * 1000 in text] == []


def test_no_chart_or_result_ends_its_script_element() -> None:
    content = drawn().decode()
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.DOTALL)
    assert len(data) == 29  # fourteen charts in each language, and the result
    assert [text[:80] for text in data if "<" in text] == []


def test_the_policy_allows_only_the_scripts_of_the_page_by_hash() -> None:
    content = drawn().decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', content)
    assert policy is not None
    assert re.fullmatch(
        r"default-src &#39;none&#39;; script-src (&#39;sha256-[\w+/]{43}=&#39; ?){2}; style-src &#39;unsafe-inline&#39;; "
        r"img-src data: blob:; base-uri &#39;none&#39;; form-action &#39;none&#39;",
        policy[1],
    )


def test_simulated_data_is_marked_and_real_data_is_not() -> None:
    assert b'<span class="sim">Simulated data</span>' in drawn()
    assert b'class="sim"' not in page_html(quiet_week())


def test_the_first_screen_says_the_verdicts_the_figures_and_three_actions() -> None:
    content = drawn().decode()
    front = content[content.index('id="p1"') : content.index('id="p3"')].replace(NBSP, " ")
    assert '<h1 id="h1">Week 10: four objectives breached on Saturday</h1>' in front
    assert front.count('<article class="action">') == 3
    assert front.count("<strong>TTFT ≤ 2.45 s for code</strong>") == 1
    assert "88.3 % (85.9–90.1) of 640 vs 95 %, sure" in front


def users(n: int, name: str) -> AnalysisResult:
    """The week with so many users, whose names do not pack well where they are random."""
    result = week()
    rows = [CostRow({"user": name.format(i)}, i, i * 7, 0, i * 3, None, f"0.{i:06d}", 0, "0") for i in range(n)]
    return replace(result, costs=replace(result.costs, cubes=result.costs.cubes | {"user": rows}))


def test_a_result_too_large_for_a_mail_is_packed() -> None:
    large = users(12_000, "user-{:06d}")
    content = page_html(large)
    assert len(content) <= SIZE_CAP
    packed = re.search(rb'<script type="application/gzip" id="result">([^<]+)</script>', content)
    assert packed is not None
    assert result_from_json(gzip.decompress(base64.b64decode(packed[1]))) == large
    assert b'<script type="application/json" id="result">' in drawn()


def test_a_result_too_large_even_when_packed_is_left_out_and_said_so() -> None:
    content = page_html(users(150_000, "{0:x}{0:b}{0:o}"))
    assert len(content) <= SIZE_CAP
    assert b'id="result"' not in content
    assert b"The exact figures are too many to embed" in content


def test_the_page_of_a_week_fits_in_three_megabytes() -> None:
    assert len(drawn()) <= 3_000_000
