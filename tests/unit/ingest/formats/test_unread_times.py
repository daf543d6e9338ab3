"""A time that is there and cannot be read makes its row a bad value in every row format; an absent one does not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.formats.contract import RawReject, RawRequest
from ingest.formats.request_rows import unread_time
from ingest.formats.values import instant_ns
from tests.support.loads import PLAIN, load_bytes
from tests.support.readers import DATA, rows

JSON_TIMES = {
    "aiperf/good.jsonl": "request_start_ns",
    "cloudflare/good.json": "created_at",
    "dynamo/good.jsonl": "request_received_ms",
    "envoy_ai_gateway/good.jsonl": "start_time",
    "genai_perf/good.json": "timestamp",
    "guidellm/good.json": "request_start",
    "helicone/good.jsonl": "request_created_at",
    "inference_perf/good.json": "start_time",
    "kong/good.jsonl": "started_at",
    "litellm/good.jsonl": "startTime",
    "mooncake/good.jsonl": "timestamp",
    "nginx/good.jsonl": "msec",
    "openai_headers/good.jsonl": "created",
    "qwen_trace/good.jsonl": "timestamp",
    "response_bodies/good.jsonl": "created",
    "sglang_requests/good.jsonl": "request_received_ts",
}
TEXTS = {  # file -> text of its first time, what stands there instead, name that is told
    "apisix/good.log": ("21/Mar/2025", "21/Xyz/2025", "time"),
    "nginx/good.log": ("21/Mar/2026", "21/Xyz/2026", "time_local"),
    "burstgpt/good.csv": ("\n5,", "\nx,", "Timestamp"),
    "vidur/good.csv": (",0.75,0.0,", ",0.75,x,", "request_inter_arrival_delay"),
    "bench_serve/good.json": ("[1000.25,", '["x",', "start_times"),
}


def changed(folder: Path, file: str, before: str, after: str) -> tuple[list[RawReject], int]:
    """Bad values of the file with that text exchanged once, and the number of its requests."""
    content = (DATA / file).read_text()
    told = re.sub(before, lambda found: found[0].replace(found[1], after), content, count=1)
    assert told != content
    path = folder / Path(file).name
    path.write_text(told)
    found = rows(path, file.partition("/")[0])
    rejected = [row for row in found if isinstance(row, RawReject) and row.reason == "bad_value"]
    return rejected, sum(isinstance(row, RawRequest) for row in found)


@pytest.mark.parametrize(("file", "name"), JSON_TIMES.items())
def test_an_unreadable_time_of_json_costs_its_row(tmp_path: Path, file: str, name: str) -> None:
    n_good = sum(isinstance(row, RawRequest) for row in rows(DATA / file))
    value = rf'"{name}": ?("[^"]*"|[0-9.]+)'
    (reject,), n_requests = changed(tmp_path, file, value, '"x"')
    assert (reject.detail, n_requests) == (f'{name}: "x" is no time', n_good - 1)
    assert changed(tmp_path, file, value, "null") == ([], n_good)


@pytest.mark.parametrize(("file", "exchange"), TEXTS.items())
def test_an_unreadable_time_of_text_costs_its_row(tmp_path: Path, file: str, exchange: tuple[str, str, str]) -> None:
    n_good = sum(isinstance(row, RawRequest) for row in rows(DATA / file))
    before, after, name = exchange
    (reject,), n_requests = changed(tmp_path, file, f"({re.escape(before)})", after)
    assert reject.detail.startswith(f"{name}: ")
    assert reject.detail.endswith("is no time")
    assert n_requests == n_good - 1


@pytest.mark.parametrize("value", [None, "", "-", "null", "NaN", 0, 0.0, "0", False, {}, 5, 1.5, "7", 10**18])
def test_a_word_for_no_time_and_a_count_are_no_fault(value: object) -> None:
    assert unread_time({"at": value}, {"at": instant_ns}) == ""


@pytest.mark.parametrize("value", ["x", True, ["x"], {"a": 1}, 1e30, 10**20, "1e400", "2026-13-45"])
def test_what_is_no_time_is_told(value: object) -> None:
    assert unread_time({"at": value}, {"at": instant_ns}).startswith("at: ")


@pytest.mark.parametrize("gap", ["1e15", "1e30", "x"])
def test_one_absurd_gap_moves_no_later_arrival(tmp_path: Path, gap: str) -> None:
    (reject,), n_requests = changed(tmp_path, "vidur/good.csv", r"(,0\.75,0\.0,)", f",0.75,{gap},")
    assert reject.detail.startswith("request_inter_arrival_delay: ")
    assert n_requests > 0


@pytest.mark.parametrize("odd", [-1e7, 0.0, -1e30])
def test_one_absurd_start_of_a_load_generator_moves_no_other(tmp_path: Path, odd: float) -> None:
    start = 1_772_445_600 * 10**9
    told: list[dict[str, object]] = [
        {"start_time": at, "end_time": at + 1, "request": "{}", "response": "", "info": {}, "error": None}
        for at in (900_000.5, 900_002.0)
    ]
    content = json.dumps([*told, {**told[0], "start_time": odd}]).encode()
    receipt, requests = load_bytes(tmp_path, content, "per_request.json", replace(PLAIN, start_ns=start))
    assert receipt.rejected == 1
    assert requests["started_ns"].to_list() == [start, start + 1_500_000_000]
