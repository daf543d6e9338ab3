"""Parts of a breach: what each of several changes explains, by the requests that it reaches and by its strength there."""

from __future__ import annotations

import math

import polars as pl
import pytest

from analysis.causes.attribution import parts
from analysis.causes.candidates.candidate import Candidate

EAST, WEST = "large|east", "large|west"


def change(
    identity: str,
    reach: dict[str, float],
    *,
    direct: tuple[tuple[str, str], ...] | None = None,
    multiplier: float = 1.0,
    active: tuple[float, float] | None = None,
) -> Candidate:
    return Candidate(
        identity, "load", "queue", (), reach, "", (), direct=direct, direct_multiplier=multiplier, active=active
    )


def requests(*counts: tuple[str, str, int, int]) -> pl.DataFrame:
    """Requests of pool and scenario: how many are bad, how many good; a second apart."""
    rows = [
        {"pool": pool, "scenario": scenario, "bad": place < bad}
        for pool, scenario, bad, good in counts
        for place in range(bad + good)
    ]
    return pl.DataFrame(rows).with_columns(at=pl.int_range(pl.len()).cast(pl.Float64))


KEPT = requests((EAST, "chat", 0, 100), (WEST, "chat", 0, 100))


def test_a_request_is_divided_by_the_logs_of_what_reaches_it() -> None:
    judged = requests((EAST, "chat", 10, 0))
    found = parts(judged, KEPT, [change("a", {EAST: 8.0}), change("b", {EAST: 2.0})])
    assert [part.share for part in found] == pytest.approx([0.75, 0.25])


def test_a_strong_change_of_one_pool_explains_nothing_of_the_others() -> None:
    judged = requests((EAST, "chat", 70, 30), (WEST, "chat", 30, 70))
    wide, strong = change("wide", {EAST: 1.25, WEST: 1.25}), change("strong", {WEST: 3.0})
    first, second = parts(judged, KEPT, [wide, strong])
    in_west = math.log(1.25) / math.log(1.25 * 3)
    assert first.share == pytest.approx(0.7 + 0.3 * in_west)
    assert second.share == pytest.approx(0.3 * (1 - in_west))
    assert wide.score(judged) < strong.score(judged)
    assert first.share > second.share


def test_bad_requests_that_a_pool_has_in_the_normal_too_are_nobodys() -> None:
    normal = requests((EAST, "chat", 10, 90), (WEST, "chat", 0, 100))
    judged = requests((EAST, "chat", 10, 90), (WEST, "chat", 10, 90))
    found = parts(judged, normal, [change("east", {EAST: 2.0}), change("west", {WEST: 1.1})])
    assert [part.share for part in found] == pytest.approx([0.0, 1.0])
    assert [part.leads for part in found] == pytest.approx([0.0, 10 / 200])


def test_what_it_touches_directly_counts_by_its_own_multiplier() -> None:
    judged = requests((EAST, "rag", 10, 0), (EAST, "chat", 10, 0))
    longer = change("longer", {EAST: 2.0}, direct=(("scenario", "rag"),), multiplier=8.0)
    found = parts(judged, KEPT, [longer, change("fewer", {EAST: 2.0})])
    assert [part.share for part in found] == pytest.approx([(0.75 + 0.5) / 2, (0.25 + 0.5) / 2])


def test_a_change_explains_nothing_outside_its_own_time() -> None:
    judged = requests((EAST, "chat", 1000, 0))
    found = parts(judged, KEPT, [change("always", {EAST: 2.0}), change("early", {EAST: 4.0}, active=(0.0, 100.0))])
    assert found[1].share < 0.4 * 2 / 3  # 400 of 1,000 with the backlog, and no better there than outside
    assert sum(part.share for part in found) == pytest.approx(1.0)


def test_one_change_alone_has_all_of_it() -> None:
    judged = requests((EAST, "chat", 10, 90))
    (found,) = parts(judged, KEPT, [change("a", {EAST: 2.0})])
    assert (found.share, found.leads) == pytest.approx((1.0, 0.1))


def test_without_bad_requests_the_parts_are_even_and_none_leads() -> None:
    found = parts(requests((EAST, "chat", 0, 10)), KEPT, [change("a", {EAST: 2.0}), change("b", {EAST: 2.0})])
    assert [(part.share, part.leads) for part in found] == [(0.5, 0.0), (0.5, 0.0)]
