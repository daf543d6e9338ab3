"""Objectives judged: every form, every verdict."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from analysis.aggregates.attainment import good_objectives, judge, share_if_all_kept, with_good
from analysis.metrics.measure import measure
from analysis.objectives import read_objectives
from analysis.result import Clause, ObjectiveResult, WindowVerdict
from ingest.schema import NS_PER_S
from tests.support.builders import MONDAY_NS, frame, replica_hours, request

HOUR_NS = 3600 * NS_PER_S


def result(objective: str, rows: list[dict[str, Any]], **options: Any) -> ObjectiveResult:
    read = read_objectives(f"objectives:\n  - {{id: x, {objective}}}")
    return judge(measure(frame(rows), read.settings), read, **options)[0]


def answers(n: int, *, slow: int = 0, failed: int = 0, every_s: float = 60.0, **columns: Any) -> list[dict[str, Any]]:
    """n requests of which the first `slow` take 3 s to the first token and the next `failed` fail; the rest take 1 s."""
    return [
        request(
            i,
            at_s=i * every_s,
            ttft_ms=3000 if i < slow else 1000,
            tpot_ms=10,
            status="error" if slow <= i < slow + failed else "ok",
            **columns,
        )
        for i in range(n)
    ]


def test_a_target_counts_failures_as_bad() -> None:
    found = result("metric: ttft, threshold: 2s, target: 95%", answers(100, slow=4, failed=2))
    assert (found.good, found.bad, found.unknown, found.excluded) == (94, 6, 0, 0)
    assert (found.attainment, found.value, found.verdict, found.sure) == (0.94, 0.94, "breached", False)
    assert found.says == "94 of 100 judged requests are good."
    assert found.needed == 1825
    assert found.clauses == [Clause("ttft", 2.0, "s", 100, 94, 0.94)]


def test_the_point_estimate_decides_and_the_interval_says_how_sure_it_is() -> None:
    met = result("metric: ttft, threshold: 2s, target: 95%", answers(1000, slow=50))
    assert (met.attainment, met.verdict, met.sure) == (0.95, "met", False)
    sure = result("metric: ttft, threshold: 2s, target: 95%", answers(1000))
    assert (sure.verdict, sure.sure) == ("met", True)
    assert sure.interval == pytest.approx((0.99617, 1.0), abs=1e-5)


@pytest.mark.parametrize(
    ("n", "target", "verdict"),
    [
        (29, "50%", "too_few"),
        (30, "50%", "met"),
        (99, "99%", "too_few"),
        (100, "99%", "met"),
        (999, "99.9%", "too_few"),
    ],
)
def test_a_window_needs_min_requests_and_one_event_of_budget(n: int, target: str, verdict: str) -> None:
    found = result(f"metric: ttft, threshold: 2s, target: {target}", answers(n))
    assert found.verdict == verdict
    assert (
        found.needed is None or found.needed == max(30, round(1 / (1 - float(target[:-1]) / 100))) or verdict == "met"
    )


def test_a_figure_that_no_request_has_is_unknown_whatever_failed() -> None:
    rows = [request(i, e2e_ms=100, status="error" if i < 5 else "ok") for i in range(100)]
    found = result("metric: ttft, threshold: 2s, target: 95%", rows)
    assert (found.verdict, found.good, found.bad, found.unknown) == ("unknown", 0, 5, 95)
    assert found.says == "No request has the figure ttft."


def test_a_joint_objective_names_the_figures_that_no_request_has() -> None:
    rows = [request(i, e2e_ms=100) for i in range(100)]
    joint = "target: 95%, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 50ms}]"
    assert result(joint, rows).says == "No request has the figures ttft and tpot."


def test_a_total_outage_is_a_breach_and_no_unknown() -> None:
    rows = [request(i, status="error") for i in range(100)]
    assert result("metric: ttft, threshold: 2s, target: 95%", rows).verdict == "breached"


def test_no_request_at_all_is_unknown() -> None:
    found = result("metric: ttft, threshold: 2s, target: 95%", [])
    assert (found.verdict, found.attainment, found.interval, found.says) == (
        "unknown",
        None,
        None,
        "No request matches.",
    )


def test_windows_are_judged_one_by_one_and_one_breach_is_enough() -> None:
    rows = answers(240, slow=40)  # one a minute; four hours, the first 40 minutes slow
    found = result(
        "metric: ttft, threshold: 2s, target: 90%, window: 2h", rows, start_ns=MONDAY_NS, end_ns=MONDAY_NS + 4 * HOUR_NS
    )
    assert (found.verdict, found.n_windows_judged, found.n_windows_breached) == ("breached", 2, 1)
    assert found.windows[1] == WindowVerdict(
        start="2026-03-02T02:00:00Z",
        end="2026-03-02T04:00:00Z",
        verdict="met",
        n=120,
        good=120,
        bad=0,
        unknown=0,
        excluded=0,
        attainment=1.0,
        value=1.0,
        interval=found.windows[1].interval,
        sure=True,
        of=None,
    )
    assert found.worst == found.windows[0]
    assert found.says == "200 of 240 judged requests are good. 1 of 2 judged windows of 2h are breached."


def test_windows_with_too_few_requests_are_skipped() -> None:
    rows = answers(70, slow=10)  # the second hour has ten requests
    found = result("metric: ttft, threshold: 2s, target: 80%, window: 1h", rows)
    assert [window.verdict for window in found.windows] == ["met", "too_few"]
    assert (found.verdict, found.n_windows_judged) == ("met", 1)
    few = result("metric: ttft, threshold: 2s, target: 80%, window: 10m", rows)
    assert (few.verdict, few.needed) == ("too_few", 30)


def test_a_percentile_and_the_share_within_it_say_the_same() -> None:
    rows = [request(i, ttft_ms=100 * (i + 1), tpot_ms=1) for i in range(100)]
    for limit, verdict in (("9500ms", "met"), ("9499ms", "breached")):
        found = result(f"metric: ttft, threshold: {limit}, statistic: p95", rows)
        assert (found.value, found.verdict) == (9.5, verdict)
    assert found.interval == pytest.approx((9.0899570, 9.9108356))
    assert (found.good, found.bad, found.excluded) == (94, 6, 0)


def test_a_percentile_leaves_failures_out_and_a_target_does_not() -> None:
    rows = answers(100, failed=10)
    assert result("metric: ttft, threshold: 2s, statistic: p95", rows).verdict == "met"
    assert result("metric: ttft, threshold: 2s, target: 95%", rows).verdict == "breached"


def test_a_percentile_by_length_is_judged_by_the_share_within_its_limits() -> None:
    rows = [request(i, ttft_ms=1500, tpot_ms=1, input_tokens=100 if i < 6 else 4000) for i in range(100)]
    found = result("metric: ttft, threshold: {'<2k': 1s, else: 2s}, statistic: p95", rows)
    assert (found.verdict, found.value, found.threshold) == ("breached", 1.5, "<2k: 1s; else: 2s")


def test_a_mean_takes_answers_and_a_sum_takes_all() -> None:
    rows = [request(i, cost_pico=2_000_000_000, status="error" if i % 2 else "ok") for i in range(60)]
    mean = result("metric: cost, threshold: 0.002 USD, statistic: mean", rows)
    assert (mean.value, mean.verdict) == (0.002, "met")
    total = result("metric: cost, threshold: 0.1 USD, statistic: sum", rows)
    assert (total.value, total.verdict, total.sure) == (0.12, "breached", None)


def test_requests_of_a_sum_are_good_where_it_keeps_the_limit() -> None:
    spent = [
        *[("a", 2)] * 10,
        *[("b", 2)] * 10,
        *[("c", 9)] * 10,
        *[(None, 1)] * 10,
        *[("a", None)] * 3,
        *[("d", 1)] * 2,
    ]
    rows = [
        request(i, user=user, cost_pico=None if amount is None else amount * 10**9)
        for i, (user, amount) in enumerate(spent)
    ]
    found = result("metric: cost, statistic: sum, per: user, threshold: 0.05 USD, min_requests: 5", rows)
    assert found.verdict == "breached"
    assert (found.good, found.bad, found.unknown, found.excluded) == (20, 10, 3, 12)  # no user, or too few: not judged
    assert {window.of: (window.good, window.bad, window.unknown, window.excluded) for window in found.windows} == {
        "a": (10, 0, 3, 0),
        "b": (10, 0, 0, 0),
        "c": (0, 10, 0, 0),
        "d": (0, 0, 0, 2),
    }


def test_requests_of_a_ratio_of_sums_are_good_where_it_keeps_the_limit() -> None:
    rows = [request(i, input_tokens=100, cached_input_tokens=60) for i in range(40)]
    for limit, counts in (("50%", (40, 0)), ("70%", (0, 40))):
        found = result(f"metric: cache_hit_ratio, threshold: {limit}", rows)
        assert (found.good, found.bad) == counts
        assert (found.attainment, found.unknown, found.excluded) == (None, 0, 0)


def test_sums_of_a_sample_are_divided_by_its_rate() -> None:
    rows = [request(i, cost_pico=2_000_000_000, sampling_rate=0.05) for i in range(60)]
    assert result("metric: cost, threshold: 1 USD, statistic: sum", rows).value == 2.4
    assert result("metric: cost, threshold: 1 USD, statistic: mean", rows).value == 0.002


def test_per_gives_one_verdict_per_value_and_any_breach_is_a_breach() -> None:
    rows = [
        request(i, cost_pico=10_000_000_000 if user == "u-1" else 1_000_000_000, user=user)
        for i, user in enumerate(["u-1"] * 40 + ["u-2"] * 40 + ["u-3"] * 5 + [None] * 40)
    ]
    found = result("metric: cost, threshold: 0.3 USD, statistic: sum, per: user", rows)
    assert [(window.of, window.value, window.verdict) for window in found.windows] == [
        ("u-1", 0.4, "breached"),
        ("u-2", 0.04, "met"),
        ("u-3", 0.005, "too_few"),
    ]
    assert (found.verdict, found.value, found.worst and found.worst.of) == ("breached", 0.4, "u-1")


def test_of_very_many_windows_the_breached_ones_are_shown_first_and_all_are_counted() -> None:
    rows = [request(i, at_s=i * 60, ttft_ms=3000 if i == 2999 else 100, tpot_ms=1) for i in range(3000)]
    found = result("metric: ttft, threshold: 2s, target: 50%, window: 1m, min_requests: 1", rows)
    assert (found.n_windows_judged, found.n_windows_breached) == (0, 0)  # one request is less than one event of budget
    found = result("metric: ttft, threshold: 2s, statistic: p50, window: 1m, min_requests: 1", rows)
    assert (found.n_windows_judged, found.n_windows_breached, len(found.windows)) == (3000, 1, 2000)
    assert [window.verdict for window in found.windows[-2:]] == ["met", "breached"]
    assert found.windows[-1].start == "2026-03-04T01:59:00Z"


def test_rates_ratios_and_volumes_have_a_threshold_alone() -> None:
    rows = answers(100, failed=2)
    rate = result("metric: error_rate, threshold: 1%", rows)
    assert (rate.value, rate.verdict, rate.bad, rate.sure) == (0.02, "breached", 2, False)
    assert result("metric: availability, threshold: 98%", rows).verdict == "met"
    span = {"start_ns": MONDAY_NS, "end_ns": MONDAY_NS + 100 * 60 * NS_PER_S}
    volume = result("metric: requests_per_second, threshold: 0.02", rows, **span)
    assert (volume.value, volume.verdict) == (100 / 6000, "breached")  # better when higher
    assert result("metric: goodput, threshold: 0.01", rows, **span).value == 98 / 6000


def test_capacity_is_judged_on_replica_hours_of_the_filter() -> None:
    hours = replica_hours(
        {"replica": name, "hour_ns": MONDAY_NS, "upload_id": "u", "model": model, "up_s": 3600.0, "busy_s": busy,
         "cost_usd": 8_000_000_000_000}
        for name, model, busy in (("a-1", "a", 1800.0), ("a-2", "a", 900.0), ("b-1", "b", 0.0))
    )  # fmt: skip
    rows = [request(i, model="a" if i < 40 else "b", output_tokens=10_000) for i in range(80)]
    cost = "metric: gpu_cost_per_million_output_tokens, threshold: 30 USD"
    found = result(f"{cost}, where: {{model: a}}", rows, replica_hours=hours)
    assert (found.value, found.verdict) == (40.0, "breached")  # 16 USD over 0.4 million tokens
    assert result(cost, rows, replica_hours=hours).value == 30.0
    assert result(cost, rows).verdict == "unknown"
    use = result("metric: gpu_utilization, threshold: 30%, where: {model: a}", rows, replica_hours=hours)
    assert (use.value, use.verdict) == (0.375, "met")


def test_a_joint_objective_tells_its_clauses_apart() -> None:
    rows = [
        *(request(i, ttft_ms=3000 if i < 10 else 100, tpot_ms=200 if 5 <= i < 20 else 10) for i in range(90)),
        *(request(100 + i, ttft_ms=100, output_tokens=1, e2e_ms=100) for i in range(10)),
    ]
    found = result("all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 100ms}], target: 80%", rows)
    assert (found.good, found.bad, found.verdict) == (80, 20, "met")
    assert [(c.metric, c.kept, c.applicable) for c in found.clauses] == [("ttft", 90, 100), ("tpot", 75, 90)]
    assert (found.threshold, found.threshold_text, found.unit) == (None, "ttft 2s, tpot 100ms", "ratio")


def test_bounds_tell_what_the_excluded_and_unknown_could_change() -> None:
    rows = [*answers(60, slow=6), *(request(100 + i, status="rejected") for i in range(20)),
            *(request(200 + i, e2e_ms=5) for i in range(20))]  # fmt: skip
    found = result("metric: ttft, threshold: 2s, target: 80%", rows)
    assert (found.good, found.bad, found.unknown, found.excluded) == (54, 6, 20, 20)
    assert (found.attainment, found.bounds) == (0.9, (0.54, 0.94))


def test_the_budget_may_be_overspent() -> None:
    found = result("metric: ttft, threshold: 2s, target: 95%", answers(100, slow=20))
    assert found.budget_spent == 4.0


def test_endangered_is_met_with_a_burn_rate_above_its_factor_in_both_windows() -> None:
    objective = "metric: ttft, threshold: 2s, target: 95%, period: 7d"
    calm = [request(i, at_s=i * 60, ttft_ms=100, tpot_ms=1) for i in range(5000)]
    burning = [request(9000 + i, at_s=300_000 + i * 30, ttft_ms=9000, tpot_ms=1) for i in range(120)]  # the last hour
    found = result(objective, [*calm, *burning])
    assert found.attainment == 5000 / 5120
    assert (found.verdict, [burn.firing for burn in found.burn_rates]) == ("endangered", [True, True, True, False])
    recovered = [request(20_000 + i, at_s=303_600 + i * 10, ttft_ms=100, tpot_ms=1) for i in range(400)]
    assert result(objective, [*calm, *burning, *recovered]).verdict == "met"


def test_good_requests_keep_every_joint_objective_that_applies() -> None:
    read = read_objectives(
        "objectives:\n"
        "  - {id: a, all_of: [{metric: ttft, threshold: 2s}], target: 95%, where: {model: m}}\n"
        "  - {id: b, all_of: [{metric: e2e, threshold: 5s}], target: 95%}\n"
        "  - {id: c, metric: e2e, threshold: 1ms, target: 95%}\n"
    )
    rows = [
        request(1, ttft_ms=1000, e2e_ms=2000, model="m"),
        request(2, ttft_ms=3000, e2e_ms=4000, model="m"),
        request(3, ttft_ms=3000, e2e_ms=4000, model="n"),
        request(4, ttft_ms=3000, e2e_ms=6000, model="n"),
        request(5, model="n"),
        request(6, status="rejected"),
    ]
    good = with_good(measure(frame(rows)), read, None)
    assert good.get_column("good_verdict").to_list() == ["good", "bad", "good", "bad", "unknown", "excluded"]
    assert good.get_column("is_good").to_list() == [True, False, True, False, False, False]
    alone = with_good(measure(frame(rows)), read_objectives(""), None)
    assert alone.get_column("good_verdict").to_list() == ["good"] * 5 + ["excluded"]


def test_percentiles_define_good_where_no_joint_objective_does() -> None:
    text = "objectives:\n  - {id: a, metric: ttft, threshold: 2s, statistic: p95}\n  - {id: m, metric: cost, threshold: 1 USD, statistic: mean}\n"
    rows = [request(1, ttft_ms=1000, tpot_ms=1), request(2, ttft_ms=3000, tpot_ms=1), request(3, status="error")]
    good = with_good(measure(frame(rows)), read_objectives(text), None)
    assert good.get_column("good_verdict").to_list() == ["good", "bad", "bad"]
    assert [(item.id, item.target, item.statistic) for item in good_objectives(read_objectives(text))] == [
        ("a", 0.95, None)
    ]


def test_budgets_of_objectives_on_the_same_requests_add_up() -> None:
    def share(*items: str) -> float | None:
        return share_if_all_kept(good_objectives(read_objectives("objectives:\n" + "\n".join(items))))

    ttft, tpot = (f"  - {{id: {name}, metric: {name}, threshold: 1s, target: 95%}}" for name in ("ttft", "tpot"))
    chat = "  - {id: chat, metric: e2e, threshold: 1s, statistic: p90, where: {scenario: chat}}"
    assert share(ttft) == pytest.approx(0.95)
    assert share(ttft, tpot) == pytest.approx(0.90)
    assert share(ttft, tpot, chat) == pytest.approx(0.80)
    assert share() is None


def test_results_do_not_depend_on_the_order_of_rows() -> None:
    rows = measure(frame([*answers(100, slow=7, failed=3), *(request(500 + i, e2e_ms=5) for i in range(9))]))
    read = read_objectives(
        "objectives:\n"
        "  - {id: a, metric: ttft, threshold: 2s, target: 95%, window: 1h}\n"
        "  - {id: b, metric: e2e, statistic: mean, threshold: 2s}\n"
    )
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=3)
    assert judge(rows, read) == judge(shuffled, read)
    assert judge(pl.concat([rows.head(50), rows.tail(59)], rechunk=False), read) == judge(rows, read)


FORMS = """objectives:
  - {id: target, metric: ttft, threshold: 2s, target: 95%, window: 15m, period: 7d}
  - {id: joint, all_of: [{metric: ttft, threshold: 2s}, {metric: tpot, threshold: 5ms}], target: 90%}
  - {id: percentile, metric: ttft, threshold: 2s, statistic: p95, window: 15m}
  - {id: mean, metric: ttft, threshold: 1100ms, statistic: mean, window: 1h}
  - {id: sum, metric: output_length, threshold: 100, statistic: sum, per: user}
  - {id: rate, metric: error_rate, threshold: 1%, window: 15m}
  - {id: busy, metric: requests_per_second, threshold: 0.01}
