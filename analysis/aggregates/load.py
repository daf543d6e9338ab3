"""Load: how many requests ran at once, what that did to latency, and how the replicas shared it.

Input: a measured frame with `good_verdict`, the span, replica hours with their cost. Output: one Load record.
Concurrency is rebuilt from the intervals of the requests; a sampled request stands for 1 / rate of them. So its mean is
that of all traffic in expectation, whatever the rates; the level that one request met scatters by the draw of the
sample, and the highest level is more likely above the true one than below. Percentiles, shares and means weigh each
request by its votes; `n` counts rows.
Source: Little's law (mean concurrency = arrival rate x mean time in the system); metric definitions, sections 2, 6.
"""

from __future__ import annotations

from fractions import Fraction

import polars as pl

from analysis.aggregates.agents import agent_figures, quality_lines
from analysis.aggregates.exact import exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.growth import growth
from analysis.aggregates.knee import knees
from analysis.aggregates.saturation import saturation
from analysis.aggregates.verdicts import BAD, GOOD
from analysis.aggregates.weighted import Sorted, percentiles_of, weighted_mean
from analysis.aggregates.windows import Span
from analysis.metrics.outcome import FAILED
from analysis.result import CountBucket, HourCell, Load, LoadPoint, ReplicaLine
from analysis.settings import Settings
from ingest.schema import NS_PER_S

BIN_S = 10  # of the arrivals' variance over mean
LOAD_POINTS = 10
MAX_REPLICAS = 200
_P50, _P95 = 0.5, 0.95
MILLION = 10**6
_READ = (
    *("started_ns", "e2e_ns", "weight", "votes", "status_class", "replica", "weekday", "hour", "good_verdict"),
    *("ttft", "tpot", "e2e", "queue", "batch_size", "input_tokens", "output_tokens", "input_bucket", "output_bucket"),
)


def load(
    frame: pl.DataFrame,
    span: Span,
    settings: Settings,
    hours: pl.DataFrame | None,
    *,
    mfu: float | None = None,
    target: float | None = None,
) -> Load:
    """All figures of load.

    Args:
        target: attainment that good requests should reach, for the load at which they no longer do.
        hours: replica hours of the selection, with up_s and busy_s; None without any.
        mfu: from the fleet file, where there is one.
    """
    agents, quality = agent_figures(frame), quality_lines(frame)
    frame = frame.select(_READ)
    timed = frame.filter(pl.col("started_ns").is_not_null() & pl.col("e2e_ns").is_not_null())
    running = with_concurrency(timed)
    mean, littles = _littles_law(timed, span)
    points = _by_concurrency(running)
    return Load(
        mean_concurrency=mean,
        max_concurrency=_highest(running),
        littles_law=littles,
        by_concurrency=points,
        growth=growth(frame, settings),
        replicas=_replicas(frame, hours),
        batch_sizes=_batch_sizes(frame),
        arrivals_fano=arrivals_fano(frame, span),
        hours=_hour_cells(frame),
        gpu_utilization=_utilization(hours),
        mfu=mfu,
        knees=knees(points),
        saturation=saturation(frame, target),
        agents=agents,
        quality=quality,
    )


def with_concurrency(timed: pl.DataFrame) -> pl.DataFrame:
    """The rows with `concurrency`: requests running right after each arrival, itself included.

    Of the others each stands for 1 / rate, the request itself for one: what it met is then right in expectation.
    """
    if timed.is_empty():
        return timed.with_columns(pl.lit(None, pl.Float64()).alias("concurrency"))
    # whole millionths of a request: a sum of them does not depend on its order
    lasts = pl.col("e2e_ns") > 0  # what takes no time runs at no time
    step = pl.when(lasts).then((pl.col("weight") * MILLION).round(0).cast(pl.Int64)).otherwise(0).alias("step")
    arrivals = timed.select("started_ns", step, pl.int_range(pl.len()).alias("row")).sort("started_ns", "row")
    ends = timed.select((pl.col("started_ns") + pl.col("e2e_ns")).alias("at"), step).sort("at")
    gone = pl.concat([pl.Series([0], dtype=pl.Int64), ends.get_column("step").cum_sum()])
    # at one instant those that end go before those that arrive
    before = ends.get_column("at").search_sorted(arrivals.get_column("started_ns"), side="right")
    levels = arrivals.get_column("step").cum_sum() - gone.gather(before)
    found = arrivals.select("row", levels.alias("level")).sort("row").get_column("level")
    itself = pl.when(lasts).then(step - MILLION).otherwise(0)
    return timed.with_columns(((found - itself) / MILLION).alias("concurrency"))


