"""Rejected rows of every kind of source: column, value and rule on every surface, content on none."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from api.words import receipt_lines
from ingest.load import LoadOptions, load_paths
from ingest.store.database import Store
from tests.support.loads import load_bytes, load_files
from tests.support.otlp import request, span, write_lines

ILLNESS = "my mother is ill"
GOOD = {"id": "r-1", "start_time": "2026-03-02T10:00:00Z", "end_time": "2026-03-02T10:00:05Z", "output_tokens": 5}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "array", "parquet"])
@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ({"output_tokens": "abc"}, "bad_value", 'output_tokens: "abc" is no whole number'),
        ({"output_tokens": -5}, "negative_tokens", "output_tokens: -5 is below 0"),
        ({"output_tokens": 10**14}, "bad_value", "output_tokens: 100000000000000 is above 1,000,000,000,000"),
        ({"start_time": "yesterday"}, "bad_value", 'start_time: "yesterday" is no time'),
        ({"start_time": None}, "start_unset", "start_time is missing"),
        (
            {"end_time": "2026-03-02T09:00:00Z"},
            "end_before_start",
            'end_time: "2026-03-02T09:00:00Z" lies before start_time: "2026-03-02T10:00:00Z"',
        ),
        (
            {"start_time": "1999-03-02T10:00:00Z"},
            "time_out_of_range",
            'start_time: "1999-03-02T10:00:00Z" is out of range',
        ),
    ],
)
def test_a_refused_row_of_a_table_names_column_value_and_rule(
    kind: str, change: dict[str, object], reason: str, detail: str, tmp_path: Path
) -> None:
    rows = [GOOD | {"id": f"r-{number}"} for number in range(3)]
    rows[1] |= change
    texts = [{key: None if value is None else str(value) for key, value in row.items()} for row in rows]
    content = {
        "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "csv": lambda: pl.DataFrame(texts).write_csv().encode(),
        "array": lambda: json.dumps(rows).encode(),
        "parquet": lambda: _parquet(pl.DataFrame(texts), tmp_path / "made"),
    }[kind]()
    receipt, _ = load_bytes(tmp_path, content, f"rows.{kind}")
    assert (receipt.read, receipt.accepted, receipt.rejected) == (3, 2, 1)
    (told,) = receipt.rejects
    assert told.reason == reason
    assert told.detail.removeprefix("row 2, ").startswith(detail)


PRIVATE = (
    "my password is hunter2",
    "tell me about my cancer diagnosis",
    "+49 170 1234567",
    "DE89370400440532013000",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "array", "parquet"])
@pytest.mark.parametrize("column", ["output_tokens", "start_time", "scenario"])
@pytest.mark.parametrize("value", PRIVATE)
def test_prose_and_credentials_in_a_column_of_figures_are_told_by_their_shape(
    kind: str, column: str, value: str, tmp_path: Path
) -> None:
    rows = [GOOD | {"id": f"r-{number}", "scenario": "chat"} for number in range(3)]
    rows[1] |= {"output_tokens": "abc", column: value}
    texts = [{key: str(told) for key, told in row.items()} for row in rows]
    content = {
        "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "csv": lambda: pl.DataFrame(texts).write_csv().encode(),
        "array": lambda: json.dumps(rows).encode(),
        "parquet": lambda: _parquet(pl.DataFrame(texts), tmp_path / "made"),
    }[kind]()
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(content)
    with Store.open() as store:
        (receipt,) = load_paths([path], store, LoadOptions())
        stored = store.rejects().to_dicts()
    assert (receipt.accepted, receipt.rejected) == (2, 1)
    (told,) = receipt.rejects
    shape = f"text of {len(value)} characters"
    assert shape in told.head
    assert "r-1" in told.head
    if column == "output_tokens":
        assert f"output_tokens: {shape} is no whole number" in told.detail
    shown = json.dumps([receipt.to_json(), stored], default=str) + "\n".join(receipt_lines(receipt))
    assert value not in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize("value", ["abc", "12,5", "-3x", "2026-13-01T00:00:00Z", "1e99", "n/a"])
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_what_a_column_holds_by_mistake_is_still_shown(kind: str, value: str, tmp_path: Path) -> None:
    rows = [GOOD | {"id": f"r-{number}"} for number in range(3)]
    rows[1] |= {"output_tokens": value, "start_time": value}
    content = {
        "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "csv": lambda: (
            pl.DataFrame([{key: str(told) for key, told in row.items()} for row in rows]).write_csv().encode()
        ),
    }[kind]()
    receipt, _ = load_bytes(tmp_path, content, f"rows.{kind}")
    (told,) = receipt.rejects
    assert value in told.head
    assert value in told.detail


@pytest.mark.parametrize("value", PRIVATE)
def test_prose_and_credentials_in_a_refused_span_are_told_by_their_shape(value: str, tmp_path: Path) -> None:
    spans = [
        span("a", span_id="a"),
        span(value, span_id="b") | {"endTimeUnixNano": "5"},
        span("c", span_id="c") | {"traceId": value},
        span("d", span_id="d") | {"spanId": value},
        span("e", attributes={"gen_ai.usage.input_tokens": value}, span_id="e") | {"startTimeUnixNano": value},
    ]
    path = write_lines(tmp_path / "t.jsonl", [request(spans)])
    (receipt,), _ = load_files(path)
    assert receipt.rejected == (3 if len(value) == 22 and value.isalnum() else 4)  # 22 digits of base64 are 16 bytes
    shown = json.dumps(receipt.to_json(), default=str) + "\n".join(receipt_lines(receipt))
    assert value not in shown
    assert f"id: text of {len(value)} characters is no" in shown


def _parquet(frame: pl.DataFrame, path: Path) -> bytes:
    frame.write_parquet(path)
    return path.read_bytes()


def test_a_detail_is_in_the_receipt_the_store_and_the_text_of_the_command(tmp_path: Path) -> None:
    rows = [GOOD, GOOD | {"id": "r-2", "output_tokens": "abc", "prompt": ILLNESS}]
    (path,) = [tmp_path / "rows.jsonl"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Store.open() as store:
        (receipt,) = load_paths([path], store, LoadOptions())
        stored = store.rejects().to_dicts()
    detail = 'output_tokens: "abc" is no whole number'
    assert receipt.to_json()["rejects"][0]["detail"] == detail
    assert [(row["reason"], row["detail"], row["head"]) for row in stored] == [
        ("bad_value", detail, receipt.rejects[0].head)
    ]
    assert receipt.rejects[0].head.startswith('{"id": "r-2"')
    assert any(f"(bad_value): {detail}: {{" in line for line in receipt_lines(receipt))
    assert ILLNESS not in json.dumps([receipt.to_json(), stored], default=str)


def test_a_refused_span_names_its_field_and_value(tmp_path: Path) -> None:
    spans = [
        span("a", span_id="a"),
        span("b", span_id="b") | {"endTimeUnixNano": "5"},
        span("c", span_id="c") | {"traceId": "xyz"},
    ]
    path = write_lines(tmp_path / "t.jsonl", [request(spans)])
    (receipt,), _ = load_files(path)
    assert [(told.reason, told.detail.split(" lies")[0]) for told in receipt.rejects] == [
        ("bad_trace_id", 'trace id: "xyz" is no 16 bytes'),
        ("end_before_start", "end: 5"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("torn.jsonl", json.dumps(GOOD) + "\n" + '{"id": "r-2", "prompt": "%s'),
        ("middle.jsonl", json.dumps(GOOD) + '\n{"id": "r-2", "prompt": "it is\n%s and he asked for help, which is a very long story",\n"n": 5}\n'),
        ("bad.jsonl", json.dumps(GOOD) + "\n" + '{"id": "r-2", "messages": [{"content": "%s"}], "output_tokens": "x"}\n'),
        ("quote.csv", 'id,start_time,prompt,output_tokens\nr-1,2026-03-02T10:00:00Z,x,5\nr-2,2026-03-02T10:00:00Z,"%s,5\n'),
        ("lines.csv", "id,start_time,prompt,output_tokens\nr-1,2026-03-02T10:00:00Z,x,5\nr-2,2026-03-02T10:00:00Z,a\n%s,5\n"),
        ("cell.csv", "id,start_time,prompt,output_tokens\nr-1,2026-03-02T10:00:00Z,x,5\nr-2,2026-03-02T10:00:00Z,%s,abc\n"),
        ("bytes.csv", "id,start_time,prompt,output_tokens\nr-1,2026-03-02T10:00:00Z,x,5\nr-\udcff2,2026-03-02T10:00:00Z,%s,5\n"),
        ("spans.jsonl", '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"c","attributes":[{"key":"gen_ai.prompt","value":{"stringValue":"%s'),
        ("langfuse.csv", "id,trace_id,type,start_time,provided_model_name,input\na,b,GENERATION,2026-03-02T10:00:00Z,m,x\na,,GENERATION,2026-03-02T10:00:00Z,m,%s\n"),
    ],
)  # fmt: skip
def test_content_of_refused_rows_is_nowhere(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((content % ILLNESS).encode("utf-8", "surrogateescape"))
    with Store.open() as store:
        (receipt,) = load_paths([path], store, LoadOptions())
        stored = store.rejects().to_dicts()
    assert receipt.rejected
    assert ILLNESS not in json.dumps([receipt.to_json(), stored], default=str)
    assert ILLNESS not in "\n".join(receipt_lines(receipt))
