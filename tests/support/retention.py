"""Stores with days to drop, and the dropping of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from analysis.objectives import Objectives, read_objectives
from analysis.pricebook import PriceBook, PriceEntry
from analysis.rollups.roll_up import roll_up
from ingest.retire import Retired, retire
from ingest.selection import to_ns
from ingest.store.database import Store
from tests.support.builders import MONDAY_NS, frame, request

DAY_NS = 86_400_000_000_000
NOW_NS = MONDAY_NS + 60 * DAY_NS
OBJECTIVES = """
timezone: Europe/Berlin
objectives:
  - {id: ttft, metric: ttft, threshold: 500ms, target: 95%, period: 28d}
  - {id: chat, metric: ttft, threshold: 500ms, statistic: p95, where: {scenario: chat}}
  - {id: good, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 30ms}], target: 90%, window: 4h}
  - {id: up, metric: availability, target: 99%}
  - {id: cost, metric: cost, threshold: 0.01 USD, target: 90%}
  - {id: errors, metric: error_rate, threshold: 0.01}
  - {id: spent, metric: cost, statistic: sum, threshold: 100 USD, per: user}
"""
PRICES = PriceBook(
    (
        PriceEntry("large", date(2026, 1, 1), {"input": Decimal("2.500001"), "output": Decimal("9.999999")}),
        PriceEntry("small", date(2026, 1, 1), {"input": Decimal("0.15"), "output": Decimal("0.6")}),
    ),
    builtin=False,
)


def objectives(text: str = OBJECTIVES) -> Objectives:
    return read_objectives(text)


def some_rows(n: int, days: float = 5, seed: int = 1) -> list[dict[str, Any]]:
    """Requests over some days from Monday on: two priced models and one without price, users, tenants, failures."""
    rng = random.Random(seed)
    return [
        request(
            number,
            at_s=rng.uniform(0, days * 86_400),
            ttft_ms=rng.lognormvariate(6, 1),
            tpot_ms=rng.uniform(10, 60),
            input_tokens=rng.randint(10, 5000),
            output_tokens=rng.randint(1, 400),
            status=rng.choice(["ok"] * 8 + ["error", "cancelled"]),
            streaming=rng.choice([True, False, None]),
            model=rng.choice(["large", "small", "stranger"]),
            user=f"u-{rng.randint(1, 9)}",
            tenant=rng.choice(["a", "b", None]),
            scenario=rng.choice(["chat", "rag"]),
            sampling_rate=1.0,
            dimensions=rng.choice(['{"team":"x"}', None]),
        )
        for number in range(n)
    ]


def filled(store: Store, rows: list[dict[str, Any]]) -> Store:
    store.append("requests", frame(rows))
    return store


def drop(
    store: Store,
    before_ns: int,
    judged: Objectives | None = None,
    timezone: str = "Europe/Berlin",
    cancelled: Callable[[], bool] = lambda: False,
) -> Retired:
    """Every whole day before an instant, rolled up by the objectives and prices of these tests."""
    told = judged or objectives()
    roll = lambda piece: roll_up(store, piece, told, PRICES, until_ns=NOW_NS)  # noqa: E731 - called by the door
    return retire(store, before_ns, timezone, roll, now_ns=NOW_NS, cancelled=cancelled)


def at(text: str) -> int:
    """Nanoseconds of an instant in UTC."""
    return to_ns(datetime.fromisoformat(text).replace(tzinfo=UTC))


def row(name: str, when: str, **more: object) -> bytes:
    """One line of a request table."""
    told = {"request_id": name, "start_time": f"{when}Z", "model": "large", "input_tokens": 100, "output_tokens": 10}
    return json.dumps(told | {"e2e_ms": 1000.0, "user": "u-1"} | more).encode() + b"\n"


def span(trace: int, number: int, when: str, seconds: float = 1.0, parent: int | None = None) -> bytes:
    """One line of OTLP JSON with one span of a chat request."""
    start = at(when)
    told: dict[str, Any] = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": "chat large",
        "kind": 3,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + round(seconds * 1e9)),
        "attributes": [
            {"key": key, "value": value}
            for key, value in {
                "gen_ai.operation.name": {"stringValue": "chat"},
                "gen_ai.request.model": {"stringValue": "large"},
                "gen_ai.usage.input_tokens": {"intValue": "100"},
                "gen_ai.usage.output_tokens": {"intValue": "10"},
            }.items()
        ],
    }
    if parent is not None:
        told["parentSpanId"] = f"{parent:016x}"
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]}).encode() + b"\n"
