"""What a result says of an objective beside its verdict: clauses, limits, bounds, the sentence, the n needed."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from analysis.aggregates.statistics import needed_for_share
from analysis.aggregates.tally import Scene
from analysis.aggregates.verdicts import BAD, EXCLUDED, GOOD, UNKNOWN, clause_flags
from analysis.objectives import JOINT, Objective
from analysis.result import Clause, Interval, WindowVerdict


def needed_requests(item: Objective) -> int:
    """Judged requests that a window must have: `min_requests`, and one event of budget for a target."""
    if item.target_exact is None:
        return item.min_requests
    return max(item.min_requests, math.ceil(1 / (1 - item.target_exact)))


def clauses_of(scene: Scene, item: Objective) -> list[Clause]:
    """Each condition by itself: kept among the requests that are judged and to which it applies, failures included."""
    if item.target is None:
        return []
    found: list[Clause] = []
    judged = pl.col("_verdict") != EXCLUDED
    for condition in item.conditions:
        flags = clause_flags(condition)
        failed = pl.col("is_failed")
        applies, keeps = judged & (failed | flags.kept | flags.broken), judged & ~failed & flags.kept
        applicable, kept, all_votes, kept_votes = scene.rows.select(
            applies.sum().alias("applicable"),
            keeps.sum().alias("kept"),
            pl.col("votes").filter(applies).sum().alias("all_votes"),
            pl.col("votes").filter(keeps).sum().alias("kept_votes"),
        ).row(0)
        constant = condition.threshold.constant
        found.append(
            Clause(
                metric=condition.metric.id,
                threshold=condition.threshold.text if constant is None else constant,
                unit=str(condition.metric.unit),
                applicable=int(applicable),
                kept=int(kept),
                attainment=kept_votes / all_votes if all_votes else None,
            )
        )
    return found


def requests_needed(item: Objective, verdict: str, worst: WindowVerdict | None) -> int | None:
    if verdict == "too_few":
        return needed_requests(item)
    if item.target is None or worst is None or worst.sure or worst.attainment is None:
        return None
    return needed_for_share(worst.attainment, item.target)


def sentence(item: Objective, verdict: str, counts: dict[str, Any], judged: int, breached: int) -> str:
    if verdict == UNKNOWN:
        return f"No request has {_figures(item)}." if counts["n_all"] else "No request matches."
    if verdict == "too_few":
        where = (
            "No window has" if item.window_s is not None or item.per is not None else f"{counts['n']:,} are fewer than"
        )
        return f"Too few requests: {where} the {needed_requests(item):,} judged requests that a verdict needs."
    n = counts[GOOD] + counts[BAD]
    parts = [f"{counts[GOOD]:,} of {n:,} judged requests are good."] if item.target is not None else []
    if item.window_s is not None or item.per is not None:
        what = f"values of {item.per}" if item.window_s is None else f"windows of {item.window}"
        parts.append(f"{breached:,} of {judged:,} judged {what} are breached.")
    if not parts:
        parts.append(f"Judged over {counts['n']:,} requests.")
    return " ".join(parts)


def _figures(item: Objective) -> str:
    """What a request must tell; of a joint objective what its clauses measure."""
    names = [condition.metric.id for condition in item.conditions] if item.metric == JOINT else [item.metric]
    return f"the figure{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def threshold_of(item: Objective) -> float | str | None:
    if item.threshold is None:
        return None
    constant = item.threshold.constant
    return item.threshold.text if constant is None else constant


def threshold_text_of(item: Objective) -> str:
    if item.metric == JOINT:
        return ", ".join(f"{condition.metric.id} {condition.threshold.text}" for condition in item.conditions)
    return item.threshold.text if item.threshold is not None else ""


def bounds_of(counts: dict[str, Any]) -> Interval | None:
    """Attainment if everything excluded or unknown had been bad, and good."""
    good, bad, unknown, excluded = (counts[f"{name}_votes"] for name in (GOOD, BAD, UNKNOWN, EXCLUDED))
    total = good + bad + unknown + excluded
    if total == 0:
        return None
    return good / total, (good + unknown + excluded) / total
