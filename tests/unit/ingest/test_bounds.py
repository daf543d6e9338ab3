"""One value beyond what a row can say costs its row, or the value; never the sums of the store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.formats.contract import RawRequest
from ingest.load import load
from ingest.normalize import Normalizer, Stamp
from ingest.store.database import Store
from tests.support.loads import PLAIN, counts, load_bytes, write
from tests.support.otlp_rows import as_protobuf, delimited
from tests.support.readers import DATA

SOUND: dict[str, object] = {
    "request_id": "r",
    "start_time": "2026-03-02T10:00:00Z",
    "model": "m",
    "input_tokens": 9,
    "output_tokens": 5,
    "e2e_ms": 1000.0,
}

BEYOND: list[tuple[str, object, str]] = [
    *[("input_tokens", value, "bad_value") for value in (10**15, 2**63 - 1, -(2**63), 2**70)],
    ("output_tokens", 1_772_445_600_000_000_000, "bad_value"),
    *[("cost_usd", value, "bad_value") for value in (1e25, 1e12, "1000001")],
    *[(name, 2**63 - 1, "bad_value") for name in ("retries", "attempts", "http_status")],
    *[(name, 9e12, "duration_too_long") for name in ("e2e_ms", "ttft_ms", "queue_ms", "tpot_ms")],
    ("e2e_ms", 1e300, "duration_too_long"),
]


def as_json(rows: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_csv(rows: list[dict[str, object]]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return "".join(
        ",".join(line) + "\n" for line in [names, *([str(row.get(n, "")) for n in names] for row in rows)]
    ).encode()


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_rows_beyond_the_bounds_are_refused_by_their_line(name: str, tmp_path: Path) -> None:
    rows = [SOUND | {key: value, "request_id": f"far{n}"} for n, (key, value, _) in enumerate(BEYOND)]
    is_table = name.endswith("csv")
    receipt, requests = load_bytes(tmp_path, (as_csv if is_table else as_json)([SOUND, *rows]), name)
    assert [(reject.line, reject.reason) for reject in receipt.rejects] == [
        (2 + is_table + n, reason) for n, (_, _, reason) in enumerate(BEYOND)
    ]
    assert requests["request_id"].to_list() == ["r"]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [("input_tokens", 2**63 - 1, "bad_value"), ("retries", 2**62, "bad_value"), ("e2e_ms", 9e12, "duration_too_long")],
)
def test_columns_of_numbers_alone_are_bound_likewise(key: str, value: object, reason: str, tmp_path: Path) -> None:
    rows = [SOUND | {key: 1}, SOUND | {key: value, "request_id": "far"}, SOUND | {key: 2, "request_id": "s"}]
    receipt, requests = load_bytes(tmp_path, as_json(rows))
    assert [(reject.line, reject.reason) for reject in receipt.rejects] == [(2, reason)]
    assert requests["request_id"].to_list() == ["r", "s"]


@pytest.mark.parametrize("name", ["quality", "queue_depth"])
def test_a_figure_beyond_the_bounds_is_not_known_and_flagged(name: str, tmp_path: Path) -> None:
    rows = [SOUND | {name: value, "request_id": f"r{n}"} for n, value in enumerate((0.5, 1e308, -1e13))]
    receipt, requests = load_bytes(tmp_path, as_json(rows))
    assert counts(receipt) == (3, 3, 0, 0)
    assert requests[name].to_list() == [0.5, None, None]
    assert [flags.count("figure_out_of_range") for flags in requests["flags"].to_list()] == [0, 1, 1]


def test_rows_of_readers_in_python_are_bound_likewise() -> None:
    now_ns = 1_772_445_600_000_000_000
    sound: dict[str, object] = {"started_ns": now_ns, "input_tokens": 9}
    batch = [
        RawRequest(sound | {"quality": 1e300}, 1),
        RawRequest(sound | {"input_tokens": 2**80}, 2),
        RawRequest(sound | {"source_cost_usd": 10**25}, 3),
        RawRequest(sound | {"queue_ns": 10**18}, 4),
        RawRequest(sound, 5, calls=({"output_tokens": 10**13},)),
        RawRequest(sound, 6, calls=({"started_ns": 2**70},)),
    ]
    requests, _, rejects = Normalizer(Stamp("u", "s", now_ns)).rows(batch)
    assert requests["flags"].to_list() == [["figure_out_of_range"]]
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (2, "bad_value"),
        (3, "bad_value"),
        (4, "duration_too_long"),
        (5, "bad_value"),
        (6, "time_out_of_range"),
    ]


def chat(number: int, name: str, value: str) -> bytes:
    told = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "chat m",
        "startTimeUnixNano": "1772445600000000000",
        "endTimeUnixNano": "1772445601000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": name, "value": {"stringValue": value}},
        ],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]}).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gen_ai.usage.cost", "1e25"),
        ("gen_ai.usage.input_tokens", "1000000000000000"),
        ("gen_ai.usage.output_tokens", "9223372036854775807"),
        ("gen_ai.usage.output_tokens", "-9223372036854775808"),
    ],
)
def test_a_span_beyond_the_bounds_is_refused_by_its_line(name: str, value: str, tmp_path: Path) -> None:
    content = chat(0, name, "1") + chat(1, name, value) + chat(2, name, "2")
    receipt, requests = load_bytes(tmp_path, content)
    assert (counts(receipt), receipt.reasons) == ((3, 2, 0, 1), {"bad_value": 1})
    assert receipt.rejects[0].line == 2
    assert requests.height == 2


@pytest.mark.parametrize("name", ["gen_ai.usage.output_tokens", "gen_ai.usage.cached_tokens", "llm.token_count.prompt"])
@pytest.mark.parametrize("by", ["lines", "columns"])
def test_a_span_with_a_negative_count_is_refused_as_a_row_is(name: str, by: str, tmp_path: Path) -> None:
    content = chat(0, name, "1") + chat(1, name, "-5") + chat(2, name, "0")
    if by == "columns":
        content = b"".join(delimited(as_protobuf(json.loads(line))) for line in content.splitlines())
    receipt, requests = load_bytes(tmp_path, content)
    assert (counts(receipt), receipt.reasons) == ((3, 2, 0, 1), {"negative_tokens": 1})
    assert receipt.rejects[0].detail == f"{name}: -5 is below 0"
    assert requests.height == 2


def test_a_negative_count_told_as_text_is_not_known(tmp_path: Path) -> None:
    usage = chat(0, "langfuse.observation.usage_details", json.dumps({"input": 9, "output": -5}))
    receipt, requests = load_bytes(tmp_path, usage)
    assert (counts(receipt), requests["input_tokens"].to_list(), requests["output_tokens"].to_list()) == (
        (1, 1, 0, 0), [9], [None]
    )  # fmt: skip


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_rate_that_is_no_number_is_a_bad_value(name: str, tmp_path: Path) -> None:
    rows = [
        SOUND | {"sampling_rate": rate, "request_id": f"r{n}"}
        for n, rate in enumerate((0.5, float("nan"), float("inf")))
    ]
    if name == "a.parquet":
        pl.DataFrame(rows).write_parquet(tmp_path / name)
        content = (tmp_path / name).read_bytes()
    else:
        content = (
            as_csv(rows)
            if name == "a.csv"
            else as_json([row | {"sampling_rate": str(row["sampling_rate"])} for row in rows])
        )
    receipt, requests = load_bytes(tmp_path, content, name)
    assert (counts(receipt), receipt.reasons) == ((3, 1, 0, 2), {"bad_value": 2})
    assert requests["sampling_rate"].to_list() == [0.5]


def test_usage_beyond_the_bounds_told_as_text_is_not_known(tmp_path: Path) -> None:
    usage = chat(
        0, "langfuse.observation.usage_details", json.dumps({"input": 2**62, "input_cached": 2**62, "output": 5})
    )
    cost = chat(1, "langfuse.observation.cost_details", json.dumps({"total": 1e25}))
    first = chat(2, "llm.latency.time_to_first_token", "1e300")
    (path,) = write(tmp_path, {"a.jsonl": usage + cost + first})
    with Store.open() as store:
        assert counts(load(path, store, PLAIN)) == (3, 3, 0, 0)
        requests = store.read("requests", order="request_key")
    assert requests["source_cost_usd"].to_list() == [None, None, None]
    assert requests["output_tokens"].to_list() == [5, None, None]


@pytest.mark.parametrize(
    ("name", "content", "key", "value"),
    [
        ("jaeger", {"data": [{"traceID": "1f", "spans": [{"traceID": "1f", "spanID": "2", "operationName": "x", "duration": 5}]}]}, "startTime", 9223372036854775),
        ("zipkin", [{"traceId": "1f", "id": "2", "name": "x", "kind": "CLIENT", "duration": 5}], "timestamp", 9223372036854775),
        ("span_objects", [{"spanContext": {"traceId": "1f", "spanId": "2"}, "name": "x", "kind": 1, "attributes": {}, "endTime": [1772445600, 5]}], "startTime", [9999999999, 5]),
    ],
)  # fmt: skip
def test_a_span_at_the_end_of_all_integers_costs_no_file(
    name: str, content: Any, key: str, value: Any, tmp_path: Path
) -> None:
    spans = content["data"][0]["spans"] if isinstance(content, dict) else content
    sound = [1772445600, 0] if isinstance(value, list) else 1_772_445_600_000_000
    spans[0][key] = sound
    spans.append(spans[0] | {key: value, "spanID": "3", "id": "3", "spanContext": {"traceId": "1f", "spanId": "3"}})
    receipt, _ = load_bytes(tmp_path, json.dumps(content).encode(), "a.json")
    assert (receipt.format, counts(receipt), receipt.reasons) == (name, (2, 1, 0, 1), {"time_out_of_range": 1})


@pytest.mark.parametrize("name", ["jaeger/bare.json", "zipkin/good.json", "kong/good.jsonl", "cloudflare/good.json"])
def test_a_duration_beyond_all_integers_is_too_long_and_not_unknown(name: str, tmp_path: Path) -> None:
    content = re.sub(
        rb'"(duration|request|total)": ?\d+', rb'"\1": 9223372036854775807000', (DATA / name).read_bytes(), count=1
    )
    receipt, _ = load_bytes(tmp_path, content, Path(name).name)
    assert (receipt.reasons, receipt.rejected) == ({"duration_too_long": 1}, 1)