"""
DECIDING = ("verdict", "good", "bad", "unknown", "excluded", "n_windows_breached", "clauses", "burn_rates")


def test_what_is_not_told_has_the_verdicts_and_counts_of_what_is() -> None:
    objectives = read_objectives(FORMS)
    rows = measure(frame(answers(400, slow=30, failed=3, user="u-1")), objectives.settings)
    told = judge(rows, objectives)
    assert {one.verdict for one in told} >= {"breached"}
    untold = judge(rows, objectives, told=())
    for full, part in zip(told, untold, strict=True):
        assert [(w.start, w.of, w.verdict, w.n, w.bad) for w in full.windows] == [
            (w.start, w.of, w.verdict, w.n, w.bad) for w in part.windows
        ]
        assert [getattr(full, name) for name in DECIDING] == [getattr(part, name) for name in DECIDING]
    assert judge(rows, objectives, told=("mean",), known=untold) == (*untold[:3], told[3], *untold[4:])
    assert judge(rows, objectives, told=[item.id for item in objectives.items], known=untold) == told


@pytest.mark.parametrize(("unknown", "sure"), [(0, True), (10, True), (2940, False)])
def test_a_breach_is_not_sure_where_requests_without_the_figure_could_undo_it(unknown: int, sure: bool) -> None:
    judged = answers(60, failed=60)
    rows = judged + [request(100 + i, at_s=i, ttft_ms=None, e2e_ms=900, streaming=None) for i in range(unknown)]
    rows += answers(1)  # the figure is known of one
    found = result("metric: ttft, threshold: 2s, target: 95%", rows)
    assert (found.verdict, found.sure) == ("breached", sure)
