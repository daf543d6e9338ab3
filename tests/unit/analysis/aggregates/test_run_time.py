"""The time that a load test took, of whole uploads alone."""

from __future__ import annotations

import polars as pl
import pytest

from analysis.aggregates.run_time import run_seconds
from analysis.metrics.measure import measure
from ingest.schema import UPLOADS, polars_schema
from tests.support.builders import frame, request

FIRST = [request(n, at_s=n, upload_id="u-1", e2e_ms=500) for n in range(3)]  # second 0 to 2.5
SECOND = [request(n, at_s=n, upload_id="u-2", e2e_ms=500) for n in (10, 11)]


def uploads(first: float | None = None, second: float | None = None) -> pl.DataFrame:
    """Two uploads of three and two rows, with the time that each states."""
    rows = [
        {"upload_id": "u-1", "n_read": 3, "n_accepted": 3, "run_ns": None if first is None else round(first * 1e9)},
        {"upload_id": "u-2", "n_read": 2, "n_accepted": 2, "run_ns": None if second is None else round(second * 1e9)},
    ]
    return pl.DataFrame(rows, schema={name: polars_schema(UPLOADS)[name] for name in rows[0]})


def test_a_whole_upload_has_the_time_that_it_states() -> None:
    assert run_seconds(measure(frame(FIRST)), uploads(first=2.75)) == 2.75


def test_runs_in_a_row_add_up_and_runs_side_by_side_do_not() -> None:
    told = uploads(first=2.75, second=1.5)
    assert run_seconds(measure(frame(FIRST + SECOND)), told) == 4.25
    beside = [request(n, at_s=n, upload_id="u-2", e2e_ms=500) for n in (4, 1)]
    assert run_seconds(measure(frame(FIRST + beside)), told) is None


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="nothing"),
        pytest.param(FIRST[:2], id="a part of an upload"),
        pytest.param(FIRST + SECOND, id="one of two that does not say it"),
        pytest.param(FIRST + SECOND[:1], id="one whole, one in part"),
        pytest.param([request(1, upload_id="u-9")], id="no such upload"),
    ],
)
def test_else_it_is_not_known(rows: list[dict[str, object]]) -> None:
    assert run_seconds(measure(frame(rows)), uploads(first=2.75)) is None


def test_rows_that_were_rejected_or_stood_already_make_it_unknown() -> None:
    told = uploads(first=2.75)
    rejected = told.with_columns(pl.lit(4, pl.Int64).alias("n_read"))
    assert run_seconds(measure(frame(FIRST)), rejected) is None


def test_runs_without_a_clock_cannot_be_put_in_a_row() -> None:
    timeless = [request(n, upload_id="u-2") | {"started_ns": None, "ended_ns": None} for n in (10, 11)]
    told = uploads(first=2.75, second=1.5)
    assert run_seconds(measure(frame(timeless)), told) == 1.5
    assert run_seconds(measure(frame(FIRST + timeless)), told) is None
