"""YAML of a user: every complaint has file, line and remedy."""

from __future__ import annotations

import pytest

from ingest.documents import read_document, scalar_text, suggestion
from ingest.errors import ConfigError
from ingest.yaml_text import MAX_CHARACTERS

TEXT = """# a comment
name: first
flag: yes
items:
  - {id: a, n: 1}
  - id: b
    on: true
"""


def test_values_are_read_with_their_lines() -> None:
    document = read_document(TEXT, "x.yaml")
    assert (document.text("name"), document.text("flag"), document.text("absent")) == ("first", "yes", None)
    assert [(entry.name, entry.line(), entry.line("id")) for entry in document.entries("items")] == [
        ("a", 5, 5),
        ("b", 6, 6),
    ]
    assert [entry.text("on") for entry in document.entries("items")] == [None, "true"]
    assert document.mapping("absent") is None
    assert list(document.entries("absent")) == []


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError) as raised:
        read_document(TEXT, "x.yaml").only(("nama", "flag", "items"))
    assert raised.value.message == (
        'x.yaml, line 2: key "name" is not known. Known: flag, items, nama. Did you mean "nama"?'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "x.yaml, line 1: this is no valid YAML"),
        ("a: 1\na: 2", "this is no valid YAML"),
        ("- 1", "x.yaml, line 1: the file must be a mapping of keys (key: value), not a list"),
        ("just text", 'the file must be a mapping of keys (key: value), not the value "just text"'),
        ("x" * (MAX_CHARACTERS + 1), "a file of settings may have"),
    ],
)
def test_what_is_no_mapping_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_document(text, "x.yaml")
    assert message in raised.value.message


def test_wrong_kinds_are_named() -> None:
    document = read_document("a: [1]\nb: {c: 1}\nd: 5\n", "x.yaml")
    for call, message in (
        (lambda: document.text("a"), "line 1: a takes one value, not a list"),
        (lambda: document.text("b"), "line 2: b takes one value, not a mapping"),
        (lambda: document.mapping("d"), "line 3: d takes a mapping"),
        (lambda: list(document.entries("d")), "line 3: d takes a list"),
        (lambda: list(document.entries("a")), "line 1: entry 1 of a must be a mapping"),
        (lambda: document.needed("e"), "line 1: e is missing"),
    ):
        with pytest.raises(ConfigError) as raised:
            call()
        assert raised.value.message == f"x.yaml, {message}"


def test_an_empty_file_is_an_empty_mapping() -> None:
    assert dict(read_document("# nothing\n", "x.yaml").values) == {}


def test_scalars_are_text_as_written() -> None:
    values = read_document("a: true\nb: 0.0039\nc: 12\nd: 1e-3\n", "x.yaml").values
    assert [scalar_text(values[key]) for key in "abcd"] == ["true", "0.0039", "12", "0.001"]
    assert suggestion("zzz", ("b", "a")) == "Known: a, b."
