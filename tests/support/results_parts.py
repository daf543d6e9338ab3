"""Parts of the result written by hand: quality, lengths, goodput, load, costs, definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from analysis import result as r

INPUTS = ("<512", "512-2k", "2k-8k", "8k-32k", ">=32k")
OUTPUTS = ("<64", "64-256", "256-1k", "1k-4k", ">=4k")
COUNTS = (
    (2, 24, 5, 0, 0),
    (10_781, 24_921, 11_153, 316, 0),
    (16_204, 19_872, 6_118, 104, 12),
    (4_120, 9_310, 3_870, 31, 0),
    (1_240, 2_805, 2_611, 18, 4),
)


def strata() -> list[r.Stratum]:
    total = sum(map(sum, COUNTS))
    return [
        r.Stratum(
            metric=metric,
            input_bucket=INPUTS[i],
            output_bucket=OUTPUTS[j],
            n=n,
            p50=base * (1 + i) * 0.4 if n >= 20 else None,
            p95=base * (1 + i) if n >= 30 else None,
            p99=base * (1 + i) * 2.1 if n >= 100 else None,
            attainment=0.152 if j == 3 else 0.995 - 0.006 * i,
            traffic_share=n / total,
            cost_share=(i + 1) * n / total / 2.4,
        )
        for metric, base in (("ttft", 0.92), ("e2e", 6.0))
        for i, counts in enumerate(COUNTS)
        for j, n in enumerate(counts)
        if n
    ]


def goodput(at: Callable[[float], str]) -> r.Goodput:
    steps = [
        ("offered", 113_527, 0),
        ("valid", 113_526, 1),
        ("ok", 113_491, 35),
        ("ttft", 112_304, 1_187),
        ("tpot", 111_806, 498),
        ("e2e", 111_454, 352),
        ("good", 111_454, 0),
    ]
    series = []
    for hour in range(168):
        offered = 2.2 + 3.1 * max(0, 9 - abs(13 - hour % 24)) / 9
        lost = 0.13 if 132 <= hour < 136 else 0.015
        series.append(r.TimePoint(at(hour), offered, offered * (1 - lost), round(offered * 180)))
    return r.Goodput(
        objective="default.good",
        requests_per_second=3.686,
        output_tokens_per_second=762.0,
        ratio=0.98175,
        interval=(0.98096, 0.98251),
        good=111_454,
        valid=113_526,
        cost_per_good_request_usd="0.00182988",
        good_output_tokens=461_000_000,
        output_tokens_per_usd=118_200.0,
        waterfall=[r.WaterfallStep(*step) for step in steps],
        series=series,
        note=None,
    )


def load() -> r.Load:
    cells = []
    for day in range(1, 8):
        for hour in range(24):
            n = 220 + 520 * max(0, 9 - abs(13 - hour)) // 9
            share = 0.116 if day == 6 and 12 <= hour < 16 else 0.012 + 0.003 * (hour % 4)
            cells.append(r.HourCell(day, hour, n, n - round(n * share), round(n * share)))
    points = [(0.0, 4.0, 41_204, 0.39), (4.0, 8.0, 38_410, 0.43), (8.0, 16.0, 22_120, 0.61), (16.0, 32.0, 11_757, 1.2)]
    buckets = [r.GrowthBucket("<512", 31, 0.31, None), r.GrowthBucket("512-2k", 47_171, 0.36, 0.93)]
    replicas = [
        ("lm-large-us-east-0", 18_204, 0.61),
        ("lm-large-us-east-2", 19_377, 1.18),
        ("lm-small-0", 52_917, 0.08),
    ]
    return r.Load(
        mean_concurrency=24.1,
        max_concurrency=131,
        littles_law=24.4,
        by_concurrency=[
            r.LoadPoint(low, high, n, p50, p50 * 4, 0.031, p50 / 2) for low, high, n, p50 in points
        ],
        growth=[r.Growth("prefill", "input_tokens", 113_491, 0.000112, 0.08, 0.71, 0.83, buckets)],
        replicas=[
            r.ReplicaLine(name, n, n / 113_527, queue, 0.031, 0.0003, 604_800.0, 468_000.0, 0.774)
            for name, n, queue in replicas
        ],
        batch_sizes=[r.CountBucket(label, n) for label, n in (("1", 20_110), ("2-4", 61_400), ("5-8", 24_000), ("9-16", 8_017))],
        arrivals_fano=1.8,
        hours=cells,
        gpu_utilization=0.775,
        mfu=None,
    )  # fmt: skip


def quality() -> r.DataQuality:
    uploads = [
        r.UploadLine("traces-fri.jsonl.gz", "otlp_json", "5c1e0aa7", 102_554, 102_554, 0, 0, "done", None),
        r.UploadLine("traces-sat.jsonl.gz", "otlp_json", "77aa01bc", 11_023, 10_973, 38, 12, "done", None),
    ]
    return r.DataQuality(
        grade="B",
        read=113_577,
        accepted=113_527,
        duplicate=38,
        rejected=12,
        reasons={"end_before_start": 7, "torn_line": 4, "no_trace_id": 1},
        uploads=uploads,
        rejects=[
            r.RejectLine("traces-sat.jsonl.gz", 1041, 88_211, "end_before_start", "it ends before it starts", '{"traceId": "<b>"'),
            r.RejectLine("traces-sat.jsonl.gz", 8220, None, "torn_line", "the last line ends in the middle", '{"resou'),
        ],
        coverage=[
            r.Coverage("ttft", 113_491, 0.99968), r.Coverage("user", 113_527, 1.0), r.Coverage("cold_start", 0, 0.0),
            r.Coverage("ttfa", 0, 0.0), r.Coverage("batch_size", 113_480, 0.99958),
        ],
        checks=[
            r.QualityCheck("rejected", "rejected rows", 0.0001, "A", "12 of 113,577 rows; A up to 0.1 %"),
            r.QualityCheck("sampling", "sampling", 0.05, "B", "5 % of traces were kept; B below 100 %"),
        ],
        flags={"clock_skew": 3, "ttft_missing": 36},
        not_understood={"x.flavor": 113_527, "<b>bold</b>": 2},
        unattributed_share=0.0004,
        sampling_rate=0.05,
        n_effective=113_527.0,
        n_without_time=0,
        straddlers=4,
        straddler_tokens=2_210,
        notes=[],
    )  # fmt: skip


def cost_row(by: dict[str, str | None], requests: int, cost: str | None, wasted: str | None = "0.10") -> r.CostRow:
    good = round(requests * 0.98)
    return r.CostRow(
        by, requests, requests * 3_830, requests * 1_590, requests * 212, None, cost, 0, wasted, good, covered_usd=cost
    )


def costs(hostile: str) -> r.Costs:
    scenarios = {"rag": (454_740, "1378.74"), "agent": (137_520, "921.52"), "chat": (1_001_020, "791.86"),
                 "code": (496_480, "787.54"), "summarise": (180_780, "199.129412365")}  # fmt: skip
    tenants: list[tuple[str | None, int, str]] = [
        ("tenant-00", 524_120, "812.23"), ("tenant-01", 282_960, "432.78"), (hostile, 191_200, "376.68"),
        (None, 1_272_260, "2457.099412365"),
    ]  # fmt: skip
    users = [(f"user-{i:04d}", 92_300 // (i + 1), f"{142.23 / (i + 1):.2f}") for i in range(30)]
    by_user = [cost_row({"user": user}, n, cost) for user, n, cost in users]
    return r.Costs(
        currency="USD",
        by=["user", "scenario"],
        rows=[cost_row({"user": "user-0000", "scenario": "chat"}, 61_000, "90.11")],
        cubes={
            "scenario": [cost_row({"scenario": name}, n, cost) for name, (n, cost) in scenarios.items()],
            "tenant": [cost_row({"tenant": name}, n, cost) for name, n, cost in tenants],
            "model": [cost_row({"model": "lm-large"}, 1_212_200, "3510.24"), cost_row({"model": "lm-small"}, 1_058_340, "568.549412365")],
            "user": by_user,
        },
        total_usd="4078.789412365",
        unattributed_usd="0",
        wasted_usd="1.05",
        wasted={"failed": "0.61", "timed_out": "0.02", "retried": "0.40", "abandoned": "0.02"},
        idle_usd="1391.17",
        gpu_usd="6183.00",
        drivers=[
            r.CostDriver("uncached_input", 5_088_000_000, "2651.21"), r.CostDriver("cached_input", 3_608_000_000, "541.20"),
            r.CostDriver("output", 482_000_000, "886.379412365"),
        ],
        days=[
            r.DayCost(f"2026-03-0{day}", name, f"{float(cost) / 7 * (0.9 + day / 40):.6f}")
            for day in range(2, 9)
            for name, (_, cost) in scenarios.items()
        ],
        unpriced=[r.UnpricedLine("m-70b", "acme", 812, 3_100_000, 170_000, "no price for acme / m-70b on 2026-03-04")],
        unpriced_requests=812,
        priced_share=0.9996,
        cost_per_1k_tokens_usd="0.000444",
        cost_per_million_output_tokens_usd="8.4622",
        gpu_cost_per_million_output_tokens_usd={"lm-large": "24.1", "lm-small": "3.02"},
        source_stated_usd=None,
        price_book="prices.yaml; genai-prices 0.2",
        notes=["1 model has no cache price: cached tokens are charged the input rate."],
    )  # fmt: skip


def costs_of_nothing() -> r.Costs:
    return replace(
        costs(""), rows=[], cubes={}, total_usd=None, unattributed_usd=None, wasted_usd=None, wasted={}, idle_usd=None,
        gpu_usd=None, drivers=[], days=[], unpriced=[], unpriced_requests=0, priced_share=None,
        cost_per_1k_tokens_usd=None, cost_per_million_output_tokens_usd=None,
        gpu_cost_per_million_output_tokens_usd={}, notes=[],
    )  # fmt: skip


def definitions() -> list[r.Definition]:
    return [
        r.Definition("ttft", "metric", "Time to first token", "s", "From the request's start to its first output.", "OpenTelemetry"),
        r.Definition("tpot", "metric", "Time per output token", "s", "Decode time / (output tokens − calls).", "engine"),
        r.Definition("queue", "stage", "Waiting for a seat", "s", "Waiting in the inference engine.", "engine"),
        r.Definition("scale_out", "rule", "Add replicas", "", "Sustained queueing with missing replicas.", "KB-01"),
    ]  # fmt: skip
