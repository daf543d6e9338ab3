"""The report in a browser: it opens offline, draws, switches, prints; nothing complains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analysis.result import AnalysisResult, CostRow
from reports.pages import render_breach, render_home, render_request
from reports.render import render
from reports.writers.result_json import result_from_json
from tests.support.browser import opened, running
from tests.support.results import empty, quiet_week, week
from tests.support.views import home, request

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.browser

CHARTS = 14  # of the hand-made week


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as found:
        yield found


def much_lost() -> AnalysisResult:
    """The week with one step that loses most: the longest word stands behind the longest bar."""
    found = week()
    assert found.goodput is not None
    steps = [
        replace(step, lost=step.lost + 1_000_000 * (place == 2)) for place, step in enumerate(found.goodput.waterfall)
    ]
    return replace(found, goodput=replace(found.goodput, waterfall=steps))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "week.html").write_bytes(render(week(), "html"))
    (folder / "quiet.html").write_bytes(render(quiet_week(), "html"))
    (folder / "empty.html").write_bytes(render(empty(), "html"))
    (folder / "lost.html").write_bytes(render(much_lost(), "html"))
    (folder / "request.html").write_bytes(render_request(request()))
    (folder / "breach.html").write_bytes(render_breach(week(), "code.ttft"))
    return folder


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "charts"), [("week", CHARTS), ("quiet", CHARTS), ("empty", 0), ("request", 2), ("breach", 1)]
)
def test_a_page_opens_offline_without_a_complaint_and_draws_all_its_charts(
    browser: Browser, pages: Path, name: str, charts: int, *, dark: bool
) -> None:
    with opened(browser, dark=dark) as (page, watched):
        page.goto((pages / f"{name}.html").as_uri())
        page.wait_for_function(f"document.querySelectorAll('[data-drawn]').length === {charts}")
        drawn = page.evaluate(
            "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.main-svg')).length"
        )
        empty_charts = page.evaluate(
            "[...document.querySelectorAll('.plot')].filter(p => !p.querySelector('.trace, .barlayer path, .heatmaplayer image, .scatterlayer path')).length"
        )
    assert (watched.complaints, watched.asked, drawn, empty_charts) == ([], [], 0, 0)


@pytest.mark.parametrize("name", ["week", "empty", "request", "breach"])
def test_the_page_never_scrolls_sideways(browser: Browser, pages: Path, name: str) -> None:
    found = {}
    with opened(browser) as (page, _):
        page.goto((pages / f"{name}.html").as_uri())
        for width in (1440, 800, 375, 320):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)
            found[width] = page.evaluate("document.documentElement.scrollWidth")
    assert found == {1440: 1440, 800: 800, 375: 375, 320: 320}


def test_verdicts_figures_and_actions_stand_on_the_first_screen(browser: Browser, pages: Path) -> None:
    with opened(browser, width=1440, height=900) as (page, _):
        page.goto((pages / "week.html").as_uri())
        bottoms = page.evaluate(
            "['.verdicts', '.headline', '.cards3'].map(s => document.querySelector(s).getBoundingClientRect().bottom <= innerHeight)"
        )
    assert bottoms == [True, True, True]


def test_charts_take_the_colours_of_the_readers_scheme(browser: Browser, pages: Path) -> None:
    def queue_fill(*, dark: bool) -> str:
        with opened(browser, dark=dark) as (page, _):
            page.goto((pages / "week.html").as_uri())
            page.wait_for_selector("#p5 .barlayer path")
            found: str = page.evaluate(
                "getComputedStyle(document.querySelectorAll('#p5 .barlayer .trace')[5].querySelector('path')).fill"
            )
            return found

    assert (queue_fill(dark=False), queue_fill(dark=True)) == ("rgb(231, 119, 41)", "rgb(230, 139, 62)")


def test_the_language_switches_in_the_file_and_back(browser: Browser, pages: Path) -> None:
    with opened(browser) as (page, watched):
        page.goto((pages / "week.html").as_uri())
        page.click("[data-lang=zh]")
        page.wait_for_function(f"document.querySelectorAll('[data-drawn]').length === {CHARTS}")
        chinese = (page.title(), page.evaluate("document.documentElement.lang"), page.inner_text("#h-p8"))
        page.click("[data-lang=en]")
        page.wait_for_function(f"document.querySelectorAll('[data-drawn]').length === {CHARTS}")
        english = (page.title(), page.evaluate("document.documentElement.lang"), page.inner_text("#h-p8"))
    assert chinese == ("第 10 周：星期六 4 个目标未达标", "zh", "8. 有效吞吐")
    assert english == ("Week 10: four objectives breached on Saturday", "en", "8. Goodput")
    assert watched.complaints == []


def test_the_button_saves_the_result_that_the_page_was_drawn_from(browser: Browser, pages: Path) -> None:
    with opened(browser) as (page, _):
        page.goto((pages / "week.html").as_uri())
        with page.expect_download() as saved:
            page.click("[data-save]")
        content = Path(saved.value.path()).read_bytes()
    assert result_from_json(content) == week()


def test_a_packed_result_is_saved_unpacked(browser: Browser, tmp_path: Path) -> None:
    result = week()
    users = [CostRow({"user": f"user-{n:06d}"}, 1, 1, 0, 1, None, "0.000001", 0, "0") for n in range(8_000)]
    large = replace(result, costs=replace(result.costs, cubes=result.costs.cubes | {"user": users}))
    file = tmp_path / "large.html"
    file.write_bytes(render(large, "html"))
    assert b'type="application/gzip"' in file.read_bytes()
    with opened(browser) as (page, watched):
        page.goto(file.as_uri())
        with page.expect_download() as saved:
            page.click("[data-save]")
        content = Path(saved.value.path()).read_bytes()
    assert result_from_json(content) == large
    assert watched.complaints == []


def test_the_keyboard_reaches_the_skip_link_first_and_sees_where_it_is(browser: Browser, pages: Path) -> None:
    with opened(browser) as (page, _):
        page.goto((pages / "week.html").as_uri())
        page.keyboard.press("Tab")
        first = page.evaluate(
            "[document.activeElement.className, getComputedStyle(document.activeElement).outlineStyle]"
        )
        page.keyboard.press("Enter")
        target = page.evaluate("location.hash")
        page.focus("#lengths1")
        page.keyboard.press("ArrowRight")
        shown = page.evaluate("[...document.querySelectorAll('.tabset > .tab')].map(t => getComputedStyle(t).display)")
    assert first == ["skip", "solid"]
    assert target == "#main"
    assert shown == ["none", "block", "none", "none"]


def test_a_served_report_links_its_other_forms_and_its_requests(browser: Browser) -> None:
    with opened(browser) as (page, watched):
        page.route(
            "http://tailwise.test/reports/r-1",
            lambda route: route.fulfill(body=render(week(), "html"), content_type="text/html"),
        )
        page.goto("http://tailwise.test/reports/r-1")
        forms = page.eval_on_selector_all("a[data-suffix]:visible", "links => links.map(a => a.getAttribute('href'))")
        requests = page.eval_on_selector_all("a[href^='/requests/']", "links => links.map(a => a.getAttribute('href'))")
    assert forms == ["/reports/r-1.csv", "/reports/r-1.md"]
    assert requests == ["/requests/094923dbaf73", "/requests/0c719255ae1a", "/requests/072d11c0ffee"]
    assert watched.complaints == []


def test_a_card_opens_its_details(browser: Browser, pages: Path) -> None:
    with opened(browser) as (page, _):
        page.goto((pages / "week.html").as_uri())
        page.click("a[href='#a2']")
        page.wait_for_function("document.getElementById('a2').open")


def test_every_control_and_region_has_a_name(browser: Browser, pages: Path) -> None:
    nameless = """
        [...document.querySelectorAll('a[href], button, input, summary, [role=img], [role=region], nav, svg[role]')]
          .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))
          .map(e => e.outerHTML.slice(0, 120))
    """
    for name in ("week", "request", "breach"):
        with opened(browser) as (page, _):
            page.goto((pages / f"{name}.html").as_uri())
            found = page.evaluate(nameless)
            repeated = page.evaluate(
                "(ids => ids.filter((id, i) => ids.indexOf(id) !== i))([...document.querySelectorAll('[id]')].map(e => e.id).filter(i => !i.match(/^(clip|topdefs|legend|g[0-9a-f])/)))"
            )
        assert (found, [i for i in repeated if not i.startswith("fig")]) == ([], [])


def test_paper_has_open_details_no_bars_and_charts_within_the_sheet(browser: Browser, pages: Path) -> None:
    with opened(browser, dark=True) as (page, watched):
        page.goto((pages / "week.html").as_uri())
        page.wait_for_selector("#p5 .barlayer path")
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.wait_for_timeout(300)
        hidden = page.evaluate(
            "['.bar nav', '.rail', 'figure details', '.skip'].map(s => getComputedStyle(document.querySelector(s)).display)"
        )
        opened_actions = page.evaluate("[...document.querySelectorAll('details.act')].every(d => d.open)")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        widest = page.evaluate(
            "Math.max(...[...document.querySelectorAll('.main-svg')].map(s => s.getBoundingClientRect().width))"
        )
        queue = page.evaluate(
            "getComputedStyle(document.querySelectorAll('#p5 .barlayer .trace')[5].querySelector('path')).fill"
        )
        page.set_viewport_size({"width": 688, "height": 900})  # 182 mm: what does not fit would shrink the whole sheet
        across = page.evaluate("document.documentElement.scrollWidth")
        sheets = page.pdf(prefer_css_page_size=True)
    assert hidden == ["none", "none", "none", "none"]
    assert opened_actions is True
    assert ground == "rgb(255, 255, 255)"
    assert widest <= 688  # 182 mm between the margins of A4
    assert queue == "rgb(231, 119, 41)"
    assert across == 688
    assert sheets.startswith(b"%PDF")
    assert watched.complaints == []


def test_home_sends_a_file_with_its_progress_and_shows_its_receipt(browser: Browser) -> None:
    receipt = (
        '{"id":"u9","name":"week.jsonl","state":"done","read":5,"accepted":3,"duplicate":1,"rejected":1,"message":null}'
    )
    sent: list[tuple[str, bytes | None]] = []

    def take(route: Route) -> None:
        sent.append((route.request.method, route.request.post_data_buffer))
        route.fulfill(status=202, body=receipt, content_type="application/json")

    with opened(browser) as (page, watched):
        page.route(
            "http://tailwise.test/", lambda route: route.fulfill(body=render_home(home()), content_type="text/html")
        )
        page.route(
            "**/api/v1/uploads/*/events",
            lambda route: route.fulfill(body=f"event: receipt\ndata: {receipt}\n\n", content_type="text/event-stream"),
        )
        page.route(
            "**/api/v1/uploads/week.jsonl",
            take,
        )
        page.goto("http://tailwise.test/")
        page.set_input_files("#files", {"name": "week.jsonl", "mimeType": "application/json", "buffer": b"{}\n{}\n"})
        page.wait_for_selector("li[data-ended] >> text=week.jsonl")
        told = page.inner_text("li:has-text('week.jsonl')")
    assert sent == [("PUT", b"{}\n{}\n")]
    assert "Done, 1 rejected" in told
    assert "Read 5 = accepted 3 + duplicate 1 + rejected 1." in told
    assert watched.complaints == []
    assert {address.split("/")[2] for address in watched.asked} == {"tailwise.test"}


def test_home_says_why_a_file_was_refused(browser: Browser) -> None:
    problem = '{"title":"Unknown format","detail":"notes.docx: no known format.","hint":"tailwise inspect says what was tried."}'
    with opened(browser) as (page, _):
        page.route(
            "http://tailwise.test/", lambda route: route.fulfill(body=render_home(home()), content_type="text/html")
        )
        page.route("**/api/v1/uploads/*/events", lambda route: route.abort())
        page.route(
            "**/api/v1/uploads/notes.docx",
            lambda route: route.fulfill(status=415, body=problem, content_type="application/problem+json"),
        )
        page.goto("http://tailwise.test/")
        page.set_input_files("#files", {"name": "notes.docx", "mimeType": "application/msword", "buffer": b"x"})
        page.wait_for_selector("li[data-ended=failed]")
        told = page.inner_text("li[data-ended=failed]")
    assert "Not read" in told
    assert "notes.docx: no known format. tailwise inspect says what was tried." in told


def test_the_comparison_fits_its_card_and_a_cut_table_shows_a_shadow(browser: Browser, tmp_path: Path) -> None:
    found = week()
    assert found.comparison is not None
    long = {"interval": (-12345678901.0, 12345678901.0), "change": -98765432.1, "mix": -12345.6, "within": -12345.6}
    changes = [replace(change, **long, unit="s") for change in found.comparison.changes]  # type: ignore[arg-type]
    file = tmp_path / "wide.html"
    file.write_bytes(render(replace(found, comparison=replace(found.comparison, changes=changes)), "html"))
    with opened(browser) as (page, _):
        page.goto(file.as_uri())
        overflow = page.evaluate("(s => s.scrollWidth - s.clientWidth)(document.querySelector('#p9 .scroll'))")
        shadows = page.evaluate("getComputedStyle(document.querySelector('#p9 .scroll')).backgroundAttachment")
    assert overflow == 0
    assert shadows == "local, local, scroll, scroll"


CUT_OR_COVERED = """() => {
    const found = [];
    for (const chart of document.querySelectorAll('.chart')) {
        const sheet = chart.querySelector('.main-svg').getBoundingClientRect();
        const words = [...chart.querySelectorAll('svg text')].map(text => [text.getBoundingClientRect(), text.textContent]);
        const shown = words.filter(([box]) => box.width);
        for (const [place, [box, text]] of shown.entries()) {
            if (box.left < sheet.left - 1 || box.right > sheet.right + 1) found.push(['cut', text]);
            for (const [other, its] of shown.slice(place + 1)) {
                const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
                const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
                if (across > 1 && down > 4) found.push(['covered', text, its]);
            }
        }
    }
    return found;
}"""


@pytest.mark.parametrize("width", [1440, 375])
def test_no_word_of_a_chart_is_cut_or_stands_on_another(browser: Browser, pages: Path, width: int) -> None:
    with opened(browser, width=width) as (page, _):
        page.goto((pages / "lost.html").as_uri())
        page.wait_for_function(f"document.querySelectorAll('[data-drawn]').length === {CHARTS}")
        assert page.evaluate(CUT_OR_COVERED) == []


def test_figures_stand_in_the_cells_of_the_week_only_where_they_fit(browser: Browser, pages: Path) -> None:
    count = "document.querySelectorAll('[aria-label=\"Share of good requests by weekday and hour\"] .annotation-text').length > 0"
    found: dict[tuple[int, int], bool] = {}
    with opened(browser) as (page, _):
        page.goto((pages / "week.html").as_uri())
        for width in (1440, 375, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(1500)
            found[width, len(found)] = page.evaluate(count)
    assert list(found.values()) == [True, False, True]


def test_on_a_phone_a_head_has_two_lines_at_most_and_a_cut_table_scrolls_by_keyboard(
    browser: Browser, pages: Path
) -> None:
    tall = "[...document.querySelectorAll('.scroll thead')].filter(h => h.offsetHeight > 52).map(h => [h.innerText, h.offsetHeight])"
    cut = "[...document.querySelectorAll('.scroll')].filter(s => s.checkVisibility() && s.scrollWidth > s.clientWidth)"
    with opened(browser, width=375) as (page, _):
        page.goto((pages / "week.html").as_uri())
        page.wait_for_timeout(400)
        heads = page.evaluate(tall)
        roles = page.evaluate(f"{cut}.map(s => [s.tabIndex, s.getAttribute('role'), s.ariaLabel.length > 0])")
        page.evaluate(f"{cut}[0].focus()")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(600)
        assert page.evaluate("document.activeElement.scrollLeft") > 0
    assert heads == []
    assert roles
    assert {tuple(role) for role in roles} == {(0, "region", True)}
