"""Pages of the store's tables and single rows by their id, for lists that are paged by key.

Output: Polars frames in the columns of schema.py, or one row as a dict. A page begins after the key of the row that
ended the page before, never at an offset: rows that arrive meanwhile neither repeat nor hide a row.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from ingest.schema import REQUESTS
from ingest.schema_rolled import ROLLED
from ingest.selection import Selection
from ingest.store.database import Store
from ingest.store.request_frame import selection_sql

SPAN_COLUMNS = (
    "trace_id",
    "span_id",
    "parent_id",
    "upload_id",
    "name",
    "kind",
    "service",
    "scope",
    "started_ns",
    "ended_ns",
    "status_code",
    "class",
    "event_error",
    "attributes",
)

PAGE_COLUMNS = tuple(c.name for c in REQUESTS if c.kind != "ints")  # long lists stand with the single request


def upload(store: Store, upload_id: str) -> dict[str, Any] | None:
    """One row of uploads."""
    return _one(store.read("uploads", "upload_id = ?", [upload_id]))


def uploads_page(store: Store, after: tuple[int, str] | None, limit: int) -> pl.DataFrame:
    """Uploads, the newest first, after (received_ns, upload_id)."""
    where, parameters = ("(received_ns, upload_id) < (?, ?)", list(after)) if after else ("", [])
    return store.read("uploads", where, parameters, f"received_ns DESC, upload_id DESC LIMIT {int(limit)}")


def report(store: Store, report_id: str) -> dict[str, Any] | None:
    """One row of reports, with its result."""
    return _one(store.read("reports", "report_id = ?", [report_id]))


def reports_page(store: Store, after: tuple[int, str] | None, limit: int) -> pl.DataFrame:
    """Reports, the newest first, after (made_ns, report_id), without their results."""
    where, parameters = ("(made_ns, report_id) < (?, ?)", list(after)) if after else ("", [])
    columns = ("report_id", "made_ns", "title", "selection", "revision")
    return store.read("reports", where, parameters, f"made_ns DESC, report_id DESC LIMIT {int(limit)}", columns)


def reports_of(store: Store, selection: str) -> pl.DataFrame:
    """Reports made for a selection (its JSON text), oldest first, without their results."""
    return store.read("reports", "selection = ?", [selection], "revision", ("report_id", "revision"))


def jobs_in(store: Store, states: Sequence[str]) -> pl.DataFrame:
    """Jobs in one of the states, oldest first."""
    marks = ", ".join("?" for _ in states)
    return store.read("jobs", f"state IN ({marks})", list(states), "created_ns, job_id")


def job_of(store: Store, subject: str) -> dict[str, Any] | None:
    """The newest job about an upload or report."""
    return _one(store.read("jobs", "subject = ?", [subject], "created_ns DESC, job_id DESC LIMIT 1"))


def request(store: Store, request_key: str) -> dict[str, Any] | None:
    """One request, by its key, its trace id or its own id."""
    where = "request_key = ? OR trace_id = ? OR request_id = ?"
    return _one(store.read("requests", where, [request_key] * 3, "request_key LIMIT 1"))


def calls_of(store: Store, request_key: str) -> pl.DataFrame:
    """Rows of calls of one request, in order."""
    return store.read("calls", "request_key = ?", [request_key], "call_index")


def spans_of(store: Store, trace_id: str | None) -> list[dict[str, Any]]:
    """Spans of one trace by start, as they were told; none for a request that was not read from spans."""
    if trace_id is None:
        return []
    order = "started_ns NULLS LAST, ended_ns DESC NULLS LAST, span_id"
    frame = store.read("spans", "trace_id = ?", [trace_id], order, SPAN_COLUMNS)
    return [row | {"attributes": json.loads(row["attributes"] or "{}")} for row in frame.to_dicts()]


def requests_page(store: Store, selection: Selection, after: tuple[int | None, str] | None, limit: int) -> pl.DataFrame:
    """Requests of a selection by arrival, after (started_ns, request_key); those without a wall clock come last."""
    where, parameters = selection_sql(selection)
    clauses = [where] if where else []
    if after is not None and after[0] is not None:
        clauses.append("((started_ns, request_key) > (?, ?) OR started_ns IS NULL)")
        parameters.extend(after)
    elif after is not None:
        clauses.append("started_ns IS NULL AND request_key > ?")
        parameters.append(after[1])
    order = f"started_ns NULLS LAST, request_key LIMIT {int(limit)}"
    return store.read("requests", " AND ".join(clauses), parameters, order, PAGE_COLUMNS)


def counts(store: Store) -> dict[str, int]:
    """Rows per table of data."""
    tables = ("uploads", "requests", "calls", "replica_hours", "rejects", "reports", "rolled_days")
    with store.cursor() as cursor:
        rows = {table: cursor.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables}
    return {table: int(row[0]) if row else 0 for table, row in rows.items()}


def n_rolled(store: Store) -> int:
    """Pieces of days that were rolled up: it grows with each that is dropped."""
    with store.cursor() as cursor:
        row = cursor.execute("SELECT count(*) FROM rolled_days").fetchone()
    return int(row[0]) if row else 0


def rolled(store: Store) -> dict[str, int | None]:
    """First and last instant of the days that were rolled up, what went with them, and rows of roll-ups."""
    kept = " + ".join(f"(SELECT count(*) FROM {table})" for table in ROLLED)
    sql = f"SELECT min(start_ns), max(end_ns), coalesce(sum(n_requests), 0), coalesce(sum(n_spans), 0), {kept} FROM rolled_days"
    with store.cursor() as cursor:
        row = cursor.execute(sql).fetchone() or (None, None, 0, 0, 0)
    return dict(zip(("start_ns", "end_ns", "requests", "spans", "rows"), row, strict=True))


def span(store: Store, selection: Selection) -> tuple[int, int] | None:
    """Earliest and latest arrival within a selection, or None where no request has a wall clock."""
    where, parameters = selection_sql(selection)
    sql = f"SELECT min(started_ns), max(started_ns) FROM requests{' WHERE ' + where if where else ''}"
    with store.cursor() as cursor:
        row = cursor.execute(sql, parameters).fetchone()
    return (int(row[0]), int(row[1])) if row and row[0] is not None else None


def held_span(store: Store) -> tuple[int, int] | None:
    """Earliest and latest arrival of all that is held, days whose rows were dropped included; None without a clock."""
    sql = (
        "SELECT min(first), max(last) FROM ("
        "SELECT min(started_ns) AS first, max(started_ns) AS last FROM requests UNION ALL "
        "SELECT min(coalesce(first_ns, start_ns)), max(coalesce(last_ns, end_ns)) FROM rolled_days WHERE n_requests > 0)"
    )
    with store.cursor() as cursor:
        row = cursor.execute(sql).fetchone()
    return (int(row[0]), int(row[1])) if row and row[0] is not None else None


def promoted_dimensions(store: Store) -> list[str]:
    """Names of the dimensions that mapping files promoted, in alphabetical order."""
    sql = (
        "SELECT DISTINCT unnest(json_keys(kinds)) AS name FROM "
        "(SELECT DISTINCT dimensions AS kinds FROM requests WHERE dimensions IS NOT NULL) ORDER BY name"
    )
    with store.cursor() as cursor:
        return [str(row[0]) for row in cursor.execute(sql).fetchall()]


def _one(frame: pl.DataFrame) -> dict[str, Any] | None:
    return frame.row(0, named=True) if frame.height else None
