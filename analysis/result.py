"""The finished analysis: plain frozen records, from which JSON, page and Markdown are drawn.

This module imports nothing of the project. Durations are float seconds, shares are ratios, money is decimal
text in USD, instants are ISO 8601 text in UTC, unknown is None. Lists have a total order, so the same input
gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RESULT_VERSION = 1

Interval = tuple[float, float]


@dataclass(frozen=True)
class SelectionRecord:
    """What was analyzed: half-open range, filters, zone."""

    start: str | None
    end: str | None
    timezone: str
    week: str | None  # ISO week such as 2026-W48 where the range is one
    where: dict[str, list[str]]
    title: str
    seconds: float | None  # wall-clock length of the range: the denominator of every rate
    compare_with: str | None  # title of the selection it is compared with


@dataclass(frozen=True)
class UploadLine:
    name: str
    format: str | None
    sha256: str | None
    read: int
    accepted: int
    duplicate: int
    rejected: int
    state: str
    message: str | None


@dataclass(frozen=True)
class RejectLine:
    upload: str
    line: int | None
    offset: int | None
    reason: str
    says: str
    head: str


@dataclass(frozen=True)
class Coverage:
    """Share of requests for which a field is known."""

    field: str
    n: int
    share: float | None


@dataclass(frozen=True)
class QualityCheck:
    """One published rule of the grade."""

    id: str
    title: str
    value: float | None
    grade: str  # A to D
    says: str


@dataclass(frozen=True)
class DataQuality:
    grade: str | None  # of no requests there is none
    read: int
    accepted: int
    duplicate: int
    rejected: int
    reasons: dict[str, int]
    uploads: list[UploadLine]
    rejects: list[RejectLine]  # the first ones
    coverage: list[Coverage]
    checks: list[QualityCheck]
    flags: dict[str, int]
    not_understood: dict[str, int]  # attribute name to number of spans or rows
    unattributed_share: float | None
    sampling_rate: float | None  # smallest of the selection
    n_effective: float | None  # requests of one rate that would tell as much: less than were read where rates differ
    n_without_time: int
    straddlers: int  # arrived inside, ended outside
    straddler_tokens: int
    notes: list[str]
    straddler_cost_usd: str | None = None
    sampling: dict[str, int] = field(default_factory=dict)  # requests read by sampling rate, the highest rate first


@dataclass(frozen=True)
class Summary:
    requests: int
    calls: int
    attempts: int
    failed: int
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    first: str | None
    last: str | None
    cost_usd: str | None
    unpriced_requests: int
    reasoning_tokens: int | None
    users: int
    tenants: int
    models: int
    requests_estimated: float  # divided by the sampling rate
    by_status: dict[str, int]


@dataclass(frozen=True)
class RankPair:
    """Ranks (from 1) of the sorted figures between which the interval of a percentile lies."""

    low: int
    high: int
    coverage: float  # exact probability that figures of these ranks hold the percentile; the interval is inside them


@dataclass(frozen=True)
class Distribution:
    """One metric over requests with status ok that have the figure; percentiles by the inverse CDF."""

    metric: str
    title: str
    unit: str
    streaming: bool | str | None  # true, false, null (not known) or "all"
    n: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    intervals: dict[str, Interval | None]  # p50, p95, p99: between order statistics, 95 %; null if n is too small
    success_share: float | None
    too_few: list[str]  # percentiles for which n is too small
    note: str | None
    curve: list[tuple[float, float]] = field(default_factory=list)  # (value, share within it), rising, at most 500
    p95_with_failures: float | None = None  # a failed request counts as slower than all; null if that is the percentile
    p99_with_failures: float | None = None
    ranks: dict[str, RankPair | None] = field(default_factory=dict)  # of p50, p95, p99, among `n_effective`
    n_effective: int = 0  # n; less where sampling rates differ: requests of one rate that would tell as much


@dataclass(frozen=True)
class StageShare:
    stage: str
    seconds: float
    share: float | None
    share_slowest_5_percent: float | None
    n: int
    mean_seconds: float | None
    share_of_ttft: float | None  # among stages before the first token; null where not part of TTFT
    mean_seconds_slowest_5_percent: float | None = None  # over requests above the E2E P95
    mean_seconds_bad: float | None = None  # over requests that break the objective of goodput
    share_bad: float | None = None
    share_p99: float | None = None  # mean composition of the requests between the E2E P98.5 and P99.5


@dataclass(frozen=True)
class Stratum:
    metric: str
    input_bucket: str
    output_bucket: str
    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    attainment: float | None
    traffic_share: float | None
    cost_share: float | None


@dataclass(frozen=True)
class WindowVerdict:
    """One judged window of an objective (and of one value, for objectives per value)."""

    start: str | None
    end: str | None
    verdict: str  # breached, met, too_few, unknown
    n: int
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    value: float | None
    interval: Interval | None
    sure: bool | None
    of: str | None  # the value, for objectives per value


@dataclass(frozen=True)
class BurnRate:
    window: str
    factor: float
    long: float | None
    short: float | None
    firing: bool


@dataclass(frozen=True)
class WeekVerdict:
    """How an objective stood in an earlier week, judged by the objectives of today.

    Counts and attainment are exact, also where requests are gone (`rolled`), and so is a share of requests; the value of
    a percentile is then not told. The verdict is unknown where counts cannot give it, and `note` says why.
    """

    week: str
    verdict: str
    good: int
    bad: int
    attainment: float | None
    value: float | None
    rolled: int = 0  # good and bad that are gone and told from roll-ups
    note: str | None = None  # why the verdict is unknown although there were requests


@dataclass(frozen=True)
class BurnPoint:
    """Good and bad requests of one hour: budget left and burn over time are drawn from these.

    The counts are of rows; `good_estimated` and `bad_estimated` are divided by the sampling rate of each, None in
    results of earlier versions.
    """

    at: str
    good: int
    bad: int
    good_estimated: float | None = None
    bad_estimated: float | None = None


@dataclass(frozen=True)
class Clause:
    """One condition of an objective with its own attainment."""

    metric: str
    threshold: float | str | None
    unit: str
    applicable: int
    kept: int
    attainment: float | None


@dataclass(frozen=True)
class ObjectiveResult:
    id: str
    title: str
    metric: str
    where: dict[str, list[str]]
    statistic: str | None
    target: float | None
    threshold: float | str | None  # number in the metric's unit, text where it depends on the length
    threshold_text: str
    unit: str
    per: str | None
    window: str | None
    period: str | None
    min_requests: int
    verdict: str  # breached, endangered, met, too_few, unknown
    sure: bool | None
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    interval: Interval | None
    bounds: Interval | None  # attainment if all excluded and unknown had been bad, and good
    value: float | None
    windows: list[WindowVerdict]
    worst: WindowVerdict | None
    n_windows_judged: int
    n_windows_breached: int
    budget_spent: float | None
    burn_rates: list[BurnRate]
    clauses: list[Clause]
    needed: int | None  # requests needed where there were too few
    says: str
    hours: list[BurnPoint] = field(default_factory=list)  # in order of time, hours without requests left out
    block_interval: Interval | None = (
        None  # of attainment, by blocks of ten minutes: incidents cluster, so it may be wider
    )
    burn_exhausted_at: str | None = None  # when the budget is spent at the burn of the longest window, if it is
    period_good: int | None = None  # over the last `period`, which may begin before the selection
    period_bad: int | None = None
    period_budget_spent: float | None = None
    period_start: str | None = None  # from when on requests were there to count
    period_rolled: int | None = None  # good and bad of the period that are gone and told from roll-ups, exactly
    period_days: list[BurnPoint] = field(default_factory=list)  # good and bad of the period per day of UTC
    history: list[WeekVerdict] = field(default_factory=list)  # up to seven weeks before a week, oldest first


@dataclass(frozen=True)
class WaterfallStep:
    step: str  # offered, valid, ok, one per clause, good
    left: int
    lost: int
    left_estimated: float | None = None  # divided by the sampling rate; None in results of earlier versions
    lost_estimated: float | None = None


@dataclass(frozen=True)
class Waterfall:
    """What is lost of the traffic of one joint objective, where there are several."""

    objective: str
    good: int
    valid: int
    steps: list[WaterfallStep]


@dataclass(frozen=True)
class TimePoint:
    at: str
    offered: float  # requests per second
    good: float
    n: int


@dataclass(frozen=True)
class Fluidity:
    """Token deadlines kept, of the requests with status ok whose source lists the times of their tokens."""

    n: int  # requests that have an index
    fluid: int  # of them, those with an index of at least `least`
    least: float
    share: float | None  # fluid / n, each row by its votes
    interval: Interval | None
    mean_index: float | None
    by_chunk: int  # of n: told by chunks of which one is not one token, so a deadline is that of a chunk
    limits: list[str]  # ids of the objectives whose limits on ttft and tpot set the deadlines


@dataclass(frozen=True)
class Goodput:
    objective: str | None  # the joint objectives that define good, or the ones that limit a request where none is joint
    requests_per_second: float | None
    output_tokens_per_second: float | None
    ratio: float | None
    interval: Interval | None
    good: int
    valid: int
    cost_per_good_request_usd: str | None
    good_output_tokens: int | None
    output_tokens_per_usd: float | None  # as the cost per good: of the cost of what the objectives are about
    waterfall: list[WaterfallStep]  # of the requests that the objectives are about
    series: list[TimePoint]  # of the same requests
    note: str | None
    good_requests_per_replica_hour: float | None = None  # of the models that have replica hours
    unknown: int = 0  # valid requests of which it cannot be said; they are in `valid` and not in `ratio`
    waterfalls: list[Waterfall] = field(default_factory=list)  # one per joint objective, where there are several
    fluidity: Fluidity | None = None  # None where no source lists the times of tokens


@dataclass(frozen=True)
class Rate:
    """A share of requests with its counts and Wilson interval."""

    n: int
    of: int
    rate: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Availability:
    availability: Rate
    error_rate: Rate
    timeout_rate: Rate
    cancel_rate: Rate
    degraded_rate: Rate
    cold_start_rate: Rate
    retry_amplification: float | None
    by_error_type: dict[str, int]
    by_status_class: dict[str, int]


@dataclass(frozen=True)
class Throughput:
    seconds: float | None
    requests_per_second: float | None
    input_tokens_per_second: float | None
    output_tokens_per_second: float | None
    tokens_per_second: float | None
    peak_requests_per_second: float | None  # busiest minute
    peak_at: str | None


@dataclass(frozen=True)
class LoadPoint:
    concurrency_from: float
    concurrency_to: float
    n: int
    ttft_p50: float | None
    ttft_p95: float | None
    tpot_p50: float | None
    queue_p95: float | None
    requests_estimated: float | None = None  # that it stands for: each of the n divided by its sampling rate


@dataclass(frozen=True)
class Growth:
    """How one figure grows with a length, over requests with status ok: least squares and per bucket."""

    metric: str
    by: str  # input_tokens or output_tokens
    n: int
    slope: float | None  # seconds per token
    intercept: float | None
    r_squared: float | None
    spearman: float | None
    buckets: list[GrowthBucket]


@dataclass(frozen=True)
class GrowthBucket:
    bucket: str
    n: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True)
class ReplicaLine:
    replica: str
    n: int
    share: float | None
    queue_p95: float | None
    tpot_p50: float | None
    error_rate: float | None
    up_s: float | None
    busy_s: float | None
    utilization: float | None


@dataclass(frozen=True)
class CountBucket:
    label: str
    n: int
    share: float | None = None  # of all buckets, each request by its votes


@dataclass(frozen=True)
class RooflineLine:
    """A self-hosted model against the limits of its devices; measured figures are medians over its requests."""

    model: str
    flops_per_token: float
    kv_token_bytes: float
    weight_bytes: float
    kv_capacity_tokens: int  # of one replica; 0: the weights alone fill the memory
    prefill_floor_s_per_token: float
    decode_floor_s_per_step: float  # at the measured batch and context
    ridge: float  # FLOP per byte; below it bandwidth is the limit
    batch_size: float | None
    prefill_intensity: float | None
    decode_intensity: float
    prefill_s_per_token: float | None
    decode_s_per_token: float | None
    compute_use: float | None  # prefill floor over measured time
    bandwidth_use: float | None  # decode floor over measured time per token; a lower bound
    kv_cache_usage_p95: float | None
    mfu: float | None
    prefill_bound: str | None  # compute or bandwidth, by its intensity
    decode_bound: str
    limits: list[str]  # limits that are reached: kv_capacity, compute, bandwidth
    speculative: bool | None  # faster per token than a step can be: several tokens a step


@dataclass(frozen=True)
class Load:
    mean_concurrency: float | None
    max_concurrency: int | None
    littles_law: float | None  # arrival rate x mean E2E, to compare with mean_concurrency
    by_concurrency: list[LoadPoint]
    growth: list[Growth]
    replicas: list[ReplicaLine]
    batch_sizes: list[CountBucket]
    arrivals_fano: float | None  # variance over mean of arrivals per 10 s
    hours: list[HourCell]
    gpu_utilization: float | None
    mfu: float | None
    knees: list[Knee] = field(default_factory=list)
    saturation: Saturation | None = None
    agents: AgentFigures | None = None
    quality: list[QualityLine] = field(default_factory=list)
    roofline: list[RooflineLine] = field(default_factory=list)


@dataclass(frozen=True)
class Knee:
    """Concurrency from which a figure rises faster: two straight lines over the points of `by_concurrency`."""

    metric: str
    statistic: str
    concurrency: float
    slope_before: float  # seconds per request running at once
    slope_after: float


@dataclass(frozen=True)
class LoadBand:
    """Minutes of about the same offered load."""

    requests_per_second: float
    minutes: int
    good: int
    bad: int
    attainment: float | None
    fitted: float | None  # never rising with the load


@dataclass(frozen=True)
class Saturation:
    """Offered load at which attainment falls below the target, from one selection: an observation, no load test."""

    verdict: str  # estimated, holds (at every load seen), below (at every load seen), too_few
    target: float | None
    requests_per_second: float | None
    interval: tuple[float, float | None] | None  # block bootstrap; the upper end is null where the range is too small
    highest_seen: float | None  # mean offered load of the highest band
    bands: list[LoadBand]
    says: str


@dataclass(frozen=True)
class AgentFigures:
    """Requests of several calls or of tools: what each step costs beside its work, and what that adds up to."""

    n: int
    calls_mean: float | None
    calls_p95: float | None
    tool_steps_mean: float | None
    overhead_per_step_p50: float | None  # seconds
    overhead_per_step_p95: float | None
    overhead_p50: float | None  # accumulated over the request
    overhead_p95: float | None
    overhead_share: float | None  # of E2E


@dataclass(frozen=True)
class QualityLine:
    """Quality beside cost and latency, per model, where the source carries a score."""

    model: str | None
    n: int
    quality_mean: float | None
    cost_mean_usd: float | None
    e2e_p50: float | None
    ttft_p50: float | None


@dataclass(frozen=True)
class CompatibleFigure:
    """A figure as another tool defines it, from the same requests; never mixed with ours."""

    tool: str
    figure: str
    unit: str
    n: int
    value: float | None
    says: str


@dataclass(frozen=True)
class HourCell:
    weekday: int  # 1 Monday to 7 Sunday
    hour: int
    n: int
    good: int
    bad: int
    good_estimated: float | None = None  # divided by the sampling rate; None in results of earlier versions
    bad_estimated: float | None = None


@dataclass(frozen=True)
class Cache:
    hit_ratio: float | None  # sum of cached over sum of input tokens, where cached is known
    n_known: int
    hit_requests: int
    cached_input_tokens: int | None
    input_tokens_known: int | None
    saved_usd: str | None
    response_cache_hits: int


@dataclass(frozen=True)
class Evidence:
    figure: str
    value: float | str | None
    baseline: float | str | None
    unit: str
    n: int | None = None


@dataclass(frozen=True)
class Prediction:
    attainment: float | None
    low: float | None
    high: float | None
    value: float | None
    value_low: float | None
    value_high: float | None
    basis: str  # back_to_normal or remedy
    ignores: str


@dataclass(frozen=True)
class CostEffect:
    """What a remedy would have changed in the spend of the incident's time."""

    change_usd: str | None  # positive: dearer; None: not known
    says: str  # what the figure is made of, or why there is none


