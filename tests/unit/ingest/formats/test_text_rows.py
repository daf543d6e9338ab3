"""Lines of text logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.formats import text_rows as module
from ingest.formats.contract import RawReject
from ingest.formats.text_rows import text_rows
from ingest.unpack import open_source


def told(tmp_path: Path, data: bytes) -> list[tuple[object, ...]]:
    file = tmp_path / "data.log"
    file.write_bytes(data)
    return [
        (row.reason, row.line) if isinstance(row, RawReject) else (row.text, row.line, row.offset, row.is_torn)
        for row in text_rows(open_source(file))
    ]


def test_lines_are_numbered_and_an_open_end_is_seen(tmp_path: Path) -> None:
    found = told(tmp_path, b"\xef\xbb\xbfone\r\n\n\xff\nfour")
    assert found == [("one", 1, 0, False), ("invalid_utf8", 3), ("four", 4, 11, True)]


def test_a_line_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 8)
    assert told(tmp_path, b"x" * 8 + b"y\nok\n")[0] == ("line_too_long", 1)
