"""One side of an analysis: the requests of a selection with their figures and costs, and what stands beside them.

Input: a store, a selection, objectives, prices, fleet. Output: Measured, which everything is told from; or, of very many
requests, Judged: the columns that verdicts read, some rows at a time, so that the others are never held. The causes
look at one request in so many of these, which is then read with every column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import polars as pl

from analysis.aggregates.attainment import good_objectives, with_good
from analysis.aggregates.capacity import fleet_hours
from analysis.aggregates.fluidity import with_fluidity
from analysis.aggregates.verdicts import last_instant
from analysis.aggregates.windows import Span, span_of
from analysis.causes.settings import CauseSettings
from analysis.dimensions import grouped, matches
from analysis.fleet import Fleet
from analysis.history import columns_for
from analysis.ledger import TOKEN_COLUMNS, Ledger, keep_ledger
from analysis.metrics.measure import DERIVED, measure, with_columns_of_schema
from analysis.metrics.votes import votes_of
from analysis.objectives import Objectives
from analysis.pricebook import PriceBook
from analysis.rollups.days import Day, rolled_days
from ingest.schema import LONG, REPEATED, REQUESTS, STAGES
from ingest.selection import DERIVED_DIMENSIONS, Selection, to_iso
from ingest.store import lists
from ingest.store.database import Store
from ingest.store.request_frame import in_order, taken

MOST_WHOLE = CauseSettings().max_rows  # requests of which all columns are held for verdicts and causes
READ = [  # columns that something here asks for
    column.name for column in REQUESTS if column.name not in (*LONG, "request_id", "root", "call_ttft_ns")
]
_PRICED = (  # columns that a cost depends on
    *TOKEN_COLUMNS,
    *("provider", "model", "requested_model", "service_tier", "llm_calls", "response_cached", "n_call_rows"),
)
_KEPT = (  # columns beside those of the objectives: of replicas, of the grade of the data, of what runs beside each other
    *("request_key", "upload_id", "user", "model", "region", "replica", "deployment_version", "batch_size", "ttft_ns"),
    *(f"{stage}_ns" for stage in STAGES),
)


class Side(Protocol):
    """What verdicts and causes are told from."""

    @property
    def rows(self) -> pl.DataFrame:
        """All requests with figures, by arrival; where the side is not whole, without columns that no verdict reads."""

    @property
    def replica_hours(self) -> pl.DataFrame:
        """As stored."""

    @property
    def hours(self) -> pl.DataFrame | None:
        """Replica hours of the selection, with cost and idle part; None if there can be none."""

    @property
    def span(self) -> Span: ...

    @property
    def selection(self) -> Selection: ...

    @property
    def dropped(self) -> str | None:
        """What the rows lack, where days of the selection were dropped."""

    @property
    def elsewhere(self) -> str | None:
        """From when to when requests are held, where the selection has none."""

    @property
    def is_whole(self) -> bool:
        """Whether the rows have every column."""

    def one_of(self, one_in: int) -> pl.DataFrame:
        """One request in so many with every column, by the hash of its key (request_frame.taken)."""


@dataclass(frozen=True)
class Measured:
    """A Side whose rows have every column, with their ledger."""

    rows: pl.DataFrame
    replica_hours: pl.DataFrame
    hours: pl.DataFrame | None
    ledger: Ledger
    span: Span
    selection: Selection
    dropped: str | None = None
    elsewhere: str | None = None
    objectives: Objectives = field(kw_only=True)  # that say what a good request is
    is_whole: bool = field(default=True, init=False)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The requests with `good_verdict`, which verdicts and causes do without."""
        return with_good(self.rows, self.objectives, last_instant(self.rows))

    def one_of(self, one_in: int) -> pl.DataFrame:
        return self.rows if one_in < 2 else self.rows.filter(taken(one_in))


@dataclass(frozen=True)
class Judged:
    """A Side of very many requests."""

    rows: pl.DataFrame
    replica_hours: pl.DataFrame
    hours: pl.DataFrame | None
    span: Span
    selection: Selection
    dropped: str | None
    read: Callable[[int], pl.DataFrame]
    elsewhere: str | None = None
    is_whole: bool = field(default=False, init=False)

    def one_of(self, one_in: int) -> pl.DataFrame:
        return self.read(one_in)


