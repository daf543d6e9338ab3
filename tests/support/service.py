"""A small LLM service in rows: two models in two regions, three replicas each, two hours of even traffic.

A plant is a function (row, minute) -> None that edits the rows of one request in place, or a further request. Nothing
is random but the lengths and waits, drawn from one seed, so a test that plants a fault knows all of its rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from analysis.aggregates.attainment import judge
from analysis.causes.diagnose import diagnose
from analysis.causes.settings import CauseSettings
from analysis.metrics.measure import measure
from analysis.objectives import Objectives, read_objectives
from analysis.result import Finding
from ingest.store.request_frame import taken
from tests.support.builders import frame, replica_hours, request

Row = dict[str, Any]
Plant = Callable[[Row, float], None]
MINUTES = 120
PER_MINUTE = 36
FAULT = (60.0, 84.0)  # minutes in which the plants of the tests act
MODELS, REGIONS = ("large", "small"), ("east", "west")
KINDS = {  # scenario: input tokens, cached tokens, output tokens
    "chat": (1000, 400, 100),
    "rag": (4000, 800, 150),
    "agent": (3000, 2000, 80),
}
OUTER_MS = {"gateway_ms": 5.0, "network_ms": 30.0, "guardrail_ms": 20.0, "postprocess_ms": 5.0}
PREFILL_MS, DECODE_MS = 0.2, 20.0  # per uncached input token, per output token
STAGES = ("gateway", "network", "guardrail", "retrieval", "rerank", "queue", "prefill", "decode", "tool", "postprocess")

OBJECTIVES = """
timezone: UTC
objectives:
  - {id: ttft, metric: ttft, statistic: p95, threshold: 1600ms, window: 15m, min_requests: 60}
  - {id: tpot, metric: tpot, statistic: p95, threshold: 27ms, window: 15m, min_requests: 60}
  - {id: e2e, metric: e2e, statistic: p95, threshold: 5200ms, window: 15m, min_requests: 60}
  - {id: errors, metric: error_rate, threshold: 0.02, window: 15m, min_requests: 60}
"""


def in_fault(minute: float) -> bool:
    return FAULT[0] <= minute < FAULT[1]


def service(*plants: Plant, seed: int = 7, per_minute: int = PER_MINUTE) -> list[Row]:
    """Rows of the service with the plants in it, in order of arrival."""
    draw = random.Random(seed)
    rows = []
    for number in range(MINUTES * per_minute):
        minute = number / per_minute
        row = _request(draw, number, minute)
        for plant in plants:
            plant(row, minute)
        rows.append(finished(row))
    return rows


def _request(draw: random.Random, number: int, minute: float) -> Row:
    scenario = draw.choices(tuple(KINDS), (5, 3, 2))[0]
    model, region = draw.choice(MODELS), draw.choice(REGIONS)
    length = draw.lognormvariate(0.0, 0.25)
    fed, cached, made = KINDS[scenario]
    fed, cached, made = round(fed * length), round(cached * length), round(made * draw.lognormvariate(0.0, 0.25))
    replica = draw.randrange(3)
    return {
        "number": number,
        "minute": minute,
        "scenario": scenario,
        "model": model,
        "region": region,
        "replica": f"{model}-{region}-{replica}",
        "deployment_version": "v2" if replica == 2 else "v1",
        "tenant": f"t-{draw.choices(range(5), (5, 3, 2, 1, 1))[0]}",
        "user": f"u-{draw.randrange(60)}",
        "input_tokens": fed,
        "cached_input_tokens": cached,
        "output_tokens": max(made, 5),
        "batch_size": draw.uniform(4.0, 8.0),
        "queue_ms": draw.expovariate(1 / 20.0),
        "slow": 1.0,
        "cold_start": False,
        "status": "ok",
        "wait": draw.random(),
        **{name: value * draw.lognormvariate(0.0, 0.2) for name, value in OUTER_MS.items()},
        "retrieval_ms": 90.0 * draw.lognormvariate(0.0, 0.2) if scenario == "rag" else 0.0,
    }


def finished(row: Row) -> Row:
    """The row with its engine times, its first token and its end; stages sum to the whole."""
    fresh = row["input_tokens"] - row["cached_input_tokens"]
    times = {f"{stage}_ms": row.get(f"{stage}_ms", 0.0) for stage in STAGES}
    times["prefill_ms"] = PREFILL_MS * fresh * row["slow"]
    times["decode_ms"] = DECODE_MS * (row["output_tokens"] - 1) * row["slow"] * (0.7 + 0.05 * row["batch_size"])
    after = times["decode_ms"] + times["postprocess_ms"]
    whole = sum(times.values())
    columns = {name: row[name] for name in ("scenario", "model", "region", "replica", "deployment_version", "tenant")}
    columns |= {name: row[name] for name in ("user", "batch_size", "cold_start", "cached_input_tokens")}
    return request(
        row["number"],
        at_s=row["minute"] * 60.0,
        ttft_ms=whole - after,
        tpot_ms=times["decode_ms"] / (row["output_tokens"] - 1),
        e2e_ms=whole,
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        status=row["status"],
        requested_model=row["model"],
        kv_cache_usage=0.3,
        preemptions=0.0,
        error_type=None if row["status"] == "ok" else "internal_error",
        cost_pico=row["input_tokens"] * 1_000_000 + row["output_tokens"] * 3_000_000,
        **times,
        **columns,
    )


def without(rows: Sequence[Row], *columns: str) -> list[Row]:
    """The rows as a source would give them that does not know these columns."""
    return [row | dict.fromkeys(columns) for row in rows]


def clocked(rows: Sequence[Row]) -> list[Row]:
    """The rows as a gateway would give them that sees the engine from outside: a call before and after its first token."""
    split = [
        row
        | {
            "before_first_token_ns": row["queue_ns"] + row["prefill_ns"],
            "after_first_token_ns": row["decode_ns"],
        }
        for row in rows
    ]
    return without(split, "queue_ns", "prefill_ns", "decode_ns")


def objectives(text: str = OBJECTIVES) -> Objectives:
    return read_objectives(text, "objectives.yaml")


def findings(
    rows: Sequence[Row],
    text: str = OBJECTIVES,
    hours: Sequence[Row] = (),
    baseline: Sequence[Row] | None = None,
    settings: CauseSettings | None = None,
    *,
    only: str | None = None,
) -> tuple[Finding, ...]:
    """Findings of the rows under these objectives; `only` of one of them."""
    wanted = objectives(text)
    measured = measure(frame(rows), wanted.settings)
    up = replica_hours(hours)
    judged = judge(measured, wanted, replica_hours=up)
    before = None if baseline is None else measure(frame(baseline), wanted.settings)
    earlier = None if before is None else lambda one_in: before.filter(taken(one_in))
    return diagnose(measured, judged, wanted.items, replica_hours=up, baseline=earlier, settings=settings, only=only)
