"""Parts of the result by dimension: the same functions, over the requests of each group."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis import breakdown as module
from analysis.breakdown import breakdown
from analysis.measured import Measured, measured
from analysis.objectives import default_objectives
from analysis.prices import default_prices
from ingest.errors import ConfigError
from ingest.load import load
from ingest.receipts import LoadOptions
from ingest.selection import Selection
from ingest.store.database import Store, StoreSettings

ROWS = """start_time,end_time,ttft_ms,model,user_id,output_tokens,status_code
2026-03-02T10:00:00Z,2026-03-02T10:00:01Z,100,m,a,11,200
2026-03-02T10:00:01Z,2026-03-02T10:00:03Z,200,m,a,11,200
2026-03-02T10:00:02Z,2026-03-02T10:00:06Z,300,m,b,11,200
2026-03-02T10:00:03Z,2026-03-02T10:00:11Z,,m,,11,500
"""


@pytest.fixture
def side(tmp_path: Path) -> Measured:
    (tmp_path / "rows.csv").write_text(ROWS)
    with Store.open(settings=StoreSettings((tmp_path,))) as store:
        load(tmp_path / "rows.csv", store, LoadOptions())
        return measured(store, Selection(), default_objectives(), default_prices(), None)


def test_percentiles_of_each_group_are_those_of_its_requests(side: Measured) -> None:
    found = breakdown(side, "latency", ["user"], default_objectives(), metrics=["e2e"], percentiles=["50", "99.9"])
    line = {"metric": "e2e", "unit": "s"}
    assert (found.groups, found.left_out, found.by) == (3, 0, ["user"])
    assert found.rows == [
        {"by": {"user": "a"}, "requests": 2, **line, "n": 2, "mean": 1.5, "p50": 1.0, "p99.9": 2.0},
        {"by": {"user": "b"}, "requests": 1, **line, "n": 1, "mean": 4.0, "p50": 4.0, "p99.9": 4.0},
        {"by": {"user": None}, "requests": 1, **line, "n": 0, "mean": None, "p50": None, "p99.9": None},
    ]


def test_without_a_dimension_the_selection_is_one_group(side: Measured) -> None:
    found = breakdown(side, "latency", [], default_objectives(), metrics=["ttft"], percentiles=["50"])
    assert [(row["by"], row["n"], row["p50"]) for row in found.rows] == [({}, 3, 0.2)]


@pytest.mark.parametrize("part", [part for part in module.PARTS if part != "latency"])
def test_every_part_has_a_row_per_group(side: Measured, part: str) -> None:
    found = breakdown(side, part, ["user"], default_objectives())
    assert list(dict.fromkeys(row["by"]["user"] for row in found.rows)) == ["a", "b", None]


def test_the_largest_groups_are_shown_and_the_others_counted(side: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS", 1)
    found = breakdown(side, "availability", ["user"], default_objectives())
    assert ([row["by"] for row in found.rows], found.groups, found.left_out) == ([{"user": "a"}], 3, 2)


@pytest.mark.parametrize(
    ("metrics", "percentiles", "says"),
    [
        (["tfft"], [], 'metric "tfft" has no percentiles. Known: after_first_token'),
        ([], ["101"], 'percentile "101" does not lie between 0 and 100'),
        ([], ["p95"], 'percentile "p95" does not lie between 0 and 100'),
    ],
)
def test_what_has_no_percentile_is_refused(
    side: Measured, metrics: list[str], percentiles: list[str], says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        breakdown(side, "latency", [], default_objectives(), metrics=metrics, percentiles=percentiles)
    assert says in caught.value.message
