"""Rows of Parquet sources, and the formats that come as such."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from ingest.errors import UnreadableInput
from ingest.formats import parquet_rows as module
from ingest.formats.parquet_rows import parquet_rows
from ingest.unpack import open_source
from tests.support.readers import spans, told_format

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def test_rows_come_in_order_across_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_ROWS", 2)
    pl.DataFrame({"a": [1, 2, 3, 4, 5]}).write_parquet(tmp_path / "a.parquet")
    assert [row["a"] for row in parquet_rows(open_source(tmp_path / "a.parquet"))] == [1, 2, 3, 4, 5]


def test_a_torn_file_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableInput, match=r"a\.parquet is no whole Parquet file"):
        list(parquet_rows(open_source(tmp_path / "a.parquet")))


def test_langfuse_observations_come_as_parquet(tmp_path: Path) -> None:
    row = {
        "id": "d1b2c3d4e5f60718",
        "trace_id": TRACE,
        "type": "GENERATION",
        "name": "plan",
        "parent_observation_id": None,
        "start_time": datetime(2026, 11, 16, 11, tzinfo=UTC),
        "end_time": datetime(2026, 11, 16, 11, 0, 2, tzinfo=UTC),
        "provided_model_name": "m-9b",
        "usage_details": [{"key": "input", "value": 10}, {"key": "input_cache_read", "value": 5}],
    }
    pl.DataFrame([row]).write_parquet(tmp_path / "o.parquet")
    assert told_format(tmp_path / "o.parquet") == "langfuse"
    (span,) = spans(tmp_path / "o.parquet")
    assert (span.start_ns, span.end_ns - span.start_ns) == (1_794_826_800_000_000_000, 2_000_000_000)
    assert span.attributes["gen_ai.usage.input_tokens"] == "15"


def test_phoenix_spans_come_as_parquet(tmp_path: Path) -> None:
    row = {
        "context.trace_id": TRACE,
        "context.span_id": "39d6e9b3ddec9996",
        "parent_id": None,
        "name": "chat",
        "span_kind": "LLM",
        "start_time": datetime(2026, 11, 16, 10, tzinfo=UTC),
        "end_time": datetime(2026, 11, 16, 10, 0, 2, tzinfo=UTC),
        "status_code": "OK",
        "attributes.llm.token_count.prompt": 30.0,
    }
    pl.DataFrame([row]).write_parquet(tmp_path / "p.parquet")
    assert told_format(tmp_path / "p.parquet") == "phoenix"
    (span,) = spans(tmp_path / "p.parquet")
    assert span.attributes == {"llm.token_count.prompt": "30.0", "openinference.span.kind": "LLM"}
    assert span.end_ns - span.start_ns == 2_000_000_000


def test_langsmith_runs_come_as_parquet(tmp_path: Path) -> None:
    row = {
        "id": "aa8ffecb-72ce-4cd2-bdb7-01f34654c391",
        "trace_id": "fe8ffecb-72ce-4cd2-bdb7-01f34654c391",
        "dotted_order": "x",
        "run_type": "llm",
        "name": "chat",
        "start_time": datetime(2026, 11, 16, 10, tzinfo=UTC),
        "end_time": datetime(2026, 11, 16, 10, 0, 2, tzinfo=UTC),
        "prompt_tokens": 12,
        "completion_tokens": 5,
    }
    pl.DataFrame([row]).write_parquet(tmp_path / "r.parquet")
    assert told_format(tmp_path / "r.parquet") == "langsmith"
    (span,) = spans(tmp_path / "r.parquet")
    assert span.attributes["gen_ai.usage.input_tokens"] == "12"
    assert span.trace_id == "fe8ffecb72ce4cd2bdb701f34654c391"
