"""A time that cannot be read, or counts otherwise than the rest of its column, costs its own row alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.receipts import LoadOptions
from tests.support.loads import PLAIN, counts, load_bytes

EPOCH = 1_772_445_600
STARTED = replace(PLAIN, start_ns=EPOCH * 10**9)
TIMES: dict[str, list[Any]] = {
    "from_nowhere": [number + 0.5 for number in range(1, 9)],
    "seconds": [EPOCH + number for number in range(8)],
    "texts": [f"2026-03-02T10:00:0{number}Z" for number in range(8)],
}


def bytes_of(values: list[Any], form: str) -> tuple[bytes, str]:
    """Rows of a CSV or of JSON lines; a value of JSON that no number of Python holds is given as text of digits."""
    if form == "csv":
        return "".join(["started,e2e_ms\n", *(f"{value},100\n" for value in values)]).encode(), "a.csv"
    told = (value if isinstance(value, str) and value[-3:] == "400" else json.dumps(value) for value in values)
    return "".join(f'{{"started":{value},"e2e_ms":100}}\n' for value in told).encode(), "a.jsonl"


@pytest.mark.parametrize(
    ("form", "options"), [("csv", PLAIN), ("jsonl", PLAIN), ("csv", STARTED)], ids=["csv", "jsonl", "csv_started"]
)
@pytest.mark.parametrize("odd", ["x", "1e400", 1e30])
@pytest.mark.parametrize("column", TIMES)
def test_a_value_that_is_no_time_costs_its_row(
    tmp_path: Path, column: str, odd: object, form: str, options: LoadOptions
) -> None:
    good = TIMES[column]
    content, name = bytes_of([*good[:4], odd, *good[4:]], form)
    receipt, requests = load_bytes(tmp_path, content, name, options)
    alone, others = load_bytes(tmp_path, bytes_of(good, form)[0], f"good-{name}", options)
    assert counts(receipt) == (9, 8, 0, 1)
    assert [(reject.line, reject.reason) for reject in receipt.rejects] == [(6 if form == "csv" else 5, "bad_value")]
    assert "is no time" in receipt.rejects[0].detail
    assert requests["started_ns"].to_list() == others["started_ns"].to_list()
    assert receipt.notes == alone.notes


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("column", [name for name in TIMES if name != "from_nowhere"])
@pytest.mark.parametrize("odd", [1.5, 10**17])
def test_a_number_beside_instants_costs_its_row(tmp_path: Path, column: str, odd: float, form: str) -> None:
    content, name = bytes_of([odd, *TIMES[column]], form)
    receipt, requests = load_bytes(tmp_path, content, name)
    assert counts(receipt) == (9, 8, 0, 1)
    assert requests["started_ns"].null_count() == 0
    assert not any("no known instant" in note for note in receipt.notes)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("odd", "started"), [(EPOCH, None), ("2026-03-02T10:00:00Z", EPOCH * 10**9), (-5, None)])
def test_one_instant_among_counts_from_nowhere_moves_no_other_row(
    tmp_path: Path, odd: object, started: int | None, form: str
) -> None:
    content, name = bytes_of([*TIMES["from_nowhere"], odd], form)
    receipt, requests = load_bytes(tmp_path, content, name)
    assert counts(receipt) == (9, 9, 0, 0)
    assert requests["started_ns"].drop_nulls().to_list() == ([] if started is None else [started])
    placed, again = load_bytes(tmp_path, content, f"again-{name}", STARTED)
    assert {EPOCH * 10**9 + int(at * 10**9) for at in TIMES["from_nowhere"]} <= set(again["started_ns"].to_list())
    assert [reject.reason for reject in placed.rejects] == (["time_out_of_range"] if odd == EPOCH else [])


def test_starts_that_were_not_set_take_no_clock_from_the_others(tmp_path: Path) -> None:
    content, name = bytes_of([0, 0, 0, -1, -1, EPOCH, EPOCH + 1], "csv")
    receipt, requests = load_bytes(tmp_path, content, name)
    assert requests["started_ns"].to_list() == [EPOCH * 10**9, (EPOCH + 1) * 10**9]
    assert {reject.reason for reject in receipt.rejects} == {"start_unset", "time_out_of_range"}
