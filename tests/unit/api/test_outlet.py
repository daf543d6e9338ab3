"""Where an answer is put: links are followed, pipes and devices are written into, a file is whole or not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from api.commands.report import kind_of
from api.copies import back_up
from api.outlet import place_of, put
from ingest.errors import ConfigError
from ingest.store.database import Store


def test_a_file_is_written_whole_and_nothing_else_stands_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    assert put(b"old", str(place)) == place
    place.chmod(0o640)
    put(b"new", str(place))
    assert (place.read_bytes(), place.stat().st_mode & 0o777, os.listdir(tmp_path)) == (b"new", 0o640, ["r.html"])


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "real.html").write_bytes(b"old")
    for name, target in (("link.html", "real.html"), ("new.html", "made.html")):
        (tmp_path / name).symlink_to(target)
        put(b"new", str(tmp_path / name))
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_bytes() == b"new"


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "p.html"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    put(b"x" * 200_000, str(pipe))
    reader.join(10)
    assert (read, pipe.is_fifo()) == ([b"x" * 200_000], True)


def test_a_device_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "n.html"
    link.symlink_to("/dev/null")
    put(b"x", str(link))
    assert (link.is_symlink(), Path("/dev/null").is_char_device()) == (True, True)


def test_standard_output_has_one_stream(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert [put(b"x", name) for name in ("-", "/dev/stdout")] == [None, None]
    assert capfdbinary.readouterr().out == b"xx"


def test_what_has_no_form_in_its_name_is_a_page() -> None:
    assert [kind_of(name) for name in ("-", "/dev/stdout", "/dev/null")] == ["html", "html", "html"]
    with pytest.raises(ConfigError, match=r'"r.txt" names no form of a report'):
        kind_of("r.txt")


def test_a_place_that_cannot_be_written_is_told_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("folder", "absent/r.html", "x" * 5000, "a\0b"):
        with pytest.raises(ConfigError, match="cannot be written: "):
            put(b"x", str(tmp_path / name))
    assert os.listdir(tmp_path) == ["folder"]


def test_what_breaks_off_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "copy.duckdb"
    place.write_bytes(b"old")

    def breaks_off() -> None:
        with place_of(place) as fresh:
            fresh.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        breaks_off()
    assert (place.read_bytes(), os.listdir(tmp_path)) == (b"old", ["copy.duckdb"])


def test_a_backup_goes_through_a_link_and_leaves_a_device_alone(tmp_path: Path) -> None:
    (tmp_path / "link.duckdb").symlink_to("real.duckdb")
    with Store.open(tmp_path / "s.duckdb") as store:
        size = back_up(store, tmp_path / "link.duckdb")
        back_up(store, Path("/dev/null"))
    assert (tmp_path / "link.duckdb").is_symlink()
    assert (tmp_path / "real.duckdb").stat().st_size == size
    assert Path("/dev/null").is_char_device()
