"""A provider's bill: columns by name, amounts as told, bad rows counted with their line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from ingest.bills import BillLine, RefusedRow, read_bill
from ingest.errors import UnknownFormat, UnreadableInput

USD = 10**12


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bill.csv"
    path.write_text(text, encoding="utf-8-sig")
    return path


def test_columns_are_recognized_by_name_and_amounts_read_as_told(tmp_path: Path) -> None:
    bill = read_bill(write(tmp_path, "Date,Vendor,Model Name,Amount,Currency,Tokens\n2026-11-03,OpenAI,gpt-x,$1\u002c234.50,usd,5000\n".replace("$1,234.50", '"$1,234.50"')))  # fmt: skip
    assert bill.columns == {
        "day": "Date", "provider": "Vendor", "model": "Model Name", "amount": "Amount", "currency": "Currency",
        "tokens": "Tokens",
    }  # fmt: skip
    assert bill.lines == (BillLine(date(2026, 11, 3), "OpenAI", "gpt-x", 1_234_500_000_000_000, "USD", 5000, 2),)
    assert bill.rejected == ()


def test_a_semicolon_separates_too(tmp_path: Path) -> None:
    assert read_bill(write(tmp_path, "day;cost\n2026-11-03;0.000001\n")).lines[0].pico == 1_000_000


def test_our_own_focus_file_reads_back(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "BilledCost": [Decimal("0.0036"), Decimal("1.5")],
            "ChargePeriodStart": pl.Series(["2026-10-31T00:00:00Z", "2026-11-01T00:00:00Z"]).str.to_datetime(
                time_zone="UTC"
            ),
            "ProviderName": ["OpenAI", None],
            "x_Model": ["gpt-x", None],
            "ConsumedQuantity": [Decimal(6000), None],
            "ConsumedUnit": ["Tokens", None],
            "BillingCurrency": ["USD", "EUR"],
        },
        schema_overrides={"BilledCost": pl.Decimal(38, 12), "ConsumedQuantity": pl.Decimal(38, 12)},
    )
    path = tmp_path / "cost_and_usage.parquet"
    frame.write_parquet(path)
    assert read_bill(path).lines == (
        BillLine(date(2026, 10, 31), "OpenAI", "gpt-x", 3_600_000_000, "USD", 6000, 12),
        BillLine(date(2026, 11, 1), None, None, 3 * USD // 2, "EUR", None, 12),
    )


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-11", date(2026, 11, 1)),
        ("20261103", date(2026, 11, 3)),
        ("1793491199", date(2026, 10, 31)),
        ("2026-11-01T00:30:00+02:00", date(2026, 10, 31)),
    ],
)
def test_a_day_may_be_told_in_several_ways(tmp_path: Path, written: str, day: date) -> None:
    assert read_bill(write(tmp_path, f"date,cost\n{written},1\n")).lines[0].day == day


def test_rows_that_cannot_be_used_are_counted_with_line_and_reason(tmp_path: Path) -> None:
    bill = read_bill(write(tmp_path, 'date,cost\n2026-11-01,1\nTotal,1\n2026-11-02,"1.234,56"\n2026-11-03,\n'))
    assert len(bill.lines) == 1
    assert bill.rejected == (
        RefusedRow(3, 'date is "Total", which is no date'),
        RefusedRow(4, 'cost is "1.234,56", which is no amount', date(2026, 11, 2)),
        RefusedRow(5, 'cost is "", which is no amount', date(2026, 11, 3)),
    )


def test_a_line_item_names_its_model_before_the_comma(tmp_path: Path) -> None:
    assert read_bill(write(tmp_path, 'date,cost,line_item\n2026-11-01,1,"gpt-x, input"\n')).lines[0].model == "gpt-x"


def test_a_quantity_that_is_no_token_count_is_left_out(tmp_path: Path) -> None:
    bill = read_bill(write(tmp_path, "date,cost,quantity,unit\n2026-11-01,1,5,hours\n2026-11-01,1,5.5,tokens\n"))
    assert [line.tokens for line in bill.lines] == [None, None]


def test_a_table_without_amounts_is_refused_with_the_names_that_would_do(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownFormat, match=r"bill\.csv has no column for the amount of a charge\. Known names: billedcost"
    ):
        read_bill(write(tmp_path, "date,price\n2026-11-01,1\n"))


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    torn = tmp_path / "bill.parquet"
    torn.write_bytes(b"PAR1 nothing")
    with pytest.raises(UnreadableInput, match=r"bill\.parquet is neither CSV nor Parquet"):
        read_bill(torn)
    with pytest.raises(UnreadableInput, match=r"absent\.csv cannot be read: No such file"):
        read_bill(tmp_path / "absent.csv")


def test_lines_are_those_of_the_file_with_blank_ones_and_cells_of_several_lines(tmp_path: Path) -> None:
    text = '\n\ndate,cost,sku\n\n2026-11-01,1,"two\nlines"\n\n2026-11-02,nothing,x\n'
    bill = read_bill(write(tmp_path, text))
    assert (len(bill.lines), bill.places) == (1, "line")
    assert bill.rejected == (RefusedRow(8, 'cost is "nothing", which is no amount', date(2026, 11, 2)),)


def test_a_row_that_is_longer_than_the_header_is_told_with_its_line_and_a_shorter_one_is_read(tmp_path: Path) -> None:
    text = "date,cost,sku\n2026-11-01,1,234.50,x\n2026-11-02,2\n2026-11-03,3,x,,\n"
    bill = read_bill(write(tmp_path, text))
    assert [line.day.day for line in bill.lines] == [2, 3]
    assert bill.rejected == (
        RefusedRow(
            2,
            "it has 4 cells and the header 3: one holds a separator and is not in quotes, so that the cells after it are "
            "shifted",
        ),
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_bill_of_a_spreadsheet_in_utf_16_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "bill.csv"
    path.write_bytes("date\tcost\tmodel\r\n2026-11-01\t1.5\tgpt-x\r\nTotal\t1\t\r\n".encode(encoding))
    bill = read_bill(path)
    assert [(line.pico, line.model) for line in bill.lines] == [(3 * USD // 2, "gpt-x")]
    assert bill.rejected == (RefusedRow(3, 'date is "Total", which is no date'),)


def test_bytes_that_are_no_text_and_quotes_that_do_not_pair_are_told_with_their_line(tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("date,cost,sku\n2026-11-01,1,x\n2026-11-02,1,Gerät\n".encode("latin-1"))
    with pytest.raises(
        UnreadableInput, match=r"latin\.csv, line 3: byte 0xe4 is no UTF-8 text\. Save the file as UTF-8"
    ):
        read_bill(latin)
    open_quote = write(tmp_path, 'date,cost,sku\n2026-11-01,1,x\n2026-11-02,1,"never closed\n2026-11-03,1,x\n')
    with pytest.raises(UnreadableInput, match=r"bill\.csv, line 3: the quotes of this row do not pair"):
        read_bill(open_quote)


def test_rows_of_parquet_are_counted_from_one(tmp_path: Path) -> None:
    path = tmp_path / "bill.parquet"
    pl.DataFrame({"date": ["2026-11-01", "Total"], "cost": [1.0, 1.0]}).write_parquet(path)
    bill = read_bill(path)
    assert (bill.places, bill.rejected) == ("row", (RefusedRow(2, 'date is "Total", which is no date'),))


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("date,total,net_amount", '"total" and "net_amount"'),
        ("date,cost,BilledCost", '"BilledCost" and "cost"'),
        ("date,Amount,amount", '"Amount" and "amount"'),
    ],
)
def test_two_columns_that_tell_the_amount_are_refused(tmp_path: Path, header: str, named: str) -> None:
    with pytest.raises(UnknownFormat) as refused:
        read_bill(write(tmp_path, f"{header}\n2026-11-01,119,100\n"))
    assert refused.value.message == (
        f"bill.csv has 2 columns for the amount of a charge: {named}. Leave the one that was invoiced, and remove or rename "
        "the others"
    )


@pytest.mark.parametrize("written", ["1e999999999", "1e-999999999", "0e999999999", "1e400", "-1e19"])
def test_an_amount_beyond_all_bills_is_none(tmp_path: Path, written: str) -> None:
    bill = read_bill(write(tmp_path, f"date,amount,provider\n2026-03-02,{written},openai\n2026-03-03,1.25,openai\n"))
    assert [line.pico for line in bill.lines] == [1_250_000_000_000]
    assert len(bill.rejected) == 1


def test_a_long_cell_is_told_by_its_shape(tmp_path: Path) -> None:
    bill = read_bill(write(tmp_path, f"date,amount\n2026-11-01,{'what this was for ' * 20}\n"))
    assert bill.rejected[0].reason == "amount is text of 360 characters, which is no amount"
