"""YAML 1.2 text of a user, parsed once for all readers, with guards against text that grows or nests without end.

Input: text and the name of its file. Output: nodes with their marks, or mappings that know their lines.
The guards run over the parser's events, which neither expand an alias nor recurse: size, depth, and the number of
values that there are once every alias is replaced by what it stands for. All faults have one form, a ConfigError.
"""

from __future__ import annotations

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
_CONSTRUCTION = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)  # of a value that a tag misnames


def compose(text: str, file: str) -> Any:
    """The node at the top of a text of one document; None if it is empty.

    Raises:
        ConfigError: no YAML, several documents, or a guard was met.
    """
    guard(text, file)
    return _told(file, lambda: YAML(typ="safe", pure=True).compose(text))  # without pure it would be YAML 1.1


def load(text: str, file: str) -> Any:
    """The values of a text of one document, in containers that know their lines; None if it is empty.

    Raises:
        ConfigError: no YAML, a key twice, several documents, or a guard was met.
    """
    guard(text, file)
    return _told(file, lambda: YAML(typ="rt", pure=True).load(text))


def load_all(text: str, file: str) -> list[Any]:
    """The values of every document of a text.

    Raises:
        ConfigError: no YAML, a key twice, or a guard was met.
    """
    guard(text, file)
    return _told(file, lambda: list(YAML(typ="rt", pure=True).load_all(text)))


def guard(text: str, file: str) -> None:
    """Refuse what is too long, too deep, or grows beyond measure by its aliases.

    Raises:
        ConfigError: naming the line and the limit; or the text is no YAML.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"{file} has {len(text)} characters; a file of settings may have {MAX_CHARACTERS}")
    _told(file, lambda: _count(text, file))


@dataclass
class _Open:
    """A collection whose end is not reached: its anchor, the values before it, the levels below it so far."""

    anchor: str | None
    before: int
    height: int = 0


def _count(text: str, file: str) -> None:
    held: dict[str, tuple[int, int]] = {}  # by anchor: values, itself included; levels
    inside: list[_Open] = []
    values = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        place = f"{file}, line {event.start_mark.line + 1}"
        height = 0
        if isinstance(event, AliasEvent):
            if any(outer.anchor == event.anchor for outer in inside):
                raise ConfigError(f"{place}: the alias *{event.anchor} stands within what it names; it would never end")
            more, height = held.get(event.anchor, (1, 0))
            values += more
        elif isinstance(event, ScalarEvent):
            _check_scalar(event, place)
            values += 1
            held[event.anchor or ""] = (1, 0)
        elif isinstance(event, CollectionStartEvent):
            values += 1
            inside.append(_Open(event.anchor, values - 1))
        elif isinstance(event, CollectionEndEvent):
            ended = inside.pop()
            height = ended.height + 1
            held[ended.anchor or ""] = (values - ended.before, height)
        if inside:
            inside[-1].height = max(inside[-1].height, height)
        if len(inside) + height > MAX_DEPTH:
            raise ConfigError(f"{place}: nested deeper than {MAX_DEPTH} levels")
        if values > MAX_VALUES:
            raise ConfigError(
                f"{place}: more than {MAX_VALUES} values, aliases counted as what they name. Split the file"
            )


def _check_scalar(event: ScalarEvent, place: str) -> None:
    """Half of a character of UTF-16 is no text that could be stored or sent on."""
    try:
        event.value.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{place}: the text holds a lone surrogate, which is no character") from error


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
