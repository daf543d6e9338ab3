"""Costs: rows, drivers, budgets, and a bill against them.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CostRow:
    by: dict[str, str | None]
    requests: int
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: str | None
    unpriced_requests: int
    wasted_usd: str | None
    good_requests: int | None = None
    cost_per_1k_good_usd: str | None = None
    gpu_used_usd: str | None = None  # its share of the replicas' busy time
    gpu_usd: str | None = None  # its share of the whole bill for replicas, idle time included
    others: int = 0  # how many values a row stands for that sums up the end of a long table
    covered_usd: str | None = None  # cost of the requests that the objectives cover: over good_requests, cost per good


@dataclass(frozen=True)
class OtherCostLine:
    """A monthly amount of the fleet file, for the length of the selection; not part of the total."""

    name: str
    cost_usd: str
    split_by: str
    rows: list[OtherCostPart]


@dataclass(frozen=True)
class OtherCostPart:
    by: dict[str, str | None]
    cost_usd: str


@dataclass(frozen=True)
class BudgetLine:
    """A budget of the price file against what one calendar month of the selection has spent."""

    month: str
    of: dict[str, str | None]
    budget_usd: str
    spent_usd: str
    share: float | None
    forecast_usd: str | None  # at the pace of the part of the month that lies in the selection
    verdict: str  # kept, exceeded, endangered (the forecast is above the budget)


@dataclass(frozen=True)
class CostDriver:
    """Cost of one kind: uncached_input, cached_input, cache_write, output, reasoning."""

    driver: str
    tokens: int
    cost_usd: str


@dataclass(frozen=True)
class UnpricedLine:
    model: str | None
    provider: str | None
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    says: str


@dataclass(frozen=True)
class DayCost:
    day: str
    by: str  # scenario
    cost_usd: str


@dataclass(frozen=True)
class Costs:
    currency: str
    by: list[str]  # dimensions of `rows`
    rows: list[CostRow]
    cubes: dict[str, list[CostRow]]  # by user, tenant, scenario, model
    total_usd: str | None
    unattributed_usd: str | None  # requests without a user
    wasted_usd: str | None
    wasted: dict[str, str]  # failed, timed_out, retried, abandoned
    idle_usd: str | None
    gpu_usd: str | None
    drivers: list[CostDriver]
    days: list[DayCost]
    unpriced: list[UnpricedLine]
    unpriced_requests: int
    priced_share: float | None
    cost_per_1k_tokens_usd: str | None
    cost_per_million_output_tokens_usd: str | None
    gpu_cost_per_million_output_tokens_usd: dict[str, str]
    source_stated_usd: str | None
    price_book: str  # which books, which versions
    notes: list[str]
    saved_usd: str | None = None  # by the prompt cache: cached tokens at the input price, less what they cost
    forecast_month_usd: str | None = None  # the last month of the selection at the selection's pace
    forecast_month: str | None = None
    utilization: float | None = None  # busy over up seconds of replica hours
    gpu_unallocated_usd: str | None = None  # replica hours of models that no request names
    other: list[OtherCostLine] = field(default_factory=list)
    budgets: list[BudgetLine] = field(default_factory=list)


@dataclass(frozen=True)
class BilledModel:
    """A model of one month and provider, in the bill and in the ledger."""

    month: str
    provider: str
    model: str
    bill_usd: str | None
    ledger_usd: str | None
    unpriced_requests: int


@dataclass(frozen=True)
class ReconciledMonth:
    """A month and provider: bill = ledger + explained + unexplained, to the last digit."""

    month: str
    provider: str
    bill_usd: str
    ledger_usd: str
    explained: dict[str, str]  # by reason: unpriced, missing_usage, straddlers, failed, cache_price, rounding
    unexplained_usd: str
    unexplained_share: float | None  # of the bill
    verdict: str  # pass, warn, fail
    says: str = ""  # by which rule


@dataclass(frozen=True)
class Reconciliation:
    bill: str
    verdict: str  # the worst of the months; empty: nothing to compare
    months: list[ReconciledMonth]
    models: list[BilledModel]
    rejected: list[tuple[int, str]]  # line and reason, the first ones
    n_rejected: int
    n_lines: int
    notes: list[str]
