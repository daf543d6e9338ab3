"""Counts and figures of one objective, over the whole range, per window and per value.

Input: a Case (the measured frame and its range) and an objective. Output: plain rows, one per group, with good, bad,
unknown, excluded, n (judged requests), n_figure (requests that have the figure), attainment, value, low, high.
Counts are of rows; `votes` has them weighted where sampling rates differ, and `squares` the squares of judged votes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.aggregates import figures
from analysis.aggregates.columns import narrow
from analysis.aggregates.fleet_figures import fleet_figure, replica_hours_of
from analysis.aggregates.verdicts import BAD, EXCLUDED, GOOD, UNKNOWN, clause_flags, verdict_expr
from analysis.aggregates.weighted import effective, mixed
from analysis.aggregates.windows import Span, origin_of, window_bounds, window_index
from analysis.dimensions import dimension, matches
from analysis.fleet import Fleet
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Kind
from analysis.metrics.votes import votes_of
from analysis.objectives import Objective
from analysis.settings import Settings

_VERDICTS = (GOOD, BAD, UNKNOWN, EXCLUDED)
_JUDGED = ("started_ns", "status_class", "votes")  # columns that every objective reads
_TOLD = ("weight", "sampling_rate", "is_failed")  # and further ones, for figures and courses in time
_FLEET = (  # and for figures of the fleet
    *("output_tokens", "input_tokens", "cached_input_tokens", "model", "region", "replica", "deployment_version"),
)


@dataclass(frozen=True)
class Case:
    """What all objectives are judged on: the measured frame, its range, the last instant seen, replica hours."""

    frame: pl.DataFrame
    settings: Settings
    span: Span
    until: int | None
    replica_hours: pl.DataFrame | None
    fleet: Fleet | None = None
    earlier: pl.DataFrame | None = None  # measured requests before the range, for budgets of a longer period
    kept: Callable[[Objective], pl.DataFrame] | None = None  # cells of requests that are gone


@dataclass(frozen=True)
class Scene:
    """What an objective is judged on: the requests in its `where`, with columns _verdict, _window and _of."""

    rows: pl.DataFrame
    span: Span
    origin_ns: int
    replica_hours: pl.DataFrame | None
    fleet: Fleet | None
    history: (
        pl.DataFrame
    )  # started_ns, _verdict, sampling_rate, votes before the range and in it; empty without a period


def scene_of(case: Case, item: Objective, *, is_told: bool = True) -> Scene:
    """The requests in an objective's `where`, each with its verdict and group.

    Args:
        is_told: False where verdicts are enough, which fewer columns decide.
    """
    settings = case.settings
    origin = origin_of(case.span.start_ns, settings.timezone) if case.span.start_ns is not None else 0
    extra = [verdict_expr(item, settings, case.until).alias("_verdict")]
    if item.per is not None:
        extra.append(dimension(item.per).alias("_of"))
    if item.window_s is not None:
        extra.append(window_index(item.window_s, origin).alias("_window"))
    beside: tuple[str, ...] = _JUDGED
    if is_told or item.target is not None or not counts_decide(item):
        beside += _TOLD
    if Kind.FLEET in {one.metric.kind for one in item.conditions}:
        beside += _FLEET
    told = narrow(case.frame, *beside, matches(item.where), *extra, *read_by(item))
    rows = _in_order(told.filter(matches(item.where)).with_columns(extra))
    hours = None if case.replica_hours is None else replica_hours_of(case.replica_hours, item.where, None, None)
    return Scene(rows, case.span, origin, hours, case.fleet, _history(case, item, rows))


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows, told to be in the order of their windows where they are: groups are then slices."""
    started = rows.get_column("started_ns")
    if "_window" in rows.columns and not started.null_count() and started.is_sorted():
        return rows.with_columns(pl.col("_window").set_sorted())
    return rows


