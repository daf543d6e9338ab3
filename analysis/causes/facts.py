"""Facts of one finding, computed once and read by every rule.

Input: the explained objective, one explanation, the investigation. Output: a flat mapping; a fact whose columns are
missing is None, so that a rule on it is untested and not false.
Shares, means, sums and percentiles are of all traffic: where sampling rates differ, each row counts by its votes. Of rows
as they were read are: `n_bad` and the least numbers of rows, for they say how much was seen; `fano`, for votes would be
taken for bursts; how two figures move together (correlations, slopes, steps), and what needs neighbors among the rows
(`session_spread_growth`, `gap_hit_loss`, `behind_long_share`, `timeout_spike`).
"""

from __future__ import annotations

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.explain import Explained, Explanation, Investigation
from analysis.causes.figures import known, mean, number, percentile, share_of, total, weighted_mean
from analysis.causes.floors import floor_ratios
from analysis.causes.promoted_facts import batch_step, promoted_facts
from analysis.causes.scene import Scene
from analysis.causes.stage import Rescue
from analysis.fleet import Fleet
from analysis.rules.rule import Fact
from analysis.rules.vocabulary import NOTHING, SEGMENT

LONG_INPUT = 8192  # KB-12
SHORT_INPUT = 2048  # KB-05
LONG_OUTPUT = 1024  # top buckets of the output
BURST_S = 10.0  # KB-07: arrivals per 10 s
SMALL_BATCH = 2.0  # KB-24
MIN_N = 30
BEFORE = ("retrieval", "rerank", "guardrail", "gateway")


class SceneFacts:
    """Facts that all findings of one episode share; computed on first use."""

    def __init__(self, investigation: Investigation, breached: frozenset[str], fleet: Fleet | None = None) -> None:
        self._fleet = fleet
        self._investigation = investigation
        self._breached = breached
        self._shared: dict[str, Fact] | None = None

    def of(self, entry: Explained, explanation: Explanation, saved: Rescue | None) -> dict[str, Fact]:
        """All facts of a finding."""
        scene = self._investigation.scene
        bad = entry.inside.filter(pl.col("bad"))
        candidate = explanation.candidate
        facts: dict[str, Fact] = dict(self.shared())
        facts.update(_of_bad(bad, scene))
        facts.update(promoted_facts(bad, scene))
        facts.update(floor_ratios(bad, self._fleet))
        facts.update(
            stage=explanation.stage,
            cause=candidate.cause if candidate is not None else "none",
            candidate=candidate.id if candidate is not None else "none",
            segment_dimension=candidate.segment[0][0] if candidate is not None and candidate.segment else "none",
            metric=entry.goal.metric,
            kind=entry.goal.kind,
            n_bad=bad.height * scene.scale,
            structural_share=saved.structural if saved is not None else None,
        )
        if entry.excess is not None:
            for stage in ("queue", "prefill", "decode"):
                facts[f"{stage}_share"] = entry.excess.share(stage)
        if entry.goal.metric in ("tpot", "itl_max"):
            facts.update(_per_token(entry, scene))
        if candidate is not None:
            facts.update(candidate.facts)
        named = dict(candidate.segment) if candidate is not None else {}
        facts.update({f"{SEGMENT}{name}": named.get(name, NOTHING) for name in scene.rows.dimensions})
        return facts

    def shared(self) -> dict[str, Fact]:
        if self._shared is None:
            scene = self._investigation.scene
            self._shared = {
                "availability_breached": "failure" in self._breached,
                "tpot_at_risk": "tpot" in self._breached,
                **_load(scene),
                **_tokens(scene),
                **_outcome(scene),
                **_replicas(scene),
            }
        return self._shared


