"""Latency distributions: one line per metric over all requests, streamed ones, unstreamed ones and unknown ones.

Input: a measured frame. Output: Distribution records over requests with status ok that have the figure, in the order
of the catalog, "all" first. Percentiles are those of the inverse distribution with distribution-free intervals; where
n is too small for one, it is named in `too_few`. One sampling rate does not change them; under several, each request
counts by its votes.
Source: metric definitions, sections 2, 3 and 9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import polars as pl

from analysis.aggregates.exact import exact_mean, exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.statistics import needed_for_quantile, quantile_ends, rank
from analysis.aggregates.weighted import Sorted
from analysis.metrics.catalog import REQUEST_METRICS
from analysis.metrics.latency import LATENCY
from analysis.metrics.metric import Metric, Unit
from analysis.result import Distribution, Interval, RankPair

PERCENTILES: dict[str, Fraction] = {"p50": Fraction(1, 2), "p95": Fraction(95, 100), "p99": Fraction(99, 100)}
APART = ("ttft", "tpot", "e2e")  # drawn with streamed and unstreamed requests apart
CURVE_POINTS = 200  # of the share within a value; below the cap of 500 that the result allows
_BASES = ("generation_basis", "itl_basis", "vantage")
_BESIDE = ("status_class", "is_valid", "is_failed", "streaming", "votes", *_BASES)  # read with any metric
_STREAMING: tuple[tuple[bool | str | None, pl.Expr], ...] = (
    ("all", pl.lit(value=True)),
    (True, pl.col("streaming").fill_null(value=False)),
    (False, (~pl.col("streaming")).fill_null(value=False)),
    (None, pl.col("streaming").is_null()),
)


def distributions(frame: pl.DataFrame) -> list[Distribution]:
    """All latency lines: the six latencies always, stages and other durations where any request has them."""
    metrics = [metric for metric in REQUEST_METRICS if metric.unit in (Unit.SECOND, Unit.SECOND_PER_TOKEN)]
    told = frame.select(*_BESIDE, *(metric.column for metric in metrics))
    sizes = told.select(keep.sum().alias(str(streaming)) for streaming, keep in _STREAMING).row(0, named=True)
    alone = [streaming for streaming, _ in _STREAMING[1:] if told.height and sizes[str(streaming)] == told.height]
    lines: dict[str, list[Distribution]] = {metric.id: [] for metric in metrics}
    for streaming, keep in _STREAMING:
        if streaming != "all" and not 0 < sizes[str(streaming)] < told.height:
            continue
        part = _part(told if streaming == "all" else told.filter(keep))  # one at a time: each is a copy of its rows
        for metric in metrics:
            known = part.ok.height - part.ok.get_column(metric.column).null_count()
            if known > 0 or (streaming == "all" and metric in LATENCY):
                line = _line(part, metric, streaming)
                # where all requests are of one kind, its line says the same as that of all
                lines[metric.id] += [line, *(_again(line, metric, kind) for kind in alone if known > 0)]
        del part
    return [line for metric in metrics for line in lines[metric.id]]


def distribution(rows: pl.DataFrame, metric: Metric, streaming: bool | str | None = "all") -> Distribution:
    """One line over the rows given."""
    return _line(_part(rows), metric, streaming)


@dataclass(frozen=True)
class _Part:
    """Rows that lines are told over: those with status ok, and votes over all of them."""

    ok: pl.DataFrame
    valid: int
    served: int
    failed: int


def _part(rows: pl.DataFrame) -> _Part:
    votes = pl.col("votes")
    valid, served, failed = rows.select(
        votes.filter(pl.col("is_valid")).sum().alias("valid"),
        votes.filter(OK & pl.col("is_valid")).sum().alias("served"),
        votes.filter(pl.col("is_failed") & pl.col("is_valid")).sum().alias("failed"),
    ).row(0)
    return _Part(rows.filter(OK), int(valid), int(served), int(failed))


def _line(part: _Part, metric: Metric, streaming: bool | str | None) -> Distribution:
    ordered = Sorted.of(part.ok.select(metric.column, "votes"), metric.column)
    n = ordered.n
    points = {name: ordered.at(p) for name, p in PERCENTILES.items()}
    intervals: dict[str, Interval | None] = {name: ordered.interval(p) for name, p in PERCENTILES.items()}
    too_few = [name for name, p in PERCENTILES.items() if 0 < ordered.effective < needed_for_quantile(p)]
    return Distribution(
        metric=metric.id,
        title=metric.title,
        unit=str(metric.unit),
        streaming=streaming,
        n=n,
        mean=_mean(part.ok, metric.column, ordered) if n else None,
        p50=points["p50"],
        p95=points["p95"],
        p99=points["p99"],
        max=float(ordered.values.item(n - 1)) if n else None,
        intervals=intervals,
        success_share=part.served / part.valid if part.valid else None,
        too_few=too_few,
        note=_note(part.ok, ordered, metric, too_few),
        p95_with_failures=ordered.at(PERCENTILES["p95"], part.failed),
        p99_with_failures=ordered.at(PERCENTILES["p99"], part.failed),
        ranks={name: _ranks(ordered.effective, p) for name, p in PERCENTILES.items()},
        n_effective=ordered.effective,
        curve=curve(ordered) if metric in LATENCY and (streaming == "all" or metric.id in APART) else [],
    )


def _again(line: Distribution, metric: Metric, streaming: bool | str | None) -> Distribution:
    """The line of all requests as that of a kind of streaming that all of them are."""
    return replace(line, streaming=streaming, curve=line.curve if metric.id in APART else [])


def curve(ordered: Sorted) -> list[tuple[float, float]]:
    """(value, share of requests within it) at evenly spread ranks of sorted values; rising, ends at 1."""
    if ordered.n == 0:
        return []
    n, steps = ordered.total, min(ordered.n, CURVE_POINTS)
    ranks = sorted({-(-step * n // steps) for step in range(1, steps + 1)} | {rank(p, n) for p in PERCENTILES.values()})
    values = dict.fromkeys(ordered.item(position) for position in ranks)
    return [(value, ordered.within(value) / n) for value in values]


def _mean(ok: pl.DataFrame, column: str, ordered: Sorted) -> float:
    if ordered.reached is None:
        return float(ordered.values.to_frame("value").select(exact_mean(pl.col("value"))).item())
    total = ok.select(exact_sum(pl.col(column) * pl.col("votes"))).item()
    return float(total / ordered.total)


def _ranks(n: int, p: Fraction) -> RankPair | None:
    ends = quantile_ends(n, p)
    return None if ends is None else RankPair(ends.low, ends.high, ends.coverage)


def _note(ok: pl.DataFrame, ordered: Sorted, metric: Metric, too_few: list[str]) -> str | None:
    """What limits the line: too few requests, or how the figure was measured."""
    parts: list[str] = []
    n = ordered.n
    if too_few:
        needs = ", ".join(f"{name.upper()} {needed_for_quantile(PERCENTILES[name])}" for name in too_few)
        few = f"n = {n}" if ordered.reached is None else f"effective n = {ordered.effective}"
        parts.append(f"{few} is too small for {' and '.join(n.upper() for n in too_few)} (needed: {needs})")
    if not n:
        return "; ".join(parts) or None
    basis = {"tpot": "generation_basis", "itl_max": "itl_basis"}.get(metric.id)
    known = ok.select(*_BASES).filter(ok.get_column(metric.column).is_not_null())
    if basis is not None:
        counts = known.group_by(basis).len().sort(basis, nulls_last=True).rows()
        parts.append("measured by " + ", ".join(f"{name or 'unknown basis'}: {count:,}" for name, count in counts))
    if metric.id in ("ttft", "e2e"):
        counts = known.group_by("vantage").len().sort("vantage", nulls_last=True).rows()
        told = [f"{name}: {count:,}" for name, count in counts if name is not None]
        parts += [f"measured at {', '.join(told)}"] if told else []
        parts += [f"where it was measured is not known: {count:,}" for name, count in counts if name is None]
    return "; ".join(parts) or None
