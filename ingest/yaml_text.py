"""YAML 1.2 text of a user, parsed once for all readers, with guards against text that grows or nests without end.

Input: text and the name of its file. Output: nodes with their marks, or mappings that know their lines.
The guards look at each of the parser's events before nodes are made of it: size, depth, and the number of values that
there are once every alias is replaced by what it stands for. All faults have one form, a ConfigError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

from ingest.errors import ConfigError

T = TypeVar("T")

MAX_CHARACTERS = 4_000_000  # a file written by hand is far below
MAX_VALUES = 100_000  # with every alias counted as what it stands for
MAX_DEPTH = 40  # no file of ours nests deeper than 6
MAX_DIGITS = 1_000  # of a number; none of ours has 60, and beyond 4,300 it could not even be shown
_INTEGER = re.compile(r"[+-]?(?:0[xob][0-9a-fA-F_]+|[0-9][0-9_]*)", re.ASCII)
_CONSTRUCTION = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)  # of a value that a tag misnames


def compose(text: str, file: str) -> Any:
    """The node at the top of a text of one document; None if it is empty.

    Raises:
        ConfigError: no YAML, several documents, or a guard was met.
    """
    return _told(file, lambda: _guarded("safe", text, file).compose(text))  # without pure it would be YAML 1.1


def load(text: str, file: str) -> Any:
    """The values of a text of one document, in containers that know their lines; None if it is empty.

    Raises:
        ConfigError: no YAML, a key twice, several documents, or a guard was met.
    """
    return _told(file, lambda: _guarded("rt", text, file).load(text))


def load_all(text: str, file: str) -> list[Any]:
    """The values of every document of a text.

    Raises:
        ConfigError: no YAML, a key twice, or a guard was met.
    """
    return _told(file, lambda: list(_guarded("rt", text, file).load_all(text)))


def refuse_empty(text: str, file: str, name: str) -> None:
    """Refuse a text that is to take the place of another and says nothing: nobody wants to lose that by an empty file.

    Args:
        name: the key of the list that it could hold, such as "rules".

    Raises:
        ConfigError: it is empty, blank, or holds comments alone; or it is no YAML.
    """
    if not any(load_all(text, file)):
        raise ConfigError(
            f"{file} is empty, so nothing is changed: it would drop the {name} in force. Send the whole file; "
            f'to do without {name} of your own, send "{name}: []"'
        )


def _guarded(kind: str, text: str, file: str) -> YAML:
    """A parser that refuses what is too long, too deep, or grows beyond measure by its aliases, naming line and limit.

    Every event passes the guard on its way to the nodes, so the text is read once, and no node is deeper than allowed.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{file} has {len(text)} characters; a file of settings may have {MAX_CHARACTERS}")
    yaml = YAML(typ=kind, pure=True)
    guard, get_event = _Guard(file), yaml.parser.get_event
    yaml.parser.get_event = lambda: guard.passed(get_event())
    return yaml


@dataclass
class _Open:
    """A collection whose end is not reached: its anchor, the values before it, the levels below it so far."""

    anchor: str | None
    before: int
    height: int = 0


class _Guard:
    """Counts values, aliases as what they stand for, and levels of the events that pass."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.held: dict[str, tuple[int, int]] = {}  # by anchor: values, itself included; levels
        self.inside: list[_Open] = []
        self.values = 0

    def passed(self, event: Any) -> Any:
        """The event.

        Raises:
            ConfigError: with it there are too many values or levels, or a text is none.
        """
        height = 0
        if isinstance(event, AliasEvent):
            if any(outer.anchor == event.anchor for outer in self.inside):
                raise self.error(event, f"the alias *{event.anchor} stands within what it names; it would never end")
            more, height = self.held.get(event.anchor, (1, 0))
            self.values += more
        elif isinstance(event, ScalarEvent):
            self._check_scalar(event)
            self.values += 1
            self.held[event.anchor or ""] = (1, 0)
        elif isinstance(event, CollectionStartEvent):
            self.values += 1
            self.inside.append(_Open(event.anchor, self.values - 1))
        elif isinstance(event, CollectionEndEvent):
            ended = self.inside.pop()
            height = ended.height + 1
            self.held[ended.anchor or ""] = (self.values - ended.before, height)
        if self.inside:
            self.inside[-1].height = max(self.inside[-1].height, height)
        if len(self.inside) + height > MAX_DEPTH:
            raise self.error(event, f"nested deeper than {MAX_DEPTH} levels")
        if self.values > MAX_VALUES:
            raise self.error(event, f"more than {MAX_VALUES} values, aliases counted as what they name. Split the file")
        return event

    def error(self, event: Any, message: str) -> ConfigError:
        """The complaint with the line of an event in front."""
        return ConfigError(f"{self.file}, line {event.start_mark.line + 1}: {message}")

    def _check_scalar(self, event: ScalarEvent) -> None:
        """Half of a character of UTF-16 is no text that could be stored or sent on, and an endless number is none."""
        if len(event.value) > MAX_DIGITS and event.implicit[0] and _INTEGER.fullmatch(event.value):
            raise self.error(event, f"a number has {len(event.value)} digits, and must have at most {MAX_DIGITS}")
        try:
            event.value.encode()
        except UnicodeEncodeError as error:
            raise self.error(event, "the text holds a lone surrogate, which is no character") from error


def _told(file: str, parse: Callable[[], T]) -> T:
    """What the parser gives, its errors in the form of the house."""
    try:
        return parse()
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(f"{file}{place}: this is no valid YAML: {problem}") from error
    except _CONSTRUCTION as error:
        raise ConfigError(f"{file}: a value is not what its form or tag says: {error}") from error
