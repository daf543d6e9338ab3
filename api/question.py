"""What is asked: which requests, judged by which files.

Input: options of a command or parameters of a route, as text. Output: a Question, and from it a Selection.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from ingest.errors import ConfigError
from ingest.selection import DIMENSIONS, FIRST_YEAR, Selection, parse_instant, week_selection, zone_of

Where = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Books:
    """Files that judge, price and advise; None: what is built in, and no fleet."""

    objectives: Path | None = None
    prices: Path | None = None
    fleet: Path | None = None
    rules: Path | None = None

    def over(self, other: Books) -> Books:
        """These files, and those of `other` where there is none here."""
        return Books(
            self.objectives or other.objectives,
            self.prices or other.prices,
            self.fleet or other.fleet,
            self.rules or other.rules,
        )

    def contents(self) -> tuple[bytes, ...]:
        """Bytes of the files; none where there is no file, or where it cannot be read: its reader says what is wrong."""
        return tuple(_bytes(path) for path in (self.objectives, self.prices, self.fleet, self.rules))


@dataclass(frozen=True)
class Question:
    """One question; `week` or `start` and `end` (text, local to the time zone), both absent: everything loaded.

    `timezone` None: that of the objectives. `command`: what would ask the same again, for the report's last part.
    """

    week: str | None = None
    start: str | None = None
    end: str | None = None
    timezone: str | None = None
    where: Where = ()
    books: Books = Books()
    command: str | None = None

    def __post_init__(self) -> None:
        texts = {"week": self.week, "from": self.start, "to": self.end, "timezone": self.timezone}
        for name, text in (*texts.items(), *(("where", part) for pair in self.where for part in pair)):
            check_text(name, text or "")

    def selection(self, timezone: str) -> Selection:
        """The requests asked for, in that time zone.

        Raises:
            ConfigError: week and range contradict, or one of them is not of its form.
        """
        zone_of(timezone)
        if self.week and (self.start or self.end):
            raise ConfigError("a week and a range were both given; give --week, or --from and --to")
        if self.week:
            return week_selection(self.week, timezone, self.where)
        start = parse_instant(self.start, timezone) if self.start else None
        end = parse_instant(self.end, timezone) if self.end else None
        if start is not None and end is not None and end <= start:
            raise ConfigError(f'the range ends ("{self.end}") before it begins ("{self.start}"); exchange the two')
        return Selection(start, end, self.where, timezone)

    def selection_before(self, timezone: str) -> Selection | None:
        """The week before, or the range of the same length before; None where there is no such thing."""
        if self.week:
            year, week = int(self.week[:4]), int(self.week[6:])
            before = (date.fromisocalendar(year, week, 1) - timedelta(days=7)).isocalendar()
            if before.year < FIRST_YEAR:
                return None
            return week_selection(f"{before.year}-W{before.week:02d}", timezone, self.where)
        asked = self.selection(timezone)
        if asked.start_ns is None or asked.end_ns is None:
            return None
        return asked.within(2 * asked.start_ns - asked.end_ns, asked.start_ns)


def _bytes(path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path else b""
    except OSError:
        return b""


def parse_where(texts: Iterable[str]) -> Where:
    """Filters written as dim=value, in order.

    Raises:
        ConfigError: one of them has no equals sign or no name, or is no text.
    """
    pairs: list[tuple[str, str]] = []
    for text in texts:
        check_text("where", text)
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f'filter "{text}" is not of the form dimension=value, such as scenario=chat')
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


def is_text(said: str) -> bool:
    """Whether every character is one: not half of one in UTF-16, not a byte that is no UTF-8."""
    try:
        said.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(name: str, said: str) -> None:
    """Refuse what could neither be looked up in the store nor be told in an answer.

    Raises:
        ConfigError: it has a lone surrogate, as a program makes of bytes that are no UTF-8.
    """
    if not is_text(said):
        raise ConfigError(f"{name} {said[:200]!a} is no text: it has bytes that are no UTF-8, or half a character")


def check_dimensions(names: Iterable[str], promoted: Sequence[str]) -> None:
    """Refuse a dimension that neither the house nor a mapping file knows; a filter on it would match nothing.

    Raises:
        ConfigError: naming the nearest known ones.
    """
    known = (*DIMENSIONS, *promoted)
    for name in names:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 1)
        hint = f'Did you mean "{near[0]}"?' if near else f"Known: {', '.join(known)}"
        raise ConfigError(f'dimension "{name}" is not known. {hint}')
