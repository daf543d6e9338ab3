"""Lists of names and kinds of steps, learned once each."""

from __future__ import annotations

import re
from pathlib import Path

from ingest.formats.otlp_columns import Columns
from ingest.formats.stages import KIND_COLUMNS
from ingest.mapping import Mapping
from ingest.schema import SPANS
from ingest.store import span_batch, spans
from ingest.store.span_columns import MARKS, PICK_KINDS, Learned, columns_relation, kind_frame, shape_frame
from ingest.store.span_judgement import USED
from tests.support.otlp import request, span, store_for, write_lines
from tests.support.otlp_rows import as_protobuf


def learned(*names: str, own: Mapping | None = None, keep: bool = True) -> Learned:
    return Learned(own or Mapping(), keep, {7: names})


def test_the_place_of_a_field_is_that_of_its_best_name() -> None:
    places = learned("other", "gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens").places()
    assert places["input_tokens"] == {7: (3, 2)}
    assert "output_tokens" not in places


def test_of_a_name_told_twice_the_first_counts() -> None:
    assert learned("user.id", "x", "user.id").places()["user"] == {7: (1,)}


def test_names_of_a_house_go_before_the_built_in_ones() -> None:
    own = Mapping(attributes={"tenant": ("x.org",), "ttft": ("my.first",)}, dimensions={"team": "x.team"})
    places = learned("tenant.id", "x.org", "my.first", "x.team", own=own).places()
    assert places["tenant"] == {7: (2, 1)}
    assert places["first_s"] == {7: (3,)}
    assert places["dimension_0"] == {7: (4,)}


def test_what_is_kept_is_neither_mapped_nor_content() -> None:
    names = ("user.id", "custom", "gen_ai.prompt.0.content", "http.method", 'with "quote"')
    assert learned(*names).rest(names) == ([2, 4, 5], ['"custom":', '"http.method":', '"with \\"quote\\"":'])
    frame = shape_frame(learned(*names, keep=False))
    assert frame.columns == ["shape_h", "user_1"]


def test_names_nobody_knows_are_counted_by_spans() -> None:
    names = ("user.id", "custom", "http.method", "gen_ai.request.top_p")
    assert learned(*names).not_understood({7: 12}) == {"custom": 12}


def test_names_that_may_hold_secrets_are_counted_by_their_shape_once_a_span() -> None:
    names = ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN8EXAMPLE", "mail.alice@example.com", "x" * 100_000, "x.y")
    assert learned(*names).not_understood({7: 12}) == {
        "text of 20 characters": 12,
        "text of 22 characters": 12,
        "text of 100000 characters": 12,
        "x.y": 12,
    }


def test_kinds_are_judged_once_each() -> None:
    known = Learned(Mapping(stages=(("mine.*", "rerank"),)))
    rest = [None] * (len(KIND_COLUMNS) - 3)
    known.learn_kinds([(1, "app", "mine.step", "1", *rest), (2, "app", "x", "2", *rest)])
    assert kind_frame(known).rows() == [(1, "rerank", "mapping"), (2, "server", "http")]


def test_marks_are_bits_of_their_own() -> None:
    assert sum(MARKS.values()) == sum(1 << i for i in range(6))


def test_every_column_that_a_judgement_uses_exists() -> None:
    columns = {column.name for column in SPANS}
    assert set(USED) <= columns
    assert set(PICK_KINDS) <= columns


def test_known_shapes_and_kinds_are_the_side_that_is_hashed(tmp_path: Path) -> None:
    """Of the spans of a file or a frame the planner does not know the number; the known few must be looked up in."""
    path = write_lines(
        tmp_path / "t.jsonl", [request([span(f"chat {i}", attributes={"model": "m"})]) for i in range(3)]
    )
    columns = Columns()
    columns.add(as_protobuf(request([span("chat")])), 0)
    with store_for(tmp_path) as store, store.writing() as cursor:
        spans.prepare(cursor)
        known = Learned()
        lines = spans.lines_of(str(path), "none", "camel", Mapping())
        spans.learn(cursor, lines.sql, lines.parameters, known)
        known.kinds |= dict.fromkeys(range(500), ("call", None))
        spans._replace(cursor, "span_kinds", kind_frame(known))
        with span_batch.piece_relation(cursor, columns.piece(), Mapping()) as piece:
            for told in (lines, piece):
                sql = columns_relation(told.sql, known, sampling_rate=None, limits=spans.limits(cursor))
                given = {**told.parameters, "upload_id": "u", "source": "s"}
                ((_, plan),) = cursor.execute(f"EXPLAIN (FORMAT json) {sql}", given).fetchall()
                assert sorted(re.findall(r'"Join Type": *"(\w+)"', plan)) == ["LEFT", "SINGLE"]
