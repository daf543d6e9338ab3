"""Names of attributes as data: every field has a column or a judge, and no name has two meanings."""

from __future__ import annotations

from collections import Counter

from ingest.formats.attributes import FIRST_TOKEN_EVENTS, MAPPED_FIELDS, PICKS, RESOURCE_PICKS
from ingest.formats.stages import KIND_PICKS
from ingest.schema import SPAN_FIELDS, SPANS


def test_every_field_is_a_column_of_spans_or_a_kind_that_a_rule_judges() -> None:
    columns = {name for names in SPAN_FIELDS.values() for name in names.split()}
    assert set(PICKS) - columns - set(KIND_PICKS) == set()
    assert columns - set(PICKS) == set()


def test_every_field_of_the_resource_is_a_column_of_spans() -> None:
    assert set(RESOURCE_PICKS) - {column.name for column in SPANS} == set()


def test_no_attribute_name_stands_in_two_fields() -> None:
    counts = Counter(name for names in PICKS.values() for name in names)
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_mapping_file_names_fields_that_exist() -> None:
    assert set(MAPPED_FIELDS.values()) <= set(PICKS)


def test_chunk_events_are_among_the_first_token_events() -> None:
    assert [name for name in FIRST_TOKEN_EVENTS if name.endswith(".chunk")] == [
        "gen_ai.content.completion.chunk",
        "llm.content.completion.chunk",
    ]