@dataclass(frozen=True)
class Recommendation:
    id: str  # id of the vocabulary
    entry: str | None  # entry of the knowledge base, such as KB-01
    title: str
    why: str
    actions: dict[str, str]  # per engine
    predicted: Prediction | None
    not_predicted: str | None  # why there is no prediction
    reported_effect: str
    precondition: str
    risk: str
    verify: str
    cost: CostEffect | None = None  # None in results of earlier versions


@dataclass(frozen=True)
class Contraindication:
    id: str
    why: str
    title: str = ""  # what the recommendation is called; empty in results of earlier versions


@dataclass(frozen=True)
class Untested:
    id: str
    missing: list[str]
    title: str = ""  # of the rule; empty in results of earlier versions


@dataclass(frozen=True)
class ShiftStep:
    """What one part of a figure is on both sides, in billionths of its unit; below zero where it took less."""

    step: str  # a stage or a cost driver; error, over_limit; rest: what no part explains
    of: str | None  # kind of error, where shares of bad requests are told by it; null: all others together
    baseline_nano: int
    value_nano: int
    change_nano: int


@dataclass(frozen=True)
class Shift:
    """The figure that broke, from normal to incident: the steps sum to the change, to the last unit.

    Whole billionths of `unit`: nanoseconds where it is s. Null where a side has too few requests.
    """

    figure: str  # p95, mean, bad_share; the id of the metric where it has no normal
    unit: str
    baseline_nano: int | None
    value_nano: int | None
    change_nano: int | None
    n_baseline: int
    n: int
    steps: list[ShiftStep]  # in the order of time, errors and the rest last
    says: str  # what the figure is, or why there are no steps


