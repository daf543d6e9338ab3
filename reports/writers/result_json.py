"""The result as JSON, and back: the same bytes for the same result, keys sorted.

Input: AnalysisResult. Output: UTF-8 JSON, indented for a reader; `result_from_json` reads what was written.
"""

from __future__ import annotations

import msgspec

from analysis.result import RESULT_VERSION, AnalysisResult


def result_json(result: AnalysisResult, lang: str = "en") -> bytes:  # noqa: ARG001 - one signature for all writers
    """The result, indented, with a line feed at the end; it has no language."""
    return msgspec.json.format(msgspec.json.encode(result, order="sorted"), indent=2) + b"\n"


def compact_json(result: AnalysisResult) -> str:
    """The result on one line, safe inside a script element: no `<` stands in it."""
    text = msgspec.json.encode(result, order="sorted").decode("utf-8")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def result_from_json(content: bytes | str) -> AnalysisResult:
    """A stored result, so that an old report can be drawn again.

    Raises:
        ValueError: the text is no result, or one of a newer version.
    """
    try:
        result = msgspec.json.decode(content, type=AnalysisResult)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise ValueError(f"the stored result cannot be read: {error}. Make the report anew from the traces") from error
    if result.result_version > RESULT_VERSION:
        raise ValueError(
            f"the stored result is of version {result.result_version}, this version reads up to {RESULT_VERSION}. Update the service"
        )
    return result
