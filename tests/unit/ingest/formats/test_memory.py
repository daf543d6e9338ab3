"""What a reader of spans holds does not grow with its file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from ingest.formats import json_rows, parquet_rows
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import RowReader
from ingest.sniff import read_head, recognize
from ingest.unpack import open_source
from tests.support.large import FORMS

TRACES = 200
MOST_GROWTH = 1.3
FREE_LISTS = 100_000  # bytes that the interpreter keeps for later, whatever is read


def peak(path: Path, n_traces: int) -> int:
    """Most bytes that Python held while the rows went by."""
    source = open_source(path)
    head = read_head(source)
    reader = recognize(head, FORMATS).reader
    assert isinstance(reader, RowReader)
    tracemalloc.start()
    try:
        assert sum(1 for _ in reader.read(source, head)) >= 2 * n_traces
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", FORMS)
def test_no_reader_of_spans_holds_more_of_a_longer_file(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_rows, "CHUNK_BYTES", 1 << 14)
    monkeypatch.setattr(json_rows, "TRIED_BYTES", 1 << 14)
    monkeypatch.setattr(parquet_rows, "SLICE_ROWS", 100)
    peaks = []
    for n_traces in (TRACES // 10, TRACES, 4 * TRACES):  # the first warms up
        path = tmp_path / f"{n_traces}-{form}"
        FORMS[form](n_traces, path)
        peaks.append(peak(path, n_traces))
    assert peaks[2] <= MOST_GROWTH * peaks[1] + FREE_LISTS, peaks
