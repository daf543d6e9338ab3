"""Prompts, answers, keys and addresses of refused rows are nowhere, however a file was damaged."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from ingest.load import LoadOptions, load
from ingest.store.database import Store, StoreSettings
from tests.property.test_formats_fuzz import mutated as mutated_bytes
from tests.property.test_tables_fuzz import ROWS, as_lines, as_table
from tests.property.test_tables_fuzz import mutated as mutated_table
from tests.support.otlp import request, span

PROSE = "Zebra quokka ate mango lantern soup, zebra quokka slept"
KEY = "sk-live-Qwertz1234567890abcdef"
MAIL = "zebra.quokka@example.org"
READABLE = re.compile("zebra|quokka|mango|lantern|qwertz", re.IGNORECASE)
PRIVATE = {"prompt": PROSE, "completion": PROSE, "api_key": KEY, "email": MAIL, "note": PROSE}
TALK = [{"role": "user", "content": PROSE}, {"role": "assistant", "content": f"{PROSE} {KEY}"}]
TOLD = {
    "gen_ai.operation.name": "chat",
    "gen_ai.prompt": PROSE,
    "gen_ai.input.messages": json.dumps(TALK),
    "x.key": KEY,
}
LITELLM = {
    "request_id": "r", "call_type": "acompletion", "startTime": "2026-03-02T10:00:00Z", "endTime": "2026-03-02T09:00:00Z",
    "spend": 0.1, "messages": TALK, "metadata": json.dumps({"user_api_key": KEY, "user_api_key_user_email": MAIL}),
}  # fmt: skip
FILES: dict[str, bytes] = {
    "a.jsonl": as_lines([row | PRIVATE | {"messages": TALK} for row in ROWS]),
    "b.csv": as_table([row | PRIVATE for row in ROWS], ","),
    "c.csv": as_table([row | PRIVATE for row in ROWS], ";"),
    "d.json": json.dumps([row | PRIVATE for row in ROWS], indent=1).encode(),
    "e.jsonl": b"".join(
        json.dumps(request([span(PROSE, span_id=f"{n}", attributes=TOLD) | {"endTimeUnixNano": str(n % 2)}])).encode() + b"\n"
        for n in range(4)
    ),
    "f.jsonl": as_lines([LITELLM] * 4),
    "g.json": json.dumps({"data": [{"traceID": "1f", "spans": [
        {"traceID": "1f", "spanID": f"{n}", "operationName": PROSE, "startTime": 5, "duration": 1,
         "tags": [{"key": "gen_ai.prompt", "type": "string", "value": PROSE}, {"key": "http.url", "value": MAIL}]}
        for n in range(4)], "processes": {}}]}).encode(),
}  # fmt: skip


def shown(path: Path, store: Store) -> tuple[str, int]:
    """Everything that a load tells of a file, and how many rows it refused."""
    receipt = load(path, store, LoadOptions())
    stored = store.rejects(receipt.upload_id).to_dicts()
    return json.dumps([receipt.to_json(), stored], default=str, ensure_ascii=False), receipt.rejected


def run(folder: Path, seed: int, inputs: int) -> int:
    """Number of rows refused in that many damaged files."""
    dice = random.Random(seed)
    refused = 0
    for start in range(0, inputs, 50):
        with Store.open(settings=StoreSettings(threads=1)) as store:
            for number in range(start, min(start + 50, inputs)):
                name = sorted(FILES)[number % len(FILES)]
                data = (mutated_bytes if dice.random() < 0.5 else mutated_table)(FILES[name], dice)
                path = folder / name
                path.write_bytes(data)
                told, n = shown(path, store)
                refused += n
                found = READABLE.search(told)
                assert found is None, (seed, number, name, told[max(0, found.start() - 200) : found.end() + 60])
    return refused


def test_content_of_damaged_files_is_not_told(tmp_path: Path) -> None:
    assert run(tmp_path, seed=1, inputs=40) > 40


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(2, 6))
def test_content_of_many_damaged_files_is_not_told(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path, seed, inputs=500) > 500