@dataclass(frozen=True)
class SegmentLine:
    """One line of a series; both lists have one entry per window, in the order of time."""

    name: str | None  # values of the segment, or the replica; null: the rest, or all
    role: str  # segment, peer (another replica), rest, all (no segment is named)
    n: list[int]
    values: list[float | None]  # null where fewer than `needed` requests count, or none of them was answered
    at_least: list[bool] = field(default_factory=list)  # the percentile is a failed request: the longest answer stands


@dataclass(frozen=True)
class SegmentSeries:
    """The figure of a shift over even windows of the selection, the segment against the rest."""

    figure: str
    unit: str
    start: str  # of the first window
    step_s: float
    needed: int  # requests below which a window is not told
    lines: list[SegmentLine]


@dataclass(frozen=True)
class Finding:
    objective: str
    verdict: str
    rank: int
    stage: str
    cause: str | None
    segment: dict[str, str]
    moves_together: dict[str, list[str]]
    window: tuple[str, str] | None
    title: str  # the finding in words
    says: str  # one sentence with its figures
    recommendations: list[Recommendation]
    contraindicated: list[Contraindication]
    untested: list[Untested]
    evidence: list[Evidence]
    share_of_bad: float | None
    structural_share: float | None
    confidence: str  # high, medium, low
    exemplars: list[str]
    incident: str | None  # id shared by findings of one incident
    n_bad: int | None
    windows: list[tuple[str, str]] = field(default_factory=list)  # all times of this cause; `window` is the strongest
    shift: Shift | None = None  # None in results of earlier versions
    series: SegmentSeries | None = None  # None: the figure has no course of time