def _highest(running: pl.DataFrame) -> int | None:
    """Most requests that ran at once, each by its weight."""
    if running.is_empty():
        return None
    itself = pl.when(pl.col("e2e_ns") > 0).then(pl.col("weight") - 1).otherwise(0)
    highest: float = running.select((pl.col("concurrency") + itself).max()).item()
    return round(highest)


def _littles_law(timed: pl.DataFrame, span: Span) -> tuple[float | None, float | None]:
    """Mean concurrency over the span, and arrival rate x mean E2E to compare it with."""
    seconds = span.seconds
    if not seconds or timed.is_empty():
        return None, None
    end = pl.col("started_ns") + pl.col("e2e_ns")
    inside = pl.min_horizontal(end, pl.lit(span.end_ns)) - pl.col("started_ns")
    busy, arrivals, e2e = timed.select(
        exact_sum(inside.clip(lower_bound=0) / NS_PER_S * pl.col("weight")).alias("busy"),
        exact_sum(pl.col("weight")).alias("arrivals"),
        weighted_mean(pl.col("e2e_ns") / NS_PER_S).alias("e2e"),
    ).row(0)
    return busy / seconds, arrivals / seconds * e2e


def _by_concurrency(running: pl.DataFrame) -> list[LoadPoint]:
    """Latency by concurrency found on arrival, in bands that stand for about as many requests each."""
    ok = running.filter(OK)
    if ok.is_empty():
        return []
    levels, percentile = Sorted.of(ok, "concurrency"), percentiles_of(ok)
    edges = sorted({levels.at(Fraction(step, LOAD_POINTS)) or 0.0 for step in range(1, LOAD_POINTS + 1)})
    band = pl.sum_horizontal((pl.col("concurrency") > edge).cast(pl.Int64) for edge in edges)
    table = (
        ok.group_by(band.alias("band"))
        .agg(
            pl.col("concurrency").min().alias("low"),
            pl.col("concurrency").max().alias("high"),
            pl.len().cast(pl.Int64).alias("n"),
            percentile("ttft", _P50).alias("ttft_p50"),
            percentile("ttft", _P95).alias("ttft_p95"),
            percentile("tpot", _P50).alias("tpot_p50"),
            percentile("queue", _P95).alias("queue_p95"),
            exact_sum(pl.col("weight")).alias("requests"),
        )
        .sort("band")
    )
    return [
        LoadPoint(
            concurrency_from=row["low"],
            concurrency_to=row["high"],
            n=row["n"],
            ttft_p50=row["ttft_p50"],
            ttft_p95=row["ttft_p95"],
            tpot_p50=row["tpot_p50"],
            queue_p95=row["queue_p95"],
            requests_estimated=row["requests"],
        )
        for row in table.to_dicts()
    ]


def _replicas(frame: pl.DataFrame, hours: pl.DataFrame | None) -> list[ReplicaLine]:
    """The busiest replicas, by name; balance shows in their shares and queues."""
    named = frame.filter(pl.col("replica").is_not_null())
    percentile, votes = percentiles_of(named), pl.col("votes")
    whole = int(named.get_column("votes").sum())
    table = (
        named.group_by("replica")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            percentile(pl.when(OK).then("queue"), _P95).alias("queue_p95"),
            percentile(pl.when(OK).then("tpot"), _P50).alias("tpot_p50"),
            votes.sum().alias("votes"),
            votes.filter(pl.col("status_class").is_in(FAILED)).sum().alias("failed"),
        )
        .sort(["votes", "replica"], descending=[True, False])
        .head(MAX_REPLICAS)
        .sort("replica")
    )
    up: dict[str, tuple[float | None, float | None]] = {}
    if hours is not None:
        sums = hours.group_by("replica").agg(_known_sum("up_s"), _known_sum("busy_s"))
        up = {row["replica"]: (row["up_s"], row["busy_s"]) for row in sums.to_dicts()}
    lines: list[ReplicaLine] = []
    for row in table.to_dicts():
        up_s, busy_s = up.get(row["replica"], (None, None))
        lines.append(
            ReplicaLine(
                replica=row["replica"],
                n=row["n"],
                share=row["votes"] / whole,
                queue_p95=row["queue_p95"],
                tpot_p50=row["tpot_p50"],
                error_rate=row["failed"] / row["votes"],
                up_s=up_s,
                busy_s=busy_s,
                utilization=busy_s / up_s if up_s and busy_s is not None else None,
            )
        )
    return lines


