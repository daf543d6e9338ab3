"""OTLP protobuf in bulk against a plain reader, span by span: the same rows, and every message accounted for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.assemble import SpanCounts, SpanOptions, assemble, stage_spans
from ingest.errors import REJECT_REASONS, UnreadableInput
from ingest.formats import otlp_alike
from ingest.formats.otlp_protobuf import framing_of, messages
from ingest.mapping import Mapping
from ingest.messages import load_messages
from ingest.sniff import read_head
from ingest.store.database import Store
from ingest.unpack import open_source
from tests.support.otlp import request, span, store_for
from tests.support.otlp_rows import as_protobuf, delimited, read_rows
from tests.support.readers import DATA
from tests.support.shared import SHARED, shared

OWN = Mapping(attributes={"tenant": ("service.name",)}, dimensions={"team": "service.namespace"})
OPTIONS = [SpanOptions(source="otlp_protobuf"), SpanOptions(mapping=OWN, attributes="mapped", source="otlp_protobuf")]
PLACES = ("samples/otlp/*.json*", "data/otlp-json/*.json", "data/otlp-json/*.jsonl", "data/otlp-reencoded/*.jsonl*")
NO_SPANS = ("expected.json", "logs.json", "metrics.json")
JSON_FILES = sorted(
    str(path.relative_to(SHARED)) for place in PLACES for path in SHARED.glob(place) if path.name not in NO_SPANS
)
FILES = sorted(path for path in (DATA / "otlp_protobuf").iterdir())


def requests_of(path: Path) -> Iterator[dict[str, Any]]:
    """Export requests of a file of OTLP JSON."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        found = [json.loads(data)]
    except ValueError:
        found = list(_whole(data.splitlines()))
    for one in found:
        for told in one if isinstance(one, list) else [one]:
            if isinstance(told, dict) and "resourceSpans" in told:
                yield {"resourceSpans": told["resourceSpans"]}


def bodies_of(path: Path) -> Iterator[bytes]:
    """The requests as protobuf, those left out that only JSON can tell (ids of other characters)."""
    for told in requests_of(path):
        with suppress(ValueError, ParseError):
            yield as_protobuf(told)


