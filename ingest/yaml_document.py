"""YAML that a user writes, as nodes that know their line.

Input: text of prices.yaml, fleet.yaml, mapping.yaml, objectives.yaml. Output: a tree of Node.
Every complaint names file, line, value, rule and remedy; an unknown key is refused with a suggestion.
Numbers stay decimal text until they are asked for, so a price never passes through a float.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from ingest import yaml_text
from ingest.errors import ConfigError

_KINDS = {"int": "a number", "float": "a number", "bool": "true or false", "null": "nothing", "str": "text"}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_LONGEST, _FURTHEST = 60, 30  # characters and powers of ten of a number; beyond, its exact form would fill the memory


@dataclass(frozen=True)
class Node:
    """One value of the document: text of a scalar, a list of nodes, or nodes by key.

    `tag` is the YAML 1.2 type: str, int, float, bool, null, timestamp, seq or map.
    """

    file: str
    line: int
    tag: str
    value: str | list[Node] | dict[str, Node]

    def error(self, message: str) -> ConfigError:
        """The complaint about this value, with its place in front; raise it."""
        return ConfigError(f"{self.file}, line {self.line}: {message}")

    @property
    def says(self) -> str:
        """The value as a message quotes it."""
        if isinstance(self.value, str):
            return f'"{self.value}"' if self.tag == "str" else self.value or "nothing"
        return "a list" if isinstance(self.value, list) else "a mapping"

    @property
    def is_null(self) -> bool:
        return self.tag == "null"

    def keys(self, known: Collection[str], what: str) -> dict[str, Node]:
        """The entries of a mapping, without those that are empty (`key:`).

        Raises:
            ConfigError: no mapping, or a key is not one of `known`.
        """
        if not isinstance(self.value, dict):
            raise self.error(f"{what} is {self.says}, and must be a mapping with the keys {_list(known)}")
        for key, node in self.value.items():
            if key not in known:
                raise node.error(f'{what} has the key "{key}", which is not known. {_suggest(key, known)}')
        return {key: node for key, node in self.value.items() if not node.is_null}

    def entries(self, what: str) -> dict[str, Node]:
        """The entries of a mapping whose keys are names of the user's own."""
        if not isinstance(self.value, dict):
            raise self.error(f"{what} is {self.says}, and must be a mapping")
        return dict(self.value)

    def items(self, what: str) -> list[Node]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.error(f'{what} is {self.says}, and must be a list: lines that begin with "- "')
        return list(self.value)

    def text(self, what: str) -> str:
        """The text of a scalar; numbers and dates are text too, as written."""
        if not isinstance(self.value, str) or self.is_null or not self.value.strip():
            raise self.error(f"{what} is {self.says}, and must be text")
        return self.value.strip()

    def choice(self, known: Collection[str], what: str) -> str:
        """One of the known words."""
        word = self.text(what)
        if word not in known:
            raise self.error(f'{what} is "{word}", which is not known. {_suggest(word, known)}')
        return word

    def number(self, what: str, *, low: Decimal | None = None, high: Decimal | None = None) -> Decimal:
        """The number exactly as written, within [low, high]."""
        if not isinstance(self.value, str) or not _NUMBER.fullmatch(self.value.strip()):
            raise self.error(f"{what} is {self.says}, and must be a plain number such as 0.60")
        number = Decimal(self.value.strip())
        if number == 0:
            number = Decimal(0)
        elif len(self.value.strip()) > _LONGEST or abs(number.adjusted()) > _FURTHEST:
            raise self.error(
                f"{what} is {self.value.strip()[:_LONGEST]}, and must have at most {_LONGEST} characters "
                f"and lie within 1e-{_FURTHEST} and 1e{_FURTHEST}"
            )
        if (low is not None and number < low) or (high is not None and number > high):
            bounds = (
                f"at least {low}"
                if high is None
                else f"between {low} and {high}"
                if low is not None
                else f"at most {high}"
            )
            raise self.error(f"{what} is {self.value}, and must be {bounds}")
        return number

    def integer(self, what: str, *, low: int = 0) -> int:
        """The whole number as written (32e9 is one)."""
        number = self.number(what, low=Decimal(low))
        if number != number.to_integral_value():
            raise self.error(f"{what} is {self.says}, and must be a whole number")
        return int(number)

    def flag(self, what: str) -> bool:
        if self.tag != "bool" or not isinstance(self.value, str):
            raise self.error(f"{what} is {self.says}, and must be true or false")
        return self.value.lower() == "true"

    def day(self, what: str) -> date:
        """The date as written: 2026-01-31."""
        try:
            return date.fromisoformat(self.value.strip() if isinstance(self.value, str) else "")
        except ValueError:
            raise self.error(f"{what} is {self.says}, and must be a date such as 2026-01-31") from None


def read_yaml(path: Path) -> Node:
    """The document of a file.

    Raises:
        ConfigError: it cannot be read, is not UTF-8, or is not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8") from error
    return parse_yaml(text, path.name)


def parse_yaml(text: str, name: str) -> Node:
    """The document of a text; an empty one is an empty mapping.

    Raises:
        ConfigError: not YAML, a key stands twice, or there is too much of it.
    """
    root = yaml_text.compose(text, name)
    return Node(name, 1, "map", {}) if root is None else _node(root, name)


def _node(source: Any, name: str) -> Node:
    line = source.start_mark.line + 1
    tag = str(source.tag).rpartition(":")[2]
    if tag == "map":
        entries: dict[str, Node] = {}
        for key, value in source.value:
            if not isinstance(key.value, str):
                raise ConfigError(f"{name}, line {key.start_mark.line + 1}: a key must be text")
            if key.value in entries:
                raise ConfigError(
                    f'{name}, line {key.start_mark.line + 1}: the key "{key.value}" stands twice; '
                    f"the first is on line {entries[key.value].line}. Remove one"
                )
            entries[key.value] = _node(value, name)
        return Node(name, line, tag, entries)
    if tag == "seq":
        return Node(name, line, tag, [_node(item, name) for item in source.value])
    return Node(name, line, tag, str(source.value))


def _suggest(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"Known: {_list(known)}." + (f' Did you mean "{close[0]}"?' if close else "")


def _list(known: Collection[str]) -> str:
    return ", ".join(sorted(known))
