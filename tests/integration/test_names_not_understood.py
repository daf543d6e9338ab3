"""Names that no column holds: kept as attributes and listed with their number, by file, upload and live spans."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.support.loads import load_bytes
from tests.support.otlp import request, span
from tests.support.server import client, put

TOLD = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "x.shard": "s-1", "gen_ai.prompt": "private"}
SPANS = request([span("chat", span_id=str(n), trace=str(n), attributes=TOLD) for n in range(3)])
LINE = json.dumps(SPANS).encode() + b"\n"
ROWS = [
    {"request_id": f"r-{n}", "start_time": "2026-03-02T10:00:00Z", "e2e_ms": 5, "shard": "s-1", "prompt": "private"}
    for n in range(3)
]
TABLES = {
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.json": json.dumps(ROWS).encode(),
    "a.csv": "\n".join([",".join(ROWS[0]), *(",".join(map(str, row.values())) for row in ROWS)]).encode() + b"\n",
}


def test_spans_of_a_file_and_of_an_upload_list_their_names(tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, LINE, "t.jsonl")
    assert receipt.not_understood == {"x.shard": 3}
    assert [json.loads(told) for told in requests["attributes"]] == [{"x.shard": "s-1"}] * 3
    with client(tmp_path) as service:
        assert put(service, "t.jsonl", LINE)["not_understood"] == {"x.shard": 3}


@pytest.mark.parametrize(("name", "content"), TABLES.items())
def test_unknown_columns_are_listed_and_kept_but_for_content(name: str, content: bytes, tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, content, name)
    assert receipt.not_understood == {"shard": 3}
    assert [json.loads(told) for told in requests["attributes"]] == [{"shard": "s-1"}] * 3
    assert any(note == "not kept, for it may be content or credentials: prompt" for note in receipt.notes)


def test_live_spans_add_their_names_to_the_upload_of_the_hour(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        for number in range(2):
            body = json.dumps(request([span("chat", span_id=f"l{number}", trace=f"l{number}", attributes=TOLD)]))
            service.post("/v1/traces", content=body, headers={"content-type": "application/json"})
        until = time.monotonic() + 60
        while time.monotonic() < until:
            uploads = service.get("/api/v1/uploads").json()["uploads"]
            if uploads and sum(upload["read"] or 0 for upload in uploads) == 2:
                break
            time.sleep(0.05)
    assert sum(upload["not_understood"].get("x.shard", 0) for upload in uploads) == 2
