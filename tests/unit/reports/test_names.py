"""Names as they are shown: no control characters, no megabytes."""

from __future__ import annotations

import pytest

from reports.names import MOST_NAME, MOST_SHOWN, capped, printable


@pytest.mark.parametrize("code", [0x00, 0x07, 0x1B, 0x7F, 0x9B, 0x2028, 0x202E, 0x2066])
def test_a_control_character_is_a_dot(code: int) -> None:
    assert printable(f"gpt{chr(code)}x") == "gpt·x"


def test_other_text_stays_as_it_is() -> None:
    for text in ("lm-large", "两个模型", "a\u00a0b\u202f%", "two\nlines\tand a tab", "👩\u200d💻"):
        assert printable(text) == text


def test_what_is_longer_than_any_text_is_cut_with_its_length() -> None:
    assert printable("x" * MOST_SHOWN) == "x" * MOST_SHOWN
    assert printable("x" * 1_000_000) == "x" * 250 + "… (1,000,000 characters)"


def test_a_long_name_keeps_its_beginning_and_is_told_from_others_like_it() -> None:
    assert (capped(None), capped("x" * MOST_NAME)) == (None, "x" * MOST_NAME)
    one, other = capped("x" * 1_000_000 + "a"), capped("x" * 1_000_000 + "b")
    assert one is not None
    assert one.startswith("x" * 250 + "… (1,000,001 characters, ")
    assert len(one) < MOST_NAME
    assert one != other
