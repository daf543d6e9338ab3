"""DOOR of ingest: takes an upload out again, as if it had never been loaded.

Input: an upload id. Output: its rows gone, but for those that another upload told too, which now belong to that one;
requests that also have spans of other uploads are made anew from those.
"""

from __future__ import annotations

from ingest.assemble import assemble, forget_spans, note_traces
from ingest.store.database import Store
from ingest.store.removal import delete_rows
from ingest.store.repeats import pass_on


def forget(store: Store, upload_id: str) -> dict[str, int]:
    """Number of rows taken out per table, all or nothing."""
    with store.writing() as cursor:
        n_traces = note_traces(cursor, upload_id)
        pass_on(store, cursor, upload_id)
        spans = forget_spans(cursor, upload_id)
        if n_traces:
            assemble(cursor)
        return {"spans": spans} | delete_rows(cursor, upload_id)