@dataclass(frozen=True)
class RecommendationCheck:
    """One recommendation of an earlier selection against what happened."""

    objective: str
    recommendation: str
    entry: str | None
    title: str
    stage: str
    segment: dict[str, str]
    window: tuple[str, str] | None  # of the earlier finding
    predicted: Prediction | None
    then_attainment: float | None  # of the objective's worst window then
    then_value: float | None
    now_verdict: str | None  # of the objective; None: it is no longer judged
    now_window: tuple[str, str] | None  # its worst window if it is broken again, else the same place in the week
    now_attainment: float | None
    now_value: float | None
    outcome: str  # inside, better or worse than the predicted interval; unknown
    evidence_holds: bool | None  # whether the evidence of the rule still holds; None: cannot be judged
    followed: str  # followed, not_followed, unknown
    says: str


@dataclass(frozen=True)
class FollowUp:
    """What became of the recommendations of the selection before."""

    title: str  # of that selection
    source: str  # the stored report, or that it was worked out from the requests
    checks: list[RecommendationCheck]


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
class Change:
    """One figure against the baseline; `interval` is of the change."""

    metric: str
    statistic: str
    unit: str
    value: float | None
    baseline: float | None
    change: float | None
    interval: Interval | None
    verdict: str  # better, worse, unchanged (within noise), unknown
    mix: float | None
    within: float | None
    n: int
    n_baseline: int
    unmatched: float | None = None  # of the change, from strata that only one side has
    p_value: float | None = None  # two-sided; `verdict` holds after control of false discoveries over all changes


