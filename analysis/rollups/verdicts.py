"""Verdicts of requests that are gone: counts per objective and hour, and the weeks and budgets they make up.

Input: a store, a range, filters, the objectives of today. Output: cells of time with exact counts. A day on which an
objective was counted by another definition, or on which a filtered value was not kept apart, is a hole: its cell has
no counts, and nobody adds across it unawares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.aggregates.error_budget import voted
from analysis.aggregates.verdicts import last_instant, verdict_expr
from analysis.dimensions import dimension, grouped, matches
from analysis.objectives import Objective, Objectives
from analysis.rollups.days import Day, rolled_days
from analysis.rollups.roll_up import COUNTS, HOUR_NS, VERDICT_DIMS, fingerprint
from analysis.rollups.sums import SUMS, sums_of
from analysis.settings import Settings
from ingest.schema_rolled import OTHER
from ingest.selection import Selection
from ingest.store.database import Store

ADDED_UP = (*COUNTS, *SUMS)
CELLS = pl.Schema(
    {
        "start_ns": pl.Int64(),
        "end_ns": pl.Int64(),
        "sampling_rate": pl.Float64(),
        **dict.fromkeys(COUNTS, pl.Int64()),
        **SUMS,
    }
)
VALUE_CELLS = pl.Schema({**CELLS, "_of": pl.String()})


@dataclass(frozen=True)
class RolledVerdicts:
    """What was counted and summed of all objectives in the days of a range.

    `rows`: start_ns of the day, hour_ns, objective, clause and ADDED_UP, of the requests that match the filters; by hour
    where there are no filters, else with the whole day in one (hour_ns null).
    `parts`: the same with the whole day in one in any case, by VERDICT_DIMS.
    `unclear`: days on which the filters cannot be answered; `folded`: by dimension, days on which its rarer values were
    kept together.
    """

    days: tuple[Day, ...]
    rows: pl.DataFrame
    unclear: frozenset[int]
    objectives: Objectives
    parts: pl.DataFrame
    folded: Mapping[str, frozenset[int]]

    def cells(self, item: Objective) -> pl.DataFrame:
        """Hours of an objective (days under a filter), in order of time: start_ns, end_ns, sampling_rate, ADDED_UP.

        A hole has null counts; days that kept no sums have null sums. An hour without requests has no cell: there is nothing to add.
        """
        ends = {day.start_ns: day.end_ns for day in self.days}
        holes = [day for day in self.days if not self.counts(item, day)]
        mine = self.rows.filter((pl.col("objective") == item.id) & pl.col("clause").is_null())
        mine = mine.filter(~pl.col("start_ns").is_in([day.start_ns for day in holes]))
        day_end = pl.col("start_ns").replace_strict(ends, default=None, return_dtype=pl.Int64)
        told = mine.group_by("start_ns", "hour_ns", "sampling_rate").agg(_added_up())
        hour_end = pl.col("hour_ns") // HOUR_NS * HOUR_NS + HOUR_NS  # null for a whole day, and then ignored
        told = told.select(
            pl.coalesce("hour_ns", "start_ns").alias("start_ns"),
            pl.min_horizontal(hour_end, day_end).alias("end_ns"),
            "sampling_rate",
            *ADDED_UP,
        )
        empty = pl.DataFrame([{"start_ns": day.start_ns, "end_ns": day.end_ns} for day in holes], schema=CELLS)
        return pl.concat([told.cast(CELLS), empty]).sort("start_ns", "sampling_rate", nulls_last=True)

    def cells_by_value(self, item: Objective) -> pl.DataFrame:
        """Days of an objective per value: the columns of `cells`, and the value in `_of`; of hours nothing is known."""
        ends = {day.start_ns: day.end_ns for day in self.days}
        unclear = self.folded.get(str(item.per), frozenset(ends))
        holes = [day for day in self.days if day.start_ns in unclear or not self.counts(item, day)]
        if item.per not in VERDICT_DIMS:
            return self.cells(item).with_columns(pl.lit(None, pl.String).alias("_of"))
        mine = self.parts.filter((pl.col("objective") == item.id) & pl.col("clause").is_null())
        mine = mine.filter(~pl.col("start_ns").is_in([day.start_ns for day in holes]))
        told = mine.group_by("start_ns", pl.col(item.per).alias("_of"), "sampling_rate").agg(_added_up())
        end = pl.col("start_ns").replace_strict(ends, default=None, return_dtype=pl.Int64).alias("end_ns")
        empty = pl.DataFrame([{"start_ns": day.start_ns, "end_ns": day.end_ns} for day in holes], schema=VALUE_CELLS)
        both = pl.concat([told.with_columns(end).select(VALUE_CELLS.names()).cast(VALUE_CELLS), empty])
        return both.sort("start_ns", "_of", "sampling_rate", nulls_last=True)

    def counts(self, item: Objective, day: Day) -> bool:
        """Whether a day was counted by the definition of today, for these filters."""
        told = day.objectives.get(item.id)
        return day.start_ns not in self.unclear and told == fingerprint(item, self.objectives)


def rolled_verdicts(store: Store, selection: Selection, objectives: Objectives) -> RolledVerdicts | None:
    """What was counted in the rolled-up days that a selection touches; None if it touches none."""
    days = rolled_days(store, selection)
    if not days:
        return None
    between: list[object] = [days[0].start_ns, days[-1].end_ns]
    where = grouped(selection.where)
    asked = [name for name, _ in where]
    if any(name not in VERDICT_DIMS for name in asked):
        nothing = store.read("rolled_verdicts", "false")
        every = frozenset(day.start_ns for day in days)
        return RolledVerdicts(days, nothing, every, objectives, nothing, {})
    grain = f"hour_ns IS {'' if where else 'NOT '}NULL"
    rows = store.read("rolled_verdicts", f"start_ns >= ? AND start_ns < ? AND {grain}", between).filter(matches(where))
    status = store.read("rolled_status", "start_ns >= ? AND start_ns < ?", between)
    parts = rows
    if not where and any(item.per in VERDICT_DIMS for item in objectives.items):
        parts = store.read("rolled_verdicts", "start_ns >= ? AND start_ns < ? AND hour_ns IS NULL", between)
    folded = {name: unclear_days(status, [name]) for name in VERDICT_DIMS}
    return RolledVerdicts(days, rows, unclear_days(status, asked), objectives, parts, folded)


def standing_cells(frame: pl.DataFrame, item: Objective, settings: Settings, *, by_value: bool = False) -> pl.DataFrame:
    """The same of measured rows that stand: one cell per hour and sampling rate (and value), without holes."""
    verdict = verdict_expr(item, settings, last_instant(frame)).alias("_verdict")
    rows = frame.filter(matches(item.where)).with_columns(verdict)
    hour = (pl.col("started_ns") // HOUR_NS * HOUR_NS).alias("start_ns")
    schema = VALUE_CELLS if by_value else CELLS
    value = [dimension(item.per).alias("_of")] if by_value and item.per is not None else []
    counts = rows.group_by(hour, "sampling_rate", *value).agg(
        *((pl.col("_verdict") == name).sum().cast(pl.Int64).alias(name) for name in COUNTS), *sums_of(item)
    )
    return counts.with_columns((pl.col("start_ns") + HOUR_NS).alias("end_ns")).select(schema.names()).cast(schema)


def _added_up() -> list[pl.Expr]:
    """Counts and sums of several rows; of rows without sums the sum is not known."""
    known = pl.col("figures").is_not_null().all()
    return [
        *(pl.col(name).sum() for name in COUNTS),
        *(pl.when(known).then(pl.col(name).sum()).alias(name) for name in SUMS),
    ]


def attained(cells: pl.DataFrame) -> float | None:
    """Share of good among the judged, each row by the number of requests that it stands for."""
    good, bad = voted(cells)
    return good / (good + bad) if good + bad else None


def unclear_days(status: pl.DataFrame, asked: Sequence[str]) -> frozenset[int]:
    """Days on which rarer values of a filtered dimension were kept together, so that one of them may be meant."""
    texts = [name for name in asked if name in VERDICT_DIMS]
    if not texts:
        return frozenset()
    folded = status.filter(pl.any_horizontal(pl.col(name) == OTHER for name in texts))
    return frozenset(folded.get_column("start_ns"))