def _whole(lines: list[bytes]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # a sample of bad lines
            continue


def in_bulk(store: Store, path: Path, options: SpanOptions) -> SpanCounts:
    source = open_source(path)
    with store.writing() as cursor:
        counts = load_messages(cursor, source, read_head(source), "u", options)
        assemble(cursor)
    return counts


def by_rows(store: Store, bodies: list[bytes], options: SpanOptions) -> SpanCounts:
    rows = [row for body in bodies for row in read_rows(body)]
    with store.writing() as cursor:
        counts = stage_spans(cursor, rows, "u", options)
        assemble(cursor)
    return counts


def tables(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What the store holds of spans and requests, in a total order."""
    with store.cursor() as cursor:
        return {
            table: cursor.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            for table in ("spans", "requests", "calls")
        }


def figures(counts: SpanCounts) -> dict[str, Any]:
    told = vars(counts).copy()
    told["rejects"] = sorted((reject.reason, reject.head, reject.detail) for reject in counts.rejects)
    return told


@pytest.fixture(autouse=True, scope="module", params=[1, otlp_alike.LEAST])
def least(request: pytest.FixtureRequest) -> Iterator[None]:
    """Few spans are read as many are, and as few are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp_alike, "LEAST", request.param)
        yield


def check_routes(path: Path, bodies: list[bytes], options: SpanOptions) -> SpanCounts:
    with store_for(path.parent) as bulk, store_for(path.parent) as plain:
        counts, expected = in_bulk(bulk, path, options), by_rows(plain, bodies, options)
        assert figures(counts) == figures(expected)
        assert tables(bulk) == tables(plain)
    return counts


@pytest.mark.parametrize("name", JSON_FILES)
def test_samples_make_the_rows_of_the_plain_reader(name: str, tmp_path: Path) -> None:
    bodies = list(bodies_of(shared(name)))
    options = OPTIONS[JSON_FILES.index(name) % 2]
    path = tmp_path / "traces.pb"
    path.write_bytes(delimited(*bodies))
    counts = check_routes(path, bodies, options)
    assert counts.accepted > 0


def test_there_are_samples() -> None:
    shared("samples/otlp")
    assert len(JSON_FILES) > 15


@pytest.mark.parametrize("name", ["ai_sdk_file_exporter.binpb", "ai_sdk_file_exporter_legacy_zstd.bin"])
def test_files_of_the_collector_make_the_rows_of_the_plain_reader(name: str) -> None:
    path = shared(f"data/otlp-json/{name}")
    data = path.read_bytes()
    with path.open("rb") as stream:
        bodies = [message.body for message in messages(stream, data)]
    assert check_routes(path, bodies, OPTIONS[0]).accepted == 10


def hostile() -> bytes:
    """Messages with every kind of value, events, repeats and spans that cannot be."""
    told: list[Any] = [
        span(
            "chat",
            span_id=f"s{i}",
            trace=f"t{i % 3}",
            attributes={"gen_ai.usage.input_tokens": 10 + i, "x": [1, "a", 0.5], "f": i / 7, "b": True, "": "e"},
            events=[("gen_ai.first_token", 0.1), ("exception", 0.2)],
            traceState="ot=th:8",
        )
        for i in range(9)
    ]
    told += [
        span("open", span_id="o", endTimeUnixNano="0"),
        span("late", start=5, end=1, span_id="l"),
        span("long", end=100_000, span_id="m"),
        span("early", span_id="e", startTimeUnixNano="7"),
        span("never", span_id="n", startTimeUnixNano="0"),
        span("far", span_id="f", startTimeUnixNano=str(2**64 - 1), endTimeUnixNano=str(2**64 - 1)),
        span("many", span_id="y", attributes={"gen_ai.usage.input_tokens": 2**62}),
        span("none", span_id="z") | {"traceId": ""},
        span("short", span_id="z") | {"traceId": "0102"},
        span("zero", span_id="z") | {"traceId": "00" * 16},
        span("cut", span_id="z") | {"spanId": "0102"},
        *told[:2],
    ]
    return delimited(*(as_protobuf(request(told[i : i + 4], scope=f"s{i % 2}")) for i in range(0, len(told), 4)))


def test_hostile_spans_are_told_as_by_the_plain_reader(tmp_path: Path) -> None:
    path = tmp_path / "hostile.pb"
    path.write_bytes(hostile())
    with path.open("rb") as stream:
        bodies = [message.body for message in messages(stream, hostile())]
    counts = check_routes(path, bodies, OPTIONS[0])
    assert (counts.read, counts.accepted, counts.duplicate, counts.rejected) == (22, 10, 2, 10)
    assert {reject.reason for reject in counts.rejects} == {
        *("no_trace_id", "bad_trace_id", "zero_trace_id", "no_span_id", "start_unset", "end_before_start"),
        *("duration_too_long", "time_out_of_range", "bad_value"),
    }
    with path.open("rb") as stream:
        offsets = [message.offset for message in messages(stream, hostile())]
    assert {reject.offset for reject in counts.rejects} <= set(offsets)
    assert [reject.offset for reject in counts.rejects] == sorted(reject.offset or 0 for reject in counts.rejects)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "repeat"]), st.floats(0, 1), st.integers(0, 255)), max_size=4
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(framing=st.sampled_from(["varint", "fixed"]), changes=CHANGES)
def test_whatever_stands_in_a_file_every_span_is_accounted_for(
    framing: str, changes: list[tuple[str, float, int]], tmp_path: Path
) -> None:
    data = bytearray(hostile())
    if framing == "fixed":
        parts = messages_of(bytes(data))
        data = bytearray(b"".join(len(part).to_bytes(4, "big") + part for part in parts))
    for kind, share, byte in changes:
        at = 8 + int(share * (len(data) - 9))
        if kind == "flip":
            data[at] ^= byte or 1
        elif kind == "cut":
            del data[max(at, 16) :]
        elif kind == "insert":
            data[at:at] = bytes([byte])
        else:
            data += data[at : at + 200]
        if len(data) < 20:
            break
    check_accounts(bytes(data), tmp_path)


def messages_of(data: bytes) -> list[bytes]:
    return [message.body for message in messages(BytesIO(data), data)]


def check_accounts(data: bytes, folder: Path) -> None:
    """Spans accepted, repeated and refused are those that the plain reader finds, and messages it refuses are rejects."""
    if framing_of(data) is None:
        return
    path = folder / "changed.pb"
    path.write_bytes(data)
    rows = unread = 0
    for message in messages(BytesIO(data), data):
        try:
            if message.fault is not None:
                raise UnreadableInput(message.fault)
            rows += sum(1 for _ in read_rows(message.body))
        except UnreadableInput:
            unread += 1
    with store_for(folder) as store:
        counts = in_bulk(store, path, OPTIONS[0])
        with store.cursor() as cursor:
            (stored,) = cursor.execute("SELECT count(*) FROM spans").fetchone() or (0,)
    assert counts.read == counts.accepted + counts.duplicate + counts.rejected
    assert stored == counts.accepted
    assert counts.rejected == len(counts.rejects)
    assert {reject.reason for reject in counts.rejects} <= set(REJECT_REASONS)
    # the plain reader refuses a message for one text that is not UTF-8, which the bulk reader mends
    assert rows <= counts.read
    assert (
        counts.read >= rows + unread
        or sum(1 for r in counts.rejects if r.reason in ("bad_value", "torn_line")) <= unread
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_cut_of_every_framing_is_accounted_for(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    for at in range(9, len(data), max(1, len(data) // 5)):
        check_accounts(data[:at], tmp_path)
