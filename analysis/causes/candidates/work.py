"""Offered work: whether all traffic grew, or one segment, and which of its factors.

Input: Scene. Output: candidates traffic_growth, arrivals_segment, input_growth, output_growth, routing_shift.
Source: work = alpha * uncached input + beta * output per request, alpha and beta per model from the normal; the split
of a segment's growth is Kitagawa's, each factor at the mean of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.aggregates.statistics import quantile_expr
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.figures import mean, number, weighted_mean
from analysis.causes.scene import Scene
from analysis.causes.segment import within
from analysis.causes.settings import CauseSettings
from analysis.causes.window import weighted_median
from analysis.result import Evidence

LONG_PROMPT = 800  # uncached tokens from which prefill time is work and not overhead
FALLBACK_BETA = 4.0  # one output token against one prompt token, where no stage time tells: decode shares its steps
CELL = ("scenario", "tenant")
SEARCHED = ("scenario", "tenant", "asked", "region", "route", "user")
MIN_CELL = 30
ROUTED = 1.25  # growth over all models below which a model's own growth came from the others
FACTORS = ("arrivals", "routing", "input", "cached", "output")


@dataclass(frozen=True)
class Offered:
    """Work asked for inside and in the normal, row by row (`asked`, `work` and its parts), and the common growth."""

    inside: pl.DataFrame
    normal: pl.DataFrame
    alpha: dict[str, float]
    beta: dict[str, float]
    common: float  # growth that all cells share
    arrivals: float  # arrivals inside against those expected

    def per_pool(self) -> dict[str, tuple[float, float]]:
        """Pool to work inside and work expected."""
        now = _sums(self.inside, "pool", "work")
        before = _sums(self.normal.with_columns(work=pl.col("work") * pl.col("w")), "pool", "work")
        return {pool: (now.get(pool, 0.0), before.get(pool, 0.0)) for pool in sorted({*now, *before})}


def _sums(frame: pl.DataFrame, key: str, value: str) -> dict[str, float]:
    table = frame.group_by(key).agg(pl.col(value).sum())
    return {str(name): float(total or 0.0) for name, total in table.iter_rows() if name is not None}


def offered(scene: Scene) -> Offered:
    """Work of every request; failed ones are given what their kind needs, for they report too few tokens."""
    alpha, beta = _rates(scene)
    asked = _asked(scene)
    usual = _usual(scene, asked)
    inside = _with_work(scene.inside.with_columns(asked=asked), usual, alpha, beta)
    normal = _with_work(scene.normal.with_columns(asked=asked), usual, alpha, beta)
    arrivals = inside.height / scene.expected_requests if scene.expected_requests else 1.0
    return Offered(inside, normal, alpha, beta, _common_growth(inside, normal, arrivals, scene), arrivals)


def _asked(scene: Scene) -> pl.Expr:
    for name in ("requested_model", "model"):
        if name in scene.rows.dimensions:
            return pl.col(name)
    return pl.lit("all")


def _rates(scene: Scene) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds per uncached prompt token and per output token, by model."""
    model = pl.col("model") if "model" in scene.rows.dimensions else pl.lit("all")
    ok = scene.normal.lazy().filter(pl.col("ok")).with_columns(asked=model)
    is_known = scene.rows.batch_basis is not None  # else a client's clock tells load and work not apart
    batch = pl.col("batch_size").clip(lower_bound=1.0) if is_known else pl.lit(8.0)
    prompt, answer = ("t_prompt", "t_answer") if is_known else ("t_prefill", "t_decode")
    prefill = ok.filter(pl.col("uncached") > LONG_PROMPT).group_by("asked")
    alpha = prefill.agg(rate=quantile_expr(pl.col(prompt) / pl.col("uncached"), 0.1)).collect()
    decode = ok.filter(pl.col("output_tokens") > 0).group_by("asked")
    beta = decode.agg(rate=(pl.col(answer) / batch).sum() / pl.col("output_tokens").sum()).collect()
    alphas = {str(name): float(rate) for name, rate in alpha.iter_rows() if rate and name is not None}
    betas = {str(name): float(rate) for name, rate in beta.iter_rows() if rate and name is not None}
    return alphas, betas


