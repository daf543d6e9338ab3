"""mapping.yaml: names read, mistakes named with their line."""

from __future__ import annotations

import pytest

from ingest.errors import ConfigError
from ingest.mapping import ColumnSource, Mapping, parse_mapping

FULL = """\
columns: {input_tokens: prompt_len, ttft: {from: first_token_ms, unit: ms}}
attributes: {tenant: ["x.org", "tenant.id"], user: x.person}
stages: {"vector.*": retrieval}
dimensions: {team: "x.team"}
timezone: Europe/Berlin
sampling_rate: 0.05
"""


def test_every_key_of_the_file_is_read() -> None:
    assert parse_mapping(FULL) == Mapping(
        columns={"input_tokens": ColumnSource("prompt_len"), "ttft": ColumnSource("first_token_ms", "ms")},
        attributes={"tenant": ("x.org", "tenant.id"), "user": ("x.person",)},
        stages=(("vector.*", "retrieval"),),
        dimensions={"team": "x.team"},
        timezone="Europe/Berlin",
        sampling_rate=0.05,
    )


def test_an_empty_file_maps_nothing() -> None:
    assert parse_mapping("") == Mapping()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colums: {}", 'mapping.yaml, line 1: the mapping file has the key "colums", which is not known'),
        ("timezone: UTC\ncolumns: {input_token: a}", 'line 2: columns has the key "input_token", which is not known'),
        ("columns: {ttft: {from: a, unit: m}}", 'line 1: the unit of ttft is "m", which is not known'),
        ("columns: {ttft: {unit: ms}}", "line 1: columns, ttft lacks the key from"),
        ('stages: {"a": retreival}', 'the stage of "a" is "retreival", which is not known'),
        ("dimensions: {model: x}", 'dimensions, "model" is a dimension already'),
        ("timezone: Berlin", 'time zone "Berlin" is not known'),
        ("sampling_rate: 5", "sampling_rate is 5, and must be between 0 and 1"),
        ("sampling_rate: 1e-10", "sampling_rate is 1e-10, and must be at least 1e-09"),
        ("sampling_rate: 0", "sampling_rate is 0, and must be above 0"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_mapping(text)
    assert message in error.value.message


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as error:
        parse_mapping("columns: {input_token: a}")
    assert 'Did you mean "input_tokens"?' in error.value.message
