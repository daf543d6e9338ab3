"""The door of the room: a finished analysis as a page, as JSON, as Markdown or as CSV.

Input: AnalysisResult and nothing else. Output: bytes, the same for the same result.
"""

from __future__ import annotations

from analysis.result import AnalysisResult
from reports.text import LANGUAGES
from reports.writers.catalog import WRITERS


def render(result: AnalysisResult, kind: str, *, lang: str = "en") -> bytes:
    """The result in a format.

    Args:
        kind: html, json, md or csv.
        lang: en or zh, for html and md.

    Raises:
        ValueError: the kind or the language is not known.
    """
    writers = {writer.kind: writer for writer in WRITERS}
    if kind not in writers:
        raise ValueError(f"report format {kind!r} is not known. Known: {', '.join(writers)}")
    if lang not in LANGUAGES:
        raise ValueError(f"language {lang!r} is not known. Known: {', '.join(LANGUAGES)}")
    return writers[kind].write(result, lang)
