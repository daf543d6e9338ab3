"""Where refused rows stand in their file: true line number, byte offset, first characters.

Input: unpacked bytes, and the refused records by number (blank lines are no records). Output: Reject.
A walk over the file, made only where something was refused. Memory: one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from ingest.errors import Reject
from ingest.formats.heads import fault_of, head_of_line
from ingest.formats.json_rows import decode
from ingest.formats.text_rows import numbered_lines

Refused = tuple[int, str, str]  # record number from 1, reason, what is wrong with it
UNJUDGED = "unreadable"  # the reader saw nothing it knows: the line itself tells why
_BLANK = b" \t\r\n"


def json_rejects(
    stream: IO[bytes], refused: Iterable[Refused], mend: Callable[[int, int, bytes], bool] | None = None
) -> Iterator[Reject]:
    """The refused records of a file of JSON lines without lines above the limit; the walk ends after the last.

    Args:
        refused: (record number from 1, reason, detail), ascending; UNJUDGED: the line is looked at.
        mend: told (line, offset, bytes) of a line that is looked at; True: it takes the line, which is no reject then.
    """
    wanted = iter(refused)
    target = next(wanted, None)
    record = 0
    if target is None:
        return
    for line, offset, data in numbered_lines(stream):
        if not data.strip(_BLANK):
            continue
        record += 1
        if record != target[0]:
            continue
        is_unjudged = target[1] == UNJUDGED
        if not (is_unjudged and mend is not None and mend(line, offset, data)):
            reason = fault_of_line(data) if is_unjudged else target[1]
            yield Reject(line, offset, reason, head_of_line(data), target[2] or fault_of(data, reason))
        target = next(wanted, None)
        if target is None:
            return


def with_whole_characters(value: object) -> bytes:
    """The value as JSON; half a surrogate pair, which a writer leaves that cuts texts, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def mended(data: bytes) -> bytes | None:
    """A line whose only fault is half a surrogate pair, without it; None for every other line."""
    try:
        value = decode(data.strip(_BLANK))
    except ValueError:
        return None
    return with_whole_characters(value) if isinstance(value, dict) and not is_text(value) else None


def fault_of_line(data: bytes) -> str:
    """Why a line of JSON lines holds no row, as a reason of errors.REJECT_REASONS."""
    stripped = data.strip(_BLANK)
    try:
        value = decode(stripped)
    except UnicodeDecodeError:
        return "invalid_utf8"
    except ValueError:
        return _fault_of_syntax(stripped, is_torn=not data.endswith(b"\n"))
    if not isinstance(value, dict):
        return "not_an_object"
    return "no_time" if is_text(value) else "invalid_utf8"


def is_text(value: object) -> bool:
    """Whether all text within a JSON value can be written; half a surrogate pair cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _fault_of_syntax(data: bytes, *, is_torn: bool) -> str:
    try:
        json.JSONDecoder().raw_decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        return "invalid_utf8"
    except (ValueError, RecursionError):
        return "torn_line" if is_torn else "invalid_json"
    return "trailing_text"
