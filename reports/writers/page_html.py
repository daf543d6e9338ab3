"""The report as one HTML file that opens offline, with the result in it.

Input: AnalysisResult. Output: UTF-8 bytes, at most about 3 MB: the second language and the embedded result
are left out, in this order of need, where the file would be larger.
"""

from __future__ import annotations

from markupsafe import Markup

from analysis.result import AnalysisResult
from reports.text import LANGUAGES, Text
from reports.view.blocks import Block, Columns, Figure, Fold, Page, Panel
from reports.view.page import page_of
from reports.writers import shell
from reports.writers.result_json import compact_json

SIZE_CAP = 3_000_000  # bytes: what a mail server passes on and a browser opens at once


def page_html(result: AnalysisResult, lang: str = "en") -> bytes:
    """The page in a language; the other one is in it behind a button."""
    embedded = compact_json(result)
    attempts = ((True, embedded), (True, None), (False, None))
    for both, json_text in attempts:
        page = _render(result, lang, both=both, json_text=json_text)
        if len(page) <= SIZE_CAP:
            break
    return page


def _render(result: AnalysisResult, lang: str, *, both: bool, json_text: str | None) -> bytes:
    other_lang = next(name for name in LANGUAGES if name != lang)
    shown = page_of(result, lang, embedded=json_text is not None)
    other = page_of(result, other_lang, embedded=json_text is not None) if both else None
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
        result_json=Markup(json_text) if json_text is not None else None,  # noqa: S704 - escaped by compact_json
    )
    return text.encode("utf-8")


def has_charts(page: Page) -> bool:
    """Whether any block of the page is a chart."""
    return any(_drawn(block) for part in page.parts for block in part.blocks)


def _drawn(block: Block) -> bool:
    if isinstance(block, Panel | Fold | Columns):
        return any(_drawn(inner) for inner in block.blocks)
    return isinstance(block, Figure) and bool(block.charts)
