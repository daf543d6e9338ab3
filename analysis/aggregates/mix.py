"""A change of attainment, split into what the mix of work did and what happened within the same work.

    change = sum over strata of (change of share x mean attainment)  +  sum of (change of attainment x mean share)

Strata that only one side has are a part of their own. Attainments count from the mean of both sides, so that the parts
add up to the change whatever strata are new or gone.
Source: Kitagawa 1955; metric definitions, section 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

Counts = Mapping[str, tuple[int, int]]  # stratum to (good, judged)


@dataclass(frozen=True)
class Split:
    """Parts of a change; they sum to it."""

    change: float
    mix: float
    within: float
    unmatched: float
    new: tuple[str, ...]
    vanished: tuple[str, ...]


def split_change(before: Counts, after: Counts) -> Split | None:
    """The parts of after - before; None if a side has no judged request."""
    before = {name: counts for name, counts in before.items() if counts[1] > 0}
    after = {name: counts for name, counts in after.items() if counts[1] > 0}
    n0, n1 = sum(n for _, n in before.values()), sum(n for _, n in after.values())
    if n0 == 0 or n1 == 0:
        return None
    whole0, whole1 = (Fraction(sum(g for g, _ in side.values()), n) for side, n in ((before, n0), (after, n1)))
    middle = (whole0 + whole1) / 2
    mix = within = unmatched = Fraction(0)
    for name in {*before, *after}:
        share0, share1 = Fraction(before.get(name, (0, 0))[1], n0), Fraction(after.get(name, (0, 0))[1], n1)
        if name not in before:
            unmatched += share1 * (Fraction(*after[name]) - middle)
        elif name not in after:
            unmatched -= share0 * (Fraction(*before[name]) - middle)
        else:
            kept0, kept1 = Fraction(*before[name]), Fraction(*after[name])
            mix += (share1 - share0) * ((kept0 + kept1) / 2 - middle)
            within += (kept1 - kept0) * (share0 + share1) / 2
    return Split(
        change=float(whole1 - whole0),
        mix=float(mix),
        within=float(within),
        unmatched=float(unmatched),
        new=tuple(sorted(set(after) - set(before))),
        vanished=tuple(sorted(set(before) - set(after))),
    )
