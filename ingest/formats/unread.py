"""Names in the rows of a source that its reader does not look at, with the number of rows that carry them.

Input: rows as JSON, cells or pairs, one at a time. Output: the same rows to read, and at the end the names.
Every row is counted by its names, nested ones too. Nobody declares what a reader reads: rows with a name that was not
read so far are handed out as mappings that note each look, the first TRIED of a name and then ever fewer, so that a
million rows of one kind cost a walk over their names and no more. A new version of an emitter is seen by that, and
not lost.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from fnmatch import fnmatchcase
from typing import Any

from ingest.formats import values as v
from ingest.formats.heads import is_hidden
from ingest.formats.visible import shown_name

TRIED = 64  # rows of a name that are watched at once; later those of which it has 128, 256, ...
MAX_NAMES = 2000  # that are told apart; maps with ids for names have more than anyone reads
MAX_ELEMENTS = 64  # of a list that are looked into
MAX_LENGTH = 200  # characters of a name in the receipt


class Name:
    """One name: rows that carry it, whether it was read, and the names below it."""

    __slots__ = ("below", "is_read", "last", "n")

    def __init__(self) -> None:
        self.n = self.last = 0
        self.is_read = False
        self.below: dict[str, Name] = {}


class Watched(dict[str, Any]):
    """A mapping that notes which of its names are looked at."""

    __slots__ = ("_names",)

    def __init__(self, value: Mapping[str, Any], *names: Mapping[str, Name]) -> None:
        super().__init__(value)
        self._names = names

    def _note(self, key: object) -> None:
        for names in self._names:
            name = names.get(key)  # type: ignore[call-overload]
            if name is not None:
                name.is_read = True

    def _note_all(self) -> None:
        for key, _ in super().items():
            self._note(key)

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._note(key)
        return super().__contains__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self._note_all()
        return super().__iter__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        self._note_all()
        return super().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        self._note_all()
        return super().values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        self._note_all()
        return super().items()

    def renamed(self, rename: Callable[[str], str]) -> Watched:
        """The same under other names."""
        names = ({rename(key): names[key] for key in super(Watched, self).keys() & names} for names in self._names)
        return Watched({rename(key): value for key, value in super().items()}, *names)

    @staticmethod
    def merged(*parts: Mapping[str, Any], skips: tuple[object, ...]) -> Watched:
        """The parts as one, of a name told twice the last."""
        watched = (part for part in parts if isinstance(part, Watched))
        names = (names for part in watched for names in part._names)
        pairs = (pair for part in parts for pair in glance(part))
        return Watched({key: value for key, value in pairs if value not in skips}, *names)


def glance(row: Mapping[str, Any]) -> ItemsView[str, Any]:
    """Names and values of the row, by which none of them is read."""
    return dict.items(row) if isinstance(row, dict) else row.items()


def renamed(row: Mapping[str, Any], rename: Callable[[str], str]) -> dict[str, Any]:
    """The row under other names; to rename is not to read."""
    return row.renamed(rename) if isinstance(row, Watched) else {rename(key): value for key, value in row.items()}


def merged(*parts: Mapping[str, Any], skips: tuple[object, ...] = ()) -> dict[str, Any]:
    """The parts as one mapping, of a name told twice the last; to merge is not to read.

    Args:
        skips: values that do not stand for those of an earlier part.
    """
    if any(isinstance(part, Watched) for part in parts):
        return Watched.merged(*parts, skips=skips)
    return {key: value for part in parts for key, value in part.items() if value not in skips}


class Unread:
    """The names of one source; `watched` for each row, `counts` when all are read.

    Args:
        redundant: patterns of names, dotted, that are known to say nothing further.
    """

    def __init__(self, redundant: tuple[str, ...] = ()) -> None:
        self._redundant = redundant
        self._top: dict[str, dict[str, Name]] = {}
        self._n_names = self._n_rows = 0
        self._is_wanted = False

    def watched(self, row: dict[str, Any], *, under: str = "", opened: tuple[str, ...] = ()) -> dict[str, Any]:
        """The row to read: itself, or one that notes which names are looked at.

        Args:
            under: dotted name of what the rows are a part of.
            opened: names whose texts hold JSON; they are parsed, so that the names in them are seen.
        """
        names = self._top.setdefault(under, {})
        for key in opened:
            if isinstance(row.get(key), str) and (inner := v.mapping(row[key])):
                row[key] = inner
        self._n_rows += 1
        self._is_wanted = False
        self._count(row, names)
        return self._noting(row, names) if self._is_wanted else row

    def _count(self, row: Mapping[str, Any], names: dict[str, Name]) -> None:
        for key, value in row.items():
            name = names.get(key)
            if name is None:
                if self._n_names == MAX_NAMES:
                    continue
                self._n_names += 1
                name = names[key] = Name()
            if name.last != self._n_rows:
                name.last = self._n_rows
                name.n += 1
            if not name.is_read:
                if name.n > TRIED and name.n & (name.n - 1):
                    continue  # nobody looks at what lies below it
                self._is_wanted = True
            kind = type(value)
            if kind is dict:
                self._count(value, name.below)
            elif kind is list and value and type(value[0]) is dict:
                for element in value[:MAX_ELEMENTS]:
                    if type(element) is dict:
                        self._count(element, name.below)

    def _noting(self, row: Mapping[str, Any], names: dict[str, Name]) -> Watched:
        found: dict[str, Any] = {}
        for key, value in row.items():
            below = names[key].below if key in names else None
            if below and type(value) is dict:
                found[key] = self._noting(value, below)
            elif below and type(value) is list:
                found[key] = [self._noting(one, below) if type(one) is dict else one for one in value]
            else:
                found[key] = value
        return Watched(found, names)

    def counts(self) -> dict[str, int]:
        """Names that were not read -> rows that carry them, most first; content and credentials are not told."""
        found: dict[str, int] = {}
        for under, names in self._top.items():
            self._tell(names, f"{under}." if under else "", found)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _tell(self, names: Mapping[str, Name], prefix: str, found: dict[str, int]) -> None:
        for key, name in names.items():
            path = v.clean(prefix + shown_name(key))[:MAX_LENGTH]
            if any(fnmatchcase(path, pattern) for pattern in self._redundant):
                continue
            if name.is_read:
                self._tell(name.below, f"{path}.", found)
            elif not is_hidden(key):
                found[path] = found.get(path, 0) + name.n
