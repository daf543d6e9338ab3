"""What a user means by PATH."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path

import polars as pl
import pytest

from ingest.errors import UnreadableInput
from ingest.load import inspect_paths, load_paths
from ingest.paths import Found, find
from ingest.store.database import Store
from tests.support.loads import PLAIN, write


def test_folders_are_walked_by_name_and_files_come_once(tmp_path: Path) -> None:
    b, a, _, _ = write(tmp_path / "d", {"b.jsonl": b"", "a/x.jsonl": b"", ".h/y.jsonl": b"", ".z": b""})
    found = find([tmp_path / "d", b], tmp_path)
    assert found == [Found(a, "a/x.jsonl", is_named=False), Found(b, "b.jsonl", is_named=True)]


def test_a_pattern_finds_files_and_folders(tmp_path: Path) -> None:
    a, b = write(tmp_path, {"one/a.jsonl": b"", "two.jsonl": b""})
    found = find([f"{tmp_path}/*"], tmp_path / "scratch")
    assert found == [Found(a, "a.jsonl", is_named=False), Found(b, "two.jsonl", is_named=False)]


def test_standard_input_is_kept_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    (found,) = find(["-"], tmp_path)
    assert (found.name, found.is_named, found.path.read_bytes()) == ("stdin", True, b'{"a": 1}\n')


@pytest.mark.parametrize(
    ("given", "message"), [("gone", "gone does not exist"), ("*.gone", r"no file matches \*\.gone")]
)
def test_what_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableInput, match=message):
        find([given], tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", 'a PATH is empty. Give a file, a folder, a pattern or -; "." is this folder'),
        ("x" * 5000, f"{'x' * 200}... cannot be read: File name too long"),
        ("self", "self is a link to what does not exist, or to itself"),
        ("a\0b", r"a\x00b does not exist"),
    ],
)
def test_what_cannot_be_a_path_is_an_error_of_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "self").symlink_to("self")
    with pytest.raises(UnreadableInput) as caught:
        find([given], tmp_path)
    assert caught.value.message == message


def test_a_link_to_itself_among_the_matches_is_found_and_told_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "self.jsonl").symlink_to("self.jsonl")
    (tmp_path / "x.jsonl").write_bytes(b"")
    assert [found.name for found in find([f"{tmp_path}/*.jsonl"], tmp_path)] == ["self.jsonl", "x.jsonl"]


def test_a_folder_that_may_not_be_entered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", denied)
    with pytest.raises(UnreadableInput) as caught:
        find(["d/locked/x"], tmp_path)
    assert caught.value.message == "d/locked/x cannot be read: Permission denied"


ROW = b'{"request_id": "%s", "start_time": "2026-03-02T10:00:00Z", "e2e_ms": 5}\n'
NAMES = {  # as bytes on disk -> as a receipt shows it
    b"n\xff.jsonl": r"n\xff.jsonl",
    b"d\xe9/x.jsonl": r"d\xe9/x.jsonl",
    b"line\nend.jsonl": r"line\nend.jsonl",
    b'it\'s "quoted".jsonl': 'it\'s "quoted".jsonl',
    b"-dash.jsonl": "-dash.jsonl",
    b"a[1]*?{b}.jsonl": "a[1]*?{b}.jsonl",
    b"\x1b[31mred.jsonl": r"\x1b[31mred.jsonl",
    b"p\xff.parquet": r"p\xff.parquet",
    "größe 大.jsonl".encode(): "größe 大.jsonl",
}


def odd_files(folder: Path) -> list[bytes]:
    paths = [os.fsencode(folder) + b"/" + name for name in NAMES]
    for number, path in enumerate(paths):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        content = ROW % str(number).encode()
        if path.endswith(b".parquet"):
            made = io.BytesIO()
            pl.read_ndjson(content).write_parquet(made)
            content = made.getvalue()
        with open(path, "wb") as file:
            file.write(content)
    return paths


def test_files_of_any_name_in_a_folder_are_read_and_shown(tmp_path: Path) -> None:
    odd_files(tmp_path / "in")
    with Store.open() as store:
        receipts = load_paths([tmp_path / "in"], store, PLAIN)
        names = store.uploads()["name"].to_list()
        assert store.read("requests").height == len(NAMES)
    told = [(receipt.name, receipt.state, receipt.accepted) for receipt in receipts]
    assert sorted(told) == sorted((name, "done", 1) for name in NAMES.values())
    assert sorted(names) == sorted(NAMES.values())
    json.dumps([receipt.to_json() for receipt in receipts], ensure_ascii=False).encode("utf-8")
    for receipt in inspect_paths([tmp_path / "in"], PLAIN):
        assert (receipt.receipt.state, receipt.requests) == ("done", 1)


def test_files_of_any_name_can_be_named(tmp_path: Path) -> None:
    for path, name in zip(odd_files(tmp_path / "in"), NAMES.values(), strict=True):
        with Store.open() as store:
            (receipt,) = load_paths([os.fsdecode(path)], store, PLAIN)
        assert (receipt.name, receipt.state) == (name.rpartition("/")[2], "done")
    with pytest.raises(UnreadableInput) as caught:
        find([os.fsdecode(b"gone\xff")], tmp_path)
    assert caught.value.message == r"gone\xff does not exist"


def test_standard_input_named_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}\n')))
    (found,) = find(["-", "/dev/stdin", "-"], tmp_path)
    assert found.path.read_bytes() == b'{"a": 1}\n'


def test_a_pipe_is_kept_while_it_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"a": 1}\n',))
    writer.start()
    (found,) = find([pipe], tmp_path)
    writer.join()
    assert (found.name, found.is_named, found.path.read_bytes()) == ("pipe", True, b'{"a": 1}\n')


def test_a_device_is_refused_and_pipes_in_folders_are_passed_over(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"^/dev/zero is a device and no file of traces"):
        find(["/dev/zero"], tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert find([tmp_path], tmp_path) == find([f"{tmp_path}/*"], tmp_path) == []


def test_a_folder_that_may_not_be_read_is_a_failed_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a, _) = write(tmp_path, {"a.jsonl": b'{"request_id": "r", "model": "m", "e2e_ms": 1}\n', "shut/b.jsonl": b""})
    walk, access = os.scandir, os.access

    def scandir(path: str | int) -> object:
        if isinstance(path, str) and path.endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return walk(path)

    monkeypatch.setattr("os.scandir", scandir)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "shut" and access(path, mode))
    with Store.open() as store:
        good, shut = load_paths([tmp_path], store, PLAIN)
    assert (good.name, good.accepted) == (a.name, 1)
    assert (shut.name, shut.state, shut.message) == (
        "shut",
        "failed",
        "shut is a folder that may not be read; what lies in it is left out",
    )