def measured(
    store: Store, selection: Selection, objectives: Objectives, prices: PriceBook, fleet: Fleet | None
) -> Measured:
    """The requests of a selection with all their figures, filtered by derived dimensions too."""
    ledger = keep_ledger(store.requests(selection, READ, coded=REPEATED), store.calls(selection), prices)
    rows = _filtered(measure(ledger.requests, objectives.settings), selection)
    rows = with_fluidity(rows, store.token_gaps(selection), good_objectives(objectives))
    stored = store.replica_hours(selection)
    return Measured(
        rows,
        stored,
        fleet_hours(stored, selection, fleet, rows),
        ledger,
        span_of(rows, selection.start_ns, selection.end_ns),
        selection,
        _dropped(rolled_days(store, selection), is_filtered=bool(selection.where)),
        _elsewhere(store) if rows.is_empty() else None,
        objectives=objectives,
    )


def judged_side(
    store: Store, selection: Selection, objectives: Objectives, prices: PriceBook, fleet: Fleet | None
) -> Judged:
    """The requests of a selection in the columns that verdicts read, and a way to all columns of some of them."""
    calls = store.calls(selection)

    def measure_part(part: pl.DataFrame, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        priced = keep_ledger(with_columns_of_schema(part).drop("cost_pico"), calls, prices).requests
        return _filtered(measure(priced, objectives.settings, metrics), selection)

    names = {*columns_for(objectives.items), *_KEPT}
    asked = [condition.metric for item in objectives.items for condition in item.conditions]
    metrics = sorted({"ttft", *(metric.column for metric in asked if metric.expr is not None)})
    told = {*names, *metrics, *DERIVED, "cost_pico"}

    def kept(part: pl.DataFrame) -> pl.DataFrame:
        have = {*part.columns, *metrics, *DERIVED, "cost_pico"}
        found = measure_part(part, metrics).select(name for name in sorted(told) if name in have)
        # as copies: a column that the store lent keeps all columns that were lent with it
        return found.select(pl.all().gather(pl.int_range(pl.len())))

    parts = map(kept, store.request_parts(selection, sorted({*names, *_PRICED}), coded=REPEATED))
    rows = with_columns_of_schema(in_order(pl.concat(parts, rechunk=False)))
    rows = rows.with_columns(votes_of(rows.get_column("sampling_rate")))
    stored = store.replica_hours(selection)
    return Judged(
        rows,
        stored,
        fleet_hours(stored, selection, fleet, rows),
        span_of(rows, selection.start_ns, selection.end_ns),
        selection,
        _dropped(rolled_days(store, selection), is_filtered=bool(selection.where)),
        lambda one_in: measure_part(store.requests(selection, READ, coded=REPEATED, one_in=one_in)),
        _elsewhere(store) if rows.is_empty() else None,
    )


def _filtered(frame: pl.DataFrame, selection: Selection) -> pl.DataFrame:
    """The rows that the filters on derived dimensions leave."""
    derived = grouped(pair for pair in selection.where if pair[0] in DERIVED_DIMENSIONS)
    return frame.filter(matches(derived)) if derived else frame


def _elsewhere(store: Store) -> str | None:
    """From when to when the requests are that are held, days whose rows were dropped included; None without any."""
    held = lists.held_span(store)
    if held is not None:
        return f"The requests that were loaded are from {to_iso(held[0])} to {to_iso(held[1])}."
    return "The requests that were loaded have no wall clock." if lists.counts(store)["requests"] else None


ALL_OF_THEM = "That is the number of all requests of those days, and not of those that match the filters. "


def _dropped(days: Sequence[Day], *, is_filtered: bool) -> str | None:
    if not days:
        return None
    return (
        f"Rows of {to_iso(days[0].start_ns)} to {to_iso(days[-1].end_ns)} were dropped by retention: "
        f"{sum(day.requests for day in days):,} requests are told by their roll-ups alone. "
        f"{ALL_OF_THEM if is_filtered else ''}Findings and all figures that "
        "are not named as rolled up lack them."
    )
