"""Chromium for tests of pages: skips with a sentence where it is absent, fails where it must be there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize

ABSENT = "Chromium is not installed: apt-get install chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass
class Watched:
    """What a page said and asked for while it was open."""

    complaints: list[str] = field(default_factory=list)  # errors, warnings, refused scripts
    asked: list[str] = field(default_factory=list)  # addresses outside the file itself


def chromium() -> str:
    """The path of the browser; the test is skipped, or fails under REQUIRE_BROWSER=1, where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(ABSENT)
        pytest.skip(ABSENT)
    return found


@contextmanager
def running() -> Iterator[Browser]:
    """A fresh browser, for all tests of a module."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, *, width: int = 1440, height: int = 900, dark: bool = False
) -> Iterator[tuple[Page, Watched]]:
    """A fresh page with nothing kept from others, watched; the caller goes to an address."""
    watched = Watched()

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") or "Content Security Policy" in message.text:
            watched.complaints.append(f"{message.type}: {message.text}")

    def note(request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            watched.asked.append(request.url)

    viewport: ViewportSize = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme="dark" if dark else "light")
    try:
        page = context.new_page()
        page.on("console", hear)
        page.on("pageerror", lambda error: watched.complaints.append(f"error: {error}"))
        page.on("request", note)
        yield page, watched
    finally:
        context.close()
