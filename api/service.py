"""The only place where rooms are wired together: load, analyze, report.

Input: an open store, files of settings, questions. Output: results, kept for as long as nothing changed; reports in
the store. Everything here is synchronous; the HTTP door calls it from threads.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from analysis.aggregates.cost import costs
from analysis.aggregates.metered import metered
from analysis.analyze import analyze, measured
from analysis.breakdown import Breakdown, breakdown
from analysis.fleet import Fleet, read_fleet
from analysis.objectives import Objectives, default_objectives, load_objectives, read_objectives
from analysis.pricebook import PriceBook
from analysis.prices import default_prices, read_prices
from analysis.reconcile import reconcile
from analysis.result import AnalysisResult, Costs, Reconciliation
from api.finance import source_hash
from api.question import Books, Question, check_dimensions
from ingest.bills import Bill
from ingest.errors import ConfigError, NotFound, StateError
from ingest.selection import DIMENSIONS, Selection, to_ns
from ingest.store import lists
from ingest.store.database import Store
from reports.render import render
from reports.writers.focus import focus_bundle
from reports.writers.focus_rows import FocusOptions

KEPT_RESULTS = 32
IDLE_SHARE = 5  # a result of live data may be as old as so many times what it took to compute ...
OLDEST_S = 60.0  # ... and no older than this
HASH_DIGITS = 10


@dataclass
class _Kept:
    """A result that was computed, and what it was computed from."""

    result: AnalysisResult
    live: int
    made: float
    took: float


class Service:
    """Questions about one store.

    Args:
        books: files for questions that bring none of their own.
        timezone: zone for questions without one; None: that of the objectives.
        now: the clock.
    """

    def __init__(
        self,
        store: Store,
        books: Books | None = None,
        *,
        timezone: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store = store
        self.books = books or Books()
        self._timezone = timezone
        self._now = now
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._computing = threading.Lock()
        self._revision = 0
        self._live = 0

    def changed(self) -> None:
        """Rows came or went: nothing that was computed holds any longer."""
        self._revision += 1

    def grew(self) -> None:
        """Live rows came: results hold for a short while yet, or a busy stream would be analyzed without end."""
        self._live += 1

    def objectives(self, books: Books | None = None) -> Objectives:
        """The objectives that judge."""
        path = (books or Books()).over(self.books).objectives
        return load_objectives(path) if path else default_objectives()

    def adopt_objectives(self, said: bytes, path: Path) -> Objectives:
        """Judge by the objectives of this text from now on; they are kept in `path`.

        Raises:
            StateError: the server was started with a file of objectives, which is its operator's to change.
            ConfigError: the text breaks a rule; what judged before still does.
        """
        if self.books.objectives not in (None, path):
            raise StateError(f"the objectives come from {self.books.objectives}; change that file and restart")
        try:
            read = read_objectives(said.decode("utf-8-sig"), path.name)
        except UnicodeDecodeError as error:
            raise ConfigError(f"the objectives are not UTF-8 text: {error}") from error
        fresh = path.with_suffix(".new")
        fresh.write_bytes(said)
        fresh.replace(path)
        self.books = replace(self.books, objectives=path)
        self.changed()
        return read

    def keep_text(self, name: str, text: str | None) -> Path | None:
        """A file with that text, for readers that take files; gone when the store is closed."""
        if text is None:
            return None
        folder = self.store.scratch / "books" / hashlib.sha256(text.encode()).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def timezone(self, question: Question) -> str:
        """Zone of a question: its own, the service's, that of the objectives."""
        return question.timezone or self._timezone or self.objectives(question.books).settings.timezone

    def analyze(self, question: Question, baseline: tuple[Store, Selection] | None = None) -> AnalysisResult:
        """The result of a question; without a baseline it is compared with the week or range before, if there is one.

        Raises:
            ConfigError: the question or one of its files breaks a rule.
        """
        question = replace(question, books=question.books.over(self.books))
        question.selection(self.timezone(question))  # what breaks a rule is told before anything is computed
        if others := [name for name, _ in question.where if name not in DIMENSIONS]:
            check_dimensions(others, lists.promoted_dimensions(self.store))
        if baseline is not None:
            return self._compute(question, baseline)
        key = self._key(question)
        with self._computing:
            kept = self._kept.get(key)
            if kept is not None and self._holds(kept):
                self._kept.move_to_end(key)
                return kept.result
            live, began = self._live, time.monotonic()
            result = self._compute(question, self._before(question))
            ended = time.monotonic()
            self._kept[key] = _Kept(result, live, ended, ended - began)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_RESULTS:
                self._kept.popitem(last=False)
            return result

    def costs(self, question: Question, by: Sequence[str]) -> Costs:
        """The costs of a question by any dimensions.

        Raises:
            ConfigError: the question, one of its files or a dimension breaks a rule.
        """
        books = question.books.over(self.books)
        selection = question.selection(self.timezone(question))
        objectives, prices, fleet = self.read_books(books)
        side = measured(self.store, selection, objectives, prices, fleet)
        return costs(side.frame, side.replica_hours, by, ledger=side.ledger, fleet=fleet, selection=selection)

    def reconcile(self, question: Question, bill: Bill, period: str | None) -> Reconciliation:
        """A provider's bill against the costs of a question.

        Raises:
            ConfigError: the question or one of its files breaks a rule, or the bill's currency has no rate.
        """
        books = question.books.over(self.books)
        side = measured(self.store, question.selection(self.timezone(question)), *self.read_books(books))
        return reconcile(bill, side.frame, side.ledger, period)

    def finance(self, question: Question, further: Sequence[str], version: str) -> dict[str, bytes]:
        """The finance bundle of a question: its files by name.

        Raises:
            ConfigError: the question, one of its files or a dimension breaks a rule.
        """
        books = question.books.over(self.books)
        side = measured(self.store, question.selection(self.timezone(question)), *self.read_books(books))
        behind = set(side.frame.get_column("upload_id"))
        uploads = self.store.uploads().select("upload_id", "sha256", "name").iter_rows()
        hashes = source_hash(sha256 or name for upload, sha256, name in uploads if upload in behind)
        made_by = f"tailwise {metadata.version('tailwise')}"
        options = FocusOptions(version=version, source_hash=hashes, generator=made_by)
        return focus_bundle(metered(side.frame, side.ledger, further), options)

    def breakdown(
        self, question: Question, part: str, by: Sequence[str], metrics: Sequence[str], percentiles: Sequence[str]
    ) -> Breakdown:
        """One part of the result per group of requests.

        Raises:
            ConfigError: a dimension, a metric or a percentile is not known.
        """
        check_dimensions(by, lists.promoted_dimensions(self.store))
        objectives, prices, fleet = self.read_books(question.books.over(self.books))
        side = measured(self.store, question.selection(self.timezone(question)), objectives, prices, fleet)
        return breakdown(side, part, by, objectives, metrics=metrics, percentiles=percentiles)

    def make_report(self, question: Question) -> dict[str, Any]:
        """A new report in the store, as a row of the list."""
        result = self.analyze(question)
        selection = json.dumps(asdict(result.selection), sort_keys=True)
        revision = 1 + max(lists.reports_of(self.store, selection)["revision"].to_list(), default=0)
        name = result.selection.week or hashlib.sha256(selection.encode()).hexdigest()[:HASH_DIGITS]
        row = {
            "report_id": f"{name}-r{revision}",
            "made_ns": to_ns(self._now()),
            "title": result.selection.title,
            "selection": selection,
            "revision": revision,
        }
        self.store.put_report(row | {"result": render(result, "json").decode()})
        return row

    def report(self, report_id: str) -> AnalysisResult:
        """A stored report; "latest" is the newest.

        Raises:
            NotFound: no such report.
        """
        if report_id == "latest":
            newest = lists.reports_page(self.store, None, 1)["report_id"].to_list()
            if not newest:
                raise NotFound("no report has been made yet", hint="load traces, then make one: POST /api/v1/reports")
            report_id = newest[0]
        row = lists.report(self.store, report_id)
        if row is None:
            raise NotFound(f'no report has the id "{report_id}"')
        return read_result(row["result"].encode())

    def _compute(self, question: Question, baseline: tuple[Store, Selection] | None) -> AnalysisResult:
        objectives, prices, fleet = self.read_books(question.books)
        return analyze(
            self.store,
            question.selection(self.timezone(question)),
            objectives=objectives,
            prices=prices,
            fleet=fleet,
            baseline=baseline,
            now=self._now(),
            command=question.command,
        )

    def read_books(self, books: Books) -> tuple[Objectives, PriceBook, Fleet | None]:
        prices = read_prices(books.prices) if books.prices else default_prices()
        return self.objectives(books), prices, read_fleet(books.fleet) if books.fleet else None

    def _before(self, question: Question) -> tuple[Store, Selection] | None:
        before = question.selection_before(self.timezone(question))
        return (self.store, before) if before is not None and lists.span(self.store, before) else None

    def _holds(self, kept: _Kept) -> bool:
        age = time.monotonic() - kept.made
        return kept.live == self._live or age < min(OLDEST_S, IDLE_SHARE * kept.took)

    def _key(self, question: Question) -> str:
        """Everything a result depends on but the live rows."""
        hasher = hashlib.sha256(repr((self._revision, replace(question, command=None))).encode())
        for path in (question.books.objectives, question.books.prices, question.books.fleet):
            hasher.update(hashlib.sha256(_bytes(path)).digest())
        return hasher.hexdigest()


def read_result(data: bytes) -> AnalysisResult:
    """A result from its JSON, as `render(result, "json")` wrote it."""
    return msgspec.json.decode(data, type=AnalysisResult)


def _bytes(path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path else b""
    except OSError:
        return b""  # the reader of the file says what is wrong with it
