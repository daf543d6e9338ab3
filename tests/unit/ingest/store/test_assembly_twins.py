"""Calls seen twice: the flag of a pair follows both of its requests, in whatever order they come and go."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from ingest.forget import forget
from ingest.load import load
from ingest.store.database import Store, StoreSettings
from tests.support.loads import PLAIN
from tests.support.otlp import Json, hex_id, request, span, write_lines


def call(trace: str, start: float, end: float, scope: str, name: str = "c") -> Json:
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.request.stream": "true"}
    told |= {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}  # type: ignore[dict-item]
    return request([span("chat m", start, end, span_id=name, trace=trace, kind=3, attributes=told)], scope=scope)


FILES = {
    "outer": call("outer", 0, 10, "framework"),
    "inner": call("inner", 0.1, 9.9, "client"),
    "second": call("outer", 11, 12, "framework", "d"),  # so it is no single call any more
    "closer": call("closer", 0.05, 9.95, "framework"),
}


def flags(folder: Path, loaded: tuple[str, ...], gone: tuple[str, ...] = ()) -> dict[str, list[str]]:
    with Store.open(settings=StoreSettings(threads=1)) as store:
        for name in loaded:
            load(write_lines(folder / f"{name}.jsonl", [FILES[name]]), store, PLAIN, upload_id=name)
        for name in gone:
            forget(store, name)
        return {row["trace_id"]: sorted(row["flags"]) for row in store.read("requests").to_dicts()}


@pytest.mark.parametrize("names", [("outer", "inner", "second"), ("outer", "inner", "closer")])
def test_the_order_of_uploads_changes_no_flag(names: tuple[str, ...], tmp_path: Path) -> None:
    found = [flags(tmp_path, order) for order in permutations(names)]
    assert found == found[:1] * 6
    seen = [f"suspected_duplicate_of:{hex_id('closer', 32)}"] if "closer" in names else []
    assert found[0][hex_id("inner", 32)] == [*seen, "ttft_missing"]


@pytest.mark.parametrize("gone", ["outer", "inner", "second"])
def test_a_flag_goes_and_comes_with_an_upload(gone: str, tmp_path: Path) -> None:
    names = ("outer", "inner", "second")
    left = tuple(name for name in names if name != gone)
    assert flags(tmp_path, names, (gone,)) == flags(tmp_path, left)
