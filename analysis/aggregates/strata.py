"""The length grid: every latency by input and output bucket, because long prompts are slower by nature.

Input: a measured frame, the objectives. Output: Stratum records in the order of metric, input and output bucket.
`attainment` is the share within the limit of the first objective on that metric, failures counted as broken; null where
there is none. Shares of traffic and cost are of the whole selection. `n` counts rows; all else weighs each by its votes.
Source: metric definitions, sections 4 and 9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from analysis.aggregates.columns import narrow
from analysis.aggregates.distribution import PERCENTILES
from analysis.aggregates.figures import OK
from analysis.aggregates.verdicts import BAD, GOOD, verdict_expr
from analysis.aggregates.weighted import Sorted
from analysis.dimensions import matches
from analysis.metrics.latency import LATENCY
from analysis.metrics.metric import Metric
from analysis.objectives import Condition, Objective, Objectives
from analysis.result import Stratum
from analysis.settings import Settings, bucket_labels

UNKNOWN_LENGTH = "unknown"
RESPONSE_CACHE = "response cache"  # answers that no engine made: a stratum of their own, for they pull percentiles down
_KEYS = ("input_bucket", "output_bucket")


def strata(frame: pl.DataFrame, objectives: Objectives, until: int | None) -> list[Stratum]:
    """The grid of every latency that some request has."""
    cached = pl.col("response_cached").fill_null(value=False)
    rows = frame.with_columns(
        pl.when(cached)
        .then(pl.lit(RESPONSE_CACHE))
        .otherwise(pl.col(name).fill_null(UNKNOWN_LENGTH))
        .cast(pl.Categorical)  # each table groups by it
        .alias(name)
        for name in _KEYS
    )
    whole = _whole(rows)
    cost, requests = (sum(row[name] for row in whole.values()) for name in ("cost", "requests"))
    found: list[Stratum] = []
    for metric in LATENCY:
        table = _table(rows, metric, objectives, until)
        for key in _order(table, objectives.settings):
            row, all_of_it = table[key], whole[key]
            judged = row[GOOD] + row[BAD]
            found.append(
                Stratum(
                    metric=metric.id,
                    input_bucket=key[0],
                    output_bucket=key[1],
                    n=row["n"],
                    p50=row["p50"],
                    p95=row["p95"],
                    p99=row["p99"],
                    attainment=row[GOOD] / judged if judged else None,
                    traffic_share=all_of_it["requests"] / requests,
                    cost_share=all_of_it["cost"] / cost if cost and all_of_it["priced"] else None,
                )
            )
    return found


def first_limit(objectives: Objectives, metric: Metric) -> tuple[Objective, Condition] | None:
    """The first objective that limits a metric with a target or a percentile, and the condition in it."""
    for item in objectives.items:
        for condition in item.conditions:
            if condition.metric is metric and (item.target is not None or item.percentile is not None):
                return item, condition
    return None


def _table(
    rows: pl.DataFrame, metric: Metric, objectives: Objectives, until: int | None
) -> dict[tuple[str, str], dict[str, Any]]:
    verdict: pl.Expr = pl.lit(None, pl.String())
    limit = first_limit(objectives, metric)
    if limit is not None:
        alone = _alone(*limit)
        verdict = pl.when(matches(alone.where)).then(verdict_expr(alone, objectives.settings, until))
    known = OK & pl.col(metric.column).is_not_null()
    told = narrow(rows, *_KEYS, "status_class", "votes", metric.column, verdict)
    counts = told.group_by(_KEYS).agg(
        *(pl.col("votes").filter(verdict == name).sum().alias(name) for name in (GOOD, BAD))
    )
    by_cell = {(row["input_bucket"], row["output_bucket"]): row for row in counts.to_dicts()}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    cells = told.filter(known).select(*_KEYS, "votes", metric.column).partition_by(_KEYS, as_dict=True)
    for (inputs, outputs), cell in cells.items():
        ordered = Sorted.of(cell, metric.column)
        points = {name: ordered.at(p) for name, p in PERCENTILES.items()}
        found[str(inputs), str(outputs)] = {**by_cell[str(inputs), str(outputs)], "n": cell.height, **points}
    return found


def _alone(item: Objective, condition: Condition) -> Objective:
    """One condition of an objective as an objective with a target, so that failures count as broken."""
    return replace(item, metric=condition.metric.id, conditions=(condition,), target=item.target or 0.5, statistic=None)


def _whole(rows: pl.DataFrame) -> dict[tuple[str, str], dict[str, int]]:
    """Votes and exact cost in pico-USD, by votes, per cell, over all requests."""
    table = (
        narrow(rows, *_KEYS, "votes", "cost_pico")
        .group_by(_KEYS)
        .agg(
            pl.col("votes").sum().alias("requests"),
            (pl.col("cost_pico").cast(pl.Int128) * pl.col("votes")).sum().alias("cost"),
            pl.col("cost_pico").count().cast(pl.Int64).alias("priced"),
        )
    )
    return {
        (row["input_bucket"], row["output_bucket"]): {name: int(row[name]) for name in ("requests", "cost", "priced")}
        for row in table.to_dicts()
    }


def _order(keys: Iterable[tuple[str, str]], settings: Settings) -> list[tuple[str, str]]:
    def position(labels: tuple[str, ...], label: str) -> int:
        return labels.index(label) if label in labels else len(labels)

    inputs, outputs = bucket_labels(settings.buckets.input), bucket_labels(settings.buckets.output)
    return sorted(keys, key=lambda key: (position(inputs, key[0]), position(outputs, key[1]), key))
