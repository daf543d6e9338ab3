"""What the protobuf library reads of attributes: exact numbers, what is kept of them, and what cannot be read."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError

from ingest.formats.otlp_library import KNOWN_LIMIT, KnownAttributes
from tests.support.otlp_rows import attribute


@pytest.mark.parametrize("number", [0, 1, 127, 128, 2**31, 2**63 - 1, -1, -(2**63)])
def test_whole_numbers_of_every_width_are_exact(number: int) -> None:
    assert KnownAttributes()[attribute("k", int_value=number).SerializeToString()] == ("k", str(number))


def test_what_is_kept_is_bounded() -> None:
    known = KnownAttributes()
    for number in range(KNOWN_LIMIT + 10):
        assert known[attribute("k", int_value=number).SerializeToString()] == ("k", str(number))
    assert len(known) < 100
    assert known[attribute("k", string_value="x" * 10_000).SerializeToString()][1] == "x" * 10_000
    assert len(known) < 100


def test_an_attribute_that_is_cut_short_cannot_be_read() -> None:
    known = KnownAttributes()
    with pytest.raises(DecodeError):
        known[attribute("k", string_value="abc").SerializeToString()[:-1]]
    assert not known
