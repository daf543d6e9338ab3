"""DOOR of analysis for questions by dimension: one part of the result, per group of requests.

Input: one measured side, dimensions. Output: rows, each with its group under `by`; the largest groups first. Every
figure comes from the function that makes it for the whole selection, over the requests of the group alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from analysis.aggregates.attainment import good_objectives
from analysis.aggregates.availability import availability
from analysis.aggregates.cache import cache
from analysis.aggregates.figures import figure, mean_figures
from analysis.aggregates.goodput import goodput
from analysis.aggregates.stages import stage_shares
from analysis.aggregates.throughput import throughput
from analysis.aggregates.weighted import Sorted
from analysis.dimensions import dimension
from analysis.measured import Measured
from analysis.metrics.catalog import BY_ID, REQUEST_METRICS
from analysis.metrics.metric import Metric, Unit
from analysis.objectives import Objectives
from ingest.documents import suggestion
from ingest.errors import ConfigError

MOST_GROUPS = 200  # a question with more is a matter for a cost file or the requests themselves
DEFAULT_METRICS = ("ttft", "tpot", "e2e")
DEFAULT_PERCENTILES = ("50", "95", "99")
PARTS = ("latency", "stages", "goodput", "availability", "throughput", "cache")

Row = dict[str, Any]


@dataclass(frozen=True)
class Breakdown:
    """Rows of the largest groups; `groups` there are in all, `left_out` of them without a row.

    `note`: what the rows lack, where days of the selection were dropped.
    """

    by: list[str]
    rows: list[Row]
    groups: int
    left_out: int
    note: str | None = None


def breakdown(
    side: Measured,
    part: str,
    by: Sequence[str],
    objectives: Objectives,
    *,
    metrics: Sequence[str] = (),
    percentiles: Sequence[str] = (),
) -> Breakdown:
    """One of PARTS per group.

    Args:
        by: dimensions; none of them: the whole selection is the one group.
        metrics: of the part latency; default the three a reader asks for first.
        percentiles: of the part latency, in percent: "50", "99.9".

    Raises:
        ConfigError: a metric is none of a request, or a percentile does not lie between 0 and 100.
    """
    groups = _groups(side.frame, by)
    chosen = [metric_of(name) for name in metrics or DEFAULT_METRICS]
    points = {f"p{text}": _fraction(text) for text in percentiles or DEFAULT_PERCENTILES}
    make: dict[str, Callable[[pl.DataFrame], Iterable[Row]]] = {
        "latency": lambda frame: (_line(frame, metric, points) for metric in chosen),
        "stages": lambda frame: map(asdict, stage_shares(frame)),
        "goodput": lambda frame: [_plain(goodput(frame, good_objectives(objectives), side.span))],
        "availability": lambda frame: [_plain(availability(frame))],
        "throughput": lambda frame: [_plain(throughput(frame, side.span))],
        "cache": lambda frame: [_plain(cache(frame, None))],
    }
    shown = groups[:MOST_GROUPS]
    rows = [
        {"by": dict(zip(by, key, strict=True)), "requests": frame.height} | row
        for key, frame in shown
        for row in make[part](frame)
    ]
    return Breakdown(list(by), rows, len(groups), len(groups) - len(shown), side.dropped)


def _groups(frame: pl.DataFrame, by: Sequence[str]) -> list[tuple[tuple[str | None, ...], pl.DataFrame]]:
    """Groups by size, then by key; a request without a dimension is in a group of its own."""
    if not by:
        return [((), frame)]
    keys = [f"_by_{place}" for place in range(len(by))]
    told = frame.with_columns(dimension(name).alias(key) for key, name in zip(keys, by, strict=True))
    found = told.partition_by(keys, as_dict=True, include_key=False, maintain_order=True)
    return sorted(found.items(), key=lambda item: (-item[1].height, [(v is None, v or "") for v in item[0]]))


def metric_of(name: str) -> Metric:
    known = [metric.id for metric in REQUEST_METRICS if metric.unit in (Unit.SECOND, Unit.SECOND_PER_TOKEN)]
    if name not in known:
        raise ConfigError(f'metric "{name}" has no percentiles. {suggestion(name, known)}')
    return BY_ID[name]


def _fraction(text: str) -> Fraction:
    try:
        share = Fraction(text) / 100
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise ConfigError(f'percentile "{text}" does not lie between 0 and 100; write 95 or 99.9')
    return share


def _line(frame: pl.DataFrame, metric: Metric, points: dict[str, Fraction]) -> Row:
    """Requests with status ok that have the figure, as everywhere."""
    values = Sorted.of(frame.filter(pl.col("status_class") == "ok"), metric.column)
    return {
        "metric": metric.id,
        "unit": metric.unit.value,
        "n": values.n,
        "mean": figure(mean_figures(frame, metric, ())).value,
        **{name: values.at(share) for name, share in points.items()},
    }


def _plain(record: Any) -> Row:
    """A record without its series: those would be one per group."""
    return {name: value for name, value in asdict(record).items() if not isinstance(value, list)}
