"""The report as one HTML file that opens offline, with the result in it.

Input: AnalysisResult. Output: UTF-8 bytes, at most about 3 MB: where the file would be larger the
result in it is packed, then the second language left out, then the result.
"""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass

from markupsafe import Markup

from analysis.result import AnalysisResult
from reports.text import LANGUAGES, Text
from reports.view.blocks import Block, Columns, Figure, Fold, Page, Panel
from reports.view.page import page_of
from reports.writers import shell
from reports.writers.result_json import compact_json

SIZE_CAP = 3_000_000  # bytes: what a mail server passes on and a browser opens at once


@dataclass(frozen=True)
class Embedded:
    """The result inside the page: as JSON, or packed where that would be too large."""

    text: Markup
    packed: bool


def page_html(result: AnalysisResult, lang: str = "en") -> bytes:
    """The page in a language; the other one is in it behind a button."""
    whole = compact_json(result)
    packed = base64.b64encode(gzip.compress(whole.encode("utf-8"), mtime=0)).decode("ascii")
    as_json = Embedded(Markup(whole), packed=False)  # noqa: S704 - escaped by compact_json
    as_gzip = Embedded(Markup(packed), packed=True)  # noqa: S704 - base64
    for both, embedded in ((True, as_json), (True, as_gzip), (False, as_gzip), (False, None)):
        page = _render(result, lang, both=both, embedded=embedded)
        if len(page) <= SIZE_CAP:
            break
    return page


def _render(result: AnalysisResult, lang: str, *, both: bool, embedded: Embedded | None) -> bytes:
    other_lang = next(name for name in LANGUAGES if name != lang)
    shown = page_of(result, lang, embedded=embedded is not None)
    other = page_of(result, other_lang, embedded=embedded is not None) if both else None
    zone = result.selection.timezone
    text = shell.page(
        "report.html.jinja",
        lang=lang,
        charts=has_charts(shown),
        scripts=("report.js",),
        page=shown,
        other=other,
        say=Text.of(lang, zone).say,
        say_other=Text.of(other_lang, zone).say,
        embedded=embedded,
    )
    return text.encode("utf-8")


def has_charts(page: Page) -> bool:
    """Whether any block of the page is a chart."""
    return any(_drawn(block) for part in page.parts for block in part.blocks)


def _drawn(block: Block) -> bool:
    if isinstance(block, Panel | Fold | Columns):
        return any(_drawn(inner) for inner in block.blocks)
    return isinstance(block, Figure) and bool(block.charts)
