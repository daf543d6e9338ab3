"""Fluidity of one request by a walk over its tokens, in exact fractions: the slow reference."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

HALF_NS = Fraction(1, 2)  # an arrival is a whole number of nanoseconds, so a deadline is one too


def walk(
    ttft_ns: int, gaps_ns: Sequence[int], output_tokens: int, ttft_limit_ns: int, tpot_limit_ns: int
) -> tuple[int, int]:
    """Deadlines met, and deadlines."""
    step = Fraction(tpot_limit_ns * (output_tokens - 1), len(gaps_ns))
    arrivals = [ttft_ns]
    for gap in gaps_ns:
        arrivals.append(arrivals[-1] + gap)
    due, met = Fraction(ttft_limit_ns), 0
    for arrived in arrivals:
        met += arrived <= due + HALF_NS
        due = max(due, Fraction(arrived)) + step
    return met, len(arrivals)
