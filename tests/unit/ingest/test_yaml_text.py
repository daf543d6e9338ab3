"""Guards of the one YAML parser: size, depth, values behind aliases, values that no tag can make."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from ingest.errors import ConfigError
from ingest.yaml_text import compose, load, load_all, refuse_empty

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60))
MANY = "a: [" + "x, " * 100_001 + "x]\n"
READERS: list[Callable[[str, str], object]] = [compose, load, load_all]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "f.yaml, line 6: more than 100000 values, aliases counted as what they name. Split the file"),
        ("[" * 3000, "f.yaml, line 1: nested deeper than 40 levels"),
        ("- " * 3000 + "x", "f.yaml, line 1: nested deeper than 40 levels"),
        ("? " * 3000 + "x", "f.yaml, line 1: nested deeper than 40 levels"),
        ("{a: " * 3000, "f.yaml, line 1: nested deeper than 40 levels"),
        (CHAIN, "f.yaml, line 40: nested deeper than 40 levels"),
        ("a: &x [*x]\n", "f.yaml, line 1: the alias *x stands within what it names; it would never end"),
        (MANY, "f.yaml, line 1: more than 100000 values, aliases counted as what they name. Split the file"),
        ('a: 1\nb: "\\ud800"\n', "f.yaml, line 2: the text holds a lone surrogate, which is no character"),
        (f"a: 1\nb: {'9' * 5000}\n", "f.yaml, line 2: a number has 5000 digits, and must have at most 1000"),
        (f"a: -0x{'f' * 5000}\n", "f.yaml, line 1: a number has 5003 digits, and must have at most 1000"),
        ("a: [1", "f.yaml, line 1: this is no valid YAML: expected ',' or ']', but got '<stream end>'"),
    ],
    ids=[
        "laughs",
        "brackets",
        "dashes",
        "question marks",
        "braces",
        "chain",
        "itself",
        "many",
        "surrogate",
        "digits",
        "hex",
        "torn",
    ],
)
def test_what_would_not_end_is_refused_at_once(reader: Callable[[str, str], object], text: str, message: str) -> None:
    began = time.process_time()
    with pytest.raises(ConfigError) as caught:
        reader(text, "f.yaml")
    assert caught.value.message == message
    assert (
        time.process_time() - began < 30
    )  # the bomb would fill the memory, the brackets took minutes of a busy machine


@pytest.mark.parametrize("text", ["a: 2026-13-45", "a: !!int foo", "a: !!omap x", "a: 0x_"])
def test_a_value_that_is_not_what_its_form_says_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape("f.yaml: a value is not what its form or tag says: ")):
        load(text, "f.yaml")


def test_an_alias_stands_for_its_value() -> None:
    text = "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n"
    assert load(text, "f.yaml") == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}}
    assert load("", "f.yaml") is None
    assert compose("", "f.yaml") is None
    assert load_all("a: 1\n---\nb: 2\n", "f.yaml") == [{"a": 1}, {"b": 2}]


def test_a_long_text_of_digits_is_text() -> None:
    assert load(f'a: "{"9" * 5000}"\n', "f.yaml") == {"a": "9" * 5000}


@pytest.mark.parametrize("text", ["", " \n", "# nothing\n", "---\n---\n", "{}", "null"])
def test_an_empty_text_takes_the_place_of_none(text: str) -> None:
    with pytest.raises(ConfigError, match=r'f.yaml is empty, so nothing is changed.*send "rules: \[\]"'):
        refuse_empty(text, "f.yaml", "rules")
    refuse_empty("rules: []", "f.yaml", "rules")
