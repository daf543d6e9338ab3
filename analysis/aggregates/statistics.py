"""Quantiles and intervals: the only place where the method is chosen.

Quantiles are those of the inverse empirical distribution, rank ceil(p * n) in integer arithmetic: the only method
under which P95 <= L says the same as "at least 95 % are within L". Intervals are 95 % and
two-sided; those of quantiles lie between order statistics and hold whatever the distribution is.
Source: metric definitions, sections 4 and 9. Functions of the binomial distribution are written out here, because
the product does not depend on a numerical library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import polars as pl

CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE
Z = 1.959963984540054  # 97.5 % point of the normal distribution
LEAST_SPREAD = 0.5  # of what independent requests would have: blocks that look more alike than that do so by chance
LEAST_FREE = 2.0  # degrees of freedom: below, the t quantile says nothing
EXACT_FROM_TARGET = 0.999  # from this target on the interval is Clopper and Pearson's (metric definitions, section 4)

MANY = 1000  # values: fewer are sorted sooner than they are counted

Interval = tuple[float, float]


def exact(p: float | Fraction) -> Fraction:
    """The fraction a user meant: 0.07 is 7/100, not the float next to it."""
    return p if isinstance(p, Fraction) else Fraction(repr(p))


def rank(p: float | Fraction, n: int) -> int:
    """Rank ceil(p * n) of a quantile among n sorted values, from 1; at least 1.

    Raises:
        ValueError: p lies outside [0, 1].
    """
    fraction = exact(p)
    if not 0 <= fraction <= 1:
        raise ValueError(f"quantile {p} lies outside [0, 1]; write 0.99, not 99")
    return max(1, -(-fraction.numerator * n // fraction.denominator))


def quantile(values: pl.Series, p: float | Fraction) -> float | None:
    """The p-quantile of the non-null values, or None if there are none.

    Raises:
        ValueError: p lies outside [0, 1].
    """
    known = values.drop_nulls()
    position = rank(p, known.len()) - 1
    return None if known.is_empty() else placed(known, [position])[0]


def placed(values: pl.Series, places: Sequence[int]) -> list[float]:
    """The values at places (from 0) of their ascending order; of many, only those between the outermost are sorted.

    Args:
        values: known numbers, more than the largest place.
        places: at least one.
    """
    n, below = values.len(), 0
    first, last = min(places), max(places)
    if n >= MANY and 2 * (last - first) < n:
        least = values.quantile(first / (n - 1), "lower")  # rounding may miss a place by one, to the outer side
        most = values.quantile(last / (n - 1), "higher")
        below = int((values < least).sum())
        values = values.filter(values.is_between(least, most))
    ordered = values.sort()
    return [float(ordered.item(place - below)) for place in places]


def quantile_expr(column: str | pl.Expr, p: float | Fraction) -> pl.Expr:
    """The p-quantile of a column of floats, for select and for group_by: null where a group has no value."""
    values = (pl.col(column) if isinstance(column, str) else column).drop_nulls()
    fraction = exact(p)
    if not 0 <= fraction <= 1:
        raise ValueError(f"quantile {p} lies outside [0, 1]; write 0.99, not 99")
    if not fraction.denominator & (
        fraction.denominator - 1
    ):  # a half is a float: p * n is exact, and nothing is sorted
        return values.quantile(float(fraction), "equiprobable")
    n = values.len().cast(pl.Int64)
    position = ((n * fraction.numerator + (fraction.denominator - 1)) // fraction.denominator).clip(lower_bound=1) - 1
    return values.sort().get(position, null_on_oob=True)


def below_expr(column: str, p: float) -> pl.Expr:
    """A value of the column a rank or two below its p-quantile, found without a sort: what reaches that one reaches it."""
    return pl.col(column).quantile((p - 2 / pl.len()).clip(lower_bound=0.0), "lower")


def interpolated(values: pl.Series, p: float) -> float | None:
    """The quantile as numpy, vLLM bench and AIPerf print it, between two values; for their figures alone, never ours."""
    known = values.drop_nulls().sort()
    if known.is_empty():
        return None
    position = p * (known.len() - 1)
    low = math.floor(position)
    below, above = float(known.item(low)), float(known.item(min(low + 1, known.len() - 1)))
    return below + (above - below) * (position - low)


def weighted_quantiles(values: pl.Series, weights: pl.Series, ps: Sequence[float | Fraction]) -> list[float | None]:
    """For every p the smallest value at or below which that share of whole-number weights lies; None without any."""
    table = pl.DataFrame({"value": values, "weight": weights}).filter(pl.col("weight") > 0).drop_nulls().sort("value")
    if table.is_empty():
        return [None] * len(ps)
    reached = table.get_column("weight").cast(pl.Int64).cum_sum()
    positions = (int((reached < rank(p, int(reached.item(-1)))).sum()) for p in ps)
    return [float(table.get_column("value").item(position)) for position in positions]


@lru_cache(maxsize=65_536)
def quantile_ranks(n: int, p: Fraction) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the order statistics that hold the p-quantile with 95 %; None where n is too small for a side.

    Distribution-free: the number of values at or below the quantile is binomial. At most 2.5 % lie beyond each end.
    """
    share = float(p)
    if n < 1 or not 0 < share < 1:
        return None, None
    lower = _binomial_rank(n, share, ALPHA / 2)
    upper = n + 1 - _binomial_rank(n, 1 - share, ALPHA / 2)
    return (lower if lower >= 1 else None), (upper if upper <= n else None)


