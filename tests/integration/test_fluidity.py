"""Fluidity of real load tests against a walk over the tokens in their files, and what becomes of the lists in a store."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.analyze import analyze
from analysis.breakdown import breakdown
from analysis.measured import measured
from analysis.objectives import Objectives, default_objectives, read_objectives
from analysis.pricebook import PriceBook
from analysis.result import Fluidity
from analysis.rules.catalog import built_in
from api.copies import back_up, restore
from api.entries import explain
from api.rows import plain_row
from ingest.forget import forget
from ingest.load import load, load_paths
from ingest.receipts import LoadOptions
from ingest.selection import Selection
from ingest.store import lists
from ingest.store.database import Store
from tests.integration.test_deletion_of_mixed_sources import spans
from tests.support.builders import MONDAY_NS, frame, request
from tests.support.fluid import walk
from tests.support.loads import PLAIN, write
from tests.support.otlp import hex_id
from tests.support.retention import DAY_NS, drop, filled
from tests.support.shared import shared

NOW = datetime(2026, 3, 2, tzinfo=UTC)
BENCH = "data/vllm-bench-serve/day06_c16_i128_o64_n64.json.gz"
AIPERF = "data/aiperf-profile-export/run1_old_schema_profile_export.jsonl.gz"
QWEN = "data/aiperf-profile-export/qwen_concurrency8_profile_export.jsonl.gz"
Told = tuple[int, list[int], int]  # TTFT and gaps in ns, output tokens


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def bench_serve() -> list[Told]:
    run = json.loads(gzip.decompress(shared(BENCH).read_bytes()))
    each = zip(run["ttfts"], run["itls"], run["output_lens"], strict=True)
    return [(round(ttft * 1e9), [round(gap * 1e9) for gap in gaps], n) for ttft, gaps, n in each]


def aiperf(path: str) -> list[Told]:
    found: list[Told] = []
    for line in gzip.decompress(shared(path).read_bytes()).splitlines():
        metrics: dict[str, Any] = json.loads(line)["metrics"]
        if "inter_chunk_latency" in metrics:
            ttft = metrics.get("time_to_first_token") or metrics["ttft"]
            gaps = [round(gap * 1e6) for gap in metrics["inter_chunk_latency"]["value"]]
            found.append((round(ttft["value"] * 1e6), gaps, metrics["output_sequence_length"]["value"]))
    return found


def limits(ttft_ms: int, tpot_us: int) -> Objectives:
    clauses = f"[{{metric: ttft, threshold: {ttft_ms}ms}}, {{metric: tpot, threshold: {tpot_us}us}}]"
    return read_objectives(f"objectives: [{{id: g, all_of: {clauses}, target: 95%}}]")


def fluidity_of(store: Store, objectives: Objectives) -> Fluidity | None:
    prices = PriceBook(builtin=False)
    return analyze(store, Selection(), objectives=objectives, prices=prices, now=NOW).goodput.fluidity


@pytest.mark.parametrize(
    ("path", "ttft_ms", "tpot_us", "is_mixed"),
    [(BENCH, 20, 2300, False), (AIPERF, 2000, 27_000, True), (QWEN, 80, 18_500, True)],
)
def test_real_load_tests_agree_with_a_walk_over_their_files(
    store: Store, path: str, ttft_ms: int, tpot_us: int, is_mixed: bool
) -> None:
    load_paths([shared(path)], store, LoadOptions())
    told = bench_serve() if path == BENCH else aiperf(path)
    walked = [walk(ttft, gaps, n, ttft_ms * 10**6, tpot_us * 10**3) for ttft, gaps, n in told]
    fluid = sum(met / due >= 0.9 for met, due in walked)
    found = fluidity_of(store, limits(ttft_ms, tpot_us))
    assert found is not None
    assert (found.n, found.fluid, found.share) == (len(told), fluid, fluid / len(told))
    assert found.mean_index == pytest.approx(sum(met / due for met, due in walked) / len(told), abs=1e-11)
    assert found.by_chunk == sum(len(gaps) != n - 1 for _, gaps, n in told)
    assert found.limits == ["g"]
    assert is_mixed == (0 < found.by_chunk < found.n)
    assert sum(met < due for met, due in walked) > 0  # the limits are such that some deadlines are missed


def test_the_limits_of_the_built_in_objective_hold_without_others(store: Store) -> None:
    load_paths([shared(BENCH)], store, LoadOptions())
    found = fluidity_of(store, default_objectives())
    assert found is not None
    assert (found.n, found.fluid, found.mean_index, found.limits) == (64, 64, 1.0, ["default.good"])


def test_each_group_of_a_breakdown_has_its_own(store: Store) -> None:
    load_paths([shared(BENCH), shared(QWEN)], store, LoadOptions())
    objectives = limits(80, 2300)
    side = measured(store, Selection(), objectives, PriceBook(builtin=False), None)
    rows = breakdown(side, "goodput", ["scenario"], objectives).rows
    assert sorted((row["fluidity"]["n"], row["fluidity"]["by_chunk"]) for row in rows) == [(64, 10), (64, 64)]


ROW = {
    "start_time": "2026-03-02T00:00:00Z", "end_time": "2026-03-02T00:00:02Z", "model": "m", "ttft_ms": 100, "output_tokens": 3
}  # fmt: skip


def test_rows_without_lists_have_no_figure(store: Store, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(ROW | {"request_id": f"{n}"}) + "\n" for n in range(5)))
    load_paths([tmp_path / "rows.jsonl"], store, LoadOptions())
    assert list(store.token_gaps(Selection())) == []
    assert "fluid_met" not in measured(store, Selection(), default_objectives(), PriceBook(builtin=False), None).frame
    assert fluidity_of(store, default_objectives()) is None


def test_lists_of_a_selection_come_with_their_rows_in_parts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.store.database.ROWS_OF_LISTS", 7)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    load_paths([shared(AIPERF), tmp_path / "rows.jsonl", shared(BENCH)], store, LoadOptions())
    parts = list(store.token_gaps(Selection()))
    assert len(parts) > 20
    found = pl.concat(parts).get_column("token_gaps_ns").to_list()
    assert sorted(found) == sorted([gaps for _, gaps, _ in [*aiperf(AIPERF), *bench_serve()]])
    (scenario,) = store.read("requests", "source = 'bench_serve'")["scenario"].unique().to_list()
    some = pl.concat(store.token_gaps(Selection(where=(("scenario", scenario),)))).get_column("token_gaps_ns").to_list()
    assert sorted(some) == sorted(gaps for _, gaps, _ in bench_serve())


def test_the_index_can_be_explained() -> None:
    told = explain("fluidity_index", default_objectives(), built_in())
    assert told[0] == "fluidity_index: Fluidity index"
    assert "slack carries over" in " ".join(line.strip() for line in told)


def lists_of(store: Store) -> list[list[int]]:
    return sorted(gaps for part in store.token_gaps(Selection()) for gaps in part.get_column("token_gaps_ns").to_list())


def test_lists_stay_while_one_upload_that_told_them_stands(store: Store) -> None:
    expected = sorted(gaps for _, gaps, _ in aiperf(QWEN))
    paths = {name: shared(QWEN) for name in ("first", "second")}
    for name, path in paths.items():
        load(path, store, LoadOptions(), upload_id=name)
    assert lists_of(store) == expected
    forget(store, "first")
    assert lists_of(store) == expected
    assert store.read("requests")["upload_id"].unique().to_list() == ["second"]
    forget(store, "second")
    assert lists_of(store) == []


def test_a_backup_holds_the_lists(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        load_paths([shared(QWEN)], store, LoadOptions())
        back_up(store, tmp_path / "copy.zst")
        expected = lists_of(store)
    restore(tmp_path / "copy.zst", tmp_path / "again.duckdb")
    with Store.open(tmp_path / "again.duckdb") as again:
        assert lists_of(again) == expected != []


def test_lists_go_with_the_rows_that_retention_drops(store: Store) -> None:
    rows = [
        request(n, at_s=n * 86_400 + 7200, ttft_ms=100, tpot_ms=10, output_tokens=3, token_gaps_ns=[n, 5])
        for n in range(4)
    ]
    drop(filled(store, rows), MONDAY_NS + 2 * DAY_NS)
    assert lists_of(store) == [[2, 5], [3, 5]]


def test_a_row_that_spans_tell_too_has_its_list_again_when_they_go(store: Store, tmp_path: Path) -> None:
    trace = hex_id("one", 32)
    row = request(1, ttft_ms=100, tpot_ms=10, token_gaps_ns=[7, 5], request_key=trace, trace_id=trace)
    store.append("requests", frame([row]))
    (path,) = write(tmp_path, {"spans.jsonl": spans("one")})
    load(path, store, PLAIN, upload_id="spans")
    assert store.read("requests").get_column("token_gaps_ns").to_list() == [None]
    forget(store, "spans")
    assert lists_of(store) == [[7, 5]]


def test_a_single_request_tells_its_list_and_a_page_of_them_does_not(store: Store) -> None:
    load_paths([shared(QWEN)], store, LoadOptions())
    page = lists.requests_page(store, Selection(), None, 3)
    assert "token_gaps_ns" not in page.columns
    one = lists.request(store, page["request_key"][0])
    assert one is not None
    assert len(plain_row("requests", one)["token_gaps_ns"]) == 199
