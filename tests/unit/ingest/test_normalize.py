"""Raw requests of Python readers: keys, checks, rows of calls."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.errors import Reject
from ingest.formats.contract import RawRequest
from ingest.normalize import Normalizer, Stamp

NOW = 1_800_000_000_000_000_000
START = 1_772_445_600_000_000_000
STAMP = Stamp("u-1", "kong", NOW, 0.5)


def raw(**values: Any) -> RawRequest:
    return RawRequest({"started_ns": START, "input_tokens": 5} | values, line=7)


def test_a_row_is_stamped_and_keyed() -> None:
    rows, calls, rejects = Normalizer(STAMP).rows([raw(request_id="r-1", batch_size=2, attributes={"b": 1, "a": 2})])
    assert (calls.height, rejects) == (0, [])
    assert rows.row(0, named=True) == {
        "request_key": f"kong:r-1@{START}",
        "upload_id": "u-1",
        "source": "kong",
        "request_id": "r-1",
        "started_ns": START,
        "input_tokens": 5,
        "batch_size": 2.0,
        "status_class": "ok",
        "sampling_rate": 0.5,
        "n_call_rows": 0,
        "flags": [],
        "attributes": '{"a": 2, "b": 1}',
    }


def test_equal_rows_without_an_id_are_told_apart_over_batches() -> None:
    normalizer = Normalizer(STAMP)
    first, _, _ = normalizer.rows([raw(), raw(), raw(input_tokens=6)])
    second, _, _ = normalizer.rows([raw()])
    key = first["request_key"][0]
    assert key.startswith("kong#")
    assert first["request_key"].to_list() == [key, f"{key}*2", first["request_key"][2]]
    assert second["request_key"].to_list() == [f"{key}*3"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"input_tokens": -1}, "negative_tokens"),
        ({"queue_ns": -1}, "negative_duration"),
        ({"started_ns": 0}, "start_unset"),
        ({"started_ns": 1_000_000_000}, "time_out_of_range"),
        ({"started_ns": NOW + 90_000_000_000_000}, "time_out_of_range"),
        ({"ended_ns": START - 1}, "end_before_start"),
        ({"e2e_ns": 90_000_000_000_000}, "duration_too_long"),
        ({"started_ns": None, "input_tokens": None, "model": "m"}, "no_time"),
    ],
)
def test_a_row_that_cannot_be_is_refused(values: dict[str, Any], reason: str) -> None:
    rows, _, rejects = Normalizer(STAMP).rows([raw(**values)])
    assert (rows.height, [(reject.line, reject.reason) for reject in rejects]) == (0, [(7, reason)])
    assert isinstance(rejects[0], Reject)


def test_what_is_no_number_is_not_known() -> None:
    rows, _, _ = Normalizer(STAMP).rows([raw(batch_size=float("nan"), output_tokens=float("inf"))])
    assert {"batch_size", "output_tokens"} & set(rows.columns) == set()


def test_calls_stand_in_order_under_the_key_of_their_request() -> None:
    request = RawRequest({"request_id": "r-1", "started_ns": START}, calls=({"model": "a"}, {"model": "b"}))
    rows, calls, _ = Normalizer(STAMP).rows([request])
    assert rows["n_call_rows"].to_list() == [2]
    key = f"kong:r-1@{START}"
    assert calls.select("request_key", "call_index", "model").rows() == [(key, 0, "a"), (key, 1, "b")]
