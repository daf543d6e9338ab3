"""DOOR of ingest: takes an upload out again, as if it had never been loaded.

Input: an upload id. Output: its rows gone; requests that also have spans of other uploads are made anew from those.
"""

from __future__ import annotations

from ingest.assemble import assemble, forget_spans
from ingest.store.database import Store
from ingest.store.removal import delete_rows


def forget(store: Store, upload_id: str) -> dict[str, int]:
    """Number of rows taken out per table, all or nothing."""
    with store.writing() as cursor:
        spans = forget_spans(cursor, upload_id)
        if spans:
            assemble(cursor)
        return {"spans": spans} | delete_rows(cursor, upload_id)
