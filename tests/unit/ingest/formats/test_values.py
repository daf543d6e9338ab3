"""Values of sources: exact, and None where a value says nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats import values as v


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2023-11-16 18:15:46.6805900", 1_700_158_546_680_590_000),
        ("2026-09-07T00:10:00+05:30", 1_788_720_000_000_000_000),
        ("2026-09-06T18:40:00Z", 1_788_720_000_000_000_000),
        ("2026-09-06T18:40:00.123456789-00:00", 1_788_720_000_123_456_789),
        ("2026-09-06", 1_788_652_800_000_000_000),
        ("2026-06-30T23:59:60Z", 1_782_864_000_000_000_000),  # a leap second is the next one
        (1_788_720_000, 1_788_720_000_000_000_000),
        (1_788_720_000.25, 1_788_720_000_250_000_000),
        ("1788720000250", 1_788_720_000_250_000_000),
        (1_788_720_000_250_001, 1_788_720_000_250_001_000),
        (1_761_254_300_363_258_832, 1_761_254_300_363_258_832),
        (datetime(2026, 9, 6, 18, 40, tzinfo=UTC), 1_788_720_000_000_000_000),
        (12_389.820754351, None),  # a monotonic clock is no date
        (0, None),
        (-5, None),
        (True, None),
        ("soon", None),
        ("2026-13-40T00:00:00Z", None),
        ("9999-12-31T00:00:00Z", None),  # beyond 64 bits
        (None, None),
    ],
)
def test_instants_are_exact_or_unknown(written: object, expected: int | None) -> None:
    assert v.instant_ns(written) == expected


def test_a_time_without_zone_takes_the_one_given() -> None:
    assert v.instant_ns("2026-09-07 00:10:00", zone=ZoneInfo("Asia/Kolkata")) == 1_788_720_000_000_000_000
    assert [v.is_naive(text) for text in ("2026-09-07 00:10:00", "2026-09-07T00:10:00Z", 5)] == [True, False, False]


def test_an_epoch_of_a_stated_unit_is_none_of_another_size() -> None:
    assert v.instant_ns(1_788_720_000_000, "ms") == 1_788_720_000_000_000_000
    assert v.instant_ns(1_788_720_000_000, "s") is None


@pytest.mark.parametrize(
    ("written", "unit", "expected"),
    [
        (0.0067056, "s", 6_705_600),
        ("2858", "ms", 2_858_000_000),
        (0.1 + 0.2, "s", 300_000_000),
        (-1, "us", -1000),
        (5e-324, "s", 0),
        ("NaN", "s", None),
        (float("inf"), "s", None),
        ("1e400", "s", 2**63 - 1),  # as long as 64 bits hold, to be refused
        ("-1e400", "s", -(2**63) + 1),
        ([1], "s", None),
    ],
)
def test_durations_are_exact_or_unknown(written: object, unit: v.Unit, expected: int | None) -> None:
    assert v.duration_ns(written, unit) == expected


@given(st.integers(-(2**62), 2**62))
def test_nanoseconds_survive_as_number_and_as_text(duration: int) -> None:
    assert v.duration_ns(duration, "ns") == v.duration_ns(str(duration), "ns") == duration


@given(st.integers(1_420_070_400_000_000_000, 4_000_000_000_000_000_000))
def test_an_instant_survives_its_iso_text(instant: int) -> None:
    seconds, rest = divmod(instant, 10**9)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest:09d}Z"
    assert v.instant_ns(text) == instant


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (21073.0, 21073),
        ("21073.0", 21073),
        ('"57"', 57),
        ({"low": -1, "high": 0}, 2**32 - 1),
        (True, None),
        (1.5, None),
        (2**63, None),
        ("1E+999999", None),
        ("", None),
    ],
)
def test_counts_are_whole_numbers_of_64_bits(written: object, expected: int | None) -> None:
    assert v.integer(written) == expected


def test_money_is_whole_pico_dollars() -> None:
    assert [v.pico_usd(cost) for cost in (9.435e-05, "0.0000125", 0, "USD 3")] == [94_350_000, 12_500_000, 0, None]
    assert v.stated_cost(0, 10, 5) is None
    assert v.stated_cost(0, None, 0) == 0
    assert v.stated_cost(0.5, 10, 5) == 500_000_000_000


def test_text_that_says_nothing_is_none_and_what_no_store_takes_is_replaced() -> None:
    silent: list[object] = ["", " None ", "null", "-", "NaN", None, []]
    assert [v.text(word) for word in silent] == [None] * 7
    told: list[object] = [" a ", 5, True, "\ud800", "a\0b"]
    assert [v.text(word) for word in told] == ["a", "5", "true", "?", "a\ufffdb"]


def test_addresses_and_keys_become_pseudonyms_and_network_addresses_nothing() -> None:
    assert v.identity("Someone@Example.com") == v.identity("someone@example.com") == "mail-72497f475e4f76d0"
    assert str(v.identity("sk-live-0123456789abcdef")).startswith("key-")
    assert [v.identity(address) for address in ("192.0.2.1", "192.0.2.1:443", "2001:db8::1", "::1")] == [None] * 4
    assert [v.identity(name) for name in ("u-1", "team:red", "12:30:00")] == ["u-1", "team:red", "12:30:00"]


def test_json_and_python_in_text_are_read_and_nothing_is_run() -> None:
    assert v.json_in_text('{"a": [1]}') == {"a": [1]}
    assert v.json_in_text("{'a': None, 'b': True}") == {"a": None, "b": True}
    assert v.json_in_text("__import__('os')") is None
    assert v.json_in_text("[1, 2") is None
    assert v.at({"a": '{"b": {"c": 3}}'}, "a", "b", "c") == 3


@pytest.mark.parametrize(
    ("code", "status"),
    [
        *((200, "ok"), (301, "ok"), (400, "rejected"), (404, "rejected"), (408, "timeout"), (429, "shed")),
        *((499, "cancelled"), (500, "error"), (502, "error"), (503, "shed"), (504, "timeout"), (0, None), (None, None)),
    ],
)
def test_status_classes_of_http(code: int | None, status: str | None) -> None:
    assert v.status_of_http(code) == status


def test_status_classes_of_error_names() -> None:
    names = ("litellm.Timeout", "openai.RateLimitError", "RequestCancellationError", "BadRequestError", "Boom", None)
    found = [v.status_of_error(name) for name in names]
    assert found == ["timeout", "shed", "cancelled", "rejected", "error", "error"]


def test_only_the_name_of_an_error_is_kept_of_its_message() -> None:
    assert v.error_name("openai.RateLimitError: you said 'private'") == "openai.RateLimitError"
    assert v.error_name("something private went wrong") == "error"
    assert v.error_name(None) is None


def test_finish_reasons_get_one_name_per_meaning() -> None:
    told = [v.finish_reason(reason) for reason in ("STOP", ["tool_use"], '["end_turn"]', "max_tokens", "", None)]
    assert told == ["stop", "tool_calls", "stop", "length", None, None]


def test_trace_ids_are_padded_hex_or_nothing() -> None:
    assert v.trace_id("84B3FAD94C6112ED") == "000000000000000084b3fad94c6112ed"
    assert v.trace_id("fe8ffecb-72ce-4cd2-bdb7-01f34654c391") == "fe8ffecb72ce4cd2bdb701f34654c391"
    assert [v.trace_id(odd) for odd in ("0" * 32, "order-77", "", None)] == [None] * 4


def test_dates_of_http_and_of_access_logs() -> None:
    assert v.http_date_ns("Thu, 20 Nov 2025 12:06:07 GMT") == 1_763_640_367_000_000_000
    assert v.access_log_ns("[21/Mar/2025:04:28:03 +0000]") == 1_742_531_283_000_000_000
    assert (v.http_date_ns("yesterday"), v.http_date_ns(5), v.access_log_ns("04:28")) == (None, None, None)


def test_small_helpers() -> None:
    assert v.total(None, 2, 3) == 5
    assert v.total(None) is None
    assert v.first(None, 0, 1) == 0
    assert v.seconds(550_000_000) == Decimal("0.550000000")
    assert [v.flag(word) for word in ("True", 0, "no", "maybe", None)] == [True, False, False, None, None]
    assert [v.real(value) for value in ("0.5", 3, "x", float("nan"))] == [0.5, 3.0, None, None]
