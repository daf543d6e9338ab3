"""All metrics, in reading order. Whoever reads this file has seen all there is."""

from __future__ import annotations

from analysis.metrics.engine import ENGINE
from analysis.metrics.latency import LATENCY
from analysis.metrics.metric import Metric
from analysis.metrics.outcome import OUTCOME
from analysis.metrics.spend import COST, FLEET, SPEND
from analysis.metrics.stages import OVERHEAD, STAGE_METRICS
from analysis.metrics.volume import VOLUME

METRICS: tuple[Metric, ...] = (
    *LATENCY,
    *STAGE_METRICS,
    OVERHEAD,
    *ENGINE,
    *OUTCOME,
    COST,
    *SPEND,
    *VOLUME,
    *FLEET,
)
REQUEST_METRICS: tuple[Metric, ...] = tuple(metric for metric in METRICS if metric.per_request)
BY_ID: dict[str, Metric] = {metric.id: metric for metric in METRICS}
