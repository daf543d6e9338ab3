"""The finance bundle as a zip and a folder: the same bytes, complete or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.finance import month_range, put_files, source_hash, unzipped, zipped
from ingest.errors import ConfigError

FILES = {"manifest.json": b"{}", "a.csv": b"x,y\r\n", "z.parquet": b"\0\1"}


def test_a_zip_has_the_same_bytes_whatever_the_order_of_its_files() -> None:
    assert zipped(FILES) == zipped(dict(reversed(FILES.items())))
    assert unzipped(zipped(FILES)) == FILES


def test_a_folder_holds_the_files_and_no_half_written_one(tmp_path: Path) -> None:
    folder = put_files(FILES, tmp_path / "deep" / "focus")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == FILES
    put_files(FILES | {"a.csv": b"new"}, folder)
    assert (folder / "a.csv").read_bytes() == b"new"


def test_the_manifest_is_gone_while_other_files_could_not_be_written(tmp_path: Path) -> None:
    folder = put_files(FILES, tmp_path / "focus")
    (folder / "z.parquet").unlink()
    (folder / "z.parquet").mkdir()
    with pytest.raises(ConfigError, match=r"focus cannot be written to: .* Give a folder with -o"):
        put_files(FILES, folder)
    assert not (folder / "manifest.json").exists()
    assert [path.name for path in folder.iterdir() if path.name.endswith(".part")] == []


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "focus").write_text("")
    with pytest.raises(ConfigError, match=r"focus cannot be written to: File exists\. Give a folder with -o"):
        put_files(FILES, tmp_path / "focus")


def test_a_month_ends_where_the_next_begins() -> None:
    assert month_range("2026-11") == ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")
    assert month_range("2026-12") == ("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z")


@pytest.mark.parametrize("period", ["2026-13", "november", "2026", ""])
def test_what_is_no_month_is_refused(period: str) -> None:
    with pytest.raises(ConfigError, match=f'period "{period}" is no month; write 2026-11'):
        month_range(period)


def test_the_hash_of_sources_does_not_depend_on_their_order() -> None:
    assert source_hash(["b", "a"]) == source_hash(["a", "b"]) != source_hash(["a"])
