"""What a user means by PATH: a file, a folder, a pattern, or "-".

Input: paths as given. Output: files with the name to show, in order; whether each was named itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import IO
from uuid import uuid4

from ingest.errors import UnreadableInput

_PATTERN = set("*?[")
STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
LONGEST_TOLD = 200  # characters of a path that a message repeats


@dataclass(frozen=True)
class Found:
    """One file. `is_named`: the user named it itself, so what cannot be read is a failure and not a bystander."""

    path: Path
    name: str
    is_named: bool


def find(paths: Sequence[str | Path], scratch: Path) -> list[Found]:
    """All files of the paths, each once; files of a folder by name, hidden ones left out.

    Args:
        scratch: where standard input is kept while it is read.

    Raises:
        UnreadableInput: a path is empty, does not exist or cannot be reached, or a pattern matches nothing.
    """
    found: dict[Path, Found] = {}
    for given in paths:
        for file in _files(given, scratch):
            known = found.get(file.path)
            if known is None or (file.is_named and not known.is_named):
                found[file.path] = file
    return list(found.values())


def _files(given: str | Path, scratch: Path) -> Iterator[Found]:
    told = shown(given)
    told = f"{told[:LONGEST_TOLD]}..." if len(told) > LONGEST_TOLD else told
    if str(given) == "":
        raise UnreadableInput('a PATH is empty. Give a file, a folder, a pattern or -; "." is this folder')
    try:
        yield from _existing(given, scratch, told)
    except OSError as error:
        raise UnreadableInput(f"{told} cannot be read: {error.strerror or error}") from error


def _existing(given: str | Path, scratch: Path, told: str) -> Iterator[Found]:
    if str(given) in STDIN:
        yield Found(_kept(sys.stdin.buffer, scratch / "stdin.data"), "stdin", is_named=True)
        return
    path = Path(given)
    if path.is_dir():
        yield from _folder(path, scratch)
    elif path.exists():
        yield _named(path, scratch)
    elif path.is_symlink():
        raise UnreadableInput(f"{told} is a link to what does not exist, or to itself")
    elif _PATTERN & set(str(given)):
        matches = sorted(glob(str(given), recursive=True))
        if not matches:
            raise UnreadableInput(f"no file matches {told}")
        for match in matches:
            if Path(match).is_dir():
                yield from _folder(Path(match), scratch)
            elif not is_stream(match):
                yield Found(_real(Path(match), scratch), shown(Path(match).name), is_named=False)
    else:
        raise UnreadableInput(f"{told} does not exist")


def _folder(folder: Path, scratch: Path) -> Iterator[Found]:
    """Files below a folder by name; a folder that may not be looked into stands for the files that it hides."""
    closed: set[Path] = set()
    tree = os.walk(folder, onerror=lambda error: closed.add(Path(error.filename)))
    files = [Path(top) / name for top, _, names in tree for name in names]
    for path in sorted([*files, *closed]):
        inner = path.relative_to(folder)
        if any(part.startswith(".") for part in inner.parts):
            continue
        if path in closed:
            yield Found(path, shown(inner) if inner.parts else shown(folder.name), is_named=True)
        elif path.is_file():
            yield Found(_real(path, scratch), shown(inner), is_named=False)


def is_stream(path: str | Path) -> bool:
    """Whether a path can be read once only: standard input, a pipe, a device."""
    try:
        return str(path) in STDIN or not (stat.S_ISREG(mode := Path(path).stat().st_mode) or stat.S_ISDIR(mode))
    except (OSError, ValueError):
        return False


def _named(path: Path, scratch: Path) -> Found:
    """A file that the user named; a pipe is kept while it is read.

    Raises:
        UnreadableInput: it is a device.
    """
    if not is_stream(path):
        return Found(_real(path, scratch), shown(path.name), is_named=True)
    if stat.S_ISFIFO(path.stat().st_mode):
        with path.open("rb") as pipe:
            return Found(_kept(pipe, scratch / f"pipe-{uuid4().hex}.data"), shown(path.name), is_named=True)
    raise UnreadableInput(f"{shown(path)} is a device and no file of traces. Give a file, a folder, a pipe or -")


def _kept(stream: IO[bytes], target: Path) -> Path:
    """A file with what the stream has to say; one that is there holds what was read of it before."""
    if not target.exists():
        with target.open("wb") as out:
            shutil.copyfileobj(stream, out)
    return target


def _real(path: Path, scratch: Path) -> Path:
    """The path with its links followed; a link to itself stays, and is told where it is read.

    What has a name that is no UTF-8 is reached by a link in `scratch`, for no other reader takes such a path.
    """
    real = Path(os.path.realpath(path))
    if str(real).isascii() or is_utf8(str(real)):
        return real
    link = scratch / f"named-{hashlib.sha256(os.fsencode(real)).hexdigest()[:24]}{_suffix(real)}"
    if not link.exists():
        try:
            os.link(real, link)
        except OSError:  # another file system, or one without links
            shutil.copyfile(real, link)
    return link


def is_utf8(path: str) -> bool:
    """Whether a path has a name that others than the file system can write."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _suffix(path: Path) -> str:
    return path.suffix if path.suffix.isascii() else ""


def shown(name: str | Path) -> str:
    """A name as messages, receipts and pages show it: bytes that are no UTF-8 and control characters as escapes."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
