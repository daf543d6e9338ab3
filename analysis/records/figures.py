"""Figures of requests: latency, stages, lengths, goodput, availability, throughput, load, cache.

Records of the result and nothing else: `analysis/result.py` names them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Interval = tuple[float, float]


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
    good_requests_per_device_hour: float | None = None  # of the same, where the fleet file tells the devices of each
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
