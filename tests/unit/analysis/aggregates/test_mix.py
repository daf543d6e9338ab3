"""A change split into mix and within: the parts add up."""

from __future__ import annotations

import pytest

from analysis.aggregates.mix import Split, split_change


def test_the_worked_example() -> None:
    # before: 80 short of which 79 good, 20 long of which 10 good: 0.89; after: half and half, each as good as before
    before = {"short": (79, 80), "long": (10, 20)}
    after = {"short": (790, 800), "long": (400, 800)}
    split = split_change(before, after)
    assert split is not None
    assert (split.change, split.mix, split.within, split.unmatched) == pytest.approx(
        (-0.14625, -0.14625, 0.0, 0.0), abs=1e-12
    )


def test_the_same_mix_has_no_mix_effect() -> None:
    split = split_change({"a": (90, 100), "b": (50, 100)}, {"a": (80, 100), "b": (50, 100)})
    assert split == Split(change=-0.05, mix=0.0, within=-0.05, unmatched=0.0, new=(), vanished=())


def test_new_and_vanished_strata_are_a_part_of_their_own_and_the_parts_sum_up() -> None:
    split = split_change({"a": (90, 100), "old": (10, 100)}, {"a": (70, 100), "new": (100, 100)})
    assert split is not None
    assert (split.new, split.vanished) == (("new",), ("old",))
    assert split.mix + split.within + split.unmatched == pytest.approx(split.change, abs=1e-12)
    assert split.within == pytest.approx(-0.1)


def test_a_side_without_judged_requests_has_no_change() -> None:
    assert split_change({}, {"a": (1, 1)}) is None
    assert split_change({"a": (0, 0)}, {"a": (1, 1)}) is None


def test_a_thing_compared_with_itself_does_not_change() -> None:
    counts = {"a": (3, 7), "b": (0, 2)}
    assert split_change(counts, counts) == Split(0.0, 0.0, 0.0, 0.0, (), ())
