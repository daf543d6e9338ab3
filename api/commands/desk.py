"""Where a command's question is answered: in this process, or by a running server.

Input: options. Output: a Desk that loads, answers and prices; the commands do not know which one it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import typer

from analysis.result import AnalysisResult, Costs, Reconciliation
from api.commands.options import Asking, Reading, settings_of
from api.console import progress, show_receipts
from api.problems import EXIT_REJECTED
from api.question import Books, Question
from api.service import Service
from api.settings import Settings
from ingest.bills import Bill
from ingest.errors import ConfigError, InputError, UnreadableInput
from ingest.load import load_paths
from ingest.paths import find, is_stream
from ingest.receipts import LoadOptions, Receipt
from ingest.selection import Selection
from ingest.store.database import Store, StoreSettings


class Desk(Protocol):
    """Answers questions about what was loaded."""

    def load(self, paths: Sequence[str], options: LoadOptions) -> list[Receipt]: ...
    def analyze(self, question: Question) -> AnalysisResult: ...
    def costs(self, question: Question, by: Sequence[str]) -> Costs: ...
    def finance(
        self, question: Question, further: Sequence[str], version: str, bill: Bill | None = None
    ) -> dict[str, bytes]: ...
    def reconcile(self, question: Question, bill: Bill, period: str | None) -> Reconciliation: ...


class LocalDesk:
    """The rooms of this process over one store, and a second one for what it is compared with."""

    def __init__(self, service: Service, baseline: Store | None) -> None:
        self._service = service
        self._baseline = baseline

    def load(self, paths: Sequence[str], options: LoadOptions) -> list[Receipt]:
        with progress("reading") as tell:
            receipts = load_paths(paths, self._service.store, options, progress=tell)
        self._service.changed()
        return receipts

    def analyze(self, question: Question) -> AnalysisResult:
        if self._baseline is None:
            return self._service.analyze(question)
        zone = self._service.timezone(question)
        return self._service.analyze(question, (self._baseline, Selection(where=question.where, timezone=zone)))

    def costs(self, question: Question, by: Sequence[str]) -> Costs:
        return self._service.costs(question, by)

    def finance(
        self, question: Question, further: Sequence[str], version: str, bill: Bill | None = None
    ) -> dict[str, bytes]:
        return self._service.finance(question, further, version, bill)

    def reconcile(self, question: Question, bill: Bill, period: str | None) -> Reconciliation:
        return self._service.reconcile(question, bill, period)


@dataclass(frozen=True)
class Opened:
    """A desk with what was loaded into it."""

    desk: Desk
    receipts: list[Receipt]
    strict: bool

    def end(self) -> None:
        """Leave with the exit code of rejected rows, if that was asked for."""
        end_strict(self.strict, self.receipts)


def end_strict(strict: bool, receipts: Sequence[Receipt]) -> None:
    """Leave with the exit code of rejected rows, if that was asked for and there are any, or a file of which none is read."""
    if strict and any(receipt.rejected or receipt.state == "failed" for receipt in receipts):
        raise typer.Exit(EXIT_REJECTED)


@contextmanager
def open_desk(reading: Reading, compare_with: Sequence[str] = ()) -> Iterator[Opened]:
    """A desk with the paths loaded and their receipts shown.

    Raises:
        ConfigError: options contradict one another.
        InputError: nothing of the paths could be read.
    """
    reading.check()
    settings = settings_of()
    options = reading.options(settings)
    with ExitStack() as stack:
        if reading.server:
            if compare_with:
                raise ConfigError("a server compares with what it holds; give --week, or --from and --to, instead")
            from api.remote import RemoteDesk  # its client of HTTP is for those who ask a server

            desk: Desk = stack.enter_context(RemoteDesk.open(reading.server, reading.mapping, reading.key))
        else:
            _check_store(reading)
            store = stack.enter_context(_open_store(reading.store, reading.paths or (), settings))
            baseline = None
            if compare_with:
                baseline = stack.enter_context(_open_store(None, compare_with, settings))
                load_into(LocalDesk(Service(baseline), None), compare_with, replace(options, sampling_rate=None))
            books = Books(settings.objectives, settings.prices, settings.fleet, settings.rules)
            desk = LocalDesk(Service(store, books, timezone=settings.timezone), baseline)
        receipts = load_into(desk, reading.paths, options) if reading.paths else []
        yield Opened(desk, receipts, reading.strict)


def load_into(desk: Desk, paths: Sequence[str], options: LoadOptions) -> list[Receipt]:
    """Receipts of the paths, shown.

    Raises:
        InputError: no file of them could be read.
    """
    receipts = desk.load(paths, options)
    show_receipts(receipts)
    if not any(receipt.state == "done" for receipt in receipts):
        hint = "tailwise formats lists what can be read; tailwise inspect PATH says what was tried"
        raise InputError(f"nothing could be read of {' '.join(map(str, paths))}", code="nothing_read", hint=hint)
    return receipts


def question_of(asking: Asking) -> Question:
    """The question of the options, with the command that asks it."""
    command = shlex.join(["tailwise", *sys.argv[1:]])
    return asking.question(command.encode("utf-8", "replace").decode())  # a file may have a name that is no text


def _check_store(reading: Reading) -> None:
    """A command that loads nothing makes no store: an empty answer would hide a mistyped name.

    Raises:
        UnreadableInput: there is none under that name.
    """
    if reading.store is not None and not reading.paths and not os.path.exists(reading.store):
        raise UnreadableInput(f"there is no store {reading.store}", hint="tailwise ingest PATH --store FILE makes one")


def _open_store(path: Path | None, paths: Sequence[str], settings: Settings) -> AbstractContextManager[Store]:
    return Store.open(path, StoreSettings(folders_of(paths), settings.threads, settings.memory_limit))


def folders_of(paths: Sequence[str]) -> tuple[Path, ...]:
    """The folders that hold the files of the paths, links followed: all that SQL may read.

    Raises:
        UnreadableInput: a path does not exist, or a pattern matches nothing.
    """
    named = [path for path in paths if not is_stream(path)]
    files = find(named, Path())
    folders = {Path(path).resolve(): None for path in named if Path(path).is_dir()}
    for file in files:
        if not any(file.path.is_relative_to(folder) for folder in folders):
            folders[file.path.parent] = None
    return tuple(folders)
