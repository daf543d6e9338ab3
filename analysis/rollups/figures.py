"""Figures of a selection that has days whose rows were dropped: roll-ups and standing rows together.

Input: a store, the measured rows of the selection, the verdicts over them. Output: RolledFigures: counts, costs and
attainment exactly, percentiles within 1 % of what the rows would have given. Nothing here averages percentiles:
counts of buckets are added, and the percentile is read from the sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from analysis.aggregates.charges import MEASURES, condensed_lines, total
from analysis.aggregates.distribution import PERCENTILES
from analysis.dimensions import grouped, matches
from analysis.ledger import Ledger
from analysis.metrics.votes import votes_of
from analysis.money import usd_text
from analysis.objectives import Objectives
from analysis.result import ObjectiveResult, RolledDistribution, RolledFigures, RolledObjective
from analysis.rollups.buckets import EXACT, WITHIN, percentile
from analysis.rollups.charges import rolled_charges
from analysis.rollups.days import Day, is_whole, rolled_days
from analysis.rollups.roll_up import LATENCIES, LATENCY_DIMS, STATUS_DIMS, latencies
from analysis.rollups.roll_up import counted as counted_objectives
from analysis.rollups.verdicts import RolledVerdicts, attained, rolled_verdicts, standing_cells, unclear_days
from ingest.errors import ConfigError
from ingest.selection import Selection, to_datetime, to_iso
from ingest.store.database import Store


def rolled_figures(
    store: Store,
    selection: Selection,
    frame: pl.DataFrame,
    ledger: Ledger,
    *,
    judged: Sequence[ObjectiveResult],
    objectives: Objectives,
) -> RolledFigures | None:
    """Figures over all requests of a selection, those that are gone included; None if none is gone.

    Args:
        frame: the measured rows that still stand.
        judged: what the objectives say of them.
    """
    touched = rolled_days(store, selection)
    days = tuple(day for day in touched if is_whole(day, selection.start_ns, selection.end_ns))
    if not touched:
        return None
    notes = [
        f"{to_iso(day.start_ns)} to {to_iso(day.end_ns)} was rolled up in one and lies only partly in the range: left out"
        for day in touched
        if day not in days
    ]
    cost = unpriced = None
    try:
        kept = rolled_charges(store, selection, ledger)
        if kept is not None:
            sums = total(condensed_lines(frame, kept.ledger, ["user"], kept=kept), MEASURES)
            cost = usd_text(sums["cost"]) if sums["charged"] else None
            unpriced = sums["unpriced_requests"]
    except ConfigError as error:
        notes.append(error.message)
    status, told = _status(store, selection, days, frame)
    counted = rolled_verdicts(store, selection, objectives)
    latency, told_latency = _latency(store, selection, days, frame)
    return RolledFigures(
        start=to_iso(touched[0].start_ns),
        end=to_iso(touched[-1].end_ns),
        days=len({to_datetime(day.start_ns).date() for day in days}),
        requests_dropped=sum(day.requests for day in days),
        requests=None if status is None else sum(status.values()),
        by_status=status or {},
        latency=latency,
        objectives=[] if counted is None else _objectives(counted, days, judged, objectives, frame),
        cost_usd=cost,
        unpriced_requests=unpriced,
        basis={"requests": EXACT, "objectives": EXACT, "cost_usd": EXACT, "latency": WITHIN},
        notes=[*notes, *told, *told_latency],
    )


def _status(
    store: Store, selection: Selection, days: Sequence[Day], frame: pl.DataFrame
) -> tuple[dict[str, int] | None, list[str]]:
    """Requests by status class, and why there may be none."""
    where = grouped(selection.where)
    if why := _unanswerable(where, STATUS_DIMS, "counts and attainment"):
        return None, [why]
    rows = _rows(store, "rolled_status", days)
    if unclear_days(rows, [name for name, _ in where]):
        return None, ["some days kept the rarer values of a filtered dimension together, so counts are not told"]
    kept = rows.filter(matches(where)).select("status_class", pl.col("requests"))
    standing = (
        frame.select(pl.col("status_class").cast(pl.String))
        .group_by("status_class")
        .agg(pl.len().cast(pl.Int64).alias("requests"))
    )
    sums = pl.concat([kept, standing]).group_by("status_class").agg(pl.col("requests").sum()).sort("status_class")
    return dict(sums.iter_rows()), []


def _unanswerable(where: Sequence[tuple[str, tuple[str, ...]]], kept: Sequence[str], what: str) -> str | None:
    lost = [name for name, _ in where if name not in kept]
    if not lost:
        return None
    return f"{what} of dropped days were not kept by {', '.join(lost)}; they are kept by {', '.join(kept)}"


def _rows(store: Store, table: str, days: Sequence[Day]) -> pl.DataFrame:
    if not days:
        return store.read(table, "false")
    rows = store.read(table, "start_ns >= ? AND start_ns < ?", [days[0].start_ns, days[-1].end_ns])
    return rows.filter(pl.col("start_ns").is_in([day.start_ns for day in days]))


def _objectives(
    counted: RolledVerdicts,
    days: Sequence[Day],
    judged: Sequence[ObjectiveResult],
    objectives: Objectives,
    frame: pl.DataFrame,
) -> list[RolledObjective]:
    found: list[RolledObjective] = []
    told = {item.id for item in counted_objectives(objectives)}
    for item, one in zip(objectives.items, judged, strict=True):
        if item.id not in told:
            continue
        known = [day for day in days if counted.counts(item, day)]
        rows = counted.rows.filter((pl.col("objective") == item.id) & pl.col("clause").is_null())
        rows = rows.filter(pl.col("start_ns").is_in([day.start_ns for day in known]))
        good, bad, unknown, excluded = (
            int(rows.get_column(name).sum()) for name in ("good", "bad", "unknown", "excluded")
        )
        lost = len(days) - len(known)
        note = None
        if lost:
            note = f"{lost} of {len(days)} dropped days were not counted by this definition and these filters"
        told_by_rate = [
            cells.select("sampling_rate", "good", "bad")
            for cells in (rows, standing_cells(frame, item, objectives.settings))
        ]
        found.append(
            RolledObjective(
                id=item.id,
                good=one.good + good,
                bad=one.bad + bad,
                unknown=one.unknown + unknown,
                excluded=one.excluded + excluded,
                attainment=attained(pl.concat(told_by_rate)),
                rolled=good + bad,
                note=note,
            )
        )
    return found


def _latency(
    store: Store, selection: Selection, days: Sequence[Day], frame: pl.DataFrame
) -> tuple[list[RolledDistribution], list[str]]:
    """Percentiles per metric, over all requests with status ok, and why there may be none."""
    where = grouped(selection.where)
    if why := _unanswerable(where, LATENCY_DIMS, "percentiles"):
        return [], [why]
    kept = _rows(store, "rolled_latency", days)
    if unclear_days(kept, [name for name, _ in where]):
        return [], ["some days kept the rarer values of a filtered dimension together, so percentiles are not told"]
    columns = ["streaming", "metric", "bucket", "n", "sampling_rate"]
    standing = latencies(frame.with_columns(pl.lit(0, pl.Int64).alias("start_ns")))
    gone = kept.filter(matches(where)).select(columns)
    both = pl.concat([gone, standing.select(columns)])
    both = both.with_columns(votes_of(both.get_column("sampling_rate")))
    found: list[RolledDistribution] = []
    for metric in LATENCIES:
        mine = both.filter(pl.col("metric") == metric.id)
        for streaming in ("all", True, False, None):
            part = mine if streaming == "all" else mine.filter(pl.col("streaming").eq_missing(streaming))
            n = int(part.get_column("n").sum())
            if n:
                weighed = part.select("bucket", pl.col("n") * pl.col("votes"))
                points = {name: percentile(weighed, p) for name, p in PERCENTILES.items()}
                found.append(RolledDistribution(metric.id, metric.title, str(metric.unit), streaming, n, **points))
    return found, []
