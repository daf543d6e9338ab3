"""All formats of a report."""

from __future__ import annotations

from reports.writers.catalog import WRITERS


def test_formats_stand_in_reading_order_and_say_what_they_are_for() -> None:
    assert [(writer.kind, writer.media_type.split(";")[0]) for writer in WRITERS] == [
        ("html", "text/html"),
        ("md", "text/markdown"),
        ("json", "application/json"),
        ("csv", "text/csv"),
    ]
    assert all(writer.says for writer in WRITERS)