@dataclass(frozen=True)
class SliceChange:
    """One stratum on both sides: the same work, so a change in it is no change of mix."""

    metric: str
    unit: str
    stratum: str
    n: int
    n_baseline: int
    p50: float | None
    p50_baseline: float | None
    p95: float | None
    p95_baseline: float | None
    p_value: float | None  # rank test of the whole distribution
    changed: bool  # after control of false discoveries over all slices


@dataclass(frozen=True)
class CostStep:
    """One reason for which the bill changed; the steps add up to the change, in the order in which they are taken."""

    id: str  # volume, mix, tokens_per_request, cache, price, new, vanished
    title: str
    change_usd: str


@dataclass(frozen=True)
class Comparison:
    title: str
    changes: list[Change]
    new_strata: list[str]
    vanished_strata: list[str]
    note: str | None
    slices: list[SliceChange] = field(default_factory=list)  # the ones that changed most surely first, at most 50
    cost_steps: list[CostStep] = field(default_factory=list)  # of requests that have a price on their side


@dataclass(frozen=True)
class Definition:
    id: str
    kind: str  # metric, rule, stage, dimension
    title: str
    unit: str
    says: str
    source: str


@dataclass(frozen=True)
class Provenance:
    version: str
    made: str
    timezone: str
    objectives: str
    price_book: str
    rules: str
    simulated: bool
    inputs: list[str]
    command: str | None


