"""Load: how many requests ran at once, what that did to latency, and how the replicas shared it.

Input: a measured frame with `good_verdict`, the span, replica hours with their cost. Output: one Load record.
Concurrency is rebuilt from the intervals of the requests; a sampled request stands for 1 / rate of them.
Source: Little's law (mean concurrency = arrival rate x mean time in the system); metric definitions, sections 2, 6.
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.agents import agent_figures, quality_lines
from analysis.aggregates.exact import exact_mean, exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.growth import growth
from analysis.aggregates.knee import knees
from analysis.aggregates.saturation import saturation
from analysis.aggregates.statistics import quantile, quantile_expr
from analysis.aggregates.verdicts import BAD, GOOD
from analysis.aggregates.windows import Span
from analysis.metrics.outcome import FAILED
from analysis.result import CountBucket, HourCell, Load, LoadPoint, ReplicaLine
from analysis.settings import Settings
from ingest.schema import NS_PER_S

BIN_S = 10  # of the arrivals' variance over mean
LOAD_POINTS = 10
MAX_REPLICAS = 200
_P50, _P95 = 0.5, 0.95
_READ = (
    *("started_ns", "e2e_ns", "weight", "sampling_rate", "status_class", "replica", "weekday", "hour", "good_verdict"),
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
        max_concurrency=None if running.is_empty() else round(running.get_column("concurrency").max()),  # type: ignore[arg-type]
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
    """The rows with `concurrency`: requests running right after each arrival, itself included."""
    if timed.is_empty():
        return timed.with_columns(pl.lit(None, pl.Float64()).alias("concurrency"))
    # whole millionths of a request: a sum of them does not depend on its order
    step = (pl.col("weight") * 1e6).round(0).cast(pl.Int64).alias("step")
    arrivals = timed.select("started_ns", step, pl.int_range(pl.len()).alias("row")).sort("started_ns", "row")
    ends = timed.select((pl.col("started_ns") + pl.col("e2e_ns")).alias("at"), step).sort("at")
    gone = pl.concat([pl.Series([0], dtype=pl.Int64), ends.get_column("step").cum_sum()])
    # at one instant those that end go before those that arrive: a request of no length does not count itself twice
    before = ends.get_column("at").search_sorted(arrivals.get_column("started_ns"), side="right")
    levels = arrivals.get_column("step").cum_sum() - gone.gather(before)
    found = arrivals.select("row", levels.alias("level")).sort("row").get_column("level")
    return timed.with_columns((found / 1e6).alias("concurrency"))


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
        exact_mean(pl.col("e2e_ns") / NS_PER_S).alias("e2e"),
    ).row(0)
    return busy / seconds, arrivals / seconds * e2e


def _by_concurrency(running: pl.DataFrame) -> list[LoadPoint]:
    """Latency by concurrency found on arrival, in bands that hold about as many requests each."""
    ok = running.filter(OK)
    if ok.is_empty():
        return []
    levels = ok.get_column("concurrency")
    edges = sorted({quantile(levels, step / LOAD_POINTS) or 0.0 for step in range(1, LOAD_POINTS + 1)})
    band = pl.sum_horizontal((pl.col("concurrency") > edge).cast(pl.Int64) for edge in edges)
    table = (
        ok.group_by(band.alias("band"))
        .agg(
            pl.col("concurrency").min().alias("low"),
            pl.col("concurrency").max().alias("high"),
            pl.len().cast(pl.Int64).alias("n"),
            quantile_expr("ttft", _P50).alias("ttft_p50"),
            quantile_expr("ttft", _P95).alias("ttft_p95"),
            quantile_expr("tpot", _P50).alias("tpot_p50"),
            quantile_expr("queue", _P95).alias("queue_p95"),
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
        )
        for row in table.to_dicts()
    ]


def _replicas(frame: pl.DataFrame, hours: pl.DataFrame | None) -> list[ReplicaLine]:
    """The busiest replicas, by name; balance shows in their shares and queues."""
    named = frame.filter(pl.col("replica").is_not_null())
    table = (
        named.group_by("replica")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            quantile_expr(pl.col("queue").filter(OK), _P95).alias("queue_p95"),
            quantile_expr(pl.col("tpot").filter(OK), _P50).alias("tpot_p50"),
            pl.col("status_class").is_in(FAILED).sum().cast(pl.Int64).alias("failed"),
        )
        .sort(["n", "replica"], descending=[True, False])
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
                share=row["n"] / named.height,
                queue_p95=row["queue_p95"],
                tpot_p50=row["tpot_p50"],
                error_rate=row["failed"] / row["n"],
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
    table = known.group_by(power.alias("power")).len().sort("power")
    found: list[CountBucket] = []
    for exponent, n in table.iter_rows():
        low, high = 2**exponent, 2 ** (exponent + 1) - 1
        found.append(CountBucket(str(low) if low == high else f"{low}-{high}", int(n)))
    return found


def arrivals_fano(frame: pl.DataFrame, span: Span) -> float | None:
    """Variance over mean of arrivals per 10 s, empty bins counted: 1 is a steady Poisson stream.

    Of a sample with one rate q it is told for the whole stream: F = 1 + (F of the sample - 1) / q.
    """
    seconds = span.seconds
    timed = frame.filter(pl.col("started_ns").is_not_null())
    if not seconds or span.start_ns is None or timed.is_empty():
        return None
    bins = int(-(-seconds // BIN_S))
    if bins < 2:
        return None
    counts = timed.group_by((pl.col("started_ns") - span.start_ns) // (BIN_S * NS_PER_S)).len().get_column("len")
    total, squares = int(counts.cast(pl.Int64).sum()), int((counts.cast(pl.Int64) ** 2).sum())
    mean = total / bins
    variance = (squares - total * total / bins) / (bins - 1)
    rates = timed.get_column("sampling_rate").fill_null(1.0).unique()
    fano = variance / mean
    return fano if rates.len() != 1 else 1 + (fano - 1) / float(rates.item(0))


def _hour_cells(frame: pl.DataFrame) -> list[HourCell]:
    """Requests by weekday and hour, in the time zone of the objectives."""
    verdict = pl.col("good_verdict")
    table = (
        frame.filter(pl.col("hour").is_not_null())
        .group_by("weekday", "hour")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            (verdict == GOOD).sum().cast(pl.Int64).alias("good"),
            (verdict == BAD).sum().cast(pl.Int64).alias("bad"),
        )
        .sort("weekday", "hour")
    )
    return [HourCell(**row) for row in table.to_dicts()]
