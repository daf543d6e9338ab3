"""Pages of the service, with what each shows in each state."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from reports.pages import render_breach, render_home, render_request
from reports.text import NBSP
from reports.view.service import HomeView
from tests.support.results import quiet_week, week
from tests.support.views import HOSTILE_FILE, home, request


def text_of(content: bytes) -> str:
    """Words of a page as a reader sees them."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).replace(NBSP, " ").split())


def test_home_shows_uploads_to_the_line_and_what_runs() -> None:
    content = render_home(home())
    words = text_of(content)
    assert b'data-upload="u4"' in content
    assert "Done, 12 rejected otlp_json 11,023 10,973 38 12" in words
    assert "Not read no format recognizes the bytes" in words
    assert "end_before_start 8 the rows" in words


def test_home_shows_verdicts_and_reports_with_their_addresses() -> None:
    content = render_home(home())
    assert (
        "Breached 4 of 10 objectives , Sat 12:45–16:15: Two of three lm-large replicas missing in us-east"
        in text_of(content)
    )
    for address in (
        "/reports/r-2",
        "/reports/r-2.pdf",
        "/objectives/code.ttft?week=2026-W10&amp;timezone=UTC",
        "/docs",
    ):
        assert f'href="{address}"'.encode() in content


def test_home_of_a_fresh_service_says_what_to_do() -> None:
    words = text_of(render_home(HomeView([], [])))
    assert "Drop trace files here or choose files" in words
    assert "Nothing to show yet. Drop traces on the left." in words
    assert "No report stands yet. Load traces, then make one." in words


def test_home_of_a_quiet_service_names_no_breach() -> None:
    words = text_of(render_home(replace(home(), latest=quiet_week(), simulated=False)))
    assert "Met Week 10: all three objectives met" in words
    assert "Simulated data" not in words


def test_request_says_where_its_time_went_and_which_limits_it_broke() -> None:
    words = text_of(render_request(request()))
    assert "Request 094923dbaf73…: 19.6 s in decode" in words
    assert "TTFT 8.10 s Over 3.7 s" in words
    assert "3 spans have a parent that was not read." in words
    assert "not measured: tool" in words
    assert "exact 0.0067505 USD" in words


def test_request_that_failed_says_how() -> None:
    failed = replace(request(), status_class="timeout", error_type="deadline", stages={}, spans=[], calls=[], ttft=None)
    words = text_of(render_request(failed))
    assert "Request 094923dbaf73…: timeout deadline" in words
    assert "No stage of this request was measured" in words
    assert "No span of this request is stored" in words


def test_an_error_that_names_its_status_is_said_once() -> None:
    failed = replace(request(), status_class="cancelled", error_type="client_cancelled")
    assert "Request 094923dbaf73…: client_cancelled" in text_of(render_request(failed))


def test_tables_of_a_request_are_cards_where_there_is_no_room() -> None:
    content = render_request(request())
    assert b'data-label="Limit"' in content
    assert b'role="rowheader">Trace</th>' in content


def test_breach_tells_since_when_where_and_what_to_do() -> None:
    words = text_of(render_breach(week(), "code.ttft"))
    for sentence in (
        "Since Sat 7 March 12:45 until Sat 7 March 16:15",
        "Stage queue cause failure",
        "Segment lm-large us-east 94 % of the bad requests over the limit",
        "1. Bring back the two missing replicas",
        "Highest at Sat 7 March 12:00: 18 bad of 150.",
        "GET /api/v1/objectives/code.ttft/diagnosis?week=2026-W10&amp;timezone=UTC",
    ):
        assert sentence in words


def test_an_objective_names_the_selection_that_its_figures_are_of() -> None:
    of_week, selection = week(), week().selection
    everything = replace(of_week, selection=replace(selection, start=None, end=None, week=None))
    assert "Week 10 · Mon 2 – Sun 8 March 2026, UTC · 2.27 million requests" in text_of(
        render_breach(of_week, "code.ttft")
    )
    assert "All requests · Mon 2 – Sun 8 March 2026 · UTC · 2.27 million requests" in text_of(
        render_breach(everything, "code.ttft")
    )


@pytest.mark.parametrize(
    ("selection", "query"),
    [
        ({}, "week=2026-W10&amp;timezone=UTC"),
        ({"week": None}, "from=2026-03-02T00:00:00Z&amp;to=2026-03-09T00:00:00Z&amp;timezone=UTC"),
        ({"week": None, "end": None, "timezone": "Asia/Tokyo"}, "from=2026-03-02T00:00:00Z&amp;timezone=Asia/Tokyo"),
        (
            {"where": {"model": ["a&b", "c"]}},
            "week=2026-W10&amp;timezone=UTC&amp;where=model%3Da%26b&amp;where=model%3Dc",
        ),
    ],
    ids=["week", "range", "open", "filtered"],
)
def test_objectives_are_linked_with_the_selection_shown(selection: dict[str, Any], query: str) -> None:
    shown = replace(week(), selection=replace(week().selection, **selection))
    for content in (render_home(replace(home(), latest=shown)), render_breach(shown, "code.ttft")):
        addresses = re.findall(r'href="/objectives/[^"?]+(.*?)"', content.decode())
        assert set(addresses) == {f"?{query}"}


def test_exemplars_lead_to_their_requests() -> None:
    assert b'href="/requests/094923dbaf73"' in render_breach(week(), "code.ttft")


@pytest.mark.parametrize(
    ("objective", "sentence"),
    [
        ("chat.tpot", "Nothing: this objective is not breached."),
        ("chat.ttfa", "Nothing: this objective is not breached."),
        ("agent.e2e", "No cause explains the breach."),
    ],
)
def test_an_objective_without_a_finding_says_why_there_is_no_advice(objective: str, sentence: str) -> None:
    assert sentence in text_of(render_breach(week(), objective))


def test_an_unknown_objective_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"objective 'nope' is not in the result\. Known: code\.ttft, rag\.ttft"):
        render_breach(week(), "nope")


@pytest.mark.parametrize(
    "content",
    [render_home(home()), render_request(request()), render_breach(week(), "code.ttft")],
    ids=["home", "request", "breach"],
)
def test_names_from_outside_are_text_and_pages_ask_their_own_server_only(content: bytes) -> None:
    page = content.decode()
    assert HOSTILE_FILE not in page
    assert "<i>tenant-15</i>" not in page
    assert "<b>search</b>" not in page
    addresses = re.findall(r'(?:href|src|action)="([^"]*)"', re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert [a for a in addresses if not a.startswith(("/", "#", "data:image/svg+xml"))] == []
    assert "connect-src &#39;self&#39;" in page


def test_pages_speak_chinese() -> None:
    assert "将追踪文件拖到这里" in text_of(render_home(home(), lang="zh"))
    assert "建议措施" in text_of(render_breach(week(), "code.ttft", lang="zh"))
    assert "测量点" in text_of(render_request(request(), lang="zh"))