def _usual(scene: Scene, asked: pl.Expr) -> pl.DataFrame:
    """Tokens of a successful request of the same kind, in the normal."""
    keys = [name for name in ("scenario",) if name in scene.rows.dimensions]
    return (
        scene.normal.lazy()
        .filter(pl.col("ok"))
        .with_columns(asked=asked)
        .group_by(["asked", *keys])
        .agg(
            usual_output=pl.col("output_tokens").mean(),
            usual_input=pl.col("input_tokens").mean(),
            usual_ratio=1 - pl.col("uncached").sum() / pl.col("input_tokens").sum(),
        )
        .collect()
    )


def _with_work(
    frame: pl.DataFrame, usual: pl.DataFrame, alpha: dict[str, float], beta: dict[str, float]
) -> pl.DataFrame:
    keys = [name for name in ("asked", "scenario") if name in usual.columns]
    joined = (
        frame.join(usual, on=keys, how="left", maintain_order="left")
        if usual.height
        else frame.with_columns(usual_output=pl.lit(0.0), usual_input=pl.lit(0.0), usual_ratio=pl.lit(0.0))
    )
    middle_a = sorted(alpha.values())[len(alpha) // 2] if alpha else 1.0
    middle_b = sorted(beta.values())[len(beta) // 2] if beta else middle_a * FALLBACK_BETA
    if not alpha and beta:
        middle_a = middle_b / FALLBACK_BETA
    ok = pl.col("ok")
    seen = pl.when(pl.col("input_tokens") > 0).then(pl.col("input_tokens").cast(pl.Float64))
    given = pl.coalesce(seen, "usual_input", pl.lit(0.0))
    ratio = pl.col("usual_ratio").fill_null(0.0)
    fresh = pl.when(ok).then(pl.col("uncached")).otherwise(given * (1 - ratio)).fill_null(0.0)
    made = pl.when(ok).then(pl.col("output_tokens").cast(pl.Float64)).otherwise(pl.col("usual_output")).fill_null(0.0)
    a = _by_model(alpha, middle_a)
    b = _by_model(beta, middle_b)
    return joined.with_columns(a=a, b=b, given=given, fresh=fresh, made=made).with_columns(
        work=pl.col("a") * pl.col("fresh") + pl.col("b") * pl.col("made") + 1e-9  # no request is free: arrivals count
    )


def _by_model(rates: dict[str, float], default: float) -> pl.Expr:
    if not rates:
        return pl.lit(default)
    return pl.col("asked").replace_strict(rates, default=default, return_dtype=pl.Float64)


def _common_growth(inside: pl.DataFrame, normal: pl.DataFrame, arrivals: float, scene: Scene) -> float:
    """Median growth of arrivals over scenario x tenant, weighed by requests: what all of the traffic shares.

    Arrivals and not work: one scenario with long prompts may hold most of the work, and its growth is not common.
    """
    keys = [name for name in CELL if name in scene.rows.dimensions]
    if not keys:
        return arrivals
    now = inside.group_by(keys).agg(now=pl.len().cast(pl.Float64))
    before = normal.group_by(keys).agg(before=pl.col("w").sum(), n=pl.len()).filter(pl.col("n") >= MIN_CELL)
    both = before.join(now, on=keys, how="left", nulls_equal=True).with_columns(pl.col("now").fill_null(0.0))
    pairs = [(now / before, before) for now, before in both.select("now", "before").iter_rows() if before > 0]
    return max(weighted_median(pairs), 1e-6) if pairs else arrivals


def candidates(scene: Scene, work: Offered, settings: CauseSettings) -> list[Candidate]:
    """Load and mix: the growth of one segment if it stands out, else the common growth."""
    found = []
    own = _own_growth(scene, work, settings)
    if own is not None:
        made = _segment_candidate(scene, work, own)
        if made is not None:
            found.append(made)
    if work.common >= settings.growth and work.arrivals >= settings.growth:
        found.append(_load(work))
    return found


def _load(work: Offered) -> Candidate:
    growth = min(work.common, work.arrivals) if work.common > 0 else work.arrivals
    pools = {pool: max(now / before, 1.0) for pool, (now, before) in work.per_pool().items() if before > 0}
    reach = {pool: min(value, work.arrivals * 1.25) for pool, value in pools.items()}
    return Candidate(
        id="traffic_growth",
        cause="load",
        stage="queue",
        segment=(),
        reach=reach,
        says=f"arrivals grew {work.arrivals:.2f}-fold in all segments alike",
        evidence=(
            Evidence("arrivals against those expected", work.arrivals, 1.0, "ratio", work.inside.height),
            Evidence("offered work against that expected, common to all segments", growth, 1.0, "ratio"),
        ),
        facts={"arrivals_growth": work.arrivals, "common_growth": work.common},
    )


@dataclass(frozen=True)
class Own:
    """Growth of one segment beyond the common growth."""

    pairs: tuple[tuple[str, str], ...]
    growth: float  # work beyond the common growth
    share: float  # of all positive growth
    normal_share: float


def _table(work: Offered, keys: list[str]) -> pl.DataFrame:
    now = work.inside.group_by(keys).agg(now=pl.col("work").sum(), now2=(pl.col("work") ** 2).sum())
    before = work.normal.group_by(keys).agg(
        before=(pl.col("work") * pl.col("w")).sum(), before2=((pl.col("work") * pl.col("w")) ** 2).sum()
    )
    return (
        now.join(before, on=keys, how="full", coalesce=True, nulls_equal=True)
        .with_columns(pl.col("now", "now2", "before", "before2").fill_null(0.0))
        .with_columns(
            own=pl.col("now") - work.common * pl.col("before"),
            spread=(pl.col("now2") + work.common**2 * pl.col("before2")).sqrt(),
        )
        .drop_nulls(keys)
    )


def _own_growth(scene: Scene, work: Offered, settings: CauseSettings) -> Own | None:
    """The segment that carries the growth which the others do not share."""
    dims = [
        name for name in SEARCHED if name in work.inside.columns and (name == "asked" or name in scene.rows.dimensions)
    ]
    tables = {name: _table(work, [name]) for name in dims if work.inside[name].n_unique() > 1}
    positive = [
        total for table in tables.values() if (total := float(table.filter(pl.col("own") > 0)["own"].sum())) > 0
    ]
    expected = float((work.normal["work"] * work.normal["w"]).sum())
    now = float(work.inside["work"].sum())
    if not positive or expected <= 0:
        return None
    whole = max(min(positive), now - work.common * expected)
    best: tuple[float, Own] | None = None
    for name, table in tables.items():
        for value, own, spread, before in (
            table.select(pl.col(name).cast(pl.String), "own", "spread", "before").sort(name).iter_rows()
        ):
            share, usual = min(1.0, own / whole), before / expected
            floor = settings.own_of_pool * max(now, expected) * 0.5
            if share < settings.own_share or own < floor or spread <= 0 or own / spread < settings.own_z:
                continue
            if usual > 0 and share / usual < settings.own_lift:
                continue
            worth = round(share - settings.own_share * usual, 6)
            if best is None or worth > best[0]:
                best = (worth, Own(((name, value),), own, share, usual))
    if best is None:
        grown = now - work.common * expected
        return Own((), grown, 1.0, 1.0) if grown >= (settings.growth - 1) * work.common * expected else None
    return _narrower(work, best[1], tables, expected)


def _narrower(work: Offered, found: Own, tables: dict[str, pl.DataFrame], expected: float) -> Own:
    """A pair that keeps 85 % of the growth with at most half the normal share."""
    name, value = found.pairs[0]
    best = found
    for other in tables:
        if other == name:
            continue
        inside = work.inside.filter(pl.col(name) == value)
        normal = work.normal.filter(pl.col(name) == value)
        part = Offered(inside, normal, work.alpha, work.beta, work.common, work.arrivals)
        for second, own, before in (
            _table(part, [other]).select(pl.col(other).cast(pl.String), "own", "before").iter_rows()
        ):
            usual = before / expected
            if own >= 0.85 * found.growth and usual <= 0.5 * best.normal_share:
                best = Own((*found.pairs, (other, second)), own, own / found.growth * found.share, usual)
    return best


def _segment_candidate(scene: Scene, work: Offered, own: Own) -> Candidate | None:
    inside = work.inside.filter(within(own.pairs))
    normal = work.normal.filter(within(own.pairs))
    terms = _kitagawa(work, inside, normal, own)
    if not terms:
        return None
    leading = max(FACTORS, key=lambda name: terms[name])
    if leading == "cached":
        return None  # the cache candidate tells it with what was expected of it
    pools = work.per_pool()
    now, before = (
        _sums(inside, "pool", "work"),
        _sums(normal.with_columns(work=pl.col("work") * pl.col("w")), "pool", "work"),
    )
    reach = {}
    for pool, (total, _) in pools.items():
        gained = now.get(pool, 0.0) - work.common * before.get(pool, 0.0)
        if gained > 0 and total > gained:
            reach[pool] = total / max(total - gained, 0.2 * total)
    grown = sum(now for now, _ in pools.values()) / max(sum(before for _, before in pools.values()), 1e-12)
    segment = tuple(
        (
            "requested_model"
            if name == "asked" and "requested_model" in scene.rows.dimensions
            else "model"
            if name == "asked"
            else name,
            value,
        )
        for name, value in own.pairs
    )
    name, cause, stage, words = {
        "arrivals": ("arrivals_segment", "load", "queue", "sent {:.2f} times the requests expected"),
        "routing": ("routing_shift", "mix_shift", "queue", "took {:.2f} times the requests expected from other models"),
        "input": ("input_growth", "mix_shift", "prefill", "sent prompts {:.2f} times as long"),
        "output": ("output_growth", "mix_shift", "decode", "got answers {:.2f} times as long"),
    }[leading]
    if leading == "arrivals" and grown < 1.1:
        cause = "mix_shift"  # the pool's work did not grow: nothing was overloaded
    ratios = _ratios(inside, normal)
    factor = ratios["arrivals"] if leading in ("arrivals", "routing") else ratios[leading]
    return Candidate(
        id=name,
        cause=cause,
        stage=stage,
        segment=segment,
        reach=reach,
        says=f"{' and '.join(f'{key} {value}' for key, value in segment) or 'all traffic'} {words.format(factor)}",
        evidence=(
            Evidence("requests of the segment against those expected", ratios["arrivals"], 1.0, "ratio", inside.height),
            Evidence("input tokens per request", ratios["input_now"], ratios["input_before"], "tokens"),
            Evidence("output tokens per request", ratios["output_now"], ratios["output_before"], "tokens"),
            Evidence("segment's part of the growth of work", own.share, own.normal_share, "ratio"),
        ),
        direct=segment if segment and leading in ("input", "output") else None,
        direct_multiplier=max(factor, 1.0) if leading in ("input", "output") else 1.0,
        facts={f"{leading}_growth": factor, "growth_factor": leading, "work_growth": grown},
    )


def _ratios(inside: pl.DataFrame, normal: pl.DataFrame) -> dict[str, float]:
    fed, fed_before = mean(inside, "given"), weighted_mean(normal, "given")
    made, made_before = mean(inside, "made"), weighted_mean(normal, "made")
    return {
        "arrivals": inside.height / max(number(normal["w"].sum()), 1e-9),
        "input": fed / max(fed_before, 1e-9),
        "output": made / max(made_before, 1e-9),
        "input_now": fed,
        "input_before": fed_before,
        "output_now": made,
        "output_before": made_before,
    }


def _kitagawa(work: Offered, inside: pl.DataFrame, normal: pl.DataFrame, own: Own) -> dict[str, float] | None:
    """The segment's growth split into arrivals, routing, input, cached and output; the parts sum to it."""
    if inside.height == 0:
        return None
    n1, n0 = float(inside.height), number(normal["w"].sum()) * work.common
    now = {name: mean(inside, name) for name in ("a", "b", "given", "fresh", "made", "work")}
    before = {name: weighted_mean(normal, name) for name in now} if normal.height else now
    a, b = (now["a"] + before["a"]) / 2, (now["b"] + before["b"]) / 2
    n = (n1 + n0) / 2
    terms = {
        "arrivals": (n1 - n0) * (now["work"] + before["work"]) / 2,
        "input": n * a * (now["given"] - before["given"]),
        "cached": n * a * ((now["fresh"] - now["given"]) - (before["fresh"] - before["given"])),
        "output": n * b * (now["made"] - before["made"]),
        "routing": 0.0,
    }
    if terms["arrivals"] > 0 and _routed(work, own):
        terms["routing"], terms["arrivals"] = terms["arrivals"], 0.0
    return terms


def _routed(work: Offered, own: Own) -> bool:
    """Whether the segment's callers sent about as many requests as before, over all models together."""
    if not any(name == "asked" for name, _ in own.pairs):
        return False
    rest = [pair for pair in own.pairs if pair[0] != "asked"]
    before = number(work.normal.filter(within(rest))["w"].sum()) * work.common
    return before > 0 and work.inside.filter(within(rest)).height / before < ROUTED
