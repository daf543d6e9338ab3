"""Names of uploads: shown, and never a path."""

from __future__ import annotations

import pytest

from api.uploads import safe_name


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("traces.jsonl", "traces.jsonl"),
        ("../../etc/passwd", "passwd"),
        ("C:\\traces\\a.json", "a.json"),
        ("a/b/", "b"),
        ("evil\r\nname\x00.json", "evilname.json"),
        ("跟踪.jsonl", "跟踪.jsonl"),
        ("\u202egnp.exe", "gnp.exe"),
        ("x" * 300 + ".gz", "x" * 197 + ".gz"),
        ("", "unnamed"),
        ("///", "unnamed"),
    ],
)
def test_a_hostile_name_becomes_a_harmless_one(given: str, shown: str) -> None:
    assert safe_name(given) == shown
