"""Keys of pages and lists of names, as a client sends them."""

from __future__ import annotations

import base64

import pytest

from api.problems import Refused
from api.routes.asking import names_of, page_key, read_key


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_a_key_is_read_as_it_was_made() -> None:
    assert read_key(page_key(5, "r-1")) == (5, "r-1")
    assert read_key(page_key(None, "\N{SNOWMAN}")) == (None, "\N{SNOWMAN}")
    assert read_key(None) is None


@pytest.mark.parametrize(
    "key",
    [
        "x",
        "\ud800",
        packed("5"),
        packed("null"),
        packed('[1,"a",2]'),
        packed('[1.5,"a"]'),
        packed('[true,"a"]'),
        packed('[99999999999999999999,"a"]'),
        packed('[1,"\\ud800"]'),
        packed("[" * 100_000),
        packed("[1" + "0" * 5000 + ',"a"]'),
    ],
)
def test_what_is_no_key_of_ours_is_refused(key: str) -> None:
    with pytest.raises(Refused) as caught:
        read_key(key)
    assert (caught.value.status, caught.value.code) == (422, "invalid_key")
    assert len(caught.value.message.encode()) < 200


def test_a_name_of_a_list_counts_once() -> None:
    assert names_of("user, model,user,,") == ["user", "model"]
