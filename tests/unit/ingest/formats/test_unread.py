"""Names that a reader does not look at: found by what it does, counted by rows, content left out."""

from __future__ import annotations

from typing import Any

from ingest.formats import values as v
from ingest.formats.unread import MAX_NAMES, TRIED, Unread, merged, renamed


def test_a_name_that_was_looked_at_in_any_row_is_read() -> None:
    unread = Unread()
    for number in range(3):
        row = unread.watched({"a": number, "b": 1, "c": {"d": 1, "e": 2}})
        assert v.at(row, "c", "d") == 1
        if number == 1:
            assert row["a"] == 1
    assert unread.counts() == {"b": 3, "c.e": 3}


def test_a_name_that_comes_late_is_seen_and_counted() -> None:
    unread = Unread()
    for number in range(5000):
        row: dict[str, Any] = {"a": 1} | ({"late": 1} if number >= 4000 else {})
        assert unread.watched(row).get("a") == 1
    assert unread.counts() == {"late": 1000}


def test_rows_without_news_are_handed_out_as_they_are() -> None:
    unread = Unread()
    rows = [{"a": 1, "b": 2} for _ in range(2 * TRIED + 10)]
    given = [unread.watched(row) for row in rows]
    assert all(row.get("a") for row in given)
    same = [number for number, (row, told) in enumerate(zip(rows, given, strict=True), 1) if row is told]
    assert same == [number for number in range(TRIED + 1, 2 * TRIED + 11) if number != 2 * TRIED]


def test_elements_of_lists_count_once_per_row_and_a_walk_over_all_names_reads_them() -> None:
    unread = Unread()
    row = unread.watched({"tags": [{"key": "a", "type": "x"}, {"key": "b", "type": "x"}], "free": {"p": 1, "q": 2}})
    assert [tag["key"] for tag in row["tags"]] == ["a", "b"]
    assert dict(row["free"].items()) == {"p": 1, "q": 2}
    assert unread.counts() == {"tags.type": 1}


def test_to_rename_and_to_merge_is_not_to_read() -> None:
    unread = Unread()
    row = unread.watched({"traceId": 1, "endTime": 2, "meta": {"a": 1}})
    snake = renamed(row, lambda key: key.replace("I", "_i").replace("T", "_t"))
    both = merged({"trace_id": 0, "x": 1}, snake, {"meta": None}, {})
    assert (both["trace_id"], dict.get(both, "end_time"), both["x"]) == (1, 2, 1)
    assert unread.counts() == {"endTime": 1, "meta": 1}
    assert merged({"a": 1}, {"a": None, "b": 2}, skips=(None,)) == {"a": 1, "b": 2}


def test_content_credentials_and_what_says_nothing_further_are_not_told() -> None:
    unread = Unread(("total_*",))
    unread.watched({"prompt": "p", "api_key": "k", "total_tokens": 3, "by": {}, "ann@example.com": 1})
    assert unread.counts() == {"by": 1, "text of 15 characters": 1}


def test_texts_that_hold_json_are_opened_and_names_are_bounded() -> None:
    unread = Unread()
    row = unread.watched({"metadata": '{"a": 1, "b": 2}', "other": '{"c": 1}'}, opened=("metadata", "absent"))
    assert (v.at(row, "metadata", "a"), v.at(row, "other", "c")) == (1, 1)
    assert unread.counts() == {"metadata.b": 1}
    for number in range(MAX_NAMES + 10):
        unread.watched({f"id-{number}": 1})
    assert len(unread.counts()) <= MAX_NAMES