@dataclass(frozen=True)
class RolledDistribution:
    """Percentiles over requests with status ok, those that are gone included: by rank, within 1 % of the value."""

    metric: str
    title: str
    unit: str
    streaming: bool | str | None  # true, false, null (not known) or "all"
    n: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True)
class RolledObjective:
    """Counts over the whole range, requests that are gone included: exact."""

    id: str
    good: int
    bad: int
    unknown: int
    excluded: int
    attainment: float | None
    rolled: int  # good and bad among them that are gone
    note: str | None


@dataclass(frozen=True)
class RolledFigures:
    """A selection that has days whose rows were dropped: what roll-ups and standing rows say together.

    `basis` tells of each figure whether it is exact or within 1 %. All other parts of the result are about the rows
    that stand; findings need them.
    """

    start: str  # of the dropped days
    end: str
    days: int
    requests_dropped: int
    requests: int | None  # all of the selection; null where a filter asks for what was not kept
    by_status: dict[str, int]
    latency: list[RolledDistribution]
    objectives: list[RolledObjective]
    cost_usd: str | None
    unpriced_requests: int | None
    basis: dict[str, str]
    notes: list[str]


@dataclass(frozen=True)
class AnalysisResult:
    result_version: int
    selection: SelectionRecord
    data_quality: DataQuality
    summary: Summary
    latency: list[Distribution]
    stages: list[StageShare]
    strata: list[Stratum]
    objectives: list[ObjectiveResult]
    goodput: Goodput
    availability: Availability
    throughput: Throughput
    load: Load
    cache: Cache
    findings: list[Finding]
    costs: Costs
    comparison: Comparison | None
    definitions: list[Definition]
    provenance: Provenance
    notes: list[str] = field(default_factory=list)
    compatible: list[CompatibleFigure] = field(default_factory=list)
    follow_up: FollowUp | None = None  # None: nothing earlier to follow up
    rolled: RolledFigures | None = None  # where days of the selection were dropped by retention


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
