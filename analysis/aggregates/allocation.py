"""Who used the replicas: the bill of self-hosted capacity, split over the rows of a table.

Input: replica hours with cost and idle part, charge lines, requests with stage times. Output: per key of a table its
share of the busy time, and of the whole bill. Both bases, always: the first leaves idle time to the service, the
second is the bill. Parts add up to the amount that was split, to the last pico-USD.
A model's amount is split by a x uncached input tokens + b x output tokens; a and b are its measured prefill and decode
seconds per token. Where stages were not measured, output weighs 2.5 times an input token, and a note says so.
Hours of a model that no request names stay unallocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.capacity import split
from analysis.aggregates.charges import Key, cube

OUTPUT_WEIGHT = Fraction(5, 2)  # what allocation tools take where nothing was measured
RATIO_STEPS = 1_000  # a measured weight has three decimals: a rounded nanosecond should move no money
_INPUT = ("input", "cache_write_5m", "cache_write_1h", "audio_input", "image_input")
_OUTPUT = ("output", "reasoning", "audio_output")


@dataclass(frozen=True)
class GpuShare:
    """Pico-USD of busy time (null where an hour does not say how busy it was), and of the whole bill."""

    used: int | None
    whole: int


@dataclass(frozen=True)
class _Bill:
    whole: int
    used: int | None


class GpuShares:
    """Shares by any dimensions of the lines; none without replica hours whose cost is known."""

    def __init__(self, hours: pl.DataFrame | None, lines: pl.DataFrame, priced: pl.DataFrame) -> None:
        self._lines = lines
        self._bills = _bills(hours)
        named = {key[0] for key, work in cube(lines, ["model"], _WORK).items() if work["input"] + work["output"] > 0}
        self.unallocated = sum(bill.whole for model, bill in self._bills.items() if model not in named or model is None)
        models = sorted(model for model in self._bills if model is not None and model in named)
        self._ratios = {model: _ratio(priced.filter(pl.col("model") == model)) for model in models}
        unmeasured = [model for model, ratio in self._ratios.items() if ratio is None]
        self.notes = [f"{model}: stages were not measured, so replica cost is split with output at 2.5 times input"
                      for model in unmeasured]  # fmt: skip

    def by(self, by: Sequence[str]) -> dict[Key, GpuShare]:
        """The share of every key of a table."""
        if not self._ratios:
            return {}
        keys = list(by) if "model" in by else [*by, "model"]
        at = keys.index("model")
        found: dict[Key, GpuShare] = {}
        work = cube(self._lines, keys, _WORK)
        for model, ratio in self._ratios.items():
            output = OUTPUT_WEIGHT if ratio is None else ratio
            weights = {
                key: n["input"] * output.denominator + n["output"] * output.numerator
                for key, n in work.items()
                if key[at] == model
            }
            bill = self._bills[model]
            whole = split(bill.whole, weights)
            used = None if bill.used is None else split(bill.used, weights)
            for key in weights:
                _add(found, key[: len(by)], whole[key], None if used is None else used[key])
        return found


_WORK = {
    "input": pl.sum_horizontal(f"{meter}_meter" for meter in _INPUT).clip(0),
    "output": pl.sum_horizontal(f"{meter}_meter" for meter in _OUTPUT).clip(0),
}


def _add(found: dict[Key, GpuShare], key: Key, whole: int, used: int | None) -> None:
    before = found.get(key, GpuShare(0, 0))
    both = None if used is None or before.used is None else before.used + used
    found[key] = GpuShare(both, before.whole + whole)


def _bills(hours: pl.DataFrame | None) -> dict[str | None, _Bill]:
    """What the replicas of each model cost; a model with an hour of unknown cost has no bill."""
    if hours is None:
        return {}
    sums = hours.group_by("model").agg(
        pl.col("cost_pico").cast(pl.Int128).sum(),
        pl.col("idle_pico").cast(pl.Int128).sum(),
        pl.col("cost_pico").is_null().any().alias("no_cost"),
        pl.col("idle_pico").is_null().any().alias("no_idle"),
    )
    return {
        model: _Bill(int(cost), None if no_idle else int(cost) - int(idle))
        for model, cost, idle, no_cost, no_idle in sums.iter_rows()
        if not no_cost
    }


def _ratio(rows: pl.DataFrame) -> Fraction | None:
    """Weight of an output token where an uncached input token weighs 1; null where a stage was not measured."""
    uncached = pl.col("input_tokens") - pl.col("cached_input_tokens").fill_null(0)
    decode = pl.coalesce("decode_ns", "generation_ns")
    prefilled = (pl.col("prefill_ns") > 0) & (uncached > 0)
    decoded = (decode > 0) & (pl.col("output_tokens") > 0)
    prefill_ns, fresh, decode_ns, made = rows.select(
        pl.col("prefill_ns").filter(prefilled).sum().alias("a"),
        uncached.filter(prefilled).sum().alias("b"),
        decode.filter(decoded).sum().alias("c"),
        pl.col("output_tokens").filter(decoded).sum().alias("d"),
    ).row(0)
    if not (prefill_ns and fresh and decode_ns and made):
        return None
    exact = Fraction(decode_ns, made) / Fraction(prefill_ns, fresh)
    return Fraction(round(exact * RATIO_STEPS), RATIO_STEPS)
