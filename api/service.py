"""The only place where rooms are wired together: load, analyze, report.

Input: an open store, files of settings, questions. Output: results, kept for as long as nothing changed; reports in
the store. Everything here is synchronous; the HTTP door calls it from threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from analysis.aggregates.cost import costs
from analysis.aggregates.metered import metered
from analysis.analyze import analyze, judgement, notes_of, verdicts
from analysis.breakdown import Breakdown, breakdown
from analysis.describe import selection_record
from analysis.dimensions import grouped
from analysis.fleet import Fleet, read_fleet
from analysis.ledger import Ledger
from analysis.measured import MOST_WHOLE, Measured, Side, judged_side, measured
from analysis.objectives import Objectives, default_objectives, load_objectives, read_objectives
from analysis.pricebook import PriceBook
from analysis.prices import default_prices, read_prices
from analysis.reconcile import months_within, reconcile
from analysis.result import AnalysisResult, Costs, ObjectiveResult, Reconciliation
from analysis.rollups.charges import RolledCharges, rolled_charges
from analysis.rollups.days import rolled_days
from analysis.rules.catalog import Catalog, built_in
from analysis.rules.own import own_catalog, read_catalog
from api.clock import stamp
from api.finance import source_hash
from api.judgement import Diagnosis, Judgement, find_objective
from api.keeper import Keeper
from api.latest import latest_report
from api.question import Books, Question, check_dimensions, check_text
from ingest.bills import Bill
from ingest.errors import ConfigError, NotFound, StateError
from ingest.selection import DIMENSIONS, Selection, to_iso, to_ns
from ingest.store import lists
from ingest.store.database import Store
from ingest.yaml_text import refuse_empty
from reports.render import render
from reports.writers.focus import focus_bundle
from reports.writers.focus_rows import FocusOptions

T = TypeVar("T")
Verdicts = tuple[Side, str, tuple[ObjectiveResult, ...]]  # all of one objective, of the others what its causes ask for

MOST_REPORTS = 200  # that are looked through for the one before
KEPT_RESULTS = KEPT_JUDGEMENTS = 32
KEPT_SIDES = 4
MOST_SIDE_BYTES = 512_000_000  # measured requests that are kept in memory; about a million of them
HASH_DIGITS = 10
TRIES = 3  # of a reading that a dropped day came into, before days wait for it


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
        now: Callable[[], datetime] = stamp,
    ) -> None:
        self.store = store
        self.books = books or Books()
        self._timezone = timezone
        self._now = now
        self._results: Keeper[AnalysisResult] = Keeper(KEPT_RESULTS)
        self._judgements: Keeper[Judgement] = Keeper(KEPT_JUDGEMENTS)
        self._sides: Keeper[Measured] = Keeper(KEPT_SIDES, worth=_is_small)
        self._verdicts: Keeper[Verdicts] = Keeper(KEPT_SIDES, worth=lambda told: _is_small(told[0]))
        self._revision = 0
        self._live = 0

    def changed(self) -> None:
        """Rows came or went: nothing that was computed holds any longer."""
        self._revision += 1
        self._sides.clear()
        self._verdicts.clear()

    def grew(self) -> None:
        """Live rows came: results hold for a short while yet, or a busy stream would be analyzed without end."""
        self._live += 1

    def objectives(self, books: Books | None = None) -> Objectives:
        """The objectives that judge."""
        path = (books or Books()).over(self.books).objectives
        return load_objectives(path) if path else default_objectives()

    def catalog(self, books: Books | None = None) -> Catalog:
        """The rules that advise."""
        path = (books or Books()).over(self.books).rules
        return read_catalog(path) if path else built_in()

    def adopt_objectives(self, said: bytes, path: Path) -> Objectives:
        """Judge by the objectives of this text from now on; they are kept in `path`.

        Raises:
            StateError: the server was started with a file of objectives, which is its operator's to change.
            ConfigError: the text breaks a rule; what judged before still does.
        """
        read = self._adopt("objectives", self.books.objectives, said, path, read_objectives)
        self.books = replace(self.books, objectives=path)
        self.changed()
        return read

    def adopt_rules(self, said: bytes, path: Path) -> Catalog:
        """Advise by the rules of this text, over the built-in ones, from now on; they are kept in `path`.

        Raises:
            StateError: the server was started with a file of rules, which is its operator's to change.
            ConfigError: the text breaks a rule; what advised before still does.
        """
        read = self._adopt("rules", self.books.rules, said, path, own_catalog)
        self.books = replace(self.books, rules=path)
        self.changed()
        return read

    def _adopt(self, name: str, current: Path | None, said: bytes, path: Path, read: Callable[[str, str], T]) -> T:
        """What a text of settings says, kept in `path`."""
        if current not in (None, path):
            raise StateError(f"the {name} come from {current}; change that file and restart")
        try:
            text = said.decode("utf-8-sig")
            refuse_empty(text, path.name, name)
            adopted = read(text, path.name)
        except UnicodeDecodeError as error:
            raise ConfigError(f"the {name} are not UTF-8 text: {error}") from error
        fresh = path.with_suffix(".new")
        fresh.write_bytes(said)
        fresh.replace(path)
        return adopted

    def keep_text(self, name: str, text: str | None) -> Path | None:
        """A file with that text, for readers that take files; gone when the store is closed.

        Raises:
            ConfigError: it has characters that are none.
        """
        if text is None:
            return None
        check_text(name, text)
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
        question = self._checked(question)
        if baseline is not None:
            return self._compute(question, baseline)
        make = lambda: self._steady(lambda: self._compute(question, self._before(question)))  # noqa: E731
        return self._results.get(self._result_key(question), self._live, make)

    def warm(self) -> None:
        """Work out what is asked first: the analysis of everything; of very many requests what broke and why, for the
        whole analysis holds all columns of them, and whoever wants it can wait."""
        if self.store.n_requests(Selection()) > MOST_WHOLE:
            self.judgement(Question())
        else:
            self.analyze(Question())

    def judgement(self, question: Question, only: str | None = None) -> Judgement:
        """Verdicts and findings of a question: out of the whole result if that is kept, else worked out without the rest.

        Args:
            only: of an answer that is not kept, the objective whose findings and figures are asked for; None: of all.

        Raises:
            NotFound: no objective has that id.
            ConfigError: the question or one of its files breaks a rule.
        """
        question = self._checked(question)
        key = self._key(question)
        if (result := self._results.find(self._result_key(question), self._live)) is not None:
            return Judgement(result.selection, tuple(result.objectives), tuple(result.findings), tuple(result.notes))
        if only is None or (whole := self._judgements.find(key, self._live)) is None:
            make = lambda: self._steady(lambda: self._judge(question, only))  # noqa: E731
            return self._judgements.get(key if only is None else f"{key} {only}", self._live, make)
        return whole

    def diagnosis(self, question: Question, objective_id: str) -> Diagnosis:
        """One objective with its findings. Objectives that broke together explain each other, so all are judged, and the
        causes of those are looked for; findings are put together for the one.

        Raises:
            NotFound: no objective has that id.
            ConfigError: the question or one of its files breaks a rule.
        """
        found = self.judgement(question, objective_id)
        row = find_objective(found.objectives, objective_id)
        why = [one for one in found.findings if one.objective == objective_id]
        return Diagnosis(found.selection, row, why, list(found.notes))

    def costs(self, question: Question, by: Sequence[str]) -> Costs:
        """The costs of a question by any dimensions.

        Raises:
            ConfigError: the question, one of its files or a dimension breaks a rule.
        """
        question = self._checked(question)
        _, _, fleet = self.read_books(question.books)
        side, ledger, kept = self._charged(question)
        return costs(
            side.frame, side.replica_hours, by, ledger=ledger, fleet=fleet, selection=side.selection, kept=kept
        )

    def reconcile(self, question: Question, bill: Bill, period: str | None) -> Reconciliation:
        """A provider's bill against the costs of a question.

        Raises:
            ConfigError: the question or one of its files breaks a rule, the bill's currency has no rate, or days whose
                rows were dropped were not kept as the question asks.
        """
        side, ledger, kept = self._charged(self._checked(question))
        return reconcile(bill, side.frame, ledger, period, kept)

    def finance(
        self, question: Question, further: Sequence[str], version: str, bill: Bill | None = None
    ) -> dict[str, bytes]:
        """The finance bundle of a question: its files by name; final if a bill passes for all of it.

        Raises:
            ConfigError: the question, one of its files or a dimension breaks a rule.
        """
        side, ledger, kept = self._charged(self._checked(question))
        behind = side.frame.select("upload_id").unique().cast({"upload_id": str})  # no codes
        uploads = self.store.uploads().join(behind, on="upload_id", how="semi").select("sha256", "name")
        hashes = source_hash(sha256 or name for sha256, name in uploads.iter_rows())
        options = FocusOptions(version, source_hash=hashes, generator=f"tailwise {metadata.version('tailwise')}")
        compared = self.reconcile(question, months_within(bill, side.selection), None) if bill else None
        return focus_bundle(metered(side.frame, ledger, further, kept=kept), options, compared)

    def breakdown(
        self, question: Question, part: str, by: Sequence[str], metrics: Sequence[str], percentiles: Sequence[str]
    ) -> Breakdown:
        """One part of the result per group of requests.

        Raises:
            ConfigError: a dimension, a metric or a percentile is not known.
        """
        question = self._checked(question)
        check_dimensions(by, lists.promoted_dimensions(self.store))
        objectives = self.objectives(question.books)
        return breakdown(self.side(question), part, by, objectives, metrics=metrics, percentiles=percentiles)

    def make_report(self, question: Question) -> dict[str, Any]:
        """A new report in the store, as a row of the list; `note` says why where no row of its selection stands."""
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
        return row | {"note": None if result.summary.requests else " ".join(result.notes)}

    def report(self, report_id: str) -> AnalysisResult:
        """A stored report; "latest" is the newest that tells of requests.

        Raises:
            NotFound: no such report.
        """
        if report_id == "latest":
            newest = latest_report(self.store)
            if newest is None:
                raise NotFound("no report has been made yet", hint="load traces, then make one: POST /api/v1/reports")
            report_id = newest
        row = lists.report(self.store, report_id)
        if row is None:
            raise NotFound(f'no report has the id "{report_id}"')
        return read_result(row["result"].encode())

    def _charged(self, question: Question) -> tuple[Measured, Ledger, RolledCharges | None]:
        """The measured requests, and the charges of those that are gone, with a ledger of the prices of both."""

        def read() -> tuple[Measured, Ledger, RolledCharges | None]:
            side = self.side(question)
            kept = rolled_charges(self.store, side.selection, side.ledger)
            return side, side.ledger if kept is None else kept.ledger, kept

        return self._steady(read)

    def _steady(self, read: Callable[[], T]) -> T:
        """What is read, all of it from before a day was dropped or all from after: no request twice, none left out."""
        for _ in range(TRIES):
            mark = lists.n_rolled(self.store)
            made = read()
            if lists.n_rolled(self.store) == mark:
                return made
        with self.store.quiet():
            return read()

    def side(self, question: Question) -> Measured:
        """The measured requests of a question whose files are complete."""
        return self._side(question, question.selection(self.timezone(question)))

    def _side(self, question: Question, selection: Selection) -> Measured:
        make = lambda: measured(self.store, selection, *self._bound(question, selection))  # noqa: E731 - called once, below
        return self._sides.get(f"{self._key(question)} {selection}", self._live, make)

    def _judged(self, question: Question, selection: Selection) -> Side:
        """The requests of a question as verdicts and causes ask for them; very many are not held with every column."""
        if self.store.n_requests(selection) <= MOST_WHOLE:
            return self._side(question, selection)
        return judged_side(self.store, selection, *self._bound(question, selection))

    def _bound(self, question: Question, selection: Selection) -> tuple[Objectives, PriceBook, Fleet | None]:
        """The files of a question, in the time zone of its selection."""
        objectives, prices, fleet = self.read_books(question.books)
        return replace(objectives, settings=replace(objectives.settings, timezone=selection.timezone)), prices, fleet

    def _checked(self, question: Question) -> Question:
        """The question with the files of the service where it brings none; what breaks a rule is told at once."""
        question = replace(question, books=question.books.over(self.books))
        question.selection(self.timezone(question))
        if others := [name for name, _ in question.where if name not in DIMENSIONS]:
            check_dimensions(others, lists.promoted_dimensions(self.store))
        return question

    def _judge(self, question: Question, only: str | None) -> Judgement:
        selection = question.selection(self.timezone(question))
        objectives, _, fleet = self._bound(question, selection)
        if only is not None:
            find_objective(objectives.items, only)
        side = self._judged(question, selection)
        before = self._before(question)
        other = None if before is None else lambda: self._judged(question, before[1])
        catalog = self.catalog(question.books)
        told = None if only is None else self._told(question, side, objectives, fleet, only)
        judged, findings = judgement(
            self.store, side, objectives, fleet, catalog=catalog, other=other, only=only, judged=told
        )
        record = selection_record(side.selection, side.span, None if before is None else before[1])
        return Judgement(record, judged, findings, tuple(notes_of(side)))

    def _told(
        self, question: Question, side: Side, objectives: Objectives, fleet: Fleet | None, only: str
    ) -> tuple[ObjectiveResult, ...]:
        """All of one objective, and what its causes ask of the others: worked out once for all objectives of a side."""
        judge = partial(verdicts, self.store, side, objectives, fleet, told=(only,))
        kept, first, results = self._verdicts.get(self._key(question), self._live, lambda: (side, only, judge()))
        if kept is side and first == only:
            return results
        return judge(known=results if kept is side else ())

    def _compute(self, question: Question, baseline: tuple[Store, Selection] | None) -> AnalysisResult:
        objectives, prices, fleet = self.read_books(question.books)
        return analyze(
            self.store,
            question.selection(self.timezone(question)),
            objectives=objectives,
            prices=prices,
            fleet=fleet,
            catalog=self.catalog(question.books),
            baseline=baseline,
            reported=self._reported(baseline),
            now=self._now(),
            command=question.command,
        )

    def read_books(self, books: Books) -> tuple[Objectives, PriceBook, Fleet | None]:
        prices = read_prices(books.prices) if books.prices else default_prices()
        return self.objectives(books), prices, read_fleet(books.fleet) if books.fleet else None

    def _before(self, question: Question) -> tuple[Store, Selection] | None:
        before = question.selection_before(self.timezone(question))
        if before is None or not lists.span(self.store, before) or rolled_days(self.store, before):
            return None  # the part of a week that still stands is no week to compare with
        return self.store, before

    def _result_key(self, question: Question) -> str:
        """Everything that a whole result depends on: a new report of the week before is followed up anew."""
        before = self._before(question)
        return f"{self._key(question)} {self._report_of(before[1]) if before is not None else None}"

    def _reported(self, baseline: tuple[Store, Selection] | None) -> tuple[str, AnalysisResult] | None:
        """The newest stored report of what a question is compared with."""
        if baseline is None or baseline[0] is not self.store:
            return None
        report_id = self._report_of(baseline[1])
        return (report_id, self.report(report_id)) if report_id is not None else None

    def _report_of(self, selection: Selection) -> str | None:
        """Id of the newest stored report of a selection."""
        ends = [to_iso(ns) if ns is not None else None for ns in (selection.start_ns, selection.end_ns)]
        where = {name: list(values) for name, values in grouped(selection.where)}
        for row in lists.reports_page(self.store, None, MOST_REPORTS).iter_rows(named=True):
            told = json.loads(row["selection"])
            if [told["start"], told["end"]] == ends and told["where"] == where:
                return str(row["report_id"])
        return None

    def _key(self, question: Question) -> str:
        """Everything a result depends on but the live rows."""
        known = (self._revision, lists.n_rolled(self.store), replace(question, command=None))
        hasher = hashlib.sha256(repr(known).encode())
        for data in question.books.contents():
            hasher.update(hashlib.sha256(data).digest())
        return hasher.hexdigest()


def read_result(data: bytes) -> AnalysisResult:
    """A result from its JSON, as `render(result, "json")` wrote it."""
    return msgspec.json.decode(data, type=AnalysisResult)


def _is_small(side: Side) -> bool:
    return side.rows.estimated_size() <= MOST_SIDE_BYTES
