"""A provider's bill: columns by name, amounts as told, bad rows counted with their line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from ingest.bills import BillLine, read_bill
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
        (3, 'date is "Total", which is no date'),
        (4, 'cost is "1.234,56", which is no amount'),
        (5, 'cost is "", which is no amount'),
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
