"""Causes of spend: which factor of the cost per request moved, whether one user carries it, whether capacity idles.

Input: Scene and goal. Output: candidates cost_input, cost_output, cost_cache, cost_model, cost_user, cost_capacity.
Source: exact Shapley over the factors model share, input, cached share and output per model; a sum per user has no
normal in time and is judged by what the user sends against the others.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial

import polars as pl

from analysis.aggregates.statistics import quantile
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import mean, number, weighted_mean
from analysis.causes.goal import Goal, members, population
from analysis.causes.scene import Scene
from analysis.causes.segment import concise_slice
from analysis.causes.settings import CauseSettings
from analysis.result import Evidence

FACTORS = ("model", "input", "cached", "output")
STAGES = {"model": "cost_model", "input": "cost_input", "cached": "cost_cache", "output": "cost_output"}
CAUSES = {"model": "mix_shift", "input": "mix_shift", "cached": "config", "output": "mix_shift"}
SEARCHED = ("scenario", "tenant", "user", "requested_model", "model", "region", "route", "deployment_version")
PICO = 1e12
EXPLAINED = 0.4  # of the change; four factors that share it alike would have a quarter each
IDLE_BUSY = 0.4  # busy share below which capacity idles (KB-42)
SURVIVOR_FAILURES = 0.03  # share of failures beyond the normal from which success-only means are not trusted


def mean_cost(scene: Scene, goal: Goal, settings: CauseSettings) -> Candidate | None:
    """The factor that moved the mean cost of a request most, and whose requests moved it."""
    inside = population(scene.rows, goal, scene.inside)
    normal = population(scene.rows, goal, scene.normal)
    if inside.height == 0 or normal.height == 0:
        return None
    before, now = _factors(normal, weight=True), _factors(inside, weight=False)
    terms = _shapley(before, now, _prices(pl.concat([normal.drop("w"), inside])))
    leading = max(FACTORS, key=lambda name: terms[name])
    mean_now, mean_before = mean(inside, "value"), weighted_mean(normal, "value")
    if terms[leading] <= 0 or terms[leading] < EXPLAINED * (mean_now - mean_before):
        return None  # tokens do not explain the spend: a price moved, or a count that the charge rests on is missing
    rows = _excess(scene, leading)
    dims = [name for name in SEARCHED if name in scene.rows.dimensions]
    found = concise_slice(rows, dims, settings) if rows.height else None
    pairs = found.pairs if found is not None else ()
    return Candidate(
        id=STAGES[leading],
        cause=CAUSES[leading],
        stage=STAGES[leading],
        segment=pairs or tuple((name, values[0]) for name, values in goal.where if len(values) == 1),
        reach={},
        says=f"mean cost rose from {mean_before:.3g} to {mean_now:.3g} USD, {terms[leading] / max(sum(terms.values()), 1e-12):.0%} of it by {_words(leading)}",
        evidence=(
            Evidence("mean cost of a request", mean_now, mean_before, "USD", inside.height),
            *(Evidence(f"part of the change by {_words(name)}", terms[name], 0.0, "USD") for name in FACTORS),
        ),
        facts={"cost_factor": leading, "cost_growth": mean_now / max(mean_before, 1e-12)},
    )


def _words(factor: str) -> str:
    return {
        "model": "the choice of model",
        "input": "input length",
        "cached": "cached share",
        "output": "output length",
    }[factor]


Factors = dict[str, tuple[float, float, float, float]]  # model to share, input, cached share, output


def _factors(frame: pl.DataFrame, *, weight: bool) -> Factors:
    w = pl.col("w") if weight else pl.lit(1.0)
    model = pl.col("model").cast(pl.String) if "model" in frame.columns else pl.lit("all")
    table = (
        frame.lazy()
        .select(
            model=model.fill_null("?"),
            w=w,
            fed=pl.col("input_tokens").fill_null(0),
            cached=pl.col("cached_input_tokens").fill_null(0),
            made=pl.col("output_tokens").fill_null(0),
        )
        .group_by("model")
        .agg(
            n=pl.col("w").sum(),
            fed=(pl.col("fed") * pl.col("w")).sum(),
            cached=(pl.col("cached") * pl.col("w")).sum(),
            made=(pl.col("made") * pl.col("w")).sum(),
        )
        .collect()
    )
    total = float(table["n"].sum()) or 1.0
    return {
        str(name): (n / total, fed / n if n else 0.0, cached / fed if fed else 0.0, made / n if n else 0.0)
        for name, n, fed, cached, made in table.iter_rows()
    }


def _prices(frame: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    """USD per uncached, cached and output token by model, as the ledger charged them."""
    model = pl.col("model").cast(pl.String) if "model" in frame.columns else pl.lit("all")
    parts = {
        name: pl.col(f"{name}_pico").sum() if f"{name}_pico" in frame.columns else pl.lit(None, dtype=pl.Float64)
        for name in ("uncached_input", "cached_input", "output")
    }
    cached = pl.col("cached_input_tokens").fill_null(0)
    table = frame.group_by(model.fill_null("?").alias("model")).agg(
        *(expr.alias(name) for name, expr in parts.items()),
        fresh=(pl.col("input_tokens") - cached).sum(),
        hit=cached.sum(),
        made=pl.col("output_tokens").sum(),
    )
    result = {}
    for row in table.iter_rows(named=True):
        fresh = (row["uncached_input"] or 0) / row["fresh"] / PICO if row["fresh"] else 0.0
        hit = (row["cached_input"] or 0) / row["hit"] / PICO if row["hit"] else fresh
        made = (row["output"] or 0) / row["made"] / PICO if row["made"] else 0.0
        result[str(row["model"])] = (fresh, hit, made)
    return result


def _shapley(before: Factors, now: Factors, prices: dict[str, tuple[float, float, float]]) -> dict[str, float]:
    """Exact Shapley shares of the change of the mean cost; they sum to it."""
    models = sorted({*before, *now})
    nothing = (0.0, 0.0, 0.0, 0.0)

    def cost(moved: frozenset[str]) -> float:
        total = 0.0
        for model in models:
            old, new = before.get(model) or now.get(model, nothing), now.get(model) or before.get(model, nothing)
            share = (now if "model" in moved else before).get(model, nothing)[0]
            fed = (new if "input" in moved else old)[1]
            ratio = (new if "cached" in moved else old)[2]
            made = (new if "output" in moved else old)[3]
            fresh, hit, out = prices.get(model, (0.0, 0.0, 0.0))
            total += share * (fed * ((1 - ratio) * fresh + ratio * hit) + made * out)
        return total

    n = len(FACTORS)
    terms = {}
    for name in FACTORS:
        others = [other for other in FACTORS if other != name]
        terms[name] = sum(
            factorial(size)
            * factorial(n - size - 1)
            / factorial(n)
            * (cost(frozenset({*chosen, name})) - cost(frozenset(chosen)))
            for size in range(n)
            for chosen in combinations(others, size)
        )
    return terms


def _excess(scene: Scene, factor: str) -> pl.DataFrame:
    """Requests of the incident with what their factor has beyond the usual of their scenario, over all scenarios.

    In tokens, not in money: a dear model holds most of any change in money without being where it came from.
    """
    cached = pl.col("cached_input_tokens").fill_null(0)
    figure = {
        "model": pl.col("cost_pico") / PICO,
        "input": pl.col("input_tokens").cast(pl.Float64),
        "cached": (pl.col("input_tokens") - cached).cast(pl.Float64),
        "output": pl.col("output_tokens").cast(pl.Float64),
    }[factor]
    keys = [name for name in ("scenario",) if name in scene.rows.dimensions]
    ok = pl.col("ok") & pl.col("cost_pico").is_not_null()
    rows, normal = (frame.filter(ok).with_columns(figure=figure) for frame in (scene.inside, scene.normal))
    if not keys:
        return rows.with_columns(excess=pl.col("figure") - mean(normal, "figure"))
    usual = normal.group_by(keys).agg(usual=pl.col("figure").mean())
    rows = rows.join(usual, on=keys, how="left", maintain_order="left", nulls_equal=True)
    return rows.with_columns(excess=pl.col("figure") - pl.col("usual").fill_null(0.0))


def survivors_only(scene: Scene, goal: Goal) -> bool:
    """Whether a mean rose only because the cheap requests failed: failed ones are given what their kind cost before."""
    if goal.threshold is None:
        return False
    wide = scene.inside.filter(members(scene.rows, goal))
    usual_wide = scene.normal.filter(members(scene.rows, goal))
    lost = pl.col("failed") | pl.col("cancelled")
    if wide.height == 0 or usual_wide.height == 0:
        return False
    share = float(wide.select(lost.mean()).item())
    before = float(usual_wide.select((lost * pl.col("w")).sum() / pl.col("w").sum()).item() or 0.0)
    if share - before < SURVIVOR_FAILURES:
        return False
    keys = [name for name in ("scenario", "requested_model", "tenant") if name in scene.rows.dimensions]
    usual = usual_wide.filter(pl.col("ok")).group_by(keys).agg(usual=pl.col("cost_pico").mean())
    given = (
        wide.join(usual, on=keys, how="left", nulls_equal=True)
        .select(pl.when(lost).then(pl.col("usual")).otherwise(pl.col("cost_pico").cast(pl.Float64)).mean())
        .item()
    )
    return given is not None and float(given) / PICO <= goal.threshold


def spender(scene: Scene, goal: Goal) -> Candidate | None:
    """The value of a dimension (a user, a tenant) whose sum passes its limit."""
    if goal.per is None or goal.per not in scene.rows.dimensions or goal.threshold is None:
        return None
    rows = scene.rows.frame.filter(members(scene.rows, goal))
    sums = (
        rows.group_by(pl.col(goal.per).cast(pl.String).alias("of"))
        .agg(usd=(pl.col("cost_pico") * pl.col("votes")).sum() / PICO * scene.rows.each, n=pl.len())
        .drop_nulls("of")
        .sort(["usd", "of"], descending=[True, False])
    )
    over = sums.filter(pl.col("usd") > goal.threshold)
    if over.height == 0:
        return None
    top, usd, n = str(over["of"][0]), float(over["usd"][0]), int(over["n"][0])
    total = float(sums["usd"].sum())
    return Candidate(
        id="cost_user",
        cause="cost",
        stage=_driver(rows.filter(pl.col(goal.per).cast(pl.String) == top), rows),
        segment=((goal.per, top),),
        reach={},
        says=f"{goal.per} {top} spent {usd:.4g} USD of {total:.4g}",
        evidence=(
            Evidence(f"spend of {goal.per} {top} (limit: {goal.threshold:.6g} USD)", usd, None, "USD", n),
            Evidence(
                f"part of all spend (in equal parts: {100 / sums.height:.3g} %)",
                usd / total if total else None,
                None,
                "ratio",
            ),
            Evidence(f"values over the limit, of {sums.height:,}", float(over.height), None, "count"),
        ),
        facts={"user_share": usd / total if total else 0.0},
    )


def _driver(mine: pl.DataFrame, everyone: pl.DataFrame) -> str:
    """Whether input or output makes up more of the spend, against all others."""
    made, fed = "output_pico", "uncached_input_pico"
    if made not in mine.columns or fed not in mine.columns:
        return "cost_input"
    shares = [
        number(frame[made].sum()) / max(number(frame[made].sum()) + number(frame[fed].sum()), 1e-9)
        for frame in (mine, everyone)
    ]
    return "cost_output" if shares[0] > 0.6 or shares[0] > max(shares[1], 0.5) else "cost_input"


def _of_capacity(scene: Scene, goal: Goal, batch: float) -> dict[str, float]:
    """Mean batch while busy against the largest batches that the same replicas have held."""
    if not scene.rows.has("batch_size"):
        return {}
    held = number(quantile(scene.rows.frame.filter(members(scene.rows, goal))["batch_size"], 0.99))
    return {"batch_of_capacity": batch / held} if held > 0 else {}


def idle_capacity(scene: Scene, goal: Goal, hours: pl.DataFrame | None) -> Candidate | None:
    """Replicas with a low busy share, by replica hours; the model of the objective, or the one that idles most."""
    if hours is None or hours.height == 0 or hours["busy_s"].null_count() == hours.height:
        return None
    chosen = hours
    for name, values in goal.where:
        if name in hours.columns:
            chosen = chosen.filter(pl.col(name).is_in(list(values)))
    if chosen.height == 0 or float(chosen["up_s"].sum() or 0) <= 0:
        return None
    busy = float(chosen["busy_s"].sum()) / float(chosen["up_s"].sum())
    batch = float((chosen["mean_batch_size"] * chosen["busy_s"]).sum() or 0) / max(float(chosen["busy_s"].sum()), 1e-9)
    replicas = chosen["replica"].n_unique()
    idle = (
        float((chosen["cost_usd"].cast(pl.Float64) * (1 - (chosen["busy_s"] / chosen["up_s"]).clip(0, 1))).sum() or 0)
        / PICO
    )
    segment = tuple((name, values[0]) for name, values in goal.where if len(values) == 1)
    if not segment and "model" in chosen.columns:
        worst = (
            chosen.group_by("model")
            .agg(free=(pl.col("up_s") - pl.col("busy_s")).sum())
            .sort("free", "model", descending=[True, False])
        )
        segment = (("model", str(worst["model"][0])),)
    return Candidate(
        id="cost_capacity",
        cause="cost",
        stage="cost_capacity",
        segment=segment,
        reach={},
        says=f"the replicas ({replicas}) were busy {busy:.0%} of the time, {batch:.1f} sequences at once",
        evidence=(
            Evidence("busy share of replica time", busy, None, "ratio", chosen.height),
            Evidence("mean batch size while busy", batch, None, "sequences"),
            Evidence("replicas", float(replicas), None, "replicas"),
            Evidence("cost of time without work", idle, None, "USD"),
        ),
        facts={"busy_share": busy, **_of_capacity(scene, goal, batch)},
    )
