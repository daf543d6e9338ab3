"""What a user means by PATH: a file, a folder, a pattern, or "-".

Input: paths as given. Output: files with the name to show, in order; whether each was named itself.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from ingest.errors import UnreadableInput

_PATTERN = set("*?[")
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
    told = f"{str(given)[:LONGEST_TOLD]}..." if len(str(given)) > LONGEST_TOLD else str(given)
    if str(given) == "":
        raise UnreadableInput('a PATH is empty. Give a file, a folder, a pattern or -; "." is this folder')
    try:
        yield from _existing(given, scratch, told)
    except OSError as error:
        raise UnreadableInput(f"{told} cannot be read: {error.strerror or error}") from error


def _existing(given: str | Path, scratch: Path, told: str) -> Iterator[Found]:
    if str(given) == "-":
        target = scratch / "stdin.data"
        with target.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        yield Found(target, "stdin", is_named=True)
        return
    path = Path(given)
    if path.is_dir():
        yield from _folder(path)
    elif path.exists():
        yield Found(_real(path), path.name, is_named=True)
    elif path.is_symlink():
        raise UnreadableInput(f"{told} is a link to what does not exist, or to itself")
    elif _PATTERN & set(str(given)):
        matches = sorted(glob(str(given), recursive=True))
        if not matches:
            raise UnreadableInput(f"no file matches {told}")
        for match in matches:
            if Path(match).is_dir():
                yield from _folder(Path(match))
            else:
                yield Found(_real(Path(match)), Path(match).name, is_named=False)
    else:
        raise UnreadableInput(f"{told} does not exist")


def _folder(folder: Path) -> Iterator[Found]:
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inner.parts):
            yield Found(_real(path), str(inner), is_named=False)


def _real(path: Path) -> Path:
    """The path with its links followed; a link to itself stays, and is told where it is read.

    Raises:
        UnreadableInput: it is no UTF-8, so that neither the store nor a page could name it.
    """
    real = Path(os.path.realpath(path))
    for name in (str(path), str(real)):
        if os.fsencode(name).decode("utf-8", "replace") != name:
            raise UnreadableInput(
                f"the name of the file {name!a} is not UTF-8. Rename it, or give it as standard input"
            )
    return real
