"""Rows of the store as JSON values: money as decimal text, JSON columns as objects.

Input: one row of a table under the names of ingest/schema.py. Output: the same names, values that JSON can hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analysis.money import usd_text
from ingest.store.database import TABLES


def plain_row(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a table as JSON values."""
    kinds = {column.name: column.kind for column in TABLES[table]}
    return {name: _plain(kinds.get(name, "text"), value) for name, value in row.items()}


def _plain(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "money":
        return usd_text(value)
    return json.loads(value) if kind == "json" else value
