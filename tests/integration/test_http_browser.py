"""The served pages in a browser: a file is loaded, a report is made and read, and no policy is broken on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import opened, running
from tests.support.server import listening, request_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]
WAIT_MS = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running() as found:
        yield found


def test_a_file_is_loaded_a_report_made_and_every_page_keeps_its_policy(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(request_rows(60) + b"torn")
    with listening(tmp_path) as url, opened(browser) as (page, watched):
        page.goto(url)
        assert "Nothing to show yet" in page.inner_text("body")
        page.set_input_files("input[type=file]", file)
        page.get_by_text("accepted 60").first.wait_for(timeout=WAIT_MS)
        told = page.inner_text("body")
        page.goto(url)
        page.click("#make")
        page.wait_for_url("**/reports/*", timeout=WAIT_MS)
        report = page.inner_text("body")
        page.goto(f"{url}/requests/r-7")
        request = page.inner_text("body")
        page.goto(f"{url}/objectives/default.ttft")
        objective = page.inner_text("body")
        page.goto(f"{url}/docs")
    assert "61 = accepted 60 + duplicate 0 + rejected 1" in " ".join(told.split())
    assert "Verdict" in report
    assert "r-7" in request
    assert "default.ttft" in objective
    assert watched.complaints == []
    assert {asked for asked in watched.asked if not asked.startswith(url)} == set()


def test_what_holds_now_is_told_once_a_file_is_read_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    file, refused = tmp_path / "requests.jsonl", tmp_path / "notes.txt"
    file.write_bytes(request_rows(60))
    refused.write_text("not a trace at all")
    with listening(tmp_path) as url, opened(browser) as (page, watched):
        page.goto(url)
        assert page.locator("#make").count() == 0
        page.set_input_files("input[type=file]", file)
        page.wait_for_selector("#make", timeout=WAIT_MS)
        now, states = page.inner_text("[data-fresh=now]"), page.inner_text("#ups")
        page.set_input_files("input[type=file]", refused)
        page.wait_for_selector("#ups .msg.bad", timeout=WAIT_MS)
        ended = page.inner_text("#ups")
        page.click("#make")
        page.wait_for_url("**/reports/*", timeout=WAIT_MS)
    assert "60 requests" in now
    assert "Nothing to show yet" not in now
    assert "accepted 60" in states
    assert "accepted 60" in ended
    assert "rejected so far" not in ended
    assert watched.complaints == []
