"""Where an answer is put: standard output, a file, or whatever stands under the name already.

Input: bytes and a name. Output: the place written. A file comes to be whole or not at all; what is no file (a pipe, a
device) is written into and never replaced, and a link is followed to what it names.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.errors import ConfigError

STANDARD = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})  # one stream, so that nothing is lost


def is_special(name: str) -> bool:
    """Whether something stands under the name that is no file, such as a pipe or a device; links are followed."""
    try:
        return not stat.S_ISREG(Path(name).stat().st_mode)
    except (OSError, ValueError):
        return False


def put(content: bytes, name: str) -> Path | None:
    """Write to a file or, for -, to standard output.

    Raises:
        ConfigError: the place cannot be written to.
    """
    if name in STANDARD:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return None
    path = Path(name)
    try:
        with place_of(path) as place, place.open("wb", buffering=0) as stream:
            rest = memoryview(content)
            while rest:
                rest = rest[stream.write(rest) or 0 :]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name[:200]} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    return path


@contextmanager
def place_of(target: Path) -> Iterator[Path]:
    """Where to write what shall stand at `target`: beside it, and moved there once it is whole; a pipe is its own place.

    Nothing is left beside it where the writing breaks off.
    """
    if is_special(str(target)):
        yield target
        return
    real = Path(os.path.realpath(target))
    fresh = real.with_name(f".{real.name[:100]}.{os.getpid()}.part")
    try:
        yield fresh
        if real.exists():
            shutil.copymode(real, fresh)
        fresh.replace(real)
    finally:
        fresh.unlink(missing_ok=True)
