"""Rows of the store with money in mind: a request by its model, tokens and day."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from ingest.schema import CALLS, REPLICA_HOURS, REQUESTS, polars_schema
from ingest.selection import to_ns


def ns(text: str) -> int:
    """Nanoseconds of an ISO time with offset or Z."""
    return to_ns(datetime.fromisoformat(text))


def requests(*rows: dict[str, Any]) -> pl.DataFrame:
    """Requests of the store; what is not given is null, except key, status, sampling rate and source."""
    full = [
        {
            "request_key": f"r-{number}",
            "upload_id": "u",
            "source": "flat",
            "status_class": "ok",
            "sampling_rate": 1.0,
            "n_call_rows": 0,
            "started_ns": ns("2026-11-10T09:00:00Z"),
            **row,
        }
        for number, row in enumerate(rows)
    ]
    return _frame(full, polars_schema(REQUESTS))


def calls(*rows: dict[str, Any]) -> pl.DataFrame:
    """Calls of the store; the index counts up where it is not given."""
    full = [{"call_index": number, "upload_id": "u", "status_class": "ok", **row} for number, row in enumerate(rows)]
    return _frame(full, polars_schema(CALLS))


def replica_hours(*rows: dict[str, Any]) -> pl.DataFrame:
    return _frame([{"upload_id": "u", **row} for row in rows], polars_schema(REPLICA_HOURS))


def _frame(rows: list[dict[str, Any]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    blank = dict.fromkeys(schema)
    unknown = {name for row in rows for name in row} - set(schema)
    assert not unknown, f"no such column: {unknown}"
    return pl.DataFrame([{**blank, **row} for row in rows], schema=schema)