def _load(scene: Scene) -> dict[str, Fact]:
    """How the queue moves with arrivals, and how bursty those are."""
    facts: dict[str, Fact] = {"load_correlation": None, "fano": None}
    both = pl.concat([scene.normal.select("at", "t_queue"), scene.inside.select("at", "t_queue")])
    waits = "t_queue" if both["t_queue"].null_count() < both.height else None
    if waits is not None and both.height:
        bins = both.group_by((pl.col("at") // 300).alias("bin")).agg(n=pl.len(), wait=pl.col(waits).mean())
        facts["load_correlation"] = known(bins.select(pl.corr("n", "wait", method="spearman")).item())
    counts = scene.inside.group_by((pl.col("at") // BURST_S).alias("bin")).len()["len"]
    if counts.len() > 2:
        average = number(counts.mean())
        facts["fano"] = number(counts.var()) / average if average else None
    return facts


def _tokens(scene: Scene) -> dict[str, Fact]:
    rows = scene.rows
    facts: dict[str, Fact] = {
        "cached_ratio": None,
        "kv_p90": None,
        "preempted_share": None,
        "preempted_growth": None,
        "batch_growth": None,
        "offline_token_share": None,
        "itl_growth": None,
    }
    inside, normal = scene.inside.filter("ok"), scene.normal.filter("ok")
    if rows.has("cached_input_tokens"):
        given = total(inside, "input_tokens")
        facts["cached_ratio"] = total(inside, "cached_input_tokens") / given if given else None
    if rows.has("kv_cache_usage"):
        facts["kv_p90"] = percentile(scene.inside, "kv_cache_usage", 0.9)
    if rows.has("preemptions"):
        now, before = (share_of(frame, frame["preemptions"] > 0) for frame in (scene.inside, scene.normal))
        facts["preempted_share"] = now
        facts["preempted_growth"] = (now or 0.0) / max(before or 0.0, 1e-3)
    if rows.has("batch_size") and normal.height:
        facts["batch_growth"] = mean(inside, "batch_size") / max(weighted_mean(normal, "batch_size"), 1e-9)
    if rows.has("streaming") and inside.height:
        tokens = (pl.col("input_tokens").fill_null(0) + pl.col("output_tokens").fill_null(0)) * pl.col("votes")
        sums = inside.select(all=tokens.sum(), offline=tokens.filter(pl.col("streaming") == "false").sum())
        facts["offline_token_share"] = number(sums["offline"][0]) / max(number(sums["all"][0]), 1.0)
    if rows.has("itl_max_ns") and normal.height:
        now, before = (percentile(frame, "t_itl_max", 0.95) for frame in (inside, normal))
        facts["itl_growth"] = (now or 0.0) / max(before or 0.0, 1e-9)
    return facts


def _outcome(scene: Scene) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        "attempts_per_request": None,
        "attempts_growth": None,
        "timeout_share": None,
        "timeout_spike": None,
        "cancelled_with_output": None,
        "length_finish_share": None,
        "length_finish_growth": None,
        "failed_cost_share": None,
    }
    inside, normal = scene.inside, scene.normal
    if scene.rows.has("attempts") and inside.height:
        facts["attempts_per_request"] = mean(inside, "attempts")
        facts["attempts_growth"] = mean(inside, "attempts") / max(mean(normal, "attempts"), 1.0)
    failed = inside.filter("failed")
    if failed.height:
        timeouts = failed.filter(pl.col("status_class") == "timeout")
        facts["timeout_share"] = share_of(failed, failed["status_class"] == "timeout")
        facts["timeout_spike"] = _spike(timeouts)
    cancelled = inside.filter("cancelled")
    if cancelled.height >= MIN_N and scene.rows.has("output_tokens"):
        facts["cancelled_with_output"] = share_of(cancelled, cancelled["output_tokens"] > 0)
    if scene.rows.has("finish_reason"):
        now, before = (share_of(frame, frame["finish_reason"] == "length") for frame in (inside, normal))
        facts["length_finish_share"] = now
        facts["length_finish_growth"] = (now or 0.0) / max(before or 0.0, 1e-3)
    if scene.rows.has("cost_pico"):
        lost = inside.filter(pl.col("failed") | pl.col("cancelled"))
        facts["failed_cost_share"] = total(lost, "cost_pico") / max(total(inside, "cost_pico"), 1.0)
    return facts


def _spike(timeouts: pl.DataFrame) -> float | None:
    """Share of the timeouts whose duration lies within 5 % of the most frequent one."""
    if timeouts.height < MIN_N or "m_e2e" not in timeouts.columns:
        return None
    bins = timeouts.group_by((pl.col("m_e2e").log() / 0.05).floor().alias("bin")).len()
    return number(bins["len"].max()) / timeouts.height


def _replicas(scene: Scene) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"queue_gini": None, "session_spread_growth": None, "gap_hit_loss": None}
    if scene.rows.has("replica", "queue_ns"):
        facts["queue_gini"] = _queue_gini(scene.inside)
    if scene.rows.has("session", "replica"):
        now, before = (_spread(frame) for frame in (scene.inside, scene.normal))
        facts["session_spread_growth"] = now / before if now is not None and before else None
    if scene.rows.has("session", "cached_input_tokens"):
        facts["gap_hit_loss"] = _gap_loss(scene.inside)
    return facts


def _queue_gini(frame: pl.DataFrame) -> float | None:
    """Gini of the mean wait over the replicas of the pool that waited most; pools differ for reasons of their own."""
    means = (
        frame.drop_nulls("replica")
        .group_by("pool", "replica")
        .agg(
            wait=(pl.col("t_queue") * pl.col("votes")).sum()
            / pl.col("votes").filter(pl.col("t_queue").is_not_null()).sum(),
            n=pl.len(),
            votes=pl.col("votes").sum(),
        )
    )
    means = means.filter(pl.col("n") >= MIN_N)
    totals = (
        means.group_by("pool")
        .agg(total=(pl.col("wait") * pl.col("votes")).sum())
        .sort("total", "pool", descending=True)
    )
    if totals.height == 0:
        return None
    return gini([number(value) for value in means.filter(pl.col("pool") == totals["pool"][0])["wait"].to_list()])


def gini(values: list[float]) -> float | None:
    """Gini coefficient of non-negative values; None without any."""
    ordered, total = sorted(values), sum(values)
    if total <= 0:
        return None
    n = len(ordered)
    return sum((2 * index - n - 1) * value for index, value in enumerate(ordered, start=1)) / (n * total)


def _spread(frame: pl.DataFrame) -> float | None:
    """Replicas per session among sessions of three or more requests, within the same model."""
    sessions = (
        frame.select("session", "pool", "replica")
        .drop_nulls(["session", "replica"])
        .group_by("session", "pool", "replica")
        .len()
        .group_by("session", "pool")  # counts twice are quicker than a set per session
        .agg(n=pl.col("len").sum(), replicas=pl.len())
        .filter(pl.col("n") >= 3)
    )
    return mean(sessions, "replicas") if sessions.height >= MIN_N else None


def _gap_loss(frame: pl.DataFrame) -> float | None:
    """Hit ratio after gaps below one minute, less that after gaps above ten, in the same session."""
    rows = (
        frame.filter(pl.col("ok") & pl.col("session").is_not_null())
        .select("at", "session", "cached_input_tokens", "input_tokens", "votes", code=pl.col("session").hash())
        .sort("code", maintain_order=True)  # rows come in the order of time, and numbers sort faster than text
        .with_columns(gap=pl.when(pl.col("session") == pl.col("session").shift()).then(pl.col("at").diff()))
        .drop_nulls("gap")
    )
    near, far = rows.filter(pl.col("gap") < 60), rows.filter(pl.col("gap") > 600)
    if near.height < MIN_N or far.height < MIN_N:
        return None
    ratios = [total(part, "cached_input_tokens") / max(total(part, "input_tokens"), 1.0) for part in (near, far)]
    return ratios[0] - ratios[1]


def _of_bad(bad: pl.DataFrame, scene: Scene) -> dict[str, Fact]:
    """Facts over the bad requests of the objective."""
    facts: dict[str, Fact] = dict.fromkeys(
        (
            "batch_p50",
            "long_input_share",
            "long_output_share",
            "unstreamed_share",
            "ingress_part",
            "reasoning_share",
            "behind_long_share",
        )
    )
    if bad.height == 0:
        return facts
    rows = scene.rows
    if rows.has("batch_size"):
        facts["batch_p50"] = percentile(bad, "batch_size", 0.5)
    if rows.has("input_tokens"):
        facts["long_input_share"] = share_of(bad, bad["uncached"] >= LONG_INPUT)
    if rows.has("output_tokens"):
        facts["long_output_share"] = share_of(bad, bad["output_tokens"] >= LONG_OUTPUT)
    if rows.has("streaming"):
        facts["unstreamed_share"] = share_of(bad, bad["streaming"] == "false")
    if rows.has("unattributed_ns"):
        facts["ingress_part"] = mean(bad, "t_unattributed") / max(mean(bad, "value"), 1e-9)
    if rows.has("reasoning_tokens"):
        facts["reasoning_share"] = total(bad, "reasoning_tokens") / max(total(bad, "output_tokens"), 1.0)
    if rows.has("replica", "queue_ns", "prefill_ns", "input_tokens"):
        facts["behind_long_share"] = _behind_long(bad, scene)
    return facts


def _behind_long(bad: pl.DataFrame, scene: Scene) -> float | None:
    """Share of short bad requests that arrived while a long prompt was in its replica's queue or prefill."""
    short = bad.filter((pl.col("uncached") < SHORT_INPUT) & pl.col("replica").is_not_null())
    if short.height < MIN_N:
        return None
    held = pl.col("t_queue").fill_null(0.0) + pl.col("t_prefill").fill_null(0.0)
    long = (
        scene.inside.filter(pl.col("uncached") >= LONG_INPUT)
        .select("replica", "at", until=pl.col("at") + held)
        .drop_nulls()
        .sort("at")
    )
    if long.height == 0:
        return 0.0
    joined = (
        short.select("replica", "at")
        .sort("at")
        .join_asof(long.with_columns(since="at"), on="at", by="replica", check_sortedness=False)
    )
    return known((joined["until"] > joined["at"]).fill_null(value=False).mean())


def _per_token(entry: Explained, scene: Scene) -> dict[str, Fact]:
    """How the time per token moves with batch and context, in the normal and the incident together."""
    facts: dict[str, Fact] = dict.fromkeys(
        ("tpot_batch_r2", "tpot_batch_slope", "tpot_context_r2", "tpot_small_batch_over_limit", "tpot_batch_step")
    )
    if not scene.rows.has("batch_size", "output_tokens") or "m_tpot" not in entry.inside.columns:
        return facts
    rows = entry.inside.filter(pl.col("ok") & (pl.col("batch_size") > 0)).drop_nulls("m_tpot")
    if rows.height < MIN_N:
        return facts
    context = pl.col("input_tokens") + pl.col("output_tokens")
    found = rows.select(
        batch=pl.corr("batch_size", "m_tpot"),
        context=pl.corr(context, pl.col("m_tpot")),
        slope=pl.cov("batch_size", "m_tpot") / pl.col("batch_size").var(),
    )
    facts["tpot_batch_r2"] = number(found["batch"][0]) ** 2
    facts["tpot_batch_slope"] = known(found["slope"][0])
    facts["tpot_context_r2"] = number(found["context"][0]) ** 2
    facts["tpot_batch_step"] = batch_step(rows)
    small = rows.filter(pl.col("batch_size") <= SMALL_BATCH)
    if small.height >= MIN_N and entry.goal.threshold is not None and entry.goal.metric == "tpot":
        facts["tpot_small_batch_over_limit"] = number(quantile(small["m_tpot"], 0.5)) > entry.goal.threshold
    return facts
