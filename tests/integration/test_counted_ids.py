"""Trace ids that count instead of being random, as tests and some emitters write them: strangers stay strangers."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.load import load
from ingest.receipts import LoadOptions
from ingest.store.database import Store, StoreSettings

START = 1_772_445_600_000_000_000
N = 30  # ids of two counters: 900 traces, of which a weak key of the text would join a third


def test_every_counted_trace_id_is_a_request_of_its_own(tmp_path: Path) -> None:
    lines = []
    for i in range(N):
        spans = [
            {
                "traceId": f"1111111111111111{i:08x}{k:08x}",
                "spanId": f"{i:08x}{k + 1:08x}",
                "name": "chat m",
                "kind": 3,
                "startTimeUnixNano": str(START + k),
                "endTimeUnixNano": str(START + k + 1_000_000),
                "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
            }
            for k in range(N)
        ]
        lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with Store.open(settings=StoreSettings((tmp_path,))) as store:
        receipt = load(path, store, LoadOptions())
        rows = store.read("requests", columns=("trace_id", "llm_calls"))
    assert receipt.accepted == N * N
    assert (rows["trace_id"].n_unique(), rows["llm_calls"].unique().to_list()) == (N * N, [1])
