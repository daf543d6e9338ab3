"""Own flat tables: columns by name and by mapping, times in every form, the figures worked out by hand."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.formats import flat
from ingest.formats.contract import Head, SourceColumn
from ingest.formats.flat_names import DURATIONS
from ingest.receipts import LoadOptions
from tests.support.loads import PLAIN, counts, load_bytes, load_files, mapped, places
from tests.support.shared import shared

MS = 1_000_000
NS = 1_000_000_000


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def one(folder: Path, options: Any = PLAIN, **row: Any) -> dict[str, Any]:
    """The one request of a one-line file, without what is null."""
    defaults = {"request_id": "r-1", "start_time": "2026-03-02T10:00:00Z"}
    receipt, requests = load_bytes(folder, lines(defaults | row), options=options)
    assert counts(receipt) == (1, 1, 0, 0), receipt
    return {name: value for name, value in requests.row(0, named=True).items() if value is not None}


def columns_of(*names: str) -> dict[str, tuple[str, str]]:
    found = flat.columns(Head("x", "csv", b"", columns=names))
    return {column.names[0]: (column.column, column.unit) for column in found}


def test_names_of_many_houses_are_recognized() -> None:
    names = ("Request ID", "promptTokens", "Completion Tokens", "TTFT (ms)", "latency_seconds", "queue_time_us")
    assert columns_of(*names, "org", "userId", "created_at", "arrival_timestamp_ms", "is_stream", "cost") == {
        "Request ID": ("request_id", ""),
        "promptTokens": ("input_tokens", ""),
        "Completion Tokens": ("output_tokens", ""),
        "TTFT (ms)": ("ttft_ns", "ms"),
        "latency_seconds": ("e2e_ns", "s"),
        "queue_time_us": ("queue_ns", "us"),
        "org": ("tenant", ""),
        "userId": ("user", ""),
        "created_at": ("started_ns", "time"),
        "arrival_timestamp_ms": ("started_ns", "ms"),
        "is_stream": ("streaming", ""),
        "cost": ("source_cost_usd", ""),
    }


def test_of_several_names_the_better_goes_first() -> None:
    found = flat.columns(Head("x", "csv", b"", columns=("id", "request_id", "timestamp", "start_time")))
    assert [column.names[0] for column in found] == ["request_id", "id", "start_time", "timestamp"]


def test_places_inside_a_json_object_are_read() -> None:
    found = flat.columns(Head("x", "json_lines", b"", columns=("usage",)))
    assert SourceColumn("input_tokens", ("usage.prompt_tokens",)) in found


def test_a_row_of_engine_stages_by_hand(tmp_path: Path) -> None:
    row = one(
        tmp_path,
        trace_id="0AF7651916CD43DD8448EB211C80319C",
        model="m-1",
        provider="ACME",
        status_code=200,
        stream=True,
        input_tokens=100,
        cached_tokens=64,
        output_tokens=21,
        retrieval_ms=100.0,
        queue_ms=50.0,
        prefill_ms=250.0,
        decode_ms=1000.0,
        ttft_ms=410.0,
        e2e_ms=1450.0,
        note="kept",
        prompt="never kept",
    )
    assert {name: value for name, value in row.items() if name != "upload_id"} == {
        "request_key": f"flat:r-1@{1772445600 * NS}",
        "source": "flat",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "request_id": "r-1",
        "model": "m-1",
        "provider": "acme",
        "streaming": True,
        "started_ns": 1772445600 * NS,
        "ended_ns": 1772445600 * NS + 1450 * MS,
        "e2e_ns": 1450 * MS,
        "ttft_ns": 410 * MS,
        "call_ttft_ns": 300 * MS,
        "generation_ns": 1000 * MS,
        "generation_basis": "engine",
        "retrieval_ns": 100 * MS,
        "queue_ns": 50 * MS,
        "prefill_ns": 250 * MS,
        "decode_ns": 1000 * MS,
        "unattributed_ns": 50 * MS,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "output_tokens": 21,
        "llm_calls": 1,
        "attempts": 1,
        "status_class": "ok",
        "http_status": 200,
        "sampling_rate": 1.0,
        "n_call_rows": 0,
        "flags": [],
        "attributes": '{"note":"kept"}',
    }


def test_a_row_with_a_first_token_alone_is_split_at_it(tmp_path: Path) -> None:
    row = one(tmp_path, output_tokens=11, ttft_ms=300, e2e_ms=1300)
    assert (row["before_first_token_ns"], row["after_first_token_ns"]) == (300 * MS, 1000 * MS)
    assert (row["generation_ns"], row["generation_basis"]) == (1000 * MS, "response_end")
    assert (row["streaming"], row["flags"]) == (True, ["ttft_split"])
    assert "unattributed_ns" not in row
    assert "model_ns" not in row


def test_a_row_with_a_duration_alone_is_one_piece(tmp_path: Path) -> None:
    row = one(tmp_path, output_tokens=11, end_time="2026-03-02T10:00:02.5Z")
    assert (row["e2e_ns"], row["model_ns"]) == (2500 * MS, 2500 * MS)
    assert [name for name in ("ttft_ns", "generation_ns", "streaming") if name in row] == []


def test_a_first_token_at_the_end_is_none(tmp_path: Path) -> None:
    row = one(tmp_path, output_tokens=11, ttft_ms=1300, e2e_ms=1300)
    assert [name for name in ("ttft_ns", "generation_ns") if name in row] == []
    assert one(tmp_path, output_tokens=0, ttft_ms=300, e2e_ms=1300).get("ttft_ns") is None
    assert one(tmp_path, output_tokens=5, ttft_ms=0, e2e_ms=1300).get("ttft_ns") is None
    late = one(tmp_path, output_tokens=5, ttft_ms=1400, e2e_ms=1300)
    assert (late.get("ttft_ns"), late["flags"]) == (None, ["timing_invalid"])


def test_stages_longer_than_the_whole_are_not_told(tmp_path: Path) -> None:
    row = one(tmp_path, output_tokens=5, queue_ms=900, prefill_ms=900, e2e_ms=1000)
    assert [name for name in ("queue_ns", "prefill_ns") if name in row] == []
    assert (row["unattributed_ns"], row["flags"]) == (1000 * MS, ["timing_invalid"])
    within = one(tmp_path, output_tokens=5, queue_ms=600, prefill_ms=405, e2e_ms=1000)
    assert (within["queue_ns"], within["unattributed_ns"]) == (600 * MS, 0)
    assert within["flags"] == ["residual_negative"]


def test_tokens_below_two_have_no_generation_time(tmp_path: Path) -> None:
    assert "generation_ns" not in one(tmp_path, output_tokens=1, ttft_ms=300, e2e_ms=1300)
    agent = one(tmp_path, output_tokens=30, llm_calls=3, decode_ms=900, ttft_ms=300, e2e_ms=1300)
    assert (agent["generation_ns"], agent["generation_basis"]) == (900 * MS, "engine")
    assert "generation_ns" not in one(tmp_path, output_tokens=3, llm_calls=3, decode_ms=900, e2e_ms=1300)
    assert one(tmp_path, output_tokens=11, tpot_ms=40, e2e_ms=1300)["generation_ns"] == 400 * MS


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"status_code": 200}, "ok"),
        ({"status_code": 429}, "shed"),
        ({"status_code": "503"}, "shed"),
        ({"status_code": 504}, "timeout"),
        ({"status_code": 499}, "cancelled"),
        ({"status_code": 400}, "rejected"),
        ({"status_code": 500}, "error"),
        ({"status": 404}, "rejected"),
        ({"status": "success"}, "ok"),
        ({"status": "Timed Out"}, "timeout"),
        ({"status": "failed", "status_code": 200}, "error"),
        ({"error_type": "ReadTimeout"}, "timeout"),
        ({"error": {"type": "RateLimitError"}}, "shed"),
        ({"error": "boom"}, "error"),
        ({"error": ""}, "ok"),
        ({"error": "None"}, "ok"),
        ({"finish_reason": "error"}, "truncated"),
        ({"finish_reason": "length"}, "ok"),
    ],
)
def test_the_outcome_is_told_by_status_word_or_error(tmp_path: Path, row: dict[str, Any], status: str) -> None:
    assert one(tmp_path, input_tokens=1, **row)["status_class"] == status


def test_a_failed_row_of_no_length_has_no_latency(tmp_path: Path) -> None:
    row = one(tmp_path, status_code=500, e2e_ms=0, ttft_ms=0, input_tokens=5)
    assert [name for name in ("e2e_ns", "ttft_ns", "model_ns") if name in row] == []


def test_a_cost_of_nothing_beside_tokens_is_unknown(tmp_path: Path) -> None:
    assert "source_cost_usd" not in one(tmp_path, cost_usd=0, input_tokens=5)
    assert one(tmp_path, cost_usd=1.3000000000000001e-05, input_tokens=5)["source_cost_usd"] == 13_000_000


@pytest.mark.parametrize(
    ("start", "ns"),
    [
        ("2026-03-02T10:00:00Z", 1772445600_000000000),
        ("2026-03-02T11:00:00+01:00", 1772445600_000000000),
        ("2026-03-02 10:00:00.123456789", 1772445600_123456789),
        ("2026-03-02", 1772409600_000000000),
        ("Mon, 02 Mar 2026 10:00:00 GMT", 1772445600_000000000),
        (1772445600, 1772445600_000000000),
        (1772445600.123456, 1772445600_123456000),
        ("1772445600.5", 1772445600_500000000),
        (1772445600123, 1772445600_123000000),
        (1772445600123456, 1772445600_123456000),
        (1772445600123456789, 1772445600_123456789),
    ],
)
def test_instants_are_read_in_every_form(tmp_path: Path, start: object, ns: int) -> None:
    assert one(tmp_path, start_time=start, input_tokens=1)["started_ns"] == ns


def test_the_unit_of_epoch_numbers_is_decided_by_the_column(tmp_path: Path) -> None:
    rows = [{"timestamp": 1772445600000 + number, "input_tokens": 1} for number in range(5)]
    receipt, requests = load_bytes(tmp_path, lines(*rows, {"timestamp": 1772445600, "input_tokens": 1}))
    assert requests["started_ns"].to_list() == [(1772445600000 + number) * MS for number in range(5)]
    assert [reject.reason for reject in receipt.rejects] == ["time_out_of_range"]


def test_a_clock_that_counts_from_nowhere_is_never_1970(tmp_path: Path) -> None:
    rows = [{"timestamp": number * 250, "input_tokens": 10 + number, "output_tokens": 1} for number in range(4)]
    receipt, requests = load_bytes(tmp_path, lines(*rows))
    assert counts(receipt) == (4, 4, 0, 0)
    assert requests["started_ns"].to_list() == [None] * 4
    assert receipt.notes == (
        '"timestamp" counts from no known instant (0 to 750): its requests have no wall clock and belong to no week. '
        "start places them, such as --start 2026-03-02T10:00:00Z",
    )


def test_times_without_a_zone_take_the_one_of_the_mapping(tmp_path: Path) -> None:
    content = b"start,prompt_tokens\n2026-07-01 12:00:00,5\n2026-07-01T12:00:00Z,6\n"
    receipt, requests = load_bytes(tmp_path, content, "a.csv", mapped("timezone: Europe/Berlin"))
    assert requests["started_ns"].to_list() == [1782900000 * NS, 1782907200 * NS]
    assert receipt.notes == ('times of "start" without a zone are read as Europe/Berlin',)


def test_a_mapping_names_columns_units_and_dimensions(tmp_path: Path) -> None:
    text = """
    columns: {input_tokens: laenge, ttft: {from: erstes, unit: s}, e2e: {from: ganz_ms}, user: wer}
    dimensions: {team: abteilung}
    """
    row = one(tmp_path, mapped(text), laenge="7", erstes=0.25, ganz_ms=1000, wer="ana", user_id="x", abteilung="A1")
    assert {name: row[name] for name in ("input_tokens", "ttft_ns", "e2e_ns", "user", "dimensions")} == {
        "input_tokens": 7,
        "ttft_ns": 250 * MS,
        "e2e_ns": 1000 * MS,
        "user": "ana",
        "dimensions": '{"team":"A1"}',
    }


def test_a_duration_without_a_unit_is_not_guessed(tmp_path: Path) -> None:
    content = lines({"start_time": "2026-03-02T10:00:00Z", "input_tokens": 5, "latency": 3})
    receipt, requests = load_bytes(tmp_path, content)
    assert requests["e2e_ns"].to_list() == [None]
    assert receipt.not_understood == {"latency": 1}
    assert receipt.notes == (
        "the unit of latency is not in its name, so it is not read; map it, such as "
        "columns: {e2e: {from: latency, unit: ms}}",
    )
    refused, _ = load_bytes(tmp_path, content, "b.jsonl", mapped("columns: {e2e: latency}"))
    assert (refused.state, refused.message) == (
        "failed",
        'b.jsonl: the unit of column "latency" is not told. '
        "Write columns: {e2e: {from: latency, unit: ms}} in the mapping file",
    )


@pytest.mark.parametrize("column", DURATIONS)
def test_a_duration_without_unit_is_advised_as_what_it_is(tmp_path: Path, column: str) -> None:
    sources = flat.without_unit(DURATIONS[column])
    if not sources:
        return  # names that are read as something else without their unit
    assert set(sources.values()) == {column.removesuffix("_ns")}
    name, short = next(iter(sources.items()))
    content = lines({"start_time": "2026-03-02T10:00:00Z", "input_tokens": 5, "output_tokens": 3, f"x: {name}": 3})
    advised = flat.told_with_unit({f"x: {name}": short})
    receipt, _ = load_bytes(tmp_path, content, "a.jsonl", mapped(advised))
    assert (receipt.state, receipt.notes, receipt.not_understood) == ("done", (), {})


def test_every_column_without_a_unit_is_advised_under_its_own_name(tmp_path: Path) -> None:
    content = lines({"start_time": "2026-03-02T10:00:00Z", "input_tokens": 5, "ttft": 3, "latency": 9, "e2e": 9})
    receipt, _ = load_bytes(tmp_path, content)
    assert receipt.notes == (
        "the unit of e2e, latency, ttft is not in its name, so it is not read; map it, such as "
        "columns: {e2e: {from: e2e, unit: ms}, ttft: {from: ttft, unit: ms}}",
    )
    (advised,) = (note.partition("such as ")[2] for note in receipt.notes)
    _, requests = load_bytes(tmp_path, content, "b.jsonl", mapped(advised))
    assert requests.select("ttft_ns", "e2e_ns").rows()[-1] == (3 * MS, 9 * MS)


def test_what_no_column_holds_is_kept_counted_and_content_is_not(tmp_path: Path) -> None:
    rows = [{"id": f"r-{number}", "input_tokens": 1, "gpu": "h100", "api_key": "sk-1"} for number in range(3)]
    receipt, requests = load_bytes(tmp_path, lines(*rows, {"id": "r-9", "input_tokens": 1, "late": {"x": 1.5}}))
    assert requests["attributes"].to_list() == ['{"gpu":"h100"}'] * 3 + ['{"late":{"x":1.5}}']
    assert receipt.not_understood == {"gpu": 3, "late": 1}
    assert receipt.notes == ("not kept, for it may be content or credentials: api_key",)


def test_a_name_that_first_comes_late_is_not_lost(tmp_path: Path) -> None:
    rows = [{"id": f"r-{number}", "input_tokens": 1} for number in range(30_000)]
    receipt, requests = load_bytes(tmp_path, lines(*rows, {"id": "r-x", "input_tokens": 1, "error_type": "Timeout"}))
    assert counts(receipt) == (30_001, 30_001, 0, 0)
    assert requests["status_class"].value_counts(sort=True).rows() == [("ok", 30_000), ("timeout", 1)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_text_cut_within_a_character_costs_no_row(tmp_path: Path, name: str) -> None:
    rows = [{"id": f"r-{number}", "input_tokens": number, "topic": "sun \ud83c\udf1e"} for number in range(5)]
    rows[1]["topic"] = rows[3]["topic"] = "sun \ud83c"
    rows[3]["input_tokens"] = -1
    content = lines(*rows) + b"broken\n" if name == "a.jsonl" else json.dumps(rows).encode()
    receipt, requests = load_bytes(tmp_path, content, name)
    assert sorted(requests["request_id"]) == ["r-0", "r-1", "r-2", "r-4"]
    assert requests.filter(request_id="r-1")["attributes"].item() == '{"topic":"sun ?"}'
    assert receipt.reasons == {"negative_tokens": 1} | ({"invalid_json": 1} if name == "a.jsonl" else {})
    assert receipt.read == receipt.accepted + receipt.rejected
    assert places(receipt)[0][::2] == ((4 if name == "a.jsonl" else 1), "negative_tokens")


def test_one_wrong_value_in_a_column_of_numbers_costs_its_row_alone(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": f"r-{number}", "input_tokens": number} for number in range(20_000)]
    rows[15_000]["input_tokens"] = "many"
    receipt, requests = load_bytes(tmp_path, lines(*rows))
    assert counts(receipt) == (20_000, 19_999, 0, 1)
    assert places(receipt)[0][::2] == (15_001, "bad_value")
    assert requests["input_tokens"].sum() == sum(range(20_000)) - 15_000


ODD_NAMES = (
    "rn",
    "# record",
    "",
    "it's",
    'q"x',
    "a.b",
    "x;y",
    "x\ny",
    "😀",
    "\\",
    "v0",
    "is_empty",
    "$.x",
    "select",
    "MODEL",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_column_may_have_any_name(tmp_path: Path, name: str) -> None:
    row = {"request_id": "r-1", "start_time": "2026-03-02T10:00:00Z", "model": "m", "input_tokens": 1}
    receipt, requests = load_bytes(tmp_path, lines(row | {name: "x"}, row | {"input_tokens": -1}))
    assert (counts(receipt), places(receipt)[0][::2]) == ((2, 1, 0, 1), (2, "negative_tokens"))
    kept = {} if name in ("", "MODEL") else {name: "x"}
    assert json.loads(requests["attributes"][0] or "{}") == kept


def test_a_time_that_is_none_costs_its_row_and_no_note(tmp_path: Path) -> None:
    rows = [{"start_time": start, "input_tokens": 1} for start in ("2026-03-02T10:00:00Z", "yesterday")]
    receipt, _ = load_bytes(tmp_path, lines(*rows))
    assert (counts(receipt), receipt.reasons, receipt.notes) == ((2, 1, 0, 1), {"bad_value": 1}, ())


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_tables_of_any_delimiter_are_one_format(tmp_path: Path, delimiter: str) -> None:
    rows = [["request_id", "start_time", "input_tokens", "user"], ["r-1", "2026-03-02T10:00:00Z", "5", '"Zoë, A"']]
    content = b"\xef\xbb\xbf" + "\r\n".join(delimiter.join(row) for row in rows).encode()
    receipt, requests = load_bytes(tmp_path, content, "a.csv")
    assert (receipt.format, counts(receipt)) == ("flat", (1, 1, 0, 0))
    assert requests.select("request_id", "input_tokens", "user").row(0) == ("r-1", 5, "Zoë, A")


def test_a_spreadsheet_with_decimal_commas(tmp_path: Path) -> None:
    good = b"id;timestamp;e2e_ms;input_tokens\nr-1;1772445600;1500,5;7\nr-2;1772445600;2.5;8\n"
    for number, content in enumerate((good, good + b"r-3;1\n")):
        _, requests = load_bytes(tmp_path, content, f"{number}.csv")
        assert requests["e2e_ns"].to_list() == [1_500_500_000, 2_500_000]


def test_a_source_with_ids_for_names_is_read_as_far_as_names_go(tmp_path: Path) -> None:
    row = {"request_id": "r", "input_tokens": 1}
    content = lines(*(row | {f"k-{number}": 1, "request_id": f"r-{number}"} for number in range(3000)))
    receipt, _ = load_bytes(tmp_path, content)
    assert counts(receipt) == (3000, 3000, 0, 0)
    assert receipt.notes == ("the file has more than 2000 names; the rarest are not read",)


def test_refused_rows_of_a_table_have_their_true_line(tmp_path: Path) -> None:
    content = (
        b"request_id,start_time,input_tokens,note\r\n"
        b'r-1,2026-03-02T10:00:00Z,5,"two\r\nlines"\r\n'
        b"\r\n"
        b"r-2,2026-03-02T10:00:00Z\r\n"
        b"r-3,2026-03-02T10:00:00Z,5,a,b\r\n"
        b"r-4,2026-03-02T10:00:00Z,-5,\r\n"
        b"r-5,2026-03-02T10:00:00Z,\xff,\r\n"
        b"r-6,2026-03-02T10:00:00Z,NaN,\r\n"
        b"r-7,2026-03-02T1"
    )
    receipt, requests = load_bytes(tmp_path, content, "a.csv")
    assert requests["request_id"].to_list() == ["r-1", "r-6"]
    assert [place[::2] for place in places(receipt)] == [
        (5, "wrong_columns"),
        (6, "wrong_columns"),
        (7, "negative_tokens"),
        (8, "invalid_utf8"),
        (10, "torn_line"),
    ]
    assert [content[place[1] or 0 :][:3] for place in places(receipt)] == [b"r-2", b"r-3", b"r-4", b"r-5", b"r-7"]
    assert counts(receipt) == (7, 2, 0, 5)


def test_a_parquet_table_is_read_in_its_own_types(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "request_id": [1, 2, 3],
            "start_time": pl.Series([1772445600_000000, 1772445601_500000, None]).cast(pl.Datetime("us", "UTC")),
            "ttft_ms": [200.5, float("nan"), 1.0],
            "input_tokens": pl.Series([5, 6, 7], dtype=pl.UInt32),
            "stream": [True, None, False],
            "extra": [["a"], [], None],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    (receipt,), requests = load_files(tmp_path / "a.parquet")
    assert counts(receipt) == (3, 2, 0, 1)
    assert [(reject.line, reject.reason) for reject in receipt.rejects] == [(None, "start_unset")]
    assert '"request_id":3' in receipt.rejects[0].head
    assert requests.select("request_id", "started_ns", "ttft_ns", "input_tokens", "streaming").rows() == [
        ("1", 1772445600 * NS, 200_500_000, 5, True),
        ("2", 1772445601 * NS + 500 * MS, None, 6, None),
    ]
    assert receipt.notes == ("1 value is no number (NaN or Infinity) and is read as not known",)


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_objects_is_a_table(tmp_path: Path, indent: int | None) -> None:
    rows = [{"id": f"r-{n}", "timestamp": 1772445600 + n, "input_tokens": n - 1, "e2e_ms": 5} for n in range(4)]
    content = json.dumps(rows, indent=indent)
    receipt, requests = load_bytes(tmp_path, content.encode(), "requests.json")
    assert (receipt.format, counts(receipt)) == ("flat", (4, 3, 0, 1))
    assert requests["input_tokens"].to_list() == [0, 1, 2]
    assert places(receipt) == [(1 if indent is None else 2, content.index("{"), "negative_tokens")]
    assert receipt.rejects[0].head[:1] == "{"


def test_the_same_rows_in_three_containers_are_one_set_of_requests(tmp_path: Path) -> None:
    rows = [{"id": f"r-{n}", "timestamp": 1772445600 + n, "input_tokens": n, "e2e_ms": 10.5 * n + 1} for n in range(50)]
    frame = pl.DataFrame(rows)
    (tmp_path / "a.jsonl").write_bytes(lines(*rows))
    frame.write_csv(tmp_path / "b.csv")
    frame.write_parquet(tmp_path / "c.parquet")
    receipts, requests = load_files(tmp_path)
    assert [counts(receipt) for receipt in receipts] == [(50, 50, 0, 0), (50, 0, 50, 0), (50, 0, 50, 0)]
    assert requests["e2e_ns"].sum() == sum(round((10.5 * n + 1) * MS) for n in range(50))


def test_the_rows_of_a_litellm_call_log() -> None:
    (receipt,), requests = load_files(shared("data/litellm-logs/agent_calls_tau2_retail.jsonl"))
    assert counts(receipt) == (171, 171, 0, 0)
    assert (requests["input_tokens"].sum(), requests["output_tokens"].sum()) == (715319, 20021)
    assert requests["source_cost_usd"].sum() == 815_424_000_000
    assert (requests["session"].n_unique(), requests["trace_id"].n_unique()) == (10, 171)
    assert requests["finish_reason"].null_count() == 0


def test_outcomes_of_an_hour_of_failures() -> None:
    (receipt,), requests = load_files(shared("cases/10-whose-fault-was-it/requests.csv"))
    assert counts(receipt) == (40, 40, 0, 0)
    assert dict(requests["status_class"].value_counts().rows()) == {
        "ok": 30,
        "rejected": 4,
        "cancelled": 2,
        "shed": 2,
        "error": 1,
        "timeout": 1,
    }


def test_rows_of_finance_keep_unknown_users_unknown() -> None:
    (receipt,), requests = load_files(shared("cases/12-finance-rows-at-the-month-edge/requests.csv"))
    assert counts(receipt) == (5, 5, 0, 0)
    assert requests.select("user", "input_tokens", "cached_input_tokens", "output_tokens").rows() == [
        ("u-1", 10000, 4000, 500),
        ("u-1", 2000, 0, 100),
        ("u-2", 3000, 1000, 200),
        ("u-2", 5000, 1000, 300),
        (None, 1000, 0, 50),
    ]


def test_tokens_across_a_price_cut() -> None:
    (receipt,), requests = load_files(shared("cases/08-price-cut-mid-month/requests.csv"))
    assert counts(receipt) == (5, 5, 0, 0)
    sums = requests.select(pl.col("input_tokens", "cached_input_tokens", "output_tokens").sum()).row(0)
    assert sums == (490000, 70000, 19000)


RATES = [1, 0.25, "", 1e-9, 0, -0.5, 1.5, "often", 1e-10]


def rated(shape: str, column: str = "sampling_rate") -> bytes:
    """Nine requests with a rate each, as a file of that shape."""
    rows = [
        {"request_id": f"r-{i}", "start_time": f"2026-03-02T10:00:0{i}Z", "output_tokens": 10} | {column: rate}
        for i, rate in enumerate(RATES)
    ]
    if shape == "json_lines":
        return lines(*rows)
    if shape == "json_array":
        return json.dumps(rows).encode()
    frame = pl.DataFrame([row | {column: str(row[column])} for row in rows])
    if shape == "parquet":
        told = io.BytesIO()
        frame.filter(pl.col(column) != "often").with_columns(
            pl.col(column).replace("", None).cast(pl.Float64)
        ).write_parquet(told)
        return told.getvalue()
    return frame.write_csv(separator=";" if shape == "semicolons" else ",").encode()


@pytest.mark.parametrize("shape", ["json_lines", "json_array", "csv", "semicolons", "parquet"])
def test_a_row_states_its_own_sampling_rate(tmp_path: Path, shape: str) -> None:
    options = LoadOptions(sampling_rate=0.5)
    receipt, requests = load_bytes(tmp_path, rated(shape), f"rated.{shape}", options=options)
    refused = 4 if shape == "parquet" else 5
    assert counts(receipt) == (refused + 4, 4, 0, refused)
    assert dict(requests.select("request_id", "sampling_rate").rows()) == {
        "r-0": 1.0,
        "r-1": 0.25,
        "r-2": 0.5,
        "r-3": 1e-9,
    }
    assert receipt.reasons == {"bad_value": refused}
    told = [reject.detail.partition(", ")[2] if shape == "parquet" else reject.detail for reject in receipt.rejects]
    rule = "is no share of requests that were kept, from 1e-09 to 1"
    assert [detail for detail in told if rule in detail] == [detail for detail in told if "often" not in detail]
    assert "sampling_rate" not in receipt.not_understood
    assert any(
        note == 'sampling rates are those that rows state in "sampling_rate"; a row without one counts as kept at 0.5, '
        "the rate of the whole file"
        for note in receipt.notes
    )


def test_a_mapping_tells_the_column_of_sampling_rates(tmp_path: Path) -> None:
    options = mapped("columns: {sampling_rate: kept}\nsampling_rate: 0.125")
    receipt, requests = load_bytes(tmp_path, rated("csv", "kept"), "rated.csv", options=options)
    assert counts(receipt) == (9, 4, 0, 5)
    assert sorted(requests["sampling_rate"]) == [1e-9, 0.125, 0.25, 1.0]
    plain, without = load_bytes(tmp_path, rated("csv", "kept"), "plain.csv")
    assert (counts(plain), set(without["sampling_rate"])) == ((9, 9, 0, 0), {1.0})
    assert "kept" in plain.not_understood
