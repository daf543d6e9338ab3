"""How fast this machine loads and analyzes, as ratios to a bare parse of the same file by the same engine.

Input: files, or requests made here. Output: one Measured per file. CPU seconds, so that other work on the machine does
not decide; every file has a store of its own, which is gone afterwards.
"""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from api.question import Question
from api.service import Service
from ingest.errors import UnreadableInput
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.schema import NS_PER_S
from ingest.store.database import Store, StoreSettings
from ingest.store.yardstick import bare_parse_s, cpu_s
from reports.render import render

START_NS = 1_772_445_600 * NS_PER_S  # 2026-03-02T10:00:00Z
APART_NS = NS_PER_S // 10  # between two requests that are made here
RETRIEVED_NS = NS_PER_S // 100
MODELS, USERS, SEED = ("m-large", "m-small"), 500, 7
KIB = 1024


@dataclass(frozen=True)
class Measured:
    """CPU seconds for one file; `parse_s` is null where the engine by itself cannot read it. `peak_bytes`: memory of
    the process up to then."""

    name: str
    bytes: int
    rows: int
    parse_s: float | None
    load_s: float
    again_s: float
    report_s: float
    peak_bytes: int


def measure(path: Path) -> Measured:
    """What a file takes.

    Raises:
        UnreadableInput: nothing could be read of it.
    """
    with Store.open(None, StoreSettings((path.resolve().parent,))) as store:
        parse = bare_parse_s(store, path)
        times, rows = [], 0
        for _ in range(2):  # the second time, everything is there already
            before = cpu_s()
            (receipt,) = load_paths([path], store, LoadOptions())
            times.append(cpu_s() - before)
            rows = max(rows, receipt.accepted)
        if not rows:
            raise UnreadableInput(f"{path}: {receipt.message or 'no row could be read'}")
        before = cpu_s()
        render(Service(store).analyze(Question()), "html")
        report = cpu_s() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    return Measured(path.name, path.stat().st_size, rows, parse, times[0], times[1], report, peak)


def made(folder: Path, requests: int) -> list[Path]:
    """Two files of so many requests, the same in every run: a table, and spans of OTLP, three for a request."""
    draws = random.Random(SEED)  # noqa: S311 - the same rows in every run, no secrets
    rows = [_row(number, draws) for number in range(requests)]
    table, spans = folder / "requests.jsonl", folder / "spans.otlp.jsonl"
    with table.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    with spans.open("w") as file:
        file.writelines(json.dumps(_export(row)) + "\n" for row in rows)
    return [table, spans]


def _row(number: int, draws: random.Random) -> dict[str, str | int | float]:
    ttft, tokens = draws.lognormvariate(-1, 0.6), draws.randint(5, 400)
    return {
        "request_id": f"{number + 1:032x}",
        "start_ns": START_NS + number * APART_NS,
        "model": draws.choice(MODELS),
        "user_id": f"u-{draws.randrange(USERS)}",
        "scenario": draws.choice(("chat", "rag")),
        "input_tokens": draws.randint(50, 8000),
        "output_tokens": tokens,
        "ttft_ms": round(ttft * 1e3, 3),
        "e2e_ms": round((ttft + tokens * 0.02) * 1e3, 3),
        "status_code": 500 if draws.random() < 0.01 else 200,
    }


def _export(row: dict[str, str | int | float]) -> dict[str, object]:
    start, trace = int(row["start_ns"]), str(row["request_id"])
    end = start + int(float(row["e2e_ms"]) * 1e6)
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": row["model"],
        "gen_ai.usage.input_tokens": row["input_tokens"],
        "gen_ai.usage.output_tokens": row["output_tokens"],
        "gen_ai.server.time_to_first_token": float(row["ttft_ms"]) / 1e3,
    }
    root = {"user.id": row["user_id"], "scenario": row["scenario"], "http.response.status_code": row["status_code"]}
    spans = [
        _span(trace, 1, parent=None, name="POST /chat", times=(start, end), told=root),
        _span(trace, 2, parent=1, name="retrieve", times=(start, start + RETRIEVED_NS), told={}),
        _span(trace, 3, parent=1, name=f"chat {row['model']}", times=(start + RETRIEVED_NS, end), told=told),
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def _span(
    trace: str,
    number: int,
    *,
    parent: int | None,
    name: str,
    times: tuple[int, int],
    told: dict[str, str | int | float],
) -> dict[str, object]:
    span: dict[str, object] = {"traceId": trace, "spanId": f"{number:016x}", "name": name, "kind": 1}
    span |= {"startTimeUnixNano": str(times[0]), "endTimeUnixNano": str(times[1])}
    span["attributes"] = [{"key": key, "value": value} for key, value in _values(told)]
    return span if parent is None else span | {"parentSpanId": f"{parent:016x}"}


def _values(told: dict[str, str | int | float]) -> Iterator[tuple[str, dict[str, str | float]]]:
    for key, value in told.items():
        if isinstance(value, str):
            yield key, {"stringValue": value}
        else:
            yield key, {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
