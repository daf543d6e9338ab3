"""The door: receipts that add up, nothing loaded twice, nothing half-written, every refused row by its place."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest import unpack
from ingest.errors import ConfigError, UnreadableInput
from ingest.forget import forget
from ingest.load import LoadOptions, Receipt, inspect_paths, load, load_paths
from ingest.load_source import SourceLoad
from ingest.store.database import Store
from tests.support.loads import PLAIN, counts, load_bytes, load_files, mapped, places, write
from tests.support.shared import shared


def line(number: int, **more: Any) -> bytes:
    row = {
        "request_id": f"r-{number}",
        "start_time": f"2026-03-02T10:{number % 60:02}:00Z",
        "model": "m-1",
        "input_tokens": 100,
        "output_tokens": 10,
        "ttft_ms": 200.0,
        "e2e_ms": 1000.0,
    }
    return json.dumps(row | more).encode() + b"\n"


def test_a_log_that_went_through_windows_is_accounted_for_to_the_line() -> None:
    (receipt,), requests = load_files(shared("cases/11-bom-crlf-nan-and-torn-lines/requests.jsonl"))
    assert counts(receipt) == (7, 4, 0, 3)
    assert places(receipt) == [(4, 600, "invalid_json"), (6, 873, "trailing_text"), (7, 1080, "torn_line")]
    assert [reject.head[:20] for reject in receipt.rejects] == [
        '{"request_id": "n4",',
        '{"request_id": "n6",',
        '{"request_id": "n7",',
    ]
    assert len(receipt.rejects[1].head) == 200
    assert receipt.reasons == {"invalid_json": 1, "torn_line": 1, "trailing_text": 1}
    assert receipt.notes == ("2 values are no numbers (NaN or Infinity) and are read as not known",)
    expected = pl.DataFrame(
        {
            "request_id": ["n1", "n2", "n3", "n5"],
            "ttft_ns": [300_000_000, None, 500_000_000, 400_000_000],
            "e2e_ns": [2_000_000_000, 2_500_000_000, None, 3_000_000_000],
            "input_tokens": [100, 150, 200, 210],
            "output_tokens": [20, 30, 40, 42],
        }
    )
    assert requests.select(expected.columns).equals(expected)


def test_bad_lines_of_every_kind_have_their_true_line_and_offset(tmp_path: Path) -> None:
    lines = [
        line(1),
        b"\n",
        b"not json\n",
        b'{"request_id": "r-2", \xff}\n',
        b"[1, 2]\n",
        line(3, input_tokens="many"),
        line(4, output_tokens=-1),
        line(5, e2e_ms=-5),
        line(6, start_time="2026-03-02T11:00:00Z", end_time="2026-03-02T10:00:00Z"),
        line(7, start_time="1999-01-01T00:00:00Z"),
        line(8, e2e_ms=90_000_000),
        b'{"comment": "a row of nothing"}\n',
        line(9, start_time=None),
        b"   \n",
        line(10),
        line(11).rstrip() + b' {"second": 1}\n',
        b'{"request_id": "r-12", "mo',
    ]
    receipt, requests = load_bytes(tmp_path, b"".join(lines))
    at = [sum(len(each) for each in lines[:number]) for number in range(len(lines))]
    assert places(receipt) == [
        (3, at[2], "invalid_json"),
        (4, at[3], "invalid_utf8"),
        (5, at[4], "not_an_object"),
        (6, at[5], "bad_value"),
        (7, at[6], "negative_tokens"),
        (8, at[7], "negative_duration"),
        (9, at[8], "end_before_start"),
        (10, at[9], "time_out_of_range"),
        (11, at[10], "duration_too_long"),
        (12, at[11], "start_unset"),
        (13, at[12], "start_unset"),
        (16, at[15], "trailing_text"),
        (17, at[16], "torn_line"),
    ]
    assert counts(receipt) == (15, 2, 0, 13)
    assert requests["request_id"].to_list() == ["r-1", "r-10"]


def test_the_same_file_again_is_all_duplicate_and_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = line(1) + line(2) + b"broken\n"
    first, second = write(tmp_path, {"a.jsonl": content, "copy.jsonl": content})
    with Store.open() as store:
        told = load(first, store, PLAIN)
        monkeypatch.setattr("ingest.load_source.read_head", None)  # reading would fail
        again = load(second, store, PLAIN)
        assert counts(told) == (3, 2, 0, 1)
        assert counts(again) == (3, 0, 2, 1)
        assert (again.rejects, again.reasons, again.state) == (told.rejects, told.reasons, "done")
        assert again.message == f"the same bytes were loaded before, as a.jsonl ({told.upload_id})"
        assert store.read("requests").height == 2
        assert store.uploads()["n_duplicate"].to_list() == [0, 2]


def test_the_same_rows_inside_another_file_are_duplicates(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.jsonl": line(1) + line(2), "b.jsonl": line(2) + line(3)})
    receipts, requests = load_files(*paths)
    assert [counts(receipt) for receipt in receipts] == [(2, 2, 0, 0), (2, 1, 1, 0)]
    assert requests["request_id"].to_list() == ["r-1", "r-2", "r-3"]


def test_one_id_told_twice_in_one_file_is_one_request(tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, line(1, model="first") + line(2) + line(1, model="second"))
    assert counts(receipt) == (3, 2, 1, 0)
    assert requests["model"].to_list() == ["first", "m-1"]


def test_one_id_for_many_requests_is_no_identity(tmp_path: Path) -> None:
    content = line(1, request_id="stub") + line(2, request_id="stub")
    receipt, _ = load_bytes(tmp_path, content)
    assert counts(receipt) == (2, 2, 0, 0)


def test_equal_rows_without_an_id_are_as_many_requests_in_every_file(tmp_path: Path) -> None:
    row = b'{"start_time": "2026-03-02T10:00:00Z", "input_tokens": 5, "output_tokens": 7}\n'
    other = row.replace(b"5", b"6")
    paths = write(tmp_path, {"a.jsonl": row + other + row, "b.jsonl": row * 3, "c.jsonl": other + other})
    receipts, requests = load_files(*paths)
    assert [counts(receipt) for receipt in receipts] == [(3, 3, 0, 0), (3, 1, 2, 0), (2, 1, 1, 0)]
    assert requests["input_tokens"].sort().to_list() == [5, 5, 5, 6, 6]


def test_a_failed_load_leaves_nothing_but_its_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write(tmp_path, {"a.jsonl": line(1) + b"broken\n"})
    with Store.open() as store:

        def fail(*_: object, **__: object) -> None:
            raise UnreadableInput("the disk is gone")

        monkeypatch.setattr("ingest.load_flat.add_rejects", fail)
        receipt = load(path, store, PLAIN)
        assert (receipt.state, receipt.message, counts(receipt)) == ("failed", "the disk is gone", (0, 0, 0, 0))
        assert [store.read(table).height for table in ("requests", "rejects", "uploads")] == [0, 0, 1]
        monkeypatch.undo()
        assert counts(load(path, store, PLAIN)) == (2, 1, 0, 1)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write(tmp_path, {"a.jsonl": line(1)})

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ingest.load_flat.reachable", full)
    with Store.open() as store:
        receipt = load(path, store, PLAIN)
        assert (receipt.state, receipt.message) == ("failed", "a.jsonl cannot be read: No space left on device")
        assert store.read("requests").height == 0


def test_a_cancelled_load_leaves_nothing_but_its_upload(tmp_path: Path) -> None:
    (path,) = write(tmp_path, {"a.jsonl": line(1)})
    with Store.open() as store:
        receipt = load(path, store, PLAIN, cancelled=lambda: True)
        assert (receipt.state, receipt.code) == ("cancelled", "cancelled")
        assert [store.read(table).height for table in ("requests", "rejects", "uploads")] == [0, 0, 1]


def test_a_load_that_is_cancelled_while_it_reads_leaves_nothing_either(tmp_path: Path) -> None:
    (path,) = write(tmp_path, {"a.jsonl": b"".join(line(number) for number in range(200_000))})
    asked = itertools.count()
    chunks = path.stat().st_size // unpack.CHUNK + 1  # asked once for each while the file is hashed
    with Store.open() as store:
        receipt = load(path, store, PLAIN, cancelled=lambda: next(asked) > chunks)
        assert receipt.state == "cancelled"
        assert [store.read(table).height for table in ("requests", "rejects", "uploads")] == [0, 0, 1]
        assert counts(load(path, store, PLAIN)) == (200_000, 200_000, 0, 0)


def test_an_upload_taken_out_can_be_loaded_again(tmp_path: Path) -> None:
    (path,) = write(tmp_path, {"a.jsonl": line(1) + b"broken\n"})
    with Store.open() as store:
        receipt = load(path, store, PLAIN)
        forget(store, receipt.upload_id)
        assert counts(load(path, store, PLAIN)) == (2, 1, 0, 1)


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    content = b"".join(line(number) for number in range(5000))
    (path,) = write(tmp_path, {"a.jsonl.gz": gzip.compress(content)})
    told: list[tuple[int, int]] = []
    with Store.open() as store:
        load(path, store, PLAIN, progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)
    assert told == sorted(told)


def test_progress_of_several_files_is_one_bar(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.jsonl": line(1), "b.jsonl": line(2), "c.png": b"\x89PNG\r\n\x1a\n"})
    told: list[tuple[int, int]] = []
    with Store.open() as store:
        load_paths(paths, store, PLAIN, progress=lambda done, total: told.append((done, total)))
    total = sum(path.stat().st_size for path in paths)
    assert {whole for _, whole in told} == {total}
    assert told == sorted(told)


def test_a_folder_with_an_image_and_settings_is_read_past_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/requests.jsonl": line(1),
            "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
            "slo.json": b'{"format": 1, "objectives": []}',
            "notes.txt": b"a note",
            ".hidden.jsonl": line(2),
            "empty.jsonl": b"",
        },
    )
    receipts, requests = load_files(tmp_path)
    assert [(receipt.name, receipt.state, receipt.message) for receipt in receipts] == [
        ("a/requests.jsonl", "done", None),
        ("empty.jsonl", "done", "empty.jsonl is empty: there is nothing to read"),
        ("notes.txt", "skipped", "notes.txt is not a trace file, not read: no known format (text)"),
        ("photo.png", "skipped", "photo.png is not a trace file, not read: no known format (a PNG image)"),
        (
            "slo.json",
            "skipped",
            "slo.json is not a trace file, not read: no known format (JSON with the keys format, objectives)",
        ),
    ]
    assert requests.height == 1


def test_what_was_named_itself_and_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    (image,) = write(tmp_path, {"photo.png": b"\x89PNG\r\n\x1a\n"})
    receipts, _ = load_files(image)
    assert [(receipt.state, receipt.code) for receipt in receipts] == [("failed", "unknown_format")]
    with pytest.raises(UnreadableInput, match="gone does not exist"), Store.open() as store:
        load_paths([tmp_path / "gone"], store, PLAIN)
    with pytest.raises(ConfigError, match='format "flatt" is not known'), Store.open() as store:
        load_paths([image], store, LoadOptions(format="flatt"))


def test_a_pattern_reads_what_it_matches(tmp_path: Path) -> None:
    write(tmp_path, {"a[1].jsonl": line(1), "b.jsonl": line(2), "c.csv": b""})
    receipts, requests = load_files(f"{tmp_path}/*.jsonl")
    assert [receipt.name for receipt in receipts] == ["a[1].jsonl", "b.jsonl"]
    assert requests.height == 2


def test_utf_16_is_decoded_and_said(tmp_path: Path) -> None:
    content = (line(1) + b"broken\n" + line(2)).decode().encode("utf-16")
    receipt, requests = load_bytes(tmp_path, content)
    assert requests["request_id"].to_list() == ["r-1", "r-2"]
    assert (counts(receipt), places(receipt)[0][0]) == ((3, 2, 0, 1), 2)
    assert receipt.notes == ("UTF-16 read as UTF-8; byte offsets count in the UTF-8 form",)


def test_of_a_damaged_archive_every_whole_line_is_in(tmp_path: Path) -> None:
    content = b"".join(line(number) for number in range(20_000))
    receipt, requests = load_bytes(tmp_path, gzip.compress(content)[:-500], "a.jsonl.gz")
    assert receipt.state == "done"
    assert receipt.read == receipt.accepted + receipt.rejected
    assert requests.height == receipt.accepted > 15_000
    assert receipt.reasons == {"torn_line": 1}
    assert receipt.notes[0].startswith("a.jsonl.gz is damaged: Compressed file ended before")


def test_an_archive_of_which_nothing_is_whole_is_told(tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, gzip.compress(line(1))[:12], "a.jsonl.gz")
    assert (receipt.state, receipt.read) == ("failed", 0)
    assert "a.jsonl.gz" in (receipt.message or "")


def test_a_line_above_the_limit_costs_no_neighbor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MAX_LINE_BYTES", 1 << 20)
    monkeypatch.setattr(unpack, "CHUNK", 1 << 16)
    monkeypatch.setattr("ingest.load_source.MAX_LINE_BYTES", 1 << 20)
    giant = line(2, prompt="x" * (2 << 20))
    receipt, requests = load_bytes(tmp_path, line(1) + giant + b"broken\n" + line(3))
    assert requests["request_id"].to_list() == ["r-1", "r-3"]
    assert counts(receipt) == (4, 2, 0, 2)
    first = len(line(1))
    assert places(receipt) == [(2, first, "line_too_long"), (3, first + len(giant), "invalid_json")]


def test_a_line_of_forty_megabytes_is_read(tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, line(1) + line(2, prompt="x" * (40 << 20)) + line(3))
    assert counts(receipt) == (3, 3, 0, 0)
    assert requests["request_id"].to_list() == ["r-1", "r-2", "r-3"]


def test_the_rate_of_a_run_applies_to_the_files_beside_it(tmp_path: Path) -> None:
    run = b'{"start": "2026-03-02T11:00:00Z", "hours": 1.0, "seed": 2, "sampling_rate": 0.25, "requests": 1}'
    write(tmp_path, {"case/requests.jsonl": line(1), "case/run.json": run})
    receipts, requests = load_files(tmp_path / "case")
    assert requests["sampling_rate"].to_list() == [0.25]
    assert [(receipt.state, receipt.sampling_rate) for receipt in receipts] == [("done", 0.25), ("skipped", 0.25)]
    assert receipts[1].message == "not a trace file; its sampling rate 0.25 applies to the others"
    _, stated = load_files(tmp_path / "case", options=LoadOptions(sampling_rate=0.5))
    assert stated["sampling_rate"].to_list() == [0.5]
    _, from_mapping = load_files(tmp_path / "case", options=mapped("sampling_rate: 0.1"))
    assert from_mapping["sampling_rate"].to_list() == [0.1]


def test_an_inspection_stores_nothing_and_tells_what_rows_lack(tmp_path: Path) -> None:
    paths = write(tmp_path, {"a.jsonl": line(1) + line(2, ttft_ms=None) + b"broken\n", "photo.png": b"\x89PNG\r\n"})
    table, image = inspect_paths(paths, PLAIN)
    assert (table.title, table.requests, counts(table.receipt)) == ("Request table", 2, (3, 2, 0, 1))
    assert {name: table.filled.get(name) for name in ("model", "ttft_ns", "e2e_ns", "tenant")} == {
        "model": 2,
        "ttft_ns": 1,
        "e2e_ns": 2,
        "tenant": None,
    }
    assert (image.title, image.requests, image.receipt.state) == (None, 0, "failed")


def test_a_receipt_is_plain_json(tmp_path: Path) -> None:
    receipt, _ = load_bytes(tmp_path, line(1) + b"broken\n")
    told = json.loads(json.dumps(receipt.to_json()))
    assert told["rejects"] == [
        {
            "line": 2,
            "offset": len(line(1)),
            "reason": "invalid_json",
            "head": "broken",
            "detail": "character 1 of 6: Expecting value",
        }
    ]


def test_readers_in_python_are_driven_and_their_duplicates_counted() -> None:
    path = shared("data/mooncake-conversation/conversation_first20min.jsonl.gz")
    receipts, requests = load_files(path)
    assert counts(receipts[0]) == (3658, 3658, 0, 0)
    assert (requests["input_tokens"].sum(), requests["output_tokens"].sum()) == (49028610, 1274811)


def test_an_error_nobody_foresaw_costs_its_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (tmp_path / name).write_bytes(line("abc".index(name[0])))
    run = SourceLoad.run

    def failing(self: SourceLoad) -> Receipt:
        receipt = run(self)
        if self.file.name == "b.jsonl":
            raise ValueError("not enough values to unpack")
        return receipt

    monkeypatch.setattr(SourceLoad, "run", failing)
    with Store.open() as store:
        receipts = load_paths([tmp_path], store, LoadOptions())
        uploads = store.read("uploads").sort("name")
    assert [(receipt.name, receipt.state, receipt.accepted) for receipt in receipts] == [
        ("a.jsonl", "done", 1),
        ("b.jsonl", "failed", 0),
        ("c.jsonl", "done", 1),
    ]
    assert "ValueError: not enough values to unpack" in (receipts[1].message or "")
    assert uploads["state"].to_list() == ["done", "failed", "done"]


def test_spans_told_again_in_several_batches_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(number: int, **more: object) -> dict[str, object]:
        ids = {"traceId": f"{number + 1:032x}", "id": f"{number + 1:016x}"}
        return (
            ids
            | {"name": "chat", "timestamp": 1_772_445_600_000_000, "duration": 1000, "tags": more}
            | {"localEndpoint": {"serviceName": "s"}}
        )

    spans = [
        *(told(n) for n in range(6)),
        *(told(n, note="x") for n in range(5)),
        told(9, **{f"x{n}": "y" for n in range(300)}),
    ]
    (path,) = write(tmp_path, {"zipkin.json": json.dumps(spans).encode()})
    monkeypatch.setattr("ingest.load_rows.BATCH", 2)
    monkeypatch.setattr("ingest.assemble.GROUP_ROWS", 2)
    (receipt,), _ = load_files(path)
    assert (receipt.read, receipt.accepted, receipt.duplicate) == (12, 7, 5)
    assert [note for note in receipt.notes if "again" in note or "further" in note] == [
        "5 spans were told again with more or other content; the fuller telling stands",
        "101 further names are not understood",
    ]
