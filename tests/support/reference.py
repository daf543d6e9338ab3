"""The figures once more, in slow plain Python: one row at a time, with exact fractions and no library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
FAILED = {"truncated", "error", "timeout", "shed"}


def quantile(values: Iterable[float | None], p: str) -> float | None:
    """The smallest known value that a share p of the known values does not exceed."""
    known = sorted(value for value in values if value is not None)
    wanted = Fraction(p)
    for position, value in enumerate(known, 1):
        if Fraction(position, len(known)) >= wanted:
            return value
    return None


def seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1_000_000_000


def tpot(row: Row) -> float | None:
    calls = max(row["llm_calls"] or 1, 1)
    if row["generation_ns"] is None or row["output_tokens"] is None or row["output_tokens"] <= calls:
        return None
    return float(Fraction(row["generation_ns"], (row["output_tokens"] - calls) * 1_000_000_000))


def figure(row: Row, metric: str) -> float | None:
    """ttft, tpot, e2e or perceived of one request."""
    if metric == "tpot":
        return tpot(row)
    if metric == "perceived":
        if row["streaming"] is None:
            return None
        return seconds(row["ttft_ns"] if row["streaming"] else row["e2e_ns"])
    return seconds(row[f"{metric}_ns"])


def applies(row: Row, metric: str) -> bool:
    """Whether a clause on ttft, tpot, e2e or perceived means anything for a request."""
    if figure(row, metric) is not None or metric in ("e2e", "perceived"):
        return True
    if row["streaming"] is False:
        return False
    few = row["output_tokens"] is not None and row["output_tokens"] <= max(row["llm_calls"] or 1, 1)
    return not (metric == "tpot" and few)


def verdict(row: Row, limits: Sequence[tuple[str, float]]) -> str:
    """good, bad, unknown or excluded under the default policy, for constant limits with a target."""
    status = row["status_class"]
    if status in FAILED:
        return "bad"
    if status == "rejected":
        return "excluded"
    clauses = [(metric, figure(row, metric), limit) for metric, limit in limits if applies(row, metric)]
    if status == "cancelled":
        waited = seconds(row["e2e_ns"])
        silent = not row["output_tokens"]
        for metric, value, limit in clauses:
            if value is not None and value > limit:
                return "bad"
            elapsed = metric == "e2e" or (silent and (metric == "ttft" or row["streaming"] is not None))
            if value is None and metric != "tpot" and elapsed and waited is not None and waited > limit:
                return "bad"
        return "excluded"
    if any(value is not None and value > limit for _, value, limit in clauses):
        return "bad"
    if any(value is None for _, value, _ in clauses):
        return "unknown"
    return "good" if clauses else "excluded"


def counts(rows: Iterable[Row], limits: Sequence[tuple[str, float]]) -> dict[str, int]:
    found = dict.fromkeys(("good", "bad", "unknown", "excluded"), 0)
    for row in rows:
        found[verdict(row, limits)] += 1
    return found


def wilson(good: float, n: float) -> tuple[float, float]:
    """Roots of (share - p)^2 = z^2 p (1 - p) / n."""
    z2 = 1.959963984540054**2
    share = good / n
    a, b, c = 1 + z2 / n, -(2 * share + z2 / n), share * share
    root = max(0.0, b * b - 4 * a * c) ** 0.5
    return max(0.0, (-b - root) / (2 * a)), min(1.0, (-b + root) / (2 * a))
