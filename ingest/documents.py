"""YAML files of a user, read with the line of every key.

Input: YAML 1.2 text (so `no` and `on` are text). Output: `Entry` records that know their place and complain with it:
file, line, name, value, rule, remedy. An unknown key is refused with the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml.comments import CommentedMap

from ingest import yaml_text
from ingest.errors import ConfigError


@dataclass(frozen=True)
class Entry:
    """One mapping of a YAML file: its values, and where they stand."""

    file: str
    values: Any  # a mapping of the parser that knows its lines
    name: str = ""  # what the reader calls it, such as the id of an objective
    path: tuple[str, ...] = field(default=())
    at: int = 1  # line of a mapping that was put together from another one

    def line(self, key: str | None = None) -> int:
        """Line of a key, from 1; without a key, the line where the mapping starts; `at` where it was put together."""
        marks = getattr(self.values, "lc", None)
        if marks is None or marks.line is None:
            return self.at
        if key is not None and key in (marks.data or {}):
            return int(marks.key(key)[0]) + 1
        return int(marks.line) + 1

    def error(self, message: str, key: str | None = None) -> ConfigError:
        """The complaint, with file, line and name in front."""
        named = f', "{self.name}"' if self.name else ""
        return ConfigError(f"{self.file}, line {self.line(key)}{named}: {message}")

    def only(self, known: Sequence[str]) -> None:
        """Refuse keys that are not known.

        Raises:
            ConfigError: naming the key and the nearest known one.
        """
        for key in self.values:
            if key not in known:
                raise self.error(f'key "{key}" is not known. {suggestion(str(key), known)}', key)

    def text(self, key: str) -> str | None:
        """A scalar as text, None if absent; true and false in lower case.

        Raises:
            ConfigError: a list or mapping stands there.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, dict | list):
            raise self.error(f"{key} takes one value, not a {'list' if isinstance(value, list) else 'mapping'}", key)
        return scalar_text(value)

    def needed(self, key: str) -> str:
        """A scalar as text that must be there."""
        value = self.text(key)
        if value is None or value == "":
            raise self.error(f"{key} is missing")
        return value

    def entries(self, key: str, name_key: str = "id") -> Iterator[Entry]:
        """The mappings of a list, named by their `name_key`; none if the key is absent."""
        rows = self.values.get(key)
        if rows is None:
            return
        if not isinstance(rows, list):
            raise self.error(f"{key} takes a list", key)
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise self.error(f"entry {number} of {key} must be a mapping", key)
            yield Entry(self.file, row, str(row.get(name_key) or f"{key} {number}"), (*self.path, key))

    def mapping(self, key: str) -> Entry | None:
        """The mapping below a key, None if absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(f"{key} takes a mapping", key)
        return Entry(self.file, value, self.name or key, (*self.path, key))


def read_document(text: str, file: str) -> Entry:
    """The mapping at the top of a YAML file.

    Raises:
        ConfigError: no YAML, a key twice, several documents, no mapping at the top, or too much of it.
    """
    parsed = yaml_text.load(text, file)
    if parsed is None:
        parsed = CommentedMap()
    if not isinstance(parsed, dict):
        kind = "a list" if isinstance(parsed, list) else f'the value "{scalar_text(parsed)[:40]}"'
        raise ConfigError(f"{file}, line 1: the file must be a mapping of keys (key: value), not {kind}")
    return Entry(file, parsed)


def read_documents(text: str, file: str) -> list[Entry]:
    """The mappings of a file of several YAML documents; empty documents are left out.

    Raises:
        ConfigError: no YAML, a key twice, a document that is no mapping, or too much of it.
    """
    found = [Entry(file, document) for document in yaml_text.load_all(text, file) if document is not None]
    for number, entry in enumerate(found, 1):
        if not isinstance(entry.values, dict):
            raise ConfigError(f"{file}: document {number} must be a mapping of keys")
    return found


def scalar_text(value: Any) -> str:
    """A YAML scalar as a user wrote it, as far as the parser keeps it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def suggestion(word: str, known: Sequence[str]) -> str:
    """The known words, and the nearest one where there is one."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    listed = f"Known: {', '.join(sorted(known))}."
    return f'{listed} Did you mean "{near[0]}"?' if near else listed
