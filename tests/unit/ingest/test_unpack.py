"""Unpacking: members, frames, damage, bombs, long lines, other encodings."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from backports import zstd

from ingest import unpack
from ingest.errors import Reject, UnreadableInput
from ingest.load import LoadOptions, load_paths
from ingest.store.database import Store
from ingest.unpack import Survey, open_source, spool, survey
from tests.support.otlp import request, span

LINE = b'{"a": 1}\n'


def content_of(path: Path) -> bytes:
    with open_source(path).open() as stream:
        return stream.read()


def test_members_and_frames_are_one_stream(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(gzip.compress(LINE) + gzip.compress(LINE * 2))
    (tmp_path / "b").write_bytes(zstd.compress(LINE) + zstd.compress(LINE * 2))
    (tmp_path / "c").write_bytes(LINE * 3)
    assert [content_of(tmp_path / name) for name in "abc"] == [LINE * 3] * 3
    assert [open_source(tmp_path / name).packing for name in "abc"] == ["gzip", "zstd", "none"]


def test_of_a_damaged_archive_the_whole_part_is_kept_and_said(tmp_path: Path) -> None:
    lines = b"".join(b'{"id": "%d"}\n' % number for number in range(100_000))
    path = tmp_path / "torn.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-1000])
    made = spool(open_source(path), tmp_path)
    kept = made.path.read_bytes()
    assert lines.startswith(kept)
    assert len(kept) > 0.9 * len(lines)
    assert made.notes == (
        "torn.jsonl.gz is damaged: Compressed file ended before the end-of-stream marker was reached; "
        "what is whole was read, the last line may be cut",
    )


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "FLOOR_UNPACKED", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(64 << 20)))
    with pytest.raises(UnreadableInput, match="taken for a bomb"):
        spool(open_source(path), tmp_path)


def test_a_survey_tells_hash_size_and_the_longest_line(tmp_path: Path) -> None:
    content = b"x" * (20 << 20) + b"\n" + LINE
    (tmp_path / "long").write_bytes(content)
    found = survey(open_source(tmp_path / "long"))
    assert found.longest_gap >= 20 << 20
    assert found == Survey(hashlib.sha256(content).hexdigest(), len(content), found.longest_gap)
    (tmp_path / "short").write_bytes(LINE * 1_000_000)
    assert survey(open_source(tmp_path / "short")).longest_gap <= unpack.CHUNK + len(LINE)


def test_lines_above_the_limit_are_cut_out_and_keep_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpack, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(unpack, "CHUNK", 64)
    giant = b'{"giant": "' + b"y" * 500 + b'"}\n'
    path = tmp_path / "giants"
    path.write_bytes(LINE + giant + LINE + giant + LINE)
    made = spool(open_source(path), tmp_path)
    assert made.path.read_bytes() == LINE + b"\n" + LINE + b"\n" + LINE
    head = f'{{"giant": "{"y" * 64}…"}}'  # as a receipt shows it
    size = (
        "514 bytes are above the 67,108,864 bytes that one line or object may have; write it as several, each with a "
        "part of its rows or spans, or without prompts and answers"
    )
    assert made.rejects == (Reject(2, 9, "line_too_long", head, size), Reject(4, 532, "line_too_long", head, size))
    assert made.in_source(Reject(5, 20, "x", "")) == Reject(5, 1046, "x", "")
    assert made.in_source(Reject(1, 0, "x", "")) == Reject(1, 0, "x", "")


def test_utf_16_becomes_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "wide"
    path.write_bytes('{"name": "Zoë"}\n'.encode("utf-16"))
    made = spool(open_source(path), tmp_path, encoding="utf-16")
    assert made.path.read_text() == '{"name": "Zoë"}\n'
    assert made.notes == ("UTF-16 read as UTF-8; byte offsets count in the UTF-8 form",)


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"gone\.jsonl does not exist"):
        open_source(tmp_path / "gone.jsonl")
    with pytest.raises(UnreadableInput, match="is a folder, not a file"):
        open_source(tmp_path)


@pytest.mark.parametrize("is_packed", [True, False], ids=["zstd each", "plain"])
@pytest.mark.parametrize("is_archive", [True, False], ids=["gzip", "file"])
def test_messages_of_json_behind_their_lengths_are_read_as_lines(
    is_packed: bool, is_archive: bool, tmp_path: Path
) -> None:
    requests = [request([span("chat", span_id=f"{i}", trace=f"t{i}")]) for i in range(4)]
    texts = [json.dumps(one, indent=1 if i == 2 else None).encode() for i, one in enumerate(requests)]
    told = [zstd.compress(text) if is_packed else text for text in texts]
    told[1] = told[1][:-3] + b"???"
    data = b"".join(len(one).to_bytes(4, "big") + one for one in told)[:-5]
    path = tmp_path / "traces.json"
    path.write_bytes(gzip.compress(data) if is_archive else data)
    with Store.open() as store:
        (receipt,) = load_paths([path], store, LoadOptions())
        assert sorted(store.read("spans")["trace_id"].unique().to_list()) == sorted(
            requests[i]["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] for i in (0, 2)
        )
    assert (receipt.format, receipt.read, receipt.accepted, receipt.rejected) == ("otlp_json", 4, 2, 2)
    assert [(reject.line, reject.reason) for reject in receipt.rejects] == [(2, "invalid_json"), (4, "invalid_json")]
    assert not list(tmp_path.glob("*.data"))
