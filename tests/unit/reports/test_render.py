"""The door: one result, four formats."""

from __future__ import annotations

import pytest

from reports.render import render
from tests.support.results import week


@pytest.mark.parametrize(
    ("kind", "start"), [("html", b"<!doctype html>"), ("md", b"# Week 10"), ("json", b"{\n"), ("csv", b"table,key")]
)
def test_each_format_is_drawn_from_the_result(kind: str, start: bytes) -> None:
    assert render(week(), kind).startswith(start)


@pytest.mark.parametrize("kind", ["html", "md", "json", "csv"])
def test_the_same_result_gives_the_same_bytes(kind: str) -> None:
    assert render(week(), kind) == render(week(), kind)


def test_an_unknown_format_or_language_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"report format 'docx' is not known\. Known: html, md, json, csv"):
        render(week(), "docx")
    with pytest.raises(ValueError, match=r"language 'xx' is not known\. Known: en, zh"):
        render(week(), "html", lang="xx")


def test_the_page_speaks_the_language_asked_for() -> None:
    assert "<title>第 10 周：星期六 4 个目标未达标</title>".encode() in render(week(), "html", lang="zh")
