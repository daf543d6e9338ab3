"""All formats of a report, in reading order.

Output: WRITERS; each `write(result, lang) -> bytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.result import AnalysisResult
from reports.writers.page_html import page_html
from reports.writers.page_markdown import page_markdown
from reports.writers.result_json import result_json
from reports.writers.tables_csv import tables_csv


@dataclass(frozen=True)
class Writer:
    """One format: the ending of its file, its media type, what it is for."""

    kind: str
    media_type: str
    says: str
    write: Callable[[AnalysisResult, str], bytes]


WRITERS: tuple[Writer, ...] = (
    Writer("html", "text/html; charset=utf-8", "the whole report in one file that opens offline", page_html),
    Writer("md", "text/markdown; charset=utf-8", "a short report for a chat or a mail", page_markdown),
    Writer("json", "application/json", "every figure, exact; reads back with result_from_json", result_json),
    Writer("csv", "text/csv; charset=utf-8", "every figure in one long table: table, key, field, value", tables_csv),
)