@dataclass(frozen=True)
class QuantileEnds:
    """Where the ends of an interval lie among n sorted values.

    low, high: ranks (from 1) that hold the quantile with at least 95 %, whatever the distribution.
    low_step, high_step: how far each end lies on the way from its rank to the next one inside, 0 to 1.
    coverage: exact probability that the two ranks hold the quantile of a continuous distribution; the ends between
        the ranks bring it down to 95 %.
    """

    low: int
    high: int
    low_step: float
    high_step: float
    coverage: float


@lru_cache(maxsize=65_536)
def quantile_ends(n: int, p: Fraction) -> QuantileEnds | None:
    """Ends of the 95 % interval of the p-quantile of n values, 2.5 % beyond each; None where n is too small for one.

    Ranks are whole numbers, so a pair of them that holds the quantile with 95 % holds it with up to 98 %. Each end lies
    between its rank and the next one inside, where 2.5 % are beyond it, so that the interval is no wider than it says.
    Source: Hettmansperger and Sheather 1986 for the median, Nyblom 1992 for every quantile.
    """
    lower, upper = quantile_ranks(n, p)
    if lower is None or upper is None:
        return None
    share = float(p)
    coverage = binomial_cdf(upper - 1, n, share) - binomial_cdf(lower - 1, n, share)
    return QuantileEnds(lower, upper, _inward(lower, n, share), _inward(n + 1 - upper, n, 1 - share), coverage)


def _inward(position: int, n: int, p: float) -> float:
    """Part of the way from a lower rank to the next at which 2.5 % lie beyond; of an upper one with both mirrored."""
    beyond, beyond_next = binomial_cdf(position - 1, n, p), binomial_cdf(position, n, p)
    part = min(1.0, max(0.0, (ALPHA / 2 - beyond) / (beyond_next - beyond)))
    if part == 1 or position >= n:
        return part
    odds = part / (1 - part) * (n - position) * p / (position * (1 - p))
    return odds / (1 + odds)


def quantile_interval(ordered: pl.Series, p: float | Fraction) -> Interval | None:
    """95 % interval of the p-quantile of sorted values without nulls; None if they are too few for one."""
    ends = quantile_ends(ordered.len(), exact(p))
    if ends is None:
        return None
    low, inside_low, inside_high, high = (
        float(ordered.item(position - 1)) for position in (ends.low, ends.low + 1, ends.high - 1, ends.high)
    )
    return (
        min(inside_low, low + (inside_low - low) * ends.low_step),
        max(inside_high, high - (high - inside_high) * ends.high_step),
    )


@lru_cache(maxsize=256)
def needed_for_quantile(p: Fraction) -> int:
    """Smallest n for which the upper end of the interval exists: 72 for P95, 368 for P99, 3,688 for P99.9."""
    high, low = float(p), 1 - float(p)
    return max(math.ceil(math.log(ALPHA / 2) / math.log(side)) for side in (high, low) if 0 < side < 1)


def wilson(good: float, n: float, z: float = Z) -> Interval | None:
    """Wilson's 95 % interval of a share; None without trials. `z` takes the place of the normal distribution's."""
    if n <= 0:
        return None
    share = good / n
    z2 = z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (0.0 if good == 0 else max(0.0, middle - half)), (1.0 if good == n else min(1.0, middle + half))


def clustered_share(good: Sequence[int], judged: Sequence[int], rows: float) -> Interval | None:
    """95 % interval of a share whose requests stand or fall together by blocks; None with fewer than two blocks.

    Wilson's, over as many trials as would give the share the variance that blocks have, with the t quantile at the
    degrees of freedom that their spread is worth: a few blocks far from the rest are worth few. It holds the share in 95
    of 100 weeks where about five incidents or more fall into one; of incidents that happened not to fall into the week
    no interval of its rows can tell. Where blocks do not differ there are `rows` trials, and never more than twice.

    Args:
        good, judged: one entry per block; votes where sampling rates differ.
        rows: requests of equal votes that would tell as much as those judged.

    Source: Dean and Pagano 2015 for Wilson's interval on clustered data; Satterthwaite 1946 for the degrees of freedom.
    """
    blocks, n = len(judged), sum(judged)
    if blocks < 2 or n <= 0:
        return None
    share = sum(good) / n
    squares = [(g - share * of) ** 2 for g, of in zip(good, judged, strict=True)]
    spread = math.fsum(squares)
    free, trials = float(blocks - 1), rows
    if spread > 0 and 0 < share < 1:
        variance = blocks / (blocks - 1) * spread / (n * n)
        trials = min(share * (1 - share) / variance, rows / LEAST_SPREAD)
        kurtosis = blocks * math.fsum(square * square for square in squares) / (spread * spread)
        unsure = (kurtosis - (blocks - 3) / (blocks - 1)) / blocks  # relative variance of the variance
        free = min(free, max(LEAST_FREE, 2 / unsure)) if unsure > 0 else free
    return wilson(share * trials, trials, t_quantile(free))


