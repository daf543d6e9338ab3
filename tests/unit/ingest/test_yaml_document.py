"""YAML nodes: values as written, and complaints with file, line, value, rule, remedy."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from ingest.errors import ConfigError
from ingest.yaml_document import parse_yaml, read_yaml


def test_scalars_keep_the_text_they_were_written_with() -> None:
    keys = parse_yaml("a: 0.60\nb: 2026-01-31\nc: true\nd: 32e9\ne: 00123\n", "f.yaml").entries("f")
    assert keys["a"].number("a") == Decimal("0.60")
    assert keys["b"].day("b") == date(2026, 1, 31)
    assert keys["c"].flag("c") is True
    assert keys["d"].integer("d") == 32_000_000_000
    assert keys["e"].text("e") == "00123"


def test_an_empty_document_is_an_empty_mapping() -> None:
    assert parse_yaml("# nothing yet\n", "f.yaml").keys(("a",), "the file") == {}


def test_a_key_without_value_counts_as_absent() -> None:
    assert parse_yaml("a:\n", "f.yaml").keys(("a",), "the file") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prises: []\n", 'f.yaml, line 1: the file has the key "prises", which is not known. Known: prices. Did you mean "prices"?'),
        ("- 1\n", "f.yaml, line 1: the file is a list, and must be a mapping with the keys prices"),
        ("prices: 3\n", 'f.yaml, line 1: prices is 3, and must be a list: lines that begin with "- "'),
        ("prices: [1\n", "f.yaml, line 2: this is no valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\na: 2\n", 'f.yaml, line 2: the key "a" stands twice; the first is on line 1. Remove one'),
        ("? [1]\n: 2\n", "f.yaml, line 1: a key must be text"),
        ("a: \x00\n", "f.yaml: this is no valid YAML: unacceptable character #x0000: special characters are not allowed"),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "f.yaml").keys(("prices",), "the file")["prices"].items("prices")
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("value", "ask", "message"),
    [
        ("0,60", "number", 'line 1: x is "0,60", and must be a plain number such as 0.60'),
        (".inf", "number", "line 1: x is .inf, and must be a plain number such as 0.60"),
        ("1.5", "integer", "line 1: x is 1.5, and must be a whole number"),
        ("yes", "flag", 'line 1: x is "yes", and must be true or false'),
        ("2026-13-01", "day", "line 1: x is 2026-13-01, and must be a date such as 2026-01-31"),
        ("[1]", "text", "line 1: x is a list, and must be text"),
        ("''", "text", 'line 1: x is "", and must be text'),
    ],
)
def test_a_value_of_another_kind_is_refused(value: str, ask: str, message: str) -> None:
    node = parse_yaml(f"x: {value}\n", "f.yaml").entries("f")["x"]
    with pytest.raises(ConfigError) as caught:
        getattr(node, ask)("x")
    assert caught.value.message == f"f.yaml, {message}"


def test_a_number_outside_its_bounds_names_them() -> None:
    node = parse_yaml("x: 101\n", "f.yaml").entries("f")["x"]
    with pytest.raises(ConfigError, match=r"x is 101, and must be between 0 and 100"):
        node.number("x", low=Decimal(0), high=Decimal(100))
    with pytest.raises(ConfigError, match=r"x is 101, and must be at most 100"):
        node.number("x", high=Decimal(100))
    with pytest.raises(ConfigError, match=r"x is 101, and must be at least 200"):
        node.number("x", low=Decimal(200))


@pytest.mark.parametrize(
    "value", ["1e-999999999", "1e400", "1e-31", "1e99999999999999999999", "1" * 61, "0." + "1" * 60]
)
def test_a_number_whose_exact_form_would_be_endless_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"f\.yaml, line 1: x is .*, and must "):
        parse_yaml(f"x: {value}\n", "f.yaml").entries("f")["x"].number("x", low=Decimal(0))


def test_a_zero_is_zero_however_it_is_written() -> None:
    assert str(parse_yaml("x: 0e9999\n", "f.yaml").entries("f")["x"].number("x")) == "0"


def test_an_unknown_word_is_refused_with_the_known_ones() -> None:
    node = parse_yaml("x: request\n", "f.yaml").entries("f")["x"]
    with pytest.raises(ConfigError, match=r'x is "request", which is not known. Known: cost, requests. Did you mean'):
        node.choice(("requests", "cost"), "x")


def test_an_alias_that_holds_itself_ends_in_a_message() -> None:
    with pytest.raises(ConfigError, match=r"f.yaml, line 1: the alias \*x stands within what it names"):
        parse_yaml("a: &x [*x]\n", "f.yaml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml cannot be read: No such file or directory"):
        read_yaml(tmp_path / "absent.yaml")
    wide = tmp_path / "wide.yaml"
    wide.write_bytes("prices: []".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"wide\.yaml is not UTF-8 \(byte 0\)\. Save it as UTF-8"):
        read_yaml(wide)
    marked = tmp_path / "marked.yaml"
    marked.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml(marked).entries("f")["a"].number("a") == 1
