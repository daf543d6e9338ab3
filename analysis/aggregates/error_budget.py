"""Error budget and burn rates of an objective with a target.

Output: share of the budget spent (may pass 1), burn rates in pairs of windows, good and bad per hour.
Factors follow from the period, share of budget x period / long window, and are never fixed numbers; the shares stand
in analysis/defaults/burn_windows.yaml. Burn is told as of the last arrival in the range. Days whose requests are gone
come as cells of time with counts (analysis/rollups/verdicts); a cell is in a window if it lies wholly inside, and a
budget is not told across a cell without counts.
Source: site-reliability workbook, chapter on alerting; metric definitions, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from importlib import resources

import polars as pl

from analysis import durations
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.verdicts import BAD, GOOD
from analysis.aggregates.windows import Span
from analysis.metrics.votes import votes_of
from analysis.objectives import Objective
from analysis.result import BurnPoint, BurnRate
from ingest.documents import read_document
from ingest.schema import NS_PER_S
from ingest.selection import to_iso

HOUR_NS = 3600 * NS_PER_S
DAY_NS = 24 * HOUR_NS


@dataclass(frozen=True)
class BurnWindow:
    """A pair of windows and the share of the budget that may go within the long one."""

    long: str
    short: str
    long_s: int
    short_s: int
    share: Fraction

    def factor(self, period_s: int) -> float:
        """Burn rate that spends the share within the long window: share x period / long window."""
        return float(self.share * period_s / self.long_s)


@lru_cache(maxsize=1)
def _burn_table() -> tuple[tuple[int | None, tuple[BurnWindow, ...]], ...]:
    text = resources.files("analysis.defaults").joinpath("burn_windows.yaml").read_text(encoding="utf-8")
    table: list[tuple[int | None, tuple[BurnWindow, ...]]] = []
    for entry in read_document(text, "burn_windows.yaml").entries("sets", "name"):
        limit = entry.text("up_to")
        pairs = tuple(
            BurnWindow(
                long=pair.needed("long"),
                short=pair.needed("short"),
                long_s=int(durations.seconds(pair.needed("long"))),
                short_s=int(durations.seconds(pair.needed("short"))),
                share=durations.ratio(pair.needed("share")),
            )
            for pair in entry.entries("windows")
        )
        table.append((None if limit is None else int(durations.seconds(limit)), pairs))
    return tuple(table)


def burn_windows(period_s: int) -> tuple[BurnWindow, ...]:
    """The pairs of windows for a period, shortest first; those longer than the period are left out."""
    for limit, pairs in _burn_table():
        if limit is None or period_s <= limit:
            return tuple(pair for pair in pairs if pair.long_s <= period_s)
    return ()


def budget_spent(good: int, bad: int, target: Fraction | None) -> float | None:
    """bad / ((good + bad) x (1 - target)): may pass 1; None without a target or without requests."""
    if target is None or good + bad == 0:
        return None
    return float(bad / ((good + bad) * (1 - target)))


def burn_rates(
    history: pl.DataFrame, item: Objective, span: Span, until: int | None, cells: pl.DataFrame | None = None
) -> list[BurnRate]:
    """Burn in each pair of windows that ends with the last arrival of the range.

    Args:
        history: started_ns, _verdict and votes of requests in the objective's `where`, before the range and in it.
        item: an objective with target and period.
        span: the range that is analyzed.
        until: last instant seen; the range may end later than the data.
        cells: counts of requests that are gone.
    """
    target, period = item.target_exact, item.period_s
    if target is None or period is None or until is None:
        return []
    end = until + 1 if span.end_ns is None else min(span.end_ns, until + 1)
    found: list[BurnRate] = []
    for pair in burn_windows(period):
        factor = pair.factor(period)
        long, short = (
            _burn(history, cells, end - length * NS_PER_S, end, target) for length in (pair.long_s, pair.short_s)
        )
        firing = long is not None and short is not None and long > factor and short > factor
        found.append(BurnRate(f"{pair.long}/{pair.short}", factor, long, short, firing))
    return found


def _burn(rows: pl.DataFrame, cells: pl.DataFrame | None, start_ns: int, end_ns: int, target: Fraction) -> float | None:
    inside = rows.filter(pl.col("started_ns").is_between(start_ns, end_ns, closed="left"))
    return budget_spent(*_votes(inside, cells_within(cells, start_ns, end_ns)), target)


def _votes(rows: pl.DataFrame, kept: pl.DataFrame) -> tuple[int, int]:
    """Votes of good and of bad requests, those that are gone among them."""
    if kept.is_empty():
        votes = pl.col("votes")
        good, bad = rows.select(
            votes.filter(pl.col("_verdict") == name).sum().alias(name) for name in ("good", "bad")
        ).row(0)
        return int(good), int(bad)
    counts = rows.group_by("sampling_rate").agg(
        (pl.col("_verdict") == name).sum().cast(pl.Int64).alias(name) for name in ("good", "bad")
    )
    return voted(pl.concat([counts, kept.select("sampling_rate", "good", "bad")]))


def voted(counts: pl.DataFrame) -> tuple[int, int]:
    """Votes of good and of bad requests of counts per sampling rate."""
    votes = votes_of(counts.get_column("sampling_rate"))
    good, bad = (int((counts.get_column(name) * votes).sum()) for name in ("good", "bad"))
    return good, bad


def cells_within(cells: pl.DataFrame | None, start_ns: int, end_ns: int) -> pl.DataFrame:
    """The cells that lie wholly in a range, from the last one without counts on."""
    if cells is None:
        return pl.DataFrame(schema=dict.fromkeys(("start_ns", "good", "bad"), pl.Int64()))
    hole = cells.filter(pl.col("good").is_null() & (pl.col("start_ns") < end_ns)).get_column("end_ns").max()
    first = start_ns if not isinstance(hole, int) else max(start_ns, hole)
    inside = (pl.col("start_ns") >= first) & (pl.col("end_ns") <= end_ns) & pl.col("good").is_not_null()
    return cells.filter(inside)


def _sum(cells: pl.DataFrame, name: str) -> int:
    return int(cells.get_column(name).sum())


@dataclass(frozen=True)
class PeriodBudget:
    """The budget over the last period; `start` is the first request counted, if it began later than the period.

    `rolled`: how many of the requests are gone and told from roll-ups; `days`: all of them per day of UTC.
    """

    good: int
    bad: int
    spent: float | None
    start: str | None
    exhausted_at: str | None
    rolled: int = 0
    days: list[BurnPoint] = field(default_factory=list)


def period_budget(  # noqa: PLR0917  # the first five are what every budget has
    history: pl.DataFrame,
    item: Objective,
    span: Span,
    until: int | None,
    burns: list[BurnRate],
    cells: pl.DataFrame | None = None,
) -> PeriodBudget | None:
    """The budget of the period that ends with the last arrival of the range; None without a period.

    The forecast goes on at the burn rate of the longest window: what is left of the budget of a whole period, over
    that rate. It is given only where the budget goes within one more period.

    Args:
        history: started_ns, _verdict and votes of requests before the range and in it.
        item: the objective.
        span: the range that is analyzed.
        until: last instant seen.
        burns: as of the same instant, shortest window first.
        cells: counts of requests that are gone.
    """
    target, period = item.target_exact, item.period_s
    if target is None or period is None or until is None:
        return None
    end = until + 1 if span.end_ns is None else min(span.end_ns, until + 1)
    inside = history.filter(pl.col("started_ns").is_between(end - period * NS_PER_S, end, closed="left"))
    kept = cells_within(cells, end - period * NS_PER_S, end)
    good, bad = (int((inside.get_column("_verdict") == name).sum()) + _sum(kept, name) for name in ("good", "bad"))
    first = pl.concat([inside.get_column("started_ns"), kept.get_column("start_ns").rename("started_ns")]).min()
    spent = budget_spent(*_votes(inside, kept), target)
    burn = next((rate.long for rate in reversed(burns) if rate.long is not None), None)
    at: int | None = None
    if spent is not None and isinstance(first, int) and burn:
        gone = spent * min(1.0, (end - first) / (period * NS_PER_S))
        left_s = max(0.0, 1 - gone) / burn * period
        at = end + int(left_s * NS_PER_S) if left_s <= period else None
    return PeriodBudget(
        good,
        bad,
        spent,
        to_iso(first) if isinstance(first, int) else None,
        None if at is None else to_iso(at),
        _sum(kept, "good") + _sum(kept, "bad"),
        per_time(inside, DAY_NS, kept),
    )


def hourly(rows: pl.DataFrame) -> list[BurnPoint]:
    """Good and bad requests per hour of UTC, in order of time; hours without judged requests are left out."""
    return per_time(rows, HOUR_NS)


def per_time(rows: pl.DataFrame, step_ns: int, cells: pl.DataFrame | None = None) -> list[BurnPoint]:
    """Good and bad requests per hour or day of UTC, in order of time; without judged requests there is no point."""
    judged = rows.filter(pl.col("_verdict").is_in([GOOD, BAD]) & pl.col("started_ns").is_not_null())
    at = (pl.col("started_ns") // step_ns * step_ns).alias("at")
    table = judged.group_by(at, "sampling_rate").agg(
        (pl.col("_verdict") == name).sum().cast(pl.Int64).alias(name) for name in (GOOD, BAD)
    )
    if cells is not None and cells.height:
        kept = cells.filter(pl.col("good") + pl.col("bad") > 0)
        at = (pl.col("start_ns") // step_ns * step_ns).alias("at")
        table = pl.concat([table, kept.select(at, "sampling_rate", "good", "bad")])
    weight = 1 / pl.col("sampling_rate").fill_null(1.0)
    points = table.group_by("at").agg(
        pl.col(GOOD).sum(),
        pl.col(BAD).sum(),
        *(exact_sum(pl.col(name) * weight).alias(f"{name}_estimated") for name in (GOOD, BAD)),
    )
    return [BurnPoint(to_iso(at), *counts) for at, *counts in points.sort("at").iter_rows()]
