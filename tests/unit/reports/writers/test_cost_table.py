"""The cost cube for other tools: exact text, exact decimals, guarded cells, the same bytes."""

from __future__ import annotations

import io
from decimal import Decimal

import openpyxl
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from analysis.aggregates.cost import costs
from analysis.errors import TooManyRows
from analysis.ledger import keep_ledger
from analysis.pricebook import PriceBook
from analysis.result import CostRow, Costs
from reports.writers import cost_table
from reports.writers.cost_table import write_costs
from tests.support.money import requests


def table(*rows: CostRow, by: tuple[str, ...] = ("user",)) -> Costs:
    ledger = keep_ledger(requests().clear(), None, PriceBook(builtin=False))
    empty = costs(ledger.requests, None, by, ledger=ledger)
    return Costs(**{**vars(empty), "rows": list(rows)})


def row(user: str | None, cost: str | None, **more: str) -> CostRow:
    tokens = (12_000, 4_000, 600, None)
    return CostRow({"user": user, **more}, 2, *tokens, cost, 0, "0", gpu_used_usd="1.5", gpu_usd="2")


def test_csv_says_amounts_as_the_result_does_and_leaves_the_unknown_empty() -> None:
    data = write_costs(
        table(row("u-1", "0.00648"), row(None, None), row("", "12345678901234567890.000000000001")), "csv"
    )
    assert data.decode() == (
        "user,requests,good_requests,unpriced_requests,input_tokens,cached_input_tokens,output_tokens,reasoning_tokens,"
        "cost_usd,wasted_usd,cost_per_1k_good_usd,gpu_used_usd,gpu_usd\n"
        "u-1,2,,0,12000,4000,600,,0.00648,0,,1.5,2\n"
        ",2,,0,12000,4000,600,,,0,,1.5,2\n"
        '"",2,,0,12000,4000,600,,12345678901234567890.000000000001,0,,1.5,2\n'
    )


def test_parquet_holds_exact_decimals() -> None:
    found = pl.read_parquet(
        write_costs(table(row("u", "12345678901234567890.000000000001"), row("v", None)), "parquet")
    )
    assert found.schema["cost_usd"] == pl.Decimal(38, 12)
    assert found["cost_usd"].to_list() == [Decimal("12345678901234567890.000000000001"), None]
    assert found["requests"].to_list() == [2, 2]


def test_text_is_guarded_in_a_spreadsheet_and_nowhere_else() -> None:
    names = ["=1+1", "+49", "-x", "@home", "\tx", "plain", "a=b"]
    hostile = table(*(row(name, "-0.5") for name in names))
    sheet = openpyxl.load_workbook(io.BytesIO(write_costs(hostile, "xlsx")))["costs"]
    cells = [tuple(cell.value for cell in line) for line in sheet.iter_rows(min_row=2)]
    assert [cell[0] for cell in cells] == ["'=1+1", "'+49", "'-x", "'@home", "'\tx", "plain", "a=b"]
    assert {cell[8] for cell in cells} == {-0.5}  # a number is never touched
    assert pl.read_parquet(write_costs(hostile, "parquet"))["user"].to_list() == names
    assert [line.split(",")[0] for line in write_costs(hostile, "csv").decode().splitlines()[1:]] == names


@pytest.mark.parametrize("kind", cost_table.KINDS)
def test_the_same_costs_give_the_same_bytes(kind: str) -> None:
    found = table(row("u", "1.5"), row(None, "2"))
    assert write_costs(found, kind) == write_costs(found, kind)


def test_a_dimension_named_like_a_figure_keeps_its_column() -> None:
    found = table(row("u", "1.5", requests="many"), by=("user", "requests"))
    frame = pl.read_csv(write_costs(found, "csv"))
    assert_frame_equal(
        pl.DataFrame({"user": ["u"], "by_requests": ["many"], "requests": [2]}),
        frame.select("user", "by_requests", "requests"),
    )


def test_a_table_too_long_for_a_spreadsheet_is_refused_and_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_table, "MOST_SHEET_ROWS", 1)
    with pytest.raises(
        TooManyRows, match=r"the table has 2 rows, and a spreadsheet is written with 1 at most\. Take csv"
    ):
        write_costs(table(row("u", "1"), row("v", "1")), "xlsx")


def test_a_name_of_a_megabyte_is_told_by_its_beginning_and_stays_apart_from_others() -> None:
    rows = (row("u" * 1_000_000, "1"), row("u" * 1_000_000 + "x", "2"))
    found = pl.read_csv(write_costs(table(*rows), "csv"))
    assert found["user"].str.len_chars().to_list() == [288, 288]
    assert found["user"].n_unique() == 2
