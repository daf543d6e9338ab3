"""DOOR of ingest: takes an upload out again, as if it had never been loaded.

Input: an upload id. Output: its rows gone, but for those that another upload told too, which now belong to that one;
requests that also have spans of other uploads are made anew from those.
"""

from __future__ import annotations

from ingest.assemble import assemble, forget_spans, note_traces
from ingest.errors import StateError
from ingest.store import span_marks
from ingest.store.database import Store
from ingest.store.removal import delete_rows
from ingest.store.repeats import pass_on
from ingest.store.retention import rolled_rows


def forget(store: Store, upload_id: str) -> dict[str, int]:
    """Number of rows taken out per table, all or nothing.

    Raises:
        StateError: rows of it were rolled up; roll-ups are sums, and nobody can tell its part of them.
    """
    with store.writing() as cursor:
        if n_rolled := rolled_rows(store, upload_id):
            raise StateError(
                f"{n_rolled:,} rows of upload {upload_id} were rolled up and dropped by retention; roll-ups are sums, and "
                "its part cannot be taken out of them. Its rows that still stand go with their days",
                code="rolled_up",
            )
        note_traces(cursor, upload_id)
        pass_on(store, cursor, upload_id)
        span_marks.forget(cursor, upload_id)
        spans = forget_spans(cursor, upload_id)
        assemble(cursor)
        return {"spans": spans} | delete_rows(cursor, upload_id)
