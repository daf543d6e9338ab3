"""Readers bear whatever stands in a file: cut, flipped, retyped, repeated samples give rows and rejects, no exception."""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.errors import REJECT_REASONS, ServiceError
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import RawNote, RawReject, RawRequest, RawRow, RawRun, RawSpan, RowReader
from ingest.schema import CALLS, REQUESTS, STATUS_CLASSES, Column
from ingest.sniff import read_head
from ingest.unpack import open_source
from tests.support.readers import DATA

SAMPLES = sorted(path for folder in DATA.iterdir() if folder.is_dir() for path in folder.iterdir())
READERS = {form.name: form.reader for form in FORMATS if isinstance(form.reader, RowReader)}
OWN = [path for path in SAMPLES if path.parent.name in READERS]

ODD: list[Any] = [
    *(None, True, -1, 0, 2**63, -(2**70), 1e308, -0.5, 1e-12, "", "None", "NaN", "-", "x" * 300, "\ud800", "\0"),
    *([], {}, [None], [[]], {"a": {"b": []}}, "{}", "[1, null]", "1e400", "Infinity", "1970-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59+99:99", "2026-11-16 10:00:60.5", "0x", "a@b.co", "192.0.2.1", 1e15, "12 ms"),
]
PYTHON_TYPES: dict[str, Any] = {
    "text": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "money": int,
    "json": str,
    "texts": list,
    "ints": array,
}


def check_value(column: Column, value: object) -> None:
    assert isinstance(value, PYTHON_TYPES[column.kind]), (column.name, value)
    if isinstance(value, int) and not isinstance(value, bool):
        assert abs(value) < 2**63, (column.name, value)
    if isinstance(value, str):
        value.encode("utf-8")
    if column.kind == "ints":
        assert all(0 <= gap <= 86_400 * 10**9 for gap in value)
    if column.kind == "json":
        assert isinstance(json.loads(str(value)), dict)


def check(row: RawRow, n_lines: int) -> None:
    """What must hold of every row, whatever it was read from."""
    if isinstance(row, RawRun):
        assert row.duration_ns is None or abs(row.duration_ns) < 2**63
        return
    if isinstance(row, RawNote):
        return
    assert row.line is None or 1 <= row.line <= n_lines
    if isinstance(row, RawReject):
        assert row.reason in REJECT_REASONS
        assert len(row.head) <= 200
    elif isinstance(row, RawSpan):
        texts = [row.trace_id, row.span_id, row.name, *row.attributes.values(), *row.resource.values(), *row.attributes]
        for text in texts:
            text.encode("utf-8")
        for instant in (row.start_ns, row.end_ns, *(event[1] for event in row.events)):
            assert abs(instant) < 2**63
    else:
        check_request(row)


def check_request(row: RawRequest) -> None:
    columns = {column.name: column for column in REQUESTS}
    for name, value in row.values.items():
        check_value(columns[name], value)
    for call in row.calls:
        for name, value in call.items():
            check_value(next(column for column in CALLS if column.name == name), value)
    values = row.values
    assert values["status_class"] in STATUS_CLASSES
    others = (
        "generation_ns",
        "started_ns",
        "ended_ns",
        "token_gaps_ns",
    )  # instants before 1970 are refused behind the readers
    durations = {name: value for name, value in values.items() if name.endswith("_ns") and name not in others}
    assert all(isinstance(value, int) and value >= 0 for value in durations.values() if not isinstance(value, str)), row
    stages = sum(int(str(value)) for name, value in values.items() if columns[name].says.startswith("time in stage"))
    if "e2e_ns" in values and "residual_negative" not in str(values.get("flags")):
        assert stages in (0, values["e2e_ns"]), row


def read_all(path: Path, name: str) -> list[RawRow]:
    source = open_source(path)
    try:
        return list(READERS[name].read(source, read_head(source)))
    except ServiceError:
        return []


def retyped(value: Any, chooser: random.Random) -> Any:
    """The value with one or a few of its parts replaced, dropped or doubled."""
    if chooser.random() < 0.08:
        return chooser.choice(ODD)
    if isinstance(value, dict):
        return {key: retyped(inner, chooser) for key, inner in value.items() if chooser.random() > 0.03}
    if isinstance(value, list):
        return [retyped(inner, chooser) for inner in value for _ in range(1 + (chooser.random() < 0.03))]
    return value


def mutated(data: bytes, chooser: random.Random) -> bytes:
    kind = chooser.randrange(6)
    if kind == 0:
        return data[: chooser.randrange(len(data) + 1)]
    if kind == 1:
        flipped = bytearray(data)
        for _ in range(chooser.randrange(1, 8)):
            flipped[chooser.randrange(len(data))] = chooser.randrange(256)
        return bytes(flipped)
    if kind == 2:
        lines = data.splitlines(keepends=True)
        return b"".join(line for line in lines for _ in range(chooser.choice((0, 1, 1, 2))))
    if kind == 3:
        at = chooser.randrange(len(data) + 1)
        return (
            data[:at]
            + chooser.choice((b"\xff\xfe", b"\0", b"{", b"]", b'"', b"\r\n\r\n", b"{}", b"NaN", b",,"))
            + data[at:]
        )
    return retyped_text(data, chooser)


def retyped_text(data: bytes, chooser: random.Random) -> bytes:
    """JSON with values retyped, whatever its layout; other text with its words shuffled."""
    try:
        return json.dumps(retyped(json.loads(data), chooser), indent=chooser.choice((None, 1))).encode()
    except ValueError:
        pass
    try:
        values = [json.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        words = data.split(b",")
        chooser.shuffle(words)
        return b",".join(words)
    return "".join(json.dumps(retyped(value, chooser)) + "\n" for value in values).encode()


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}/{path.name}")
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_samples_give_rows_and_rejects_only(tmp_path: Path, path: Path, seed: int) -> None:
    data = mutated(path.read_bytes(), random.Random(seed))
    target = tmp_path / path.name
    target.write_bytes(data)
    n_lines = data.count(b"\n") + data.count(b"\r") + 1
    for row in read_all(target, path.parent.name):
        check(row, n_lines)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_many_mutated_samples_give_rows_and_rejects_only(tmp_path: Path, path: Path) -> None:
    target = tmp_path / path.name
    for seed in range(200):
        data = mutated(path.read_bytes(), random.Random(seed))
        target.write_bytes(data)
        for row in read_all(target, path.parent.name):
            check(row, data.count(b"\n") + data.count(b"\r") + 1)


@pytest.mark.parametrize("path", OWN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_sniffer_answers_for_every_sample(path: Path) -> None:
    source = open_source(path)
    head = read_head(source)
    scores = {form.name: form.sniff(head) for form in FORMATS}
    assert max(scores, key=lambda name: scores[name]) == path.parent.name or "summary" in path.name
    assert all(0.0 <= score <= 1.0 for score in scores.values())
