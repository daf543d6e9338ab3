"""Spans read where they lie: keys and their numbers, and what is told as odd."""

from __future__ import annotations

import numpy as np
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.formats import otlp_wire as wire
from tests.support.otlp_rows import attribute


def numbers(keys: wire.Keys, names: list[str]) -> list[str]:
    """Names by the numbers that they are given."""
    data = wire.Data.of([name.encode() for name in names])
    return [keys.names[i] for i in keys.numbers(data, data.starts, data.ends - data.starts)]


def test_keys_that_differ_in_one_place_are_told_apart() -> None:
    long = "a.long.name.of.an.attribute.that.is.told.often"
    names = [long[:n] for n in range(1, len(long) + 1)]
    names += [long[:i] + "#" + long[i + 1 :] for i in range(len(long))]
    keys = wire.Keys()
    for _ in range(2):  # learned, then known
        assert numbers(keys, names) == names
        assert numbers(keys, names[::-1]) == names[::-1]


def test_more_keys_than_are_known_by_their_bytes_keep_their_names() -> None:
    names = [f"key.{i}" for i in range(wire.ENTRIES + 100)]
    keys = wire.Keys()
    assert numbers(keys, names) == names
    assert numbers(keys, ["new", *names]) == ["new", *names]


def test_keys_that_share_a_slot_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_code", lambda words, sizes: np.zeros_like(sizes))
    names = ["one", "two", "three", "four"]
    assert numbers(wire.Keys(), names * 3) == names * 3


def test_a_key_that_is_not_utf8_has_replacement_characters() -> None:
    keys = wire.Keys()
    data = wire.Data.of([b"a\xffb"])
    keys.numbers(data, data.starts, data.ends)
    assert keys.names == ["a\ufffdb"]


@pytest.mark.parametrize("n", [1, wire.FEW + 2])
@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x7fabc",
        b"\x0b\x0c",
        b"\x02\x00",
        b"\x30" + b"\xff" * 10,
        b"\x39\x01",
        b"\x8a\x00\x00",
        b"\x8a\x81\x00\x00",
    ],
    ids=["beyond the end", "group", "field 0", "endless number", "half a time", "long tag", "longer tag"],
)
def test_what_is_not_as_usual_is_told_as_odd(data: bytes, n: int) -> None:
    good = Span(name="a", attributes=[attribute("k", int_value=1)]).SerializeToString()
    walked = wire.walk(wire.Data.of([good, *[data] * n, good]))
    assert walked.is_odd.tolist() == [False, *[True] * n, False]
    assert walked.attributes.rows.tolist() == [0, n + 1]


@pytest.mark.parametrize("n", [1, wire.FEW + 2])
def test_of_a_field_told_twice_the_last_counts(n: int) -> None:
    span = Span(name="first").SerializeToString() + Span(name="last").SerializeToString()
    data = wire.Data.of([span] * n)
    starts, sizes = wire.walk(data).fields[wire.NAME]
    assert [data.bytes[a : a + size] for a, size in zip(starts, sizes, strict=True)] == [b"last"] * n