def _known_sum(column: str) -> pl.Expr:
    return pl.when(pl.col(column).count() > 0).then(exact_sum(pl.col(column))).alias(column)


def _utilization(hours: pl.DataFrame | None) -> float | None:
    if hours is None or hours.is_empty():
        return None
    both = hours.filter(pl.col("busy_s").is_not_null() & pl.col("up_s").is_not_null())
    busy, up = both.select(exact_sum(pl.col("busy_s")).alias("busy"), exact_sum(pl.col("up_s")).alias("up")).row(0)
    return busy / up if up else None


def _batch_sizes(frame: pl.DataFrame) -> list[CountBucket]:
    """Requests by batch size in powers of two: 1, 2-3, 4-7, ...; the size is rounded to whole sequences."""
    power = pl.col("batch_size").round(0).clip(lower_bound=1).log(2).floor().cast(pl.Int64)
    known = frame.filter(pl.col("batch_size").is_not_null())
    told = [pl.len().cast(pl.Int64).alias("n"), pl.col("votes").sum()]
    table = known.group_by(power.alias("power")).agg(told).sort("power")
    whole = int(table.get_column("votes").sum())
    found: list[CountBucket] = []
    for exponent, n, votes in table.iter_rows():
        low, high = 2**exponent, 2 ** (exponent + 1) - 1
        found.append(CountBucket(str(low) if low == high else f"{low}-{high}", int(n), votes / whole))
    return found


def arrivals_fano(frame: pl.DataFrame, span: Span) -> float | None:
    """Variance over mean of arrivals per 10 s, empty bins counted: 1 is a steady Poisson stream.

    Of a sample it is told for all traffic: each row counts 1 / rate, and of the variance the part is taken off that
    the draw of the sample adds, 1 / rate x (1 / rate - 1) for each row. With one rate q that is F = 1 + (F of the
    sample - 1) / q. It may come out below 0 where few rows are left.
    """
    seconds = span.seconds
    timed = frame.filter(pl.col("started_ns").is_not_null())
    if not seconds or span.start_ns is None or timed.is_empty():
        return None
    bins = int(-(-seconds // BIN_S))
    if bins < 2:
        return None
    weight = pl.col("weight")
    counts = timed.group_by((pl.col("started_ns") - span.start_ns) // (BIN_S * NS_PER_S)).agg(
        exact_sum(weight).alias("arrivals"), exact_sum(weight * (weight - 1)).alias("drawn")
    )
    arrivals = pl.col("arrivals")
    sums = {"total": arrivals, "squares": arrivals**2, "drawn": pl.col("drawn")}
    total, squares, drawn = counts.select(exact_sum(part).alias(name) for name, part in sums.items()).row(0)
    variance = (squares - total * total / bins) / (bins - 1) - drawn / bins
    return float(variance / (total / bins))


def _hour_cells(frame: pl.DataFrame) -> list[HourCell]:
    """Requests by weekday and hour, in the time zone of the objectives."""
    verdict, weight = pl.col("good_verdict"), pl.col("weight")
    table = (
        frame.filter(pl.col("hour").is_not_null())
        .group_by("weekday", "hour")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            *((verdict == name).sum().cast(pl.Int64).alias(name) for name in (GOOD, BAD)),
            *(exact_sum(weight.filter(verdict == name)).alias(f"{name}_estimated") for name in (GOOD, BAD)),
        )
        .sort("weekday", "hour")
    )
    return [HourCell(**row) for row in table.to_dicts()]
