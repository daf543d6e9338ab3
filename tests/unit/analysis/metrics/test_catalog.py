"""The catalog holds every metric of the design once, each with what a reader needs."""

from __future__ import annotations

from analysis.metrics.catalog import BY_ID, METRICS
from analysis.metrics.metric import Kind
from ingest.schema import STAGES

DESIGN = """ttft ttfa tpot itl_max e2e perceived queue prefill decode batch_size queue_depth kv_cache_usage preemptions
retries overhead availability error_rate timeout_rate cancel_rate degraded_rate cold_start_rate cold_start
cache_hit_ratio cost cost_per_1k_tokens cost_per_million_output_tokens gpu_cost_per_million_output_tokens
tokens_per_second requests_per_second goodput goodput_tokens_per_second output_tokens_per_usd mfu gpu_utilization"""


def test_every_metric_of_the_design_is_there() -> None:
    assert [name for name in (*DESIGN.split(), *STAGES) if name not in BY_ID] == []


def test_ids_and_columns_differ() -> None:
    assert len(BY_ID) == len(METRICS)
    columns = [metric.column for metric in METRICS if metric.per_request]
    assert len(set(columns)) == len(columns)


def test_each_record_is_complete_for_its_kind() -> None:
    silent = [m.id for m in METRICS if not (m.title and m.says.endswith(".") and m.source and m.needs)]
    assert silent == []
    wrong = [
        m.id
        for m in METRICS
        if (m.expr is not None, m.numerator is not None, m.denominator is not None)
        != {
            Kind.REQUEST: (True, False, False),
            Kind.RATIO: (False, True, True),
            Kind.VOLUME: (False, True, False),
            Kind.FLEET: (False, False, False),
        }[m.kind]
    ]
    assert wrong == []