@lru_cache(maxsize=65_536)
def t_quantile(free: float) -> float:
    """97.5 % point of the t distribution with so many degrees of freedom, 1 or more: 12.7, 4.30, 3.18, ... to 1.96."""
    t = Z + (Z**3 + Z) / (4 * free)  # the expansion of Cornish and Fisher, from which Newton's steps go on
    scale = math.exp(math.lgamma((free + 1) / 2) - math.lgamma(free / 2)) / math.sqrt(free * math.pi)
    for _ in range(50):
        beyond = beta_cdf(free / (free + t * t), free / 2, 0.5) / 2
        step = (beyond - ALPHA / 2) / (scale * (1 + t * t / free) ** (-(free + 1) / 2))
        t += step
        if abs(step) < 1e-12 * t:
            break
    return t


def clopper_pearson(good: float, n: float) -> Interval | None:
    """Clopper and Pearson's exact 95 % interval of a share; None without trials."""
    if n <= 0:
        return None
    low = 0.0 if good == 0 else _beta_quantile(ALPHA / 2, good, n - good + 1)
    high = 1.0 if good == n else _beta_quantile(1 - ALPHA / 2, good + 1, n - good)
    return low, high


def share_interval(good: float, n: float, target: float | None = None) -> Interval | None:
    """Interval of a share: Wilson's, or the exact one for targets from 99.9 % on."""
    return clopper_pearson(good, n) if target is not None and target >= EXACT_FROM_TARGET else wilson(good, n)


def needed_for_share(attainment: float, target: float) -> int | None:
    """Requests at which the same attainment would tell itself apart from the target; None if they are equal."""
    gap = abs(attainment - target)
    if gap == 0:
        return None
    return math.ceil(Z * Z * target * (1 - target) / (gap * gap))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Regularized incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(1 - x, b, a) / b


@lru_cache(maxsize=65_536)  # a search asks again for what it has passed, and so does the interval of what it found
def binomial_cdf(k: int, n: int, p: float) -> float:
    """Probability of at most k successes in n trials."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else 1 - beta_cdf(p, k + 1, n - k)


def _binomial_rank(n: int, p: float, tail: float) -> int:
    """Largest k with P(B(n, p) < k) <= tail; 0 if even k = 1 is too much.

    Searched around the normal approximation, in steps that double until they hold it.
    """
    near = min(n, max(0, round(n * p - Z * math.sqrt(n * p * (1 - p)))))
    low = high = near
    step = 2
    while low > 0 and binomial_cdf(low - 1, n, p) > tail:
        low, high, step = max(0, low - step), low - 1, 2 * step
    step = 2
    while high < n and low == high and binomial_cdf(min(n, high + step) - 1, n, p) <= tail:
        low = high = min(n, high + step)
        step *= 2
    if low == high:
        high = min(n, high + step)
    while low < high:
        middle = (low + high + 1) // 2
        if binomial_cdf(middle - 1, n, p) <= tail:
            low = middle
        else:
            high = middle - 1
    return low


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Continued fraction of the incomplete beta function, evaluated by the modified method of Lentz."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    limit = 200 + 10 * int(math.sqrt(max(a, b)))  # terms needed grow with the root of the larger parameter
    for m in range(1, limit):
        twice = a + 2 * m
        even = m * (b - m) * x / ((twice - 1) * twice)
        odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1))
        d, c = 1 + even * d, 1 + even / c  # written out for both terms: an interval takes some thousand of them
        d = 1 / (d if not -tiny <= d <= tiny else tiny)
        c = c if not -tiny <= c <= tiny else tiny
        value *= d * c
        d, c = 1 + odd * d, 1 + odd / c
        d = 1 / (d if not -tiny <= d <= tiny else tiny)
        c = c if not -tiny <= c <= tiny else tiny
        step = d * c
        value *= step
        if -1e-15 < step - 1 < 1e-15:
            break
    return value


def _beta_quantile(q: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_cdf(middle, a, b) < q:
            low = middle
        else:
            high = middle
    return (low + high) / 2
