"""Requests told by spans and by tables: each upload can go and come, and the store is as if it had never been otherwise."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Sequence
from itertools import combinations, permutations, product
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import UnreadableInput
from ingest.forget import forget
from ingest.load import load, load_paths
from ingest.store import assembly
from ingest.store.database import Store, StoreSettings
from tests.support.loads import PLAIN, write
from tests.support.otlp import START_NS, hex_id, request, span

NAMES = ("first", "second", "third", "fourth")


def spans(*names: str, output: int = 7) -> bytes:
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": output}
    lines = [request([span(f"chat {name}", trace=name, span_id=name, kind=3, attributes=told)]) for name in names]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def steps(trace: str, *names: str, output: int = 7, more: str = "") -> bytes:
    """Spans of one trace: an agent with calls below it, told with other figures and more attributes by others."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": output}
    told |= {"x.more": more} if more else {}
    root = span("agent", 0, 9, trace=trace, span_id="root")
    calls = [
        span(f"chat {name}", n, n + 1, trace=trace, span_id=name, parent="root", kind=3, attributes=told)
        for n, name in enumerate(names)
    ]
    return json.dumps(request([root, *calls])).encode() + b"\n"


def table(*names: str, tokens: int = 90) -> bytes:
    """Rows of the simulator, whose key is the trace id."""
    stages = dict.fromkeys(("gateway_ms", "network_ms", "guardrail_ms"), 1.5)
    rows = [
        {
            "trace_id": hex_id(name, 32),
            "request_id": f"req-{name}",
            "start_time": "2026-03-02T10:00:00Z",
            "llm_calls": 1,
            "e2e_ms": 1000.25,
            "decode_ms": 700.0,
            "output_tokens": tokens,
            "user_id": 'u, "one"',
            "cost_usd": 0.000000000123,
            "note": "x",
        }
        | stages
        for name in names
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def flat(*names: str) -> bytes:
    rows = [{"request_id": name, "start_time": "2026-03-02T10:00:00Z", "model": "m", "e2e_ms": 5} for name in names]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


SOURCES: dict[str, bytes] = {
    "u1": spans(*NAMES[:2]),
    "u2": spans(*NAMES[1:3], output=8),
    "u3": table(*NAMES[:3]),
    "u4": table(*NAMES[2:], tokens=91),
    "u5": flat(*NAMES[:2]),
    "u6": flat(*NAMES[1:]),
    "u7": steps("whole", "a", "b"),
    "u8": steps("whole", "a", output=8) + steps("more", "a"),
    "u9": steps("whole", "a", "b", "c", output=9, more="x"),
    "ua": table(*NAMES[:3]) + b"\n",  # the same as u3 in other bytes
    "ub": table(*NAMES[:3], tokens=92),
}


def state(store: Store) -> dict[str, pl.DataFrame]:
    """What the store says of requests, whoever owns the rows of those that several told."""
    requests = store.read("requests", order="request_key").with_columns(pl.col("flags").list.sort())
    calls = store.read("calls", order="request_key, call_index")
    told = store.read("spans", order="trace_id, span_id")
    return {
        name: frame.drop("upload_id") for name, frame in (("requests", requests), ("calls", calls), ("spans", told))
    }


def same(left: dict[str, pl.DataFrame], right: dict[str, pl.DataFrame]) -> None:
    for name, frame in left.items():
        assert frame.to_dicts() == right[name].to_dicts(), name


@pytest.mark.parametrize("order", [("spans", "table"), ("table", "spans")])
@pytest.mark.parametrize("gone", ["spans", "table"])
def test_of_a_request_told_twice_each_side_can_go(order: tuple[str, str], gone: str, tmp_path: Path) -> None:
    contents = {"spans": spans(*NAMES[:2]), "table": table(*NAMES[1:3])}
    paths = dict(zip(contents, write(tmp_path, {f"{n}.jsonl": c for n, c in contents.items()}), strict=True))
    (left,) = [name for name in order if name != gone]
    with Store.open(settings=StoreSettings(threads=1)) as store, Store.open(settings=StoreSettings(threads=1)) as fresh:
        for name in order:
            load(paths[name], store, PLAIN, upload_id=name)
        assert store.read("requests").height == 3
        assert store.read("requests", "request_key = ?", [hex_id("second", 32)])["root"].to_list() == ["chat second"]
        forget(store, gone)
        load(paths[left], fresh, PLAIN, upload_id=left)
        same(state(store), state(fresh))
        assert store.read("requests")["upload_id"].unique().to_list() == [left]
        forget(store, left)
        assert [store.read(name).height for name in ("requests", "spans", "repeats", "uploads")] == [0] * 4


CHANGES = given(
    first=st.lists(st.sampled_from(list(SOURCES)), min_size=2, max_size=5, unique=True).flatmap(
        lambda loaded: st.tuples(st.just(loaded), st.sets(st.sampled_from(loaded), min_size=1))
    ),
    again=st.booleans(),
)


@pytest.mark.timeout(900)
@settings(max_examples=10, deadline=None, derandomize=True)
@CHANGES
def test_deleting_and_loading_again_gives_the_store_of_a_fresh_load(
    first: tuple[list[str], set[str]], again: bool
) -> None:
    loaded, gone = first
    change(loaded, sorted(gone, key=loaded.index), again=again)


@pytest.mark.long
@pytest.mark.timeout(7200)
@settings(max_examples=100, deadline=None, derandomize=True)
@CHANGES
def test_a_hundred_deletions_give_the_store_of_a_fresh_load(first: tuple[list[str], set[str]], again: bool) -> None:
    loaded, gone = first
    change(loaded, sorted(gone, key=loaded.index), again=again)


@pytest.mark.parametrize("order", [("u7", "u9", "u8"), ("u8", "u7", "u9")])
@pytest.mark.parametrize("number", range(3))
def test_of_spans_told_differently_each_telling_can_go(order: tuple[str, ...], number: int) -> None:
    change(order, [order[number]], again=False)


@pytest.mark.parametrize("order", [("u3", "ua", "ub"), ("u3", "ua", "u1", "ub")])
def test_of_rows_told_alike_and_otherwise_each_can_go(order: tuple[str, ...]) -> None:
    for gone in permutations(order, 2):
        change(order, gone, again=False)


TELLINGS = ("", "poor", "full", "even")  # not told; fewer attributes; more; as many, of other content


def told_spans(number: int) -> bytes:
    """Spans of one of three uploads: a trace for every way in which three can tell it, and for every order of parts."""
    lines = []
    for ways in product(TELLINGS, repeat=3):
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        attributes |= {"x.more": ways[number]} if ways[number] != "poor" else {}
        if ways[number]:
            lines.append(request([span("chat", trace="-".join(ways), kind=3, attributes=attributes)]))
    for parts in permutations(("ab", "c", "bc")):
        calls = [span(f"chat {name}", trace="-".join(parts), span_id=name, kind=3) for name in parts[number]]
        lines.append(request(calls))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def told_rows(number: int) -> bytes:
    """Rows of one of three uploads: a request for every way in which three can tell it."""
    lines = [
        flat("-".join(ways)).replace(b'"e2e_ms": 5', f'"e2e_ms": {len(ways[number])}'.encode())
        for ways in product(("", "alike", "else"), repeat=3)
        if ways[number]
    ]
    return b"".join(lines)


@pytest.mark.parametrize("told", [told_spans, told_rows])
def test_of_what_three_told_alike_and_otherwise_two_can_go(told: Callable[[int], bytes], tmp_path: Path) -> None:
    names = ("0", "1", "2")
    paths = dict(zip(names, write(tmp_path, {f"{n}.jsonl": told(int(n)) for n in names}), strict=True))
    with Store.open(settings=StoreSettings(threads=1)) as store, Store.open(settings=StoreSettings(threads=1)) as fresh:
        expected: dict[tuple[str, ...], dict[str, pl.DataFrame]] = {}
        for some in [*combinations(names, 1), *combinations(names, 2)]:
            for name in some:
                load(paths[name], fresh, PLAIN, upload_id=name)
            expected[some] = state(fresh)
            for name in some:
                forget(fresh, name)
        for gone in permutations(names, 2):
            for name in names:
                load(paths[name], store, PLAIN, upload_id=name)
            rest: tuple[str, ...] = names
            for name in gone:
                forget(store, name)
                rest = tuple(left for left in rest if left != name)
                same(state(store), expected[rest])
            forget(store, *rest)
            assert [store.read(name).height for name in ("requests", "calls", "spans", "repeats")] == [0] * 4


def change(first: Sequence[str], gone: Collection[str], *, again: bool) -> None:
    """Loads, deletes, perhaps loads again, and compares with a store that never had what is gone."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(settings=StoreSettings(threads=1)) as store,
        Store.open(settings=StoreSettings(threads=1)) as fresh,
    ):
        paths = dict(zip(SOURCES, write(Path(folder), {f"{n}.jsonl": c for n, c in SOURCES.items()}), strict=True))
        for name in first:
            load(paths[name], store, PLAIN, upload_id=name)
        out = list(gone)
        for name in out:
            forget(store, name)
        rest = [name for name in first if name not in gone]
        for name in out if again else []:
            load(paths[name], store, PLAIN, upload_id=name)
            rest.append(name)
        for name in rest:
            load(paths[name], fresh, PLAIN, upload_id=name)
        same(state(store), state(fresh))
        for name in rest:
            forget(store, name)
        assert [store.read(name).height for name in ("requests", "calls", "spans", "repeats")] == [0] * 4


def test_spans_that_make_no_requests_cost_their_own_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write(tmp_path, {"a.jsonl": spans("first"), "b.jsonl": spans("second"), "c.jsonl": spans("third")})
    made = assembly.assemble_pending
    poison = hex_id("second", 32)

    def failing(cursor: duckdb.DuckDBPyConnection) -> assembly.Made:
        if cursor.execute(
            "SELECT 1 FROM pending_traces JOIN spans USING (trace_id) WHERE trace_id = ?", [poison]
        ).fetchall():
            raise duckdb.OutOfRangeException("Out of Range Error: the sum is too large")
        return made(cursor)

    monkeypatch.setattr(assembly, "assemble_pending", failing)
    with Store.open(settings=StoreSettings(threads=1)) as store:
        receipts = load_paths(paths, store, PLAIN)
        assert [(receipt.name, receipt.state, receipt.accepted) for receipt in receipts] == [
            ("a.jsonl", "done", 1),
            ("b.jsonl", "failed", 0),
            ("c.jsonl", "done", 1),
        ]
        assert receipts[1].message == (
            "b.jsonl: no requests could be made of its spans, so nothing of it is stored: the sum is too large"
        )
        assert store.read("requests")["trace_id"].to_list() == [hex_id("first", 32), hex_id("third", 32)]
        assert [store.read("pending_traces").height, store.read("spans").height] == [0, 2]
        assert store.uploads()["state"].to_list() == ["done", "failed", "done"]
        monkeypatch.undo()
        assert load_paths(paths[1:2], store, PLAIN)[0].accepted == 1


def test_an_error_of_what_was_there_before_is_told_and_leaves_the_spans_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write(tmp_path, {"a.jsonl": spans("first"), "b.jsonl": spans("second")})

    def failing(cursor: duckdb.DuckDBPyConnection) -> assembly.Made:
        if cursor.execute("SELECT 1 FROM pending_traces WHERE first_ns = 1").fetchall():
            raise duckdb.OutOfRangeException("Out of Range Error: too large")
        return made(cursor)

    made = assembly.assemble_pending
    monkeypatch.setattr(assembly, "assemble_pending", failing)
    with Store.open(settings=StoreSettings(threads=1)) as store:
        store.append("pending_traces", pl.DataFrame({"trace_id": ["x"], "first_ns": [1], "last_ns": [2]}))
        with pytest.raises(UnreadableInput, match="the spans that are left cannot be read: too large"):
            load_paths(paths, store, PLAIN)
        assert store.read("spans").height == 2
        monkeypatch.undo()
        assert load(write(tmp_path, {"c.jsonl": spans("third")})[0], store, PLAIN).accepted == 1
        assert store.read("requests").height == 3
        assert START_NS > 0