def _history(case: Case, item: Objective, rows: pl.DataFrame) -> pl.DataFrame:
    if item.period_s is None:
        return rows.clear()
    told = rows.select("started_ns", "_verdict", "sampling_rate", "votes")
    if case.earlier is None:
        return told
    verdict = verdict_expr(item, case.settings, case.until).alias("_verdict")
    before = case.earlier.filter(matches(item.where)).with_columns(verdict)
    both = pl.concat([before.select("started_ns", "_verdict", "sampling_rate"), told.drop("votes")])
    return both.with_columns(votes_of(both.get_column("sampling_rate")))


def read_by(item: Objective) -> list[pl.Expr]:
    """Expressions over which the counts and figures of an objective are told."""
    flags = [clause_flags(condition) for condition in item.conditions if condition.metric.per_request]
    metric = BY_ID.get(item.metric)
    parts = [] if metric is None else [part for part in (metric.numerator, metric.denominator) if part is not None]
    return [*(flag.kept | flag.broken for flag in flags), *parts]


def tally(
    scene: Scene, item: Objective, keys: Sequence[str], *, figures_told: bool = True
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Counts, figure and interval over the whole range, and the same per group, sorted by the keys.

    Without keys the one group is the whole range; without rows there is none, and nothing is counted.

    Args:
        figures_told: False where verdicts are enough: a figure is left out where counts decide.
    """
    each = _counted(scene, item, keys)
    if not each:
        return empty_tally(), []
    have_figures = figures_told or not counts_decide(item)
    if not keys:
        whole = _told(scene, item, (), each, have_figures=have_figures)[0]
        return whole, [whole]
    total = {name: sum(row[name] for row in each) for name in each[0] if name not in keys}
    whole = _told(scene, item, (), [total], have_figures=have_figures)[0]
    return whole, _told(scene, item, keys, each, have_figures=have_figures)


def counts_decide(item: Objective) -> bool:
    """Whether the verdict follows from counts of good and bad requests alone: P95 <= L says that 95 % are within L."""
    if item.target is not None:
        return True
    return item.percentile is not None and item.conditions[0].metric.better is Better.LOWER


def _counted(scene: Scene, item: Objective, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Whole numbers per group that add up; none without rows."""
    rows = scene.rows
    if rows.is_empty():
        return []
    verdict, votes = pl.col("_verdict"), pl.col("votes")
    counts = [
        *((verdict == name).sum().cast(pl.Int64).alias(name) for name in _VERDICTS),
        pl.len().cast(pl.Int64).alias("n_all"),
    ]
    if item.target is not None and item.conditions:
        has = pl.any_horizontal((clause.kept | clause.broken) for clause in map(clause_flags, item.conditions))
        counts += [
            has.sum().cast(pl.Int64).alias("n_has"),
            ((verdict == BAD) & ~has).sum().cast(pl.Int64).alias("n_bad_without"),
        ]
    elif item.percentile is not None:
        known = figures.OK & pl.col(item.conditions[0].metric.column).is_not_null()
        counts.append(known.sum().cast(pl.Int64).alias("n_known"))
    are_mixed = mixed(rows)
    if are_mixed:
        counts += [votes.filter(verdict == name).sum().alias(f"{name}_votes") for name in _VERDICTS]
        counts.append((votes.cast(pl.Int128) ** 2).filter(verdict.is_in([GOOD, BAD])).sum().alias("squares"))
    found = rows.group_by(list(keys)).agg(counts).sort(list(keys)) if keys else rows.select(counts)
    each = found.to_dicts()
    if not are_mixed:
        vote = int(rows.get_column("votes").item(0))
        for row in each:
            row |= {f"{name}_votes": vote * row[name] for name in _VERDICTS}
            row["squares"] = vote**2 * (row[GOOD] + row[BAD])
    return each


def _told(
    scene: Scene, item: Objective, keys: Sequence[str], each: list[dict[str, Any]], *, have_figures: bool
) -> list[dict[str, Any]]:
    """The counts of groups with what follows from them, and with their figures."""
    for row in each:
        judged = row[GOOD] + row[BAD]
        kept, all_votes = row[f"{GOOD}_votes"], row[f"{GOOD}_votes"] + row[f"{BAD}_votes"]
        row["n_figure"] = row.get("n_has", row["n_all"] - row[UNKNOWN])
        if not row[UNKNOWN]:
            row["n_figure"] += row.get("n_bad_without", 0)  # judged without a clause, it has what it is about
        row["attainment"] = kept / all_votes if all_votes else None
        row["effective"] = effective(kept, all_votes, row["squares"])
        row |= {"n": judged, "value": row["attainment"], "low": None, "high": None}
    if item.target is None and have_figures:
        _add_figures(scene, item, keys, {tuple(row[key] for key in keys): row for row in each})
    elif item.target is None:
        for row in each:
            row |= {"n": row["n_known"], "n_figure": row["n_known"], "value": None}
    return each


def _add_figures(
    scene: Scene, item: Objective, keys: Sequence[str], by_key: dict[tuple[Any, ...], dict[str, Any]]
) -> None:
    metric = BY_ID[item.metric]
    for row in by_key.values():
        row |= {"n": 0, "n_figure": 0, "value": None, "low": None, "high": None}
    if metric.kind is Kind.FLEET:
        for key, row in by_key.items():
            _add_fleet_figure(scene, item, dict(zip(keys, key, strict=True)), row)
        return
    if item.percentile is not None:
        table = figures.percentile_figures(scene.rows, metric, item.percentile, keys)
    elif item.statistic == "mean":
        table = figures.mean_figures(scene.rows, metric, keys)
    elif metric.per_request:
        table = figures.sum_figures(scene.rows, metric, keys)
    elif metric.kind is Kind.VOLUME:
        table = figures.volume_sums(scene.rows, metric, keys)
    else:
        table = figures.ratio_figures(scene.rows, metric, keys)
    per_second = metric.kind is Kind.VOLUME or (metric.per_request and item.statistic == "rate")
    for row in table.to_dicts():
        target = by_key[tuple(row[key] for key in keys)]
        if per_second:
            seconds = _seconds(scene, item, row.get("_window"))
            row["value"] = row["value"] / seconds if seconds and row["value"] is not None else None
        target |= {name: row[name] for name in ("n", "value", "low", "high")}
        target["n_figure"] = row["n"] if row["value"] is not None else 0


def _add_fleet_figure(scene: Scene, item: Objective, key: dict[str, Any], row: dict[str, Any]) -> None:
    rows, hours = scene.rows, scene.replica_hours
    row["n_figure"] = 0
    if hours is None:
        return
    for name, value in key.items():
        rows = rows.filter(pl.col(name).eq_missing(value))
    start, end = scene.span.start_ns, scene.span.end_ns
    if key.get("_window") is not None and item.window_s is not None:
        start, end = window_bounds(key["_window"], item.window_s, scene.origin_ns)
    where = ((item.per, (str(key["_of"]),)),) if item.per and key.get("_of") is not None else ()
    found = fleet_figure(BY_ID[item.metric], rows, replica_hours_of(hours, where, start, end), scene.fleet)
    row |= {"n": found.n, "value": found.value, "n_figure": found.n if found.value is not None else 0}


def empty_tally() -> dict[str, Any]:
    names = (*_VERDICTS, *(f"{name}_votes" for name in _VERDICTS), "squares", "n_all", "n_figure", "n")
    nothing = dict.fromkeys(("attainment", "value", "low", "high"))
    return {**dict.fromkeys(names, 0), **nothing, "effective": (0.0, 0.0)}


def _seconds(scene: Scene, item: Objective, window: int | None) -> float | None:
    if window is None or item.window_s is None:
        return scene.span.seconds
    return scene.span.overlap_s(*window_bounds(window, item.window_s, scene.origin_ns))
