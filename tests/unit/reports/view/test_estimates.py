"""Shares and bars are drawn from all traffic, and from counts where a result does not tell it."""

from __future__ import annotations

from analysis.result import BurnPoint, HourCell, WaterfallStep
from reports.view.estimates import bad_share, judged, left, lost


def test_what_the_rows_stand_for_comes_before_their_counts() -> None:
    assert judged(BurnPoint("2026-03-02T00:00:00Z", 9, 1, 180.0, 1.0)) == (180.0, 1.0)
    assert bad_share(HourCell(1, 0, 10, 9, 1, 180.0, 20.0)) == 0.1
    step = WaterfallStep("ok", 9, 1, 180.0, 20.0)
    assert (left(step), lost(step)) == (180.0, 20.0)


def test_results_of_earlier_versions_have_counts_alone() -> None:
    assert judged(BurnPoint("2026-03-02T00:00:00Z", 9, 1)) == (9.0, 1.0)
    assert bad_share(HourCell(1, 0, 0, 0, 0)) is None
    assert (left(WaterfallStep("ok", 9, 1)), lost(WaterfallStep("ok", 9, 1))) == (9.0, 1.0)
