"""A complete result written by hand: a week with one incident, as the mock of the report shows it.

`week()` holds breached, endangered, met, too_few and unknown objectives, findings with and without predictions,
costs, a grid of lengths and hostile names; `quiet_week()` is the same service in good health; `empty()` has no request.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from analysis import result as r
from tests.support.results_causes import findings
from tests.support.results_parts import costs, costs_of_nothing, definitions, goodput, load, quality, strata

START = datetime(2026, 3, 2, tzinfo=UTC)
HOSTILE = "<script>alert('tenant')</script>"
STAGES = {  # mean seconds of all, slowest 5 %, bad
    "gateway": (0.00862, 0.00946, 0.0136),
    "network": (0.0339, 0.034, 0.0343),
    "guardrail": (0.021, 0.022, 0.021),
    "retrieval": (0.062, 0.071, 0.118),
    "rerank": (0.031, 0.033, 0.058),
    "queue": (0.117, 0.73, 1.09),
    "prefill": (0.412, 1.31, 1.28),
    "decode": (5.74, 38.2, 16.1),
    "tool": (0.11, 1.42, 0.36),
    "postprocess": (0.012, 0.013, 0.014),
}


def at(hours: float) -> str:
    return (START + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def windows(n: int, share_bad: float, incident: float | None) -> list[r.WindowVerdict]:
    """42 windows of four hours; the one of Saturday noon carries the incident."""
    found = []
    for index in range(42):
        bad_share = incident if index == 33 and incident is not None else share_bad * (0.6 + 0.2 * (index % 5))
        bad = round(n * bad_share)
        breached = index == 33 and incident is not None
        found.append(
            r.WindowVerdict(
                start=at(index * 4),
                end=at(index * 4 + 4),
                verdict="breached" if breached else "met",
                n=n,
                good=n - bad,
                bad=bad,
                unknown=0,
                excluded=0,
                attainment=(n - bad) / n,
                value=None,
                interval=((n - bad) / n - 0.024, min(1.0, (n - bad) / n + 0.018)),
                sure=breached and bad_share > 0.1,
                of=None,
            )
        )
    return found


def hours(n: int, share_bad: float, incident: float | None) -> list[r.BurnPoint]:
    points = []
    for hour in range(168):
        share = incident if incident is not None and 132 <= hour < 136 else share_bad * (0.5 + 0.25 * (hour % 5))
        bad = round(n * share)
        points.append(r.BurnPoint(at(hour), n - bad, bad))
    return points


def objective(
    name: str,
    title: str,
    metric: str,
    *,
    verdict: str = "met",
    scenario: str | None = None,
    threshold: float | str | None = 1.0,
    threshold_text: str = "1 s",
    n: int = 590,
    share_bad: float = 0.01,
    incident: float | None = None,
    budget: float | None = 0.2,
) -> r.ObjectiveResult:
    """An objective with a target of 95 % in windows of four hours."""
    judged = windows(n, share_bad, incident)
    good, bad = sum(w.good for w in judged), sum(w.bad for w in judged)
    return r.ObjectiveResult(
        id=name,
        title=title,
        metric=metric,
        where={"scenario": [scenario]} if scenario else {},
        statistic=None,
        target=0.95,
        threshold=threshold,
        threshold_text=threshold_text,
        unit="s",
        per=None,
        window="4h",
        period="7d",
        min_requests=150,
        verdict=verdict,
        sure=judged[33].sure if incident is not None else True,
        good=good,
        bad=bad,
        unknown=0,
        excluded=1,
        attainment=good / (good + bad),
        interval=(good / (good + bad) - 0.0014, good / (good + bad) + 0.0013),
        bounds=(good / (good + bad) - 0.0015, good / (good + bad) + 0.0015),
        value=None,
        windows=judged,
        worst=judged[33] if incident is not None else judged[4],
        n_windows_judged=42,
        n_windows_breached=1 if incident is not None else 0,
        budget_spent=budget,
        burn_rates=[
            r.BurnRate("1h", 13.44, 4.0 if incident else 1.1, 2.1, firing=False),
            r.BurnRate("6h", 5.6, 2.2 if incident else 0.9, 1.4, firing=verdict == "endangered"),
        ],
        clauses=[r.Clause(metric, threshold, "s", good + bad, good, good / (good + bad))],
        needed=None,
        says=f"{title}: {verdict}",
        hours=hours(150, share_bad, incident),
    )


def unjudged(name: str, title: str, metric: str, verdict: str, *, needed: int | None) -> r.ObjectiveResult:
    base = objective(name, title, metric, verdict=verdict)
    return replace(
        base,
        good=0,
        bad=0,
        excluded=0,
        unknown=113_527 if verdict == "unknown" else 0,
        attainment=None,
        interval=None,
        bounds=None,
        windows=[],
        worst=None,
        n_windows_judged=0,
        budget_spent=None,
        burn_rates=[],
        needed=needed,
        sure=None,
        hours=[],
        says="no request has the figure" if verdict == "unknown" else "0 requests, 30 needed",
    )


def user_cost() -> r.ObjectiveResult:
    base = objective("user.cost", "cost per user ≤ 263.74 USD", "cost", budget=None)
    return replace(
        base, statistic="sum", target=None, threshold=263.74, threshold_text="263.74 USD", unit="USD", per="user",
        window=None, period=None, attainment=None, interval=None, bounds=None, value=142.23, burn_rates=[], hours=[],
        windows=[], n_windows_judged=1500, good=113_527, bad=0, excluded=0,
        worst=r.WindowVerdict(at(0), at(168), "met", 4615, 0, 0, 0, 0, None, 142.23, None, None, "user-0000"),
    )  # fmt: skip


def objectives() -> list[r.ObjectiveResult]:
    return [
        objective("code.ttft", "TTFT ≤ 2.45 s for code", "ttft", verdict="breached", scenario="code", threshold=2.45,
                  threshold_text="2.45 s", n=640, incident=0.117, budget=0.25),
        objective("rag.ttft", "TTFT ≤ 3.7 s for rag", "ttft", verdict="breached", scenario="rag", threshold=3.7,
                  threshold_text="3.7 s", n=587, incident=0.061, share_bad=0.004, budget=0.12),
        objective("code.e2e", "E2E ≤ 8.2 s for code", "e2e", verdict="breached", scenario="code", threshold=8.2,
                  threshold_text="8.2 s", n=640, incident=0.061, budget=0.28),
        objective("chat.ttft", "TTFT ≤ 2.1 s for chat", "ttft", verdict="breached", scenario="chat", threshold=2.1,
                  threshold_text="2.1 s", n=1274, incident=0.0502, budget=0.2),
        objective("agent.e2e", "E2E ≤ 90 s for agent", "e2e", verdict="endangered", scenario="agent", threshold=90.0,
                  threshold_text="90 s", n=180, share_bad=0.03, budget=0.71),
        objective("chat.tpot", "TPOT ≤ 60 ms for chat", "tpot", scenario="chat", threshold=0.06, threshold_text="60 ms"),
        objective("rag.tpot", "TPOT ≤ 62 ms for rag", "tpot", scenario="rag", threshold=0.062, threshold_text="62 ms"),
        user_cost(),
        unjudged("cold.ttft", "TTFT after a cold start", "ttft", "too_few", needed=30),
        unjudged("chat.ttfa", "TTFA for chat", "ttfa", "unknown", needed=None),
    ]  # fmt: skip


def distribution(metric: str, title: str, streaming: bool | None, figures: tuple[float, ...], n: int) -> r.Distribution:
    mean, p50, p95, p99, top = figures
    curve = [(p50 * 0.3, 0.02), (p50 * 0.6, 0.2), (p50, 0.5), (p50 * 1.6, 0.8), (p95, 0.95), (p99, 0.99), (top, 1.0)]
    return r.Distribution(
        metric=metric,
        title=title,
        unit="s",
        streaming=streaming,
        n=n,
        mean=mean,
        p50=p50,
        p95=p95,
        p99=p99,
        max=top,
        intervals={"p50": (p50 * 0.99, p50 * 1.01), "p95": (p95 * 0.97, p95 * 1.04), "p99": None},
        success_share=0.9997,
        too_few=[] if n > 1000 else ["p99"],
        note=None,
        curve=curve,
    )


def latency() -> list[r.Distribution]:
    return [
        distribution("ttft", "Time to first token", True, (1.10, 0.421, 3.54, 14.8, 52.9), 94_513),
        distribution("ttft", "Time to first token", False, (1.55, 0.919, 4.86, 15.8, 38.6), 18_978),
        distribution("tpot", "Time per output token", True, (0.031, 0.0298, 0.0512, 0.0689, 0.21), 93_120),
        distribution("e2e", "Time to the last output", True, (6.4, 3.2, 24.5, 61.0, 180.2), 94_513),
        distribution("e2e", "Time to the last output", None, (9.1, 8.0, 22.0, 48.0, 71.0), 640),
    ]


def stages() -> list[r.StageShare]:
    total = [sum(means[i] for means in STAGES.values()) for i in range(3)]
    before = ("gateway", "network", "guardrail", "retrieval", "rerank", "queue", "prefill")
    ttft = sum(STAGES[stage][0] for stage in before)
    return [
        r.StageShare(
            stage=stage,
            seconds=means[0] * 113_527,
            share=means[0] / total[0],
            share_slowest_5_percent=means[1] / total[1],
            n=113_527 if stage != "retrieval" else 22_736,
            mean_seconds=means[0],
            share_of_ttft=means[0] / ttft if stage in before else None,
            mean_seconds_slowest_5_percent=means[1],
            mean_seconds_bad=means[2],
            share_bad=means[2] / total[2],
        )
        for stage, means in STAGES.items()
    ]


def rate(n: int, of: int = 113_527) -> r.Rate:
    return r.Rate(n, of, n / of if of else None, (max(0.0, n / of - 0.0001), n / of + 0.0001) if of else None)


def availability() -> r.Availability:
    return r.Availability(
        availability=r.Rate(113_491, 113_526, 113_491 / 113_526, (0.99957, 0.99978)),
        error_rate=rate(35),
        timeout_rate=rate(1),
        cancel_rate=rate(1),
        degraded_rate=rate(0),
        cold_start_rate=r.Rate(0, 0, None, None),
        retry_amplification=1.00104,
        by_error_type={"upstream_reset": 21, "<img src=x onerror=alert(1)>": 14},
        by_status_class={"ok": 113_491, "error": 34, "timeout": 1, "cancelled": 1},
    )


def comparison() -> r.Comparison:
    return r.Comparison(
        title="2026-W09",
        changes=[
            r.Change("ttft", "mean", "s", 1.174, 1.165, 0.009, (-0.016, 0.038), "unchanged", -0.002, 0.011, 113_491, 111_204),
            r.Change("queue", "mean", "s", 0.117, 0.111, 0.006, (-0.003, 0.021), "unchanged", 0.0, 0.006, 113_491, 111_204),
            r.Change("tpot", "p95", "s/token", 0.0512, 0.0470, 0.0042, (0.0019, 0.0064), "worse", None, None, 93_120, 91_500),
            r.Change("tpot", "p95_same_mix", "s/token", 0.051, 0.0470, 0.004, None, "unknown", None, None, 93_120, 91_500),
            r.Change("cost", "sum", "USD", 4078.79, 4041.2, 37.59, (-80.0, 121.0), "unchanged", None, None, 113_527, 111_250),
            r.Change("goodput", "rate", "per_s", 3.686, 3.6875, -0.0015, (-0.037, 0.037), "unchanged", None, None, 113_527, 111_250),
            r.Change("availability", "ratio", "ratio", 0.9997, 0.9996, 0.0001, (-0.0001, 0.0003), "unchanged", None, None, 113_526, 111_249),
            r.Change("chat.ttft", "attainment", "ratio", 0.989, 0.9905, -0.0015, (-0.003, -0.0002), "worse", 0.0001, -0.0016, 53_508, 52_900),
            r.Change("ttfa", "mean", "s", None, None, None, None, "unknown", None, None, 0, 0),
        ],
        new_strata=["8k-32k / 1k-4k"],
        vanished_strata=[],
        note=None,
    )  # fmt: skip


def week() -> r.AnalysisResult:
    """The week of the incident."""
    return r.AnalysisResult(
        result_version=r.RESULT_VERSION,
        selection=r.SelectionRecord(
            at(0), at(168), "UTC", "2026-W10", {}, "Week 10, 2026", 604_800.0, "2026-W09"
        ),
        data_quality=quality(),
        summary=r.Summary(
            requests=113_527, calls=128_656, attempts=113_645, failed=35, input_tokens=434_800_000,
            cached_input_tokens=180_400_000, output_tokens=24_100_000, first=at(0.001), last=at(167.999),
            cost_usd="4078.789412365", unpriced_requests=0, reasoning_tokens=None, users=1500, tenants=24, models=2,
            requests_estimated=2_270_540.0, by_status={"ok": 113_491, "error": 34, "timeout": 1, "cancelled": 1},
        ),
        latency=latency(),
        stages=stages(),
        strata=strata(),
        objectives=objectives(),
        goodput=goodput(at),
        availability=availability(),
        throughput=r.Throughput(604_800.0, 3.754, 14_378.0, 797.0, 15_175.0, 11.4, at(132.2)),
        load=load(),
        cache=r.Cache(0.415, 113_527, 61_020, 3_608_000_000, 8_696_000_000, "2105.11", 0),
        findings=findings(at),
        costs=costs(HOSTILE),
        comparison=comparison(),
        definitions=definitions(),
        provenance=r.Provenance(
            version="0.1.0", made=at(174), timezone="UTC", objectives="objectives.yaml, 12 objectives",
            price_book="prices.yaml, 2 models; genai-prices 0.2", rules="pack 1, 45 rules", simulated=True,
            inputs=["traces-mon.jsonl.gz sha256 5c1e0a", "run.json"],
            command="tailwise report traces/ --week 2026-W10 --timezone UTC",
        ),
        notes=["Sums are divided by the sampling rate of 5 %."],
    )  # fmt: skip


def quiet_week() -> r.AnalysisResult:
    """The same week with every objective met and nothing to do."""
    result = week()
    met = [replace(o, verdict="met", n_windows_breached=0) for o in result.objectives if o.verdict == "met"]
    provenance = replace(result.provenance, simulated=False)
    return replace(result, objectives=met, findings=[], comparison=None, provenance=provenance)


def empty() -> r.AnalysisResult:
    """A selection without requests: every figure unknown, every list empty."""
    result = week()
    nothing = r.Rate(0, 0, None, None)
    return replace(
        result,
        selection=replace(result.selection, week=None, title="no requests"),
        data_quality=replace(
            result.data_quality, grade=None, read=0, accepted=0, duplicate=0, rejected=0, reasons={}, uploads=[],
            rejects=[], coverage=[], checks=[], flags={}, not_understood={}, unattributed_share=None, sampling_rate=None,
            n_effective=None, straddlers=0, straddler_tokens=0, n_without_time=0, notes=["No request in this selection."],
        ),
        summary=r.Summary(0, 0, 0, 0, None, None, None, None, None, None, 0, None, 0, 0, 0, 0.0, {}),
        latency=[], stages=[], strata=[], findings=[], comparison=None, definitions=[], notes=[],
        objectives=[unjudged("default.ttft", "TTFT ≤ 2 s", "ttft", "unknown", needed=None)],
        goodput=r.Goodput(None, None, None, None, None, 0, 0, None, None, None, [], [], "no joint objective"),
        availability=r.Availability(nothing, nothing, nothing, nothing, nothing, nothing, None, {}, {}),
        throughput=r.Throughput(None, None, None, None, None, None, None),
        load=r.Load(None, None, None, [], [], [], [], None, [], None, None),
        cache=r.Cache(None, 0, 0, None, None, None, 0),
        costs=costs_of_nothing(),
    )  # fmt: skip
