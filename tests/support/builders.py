"""Rows of requests for tests: by TTFT, TPOT and tokens, in milliseconds as a reader thinks of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from ingest import schema
from ingest.schema import NS_PER_S, REQUESTS, polars_schema

MONDAY_NS = 1_772_409_600 * NS_PER_S  # 2026-03-02T00:00:00Z, a Monday
NS_PER_MS = 1_000_000


def ms(value: float) -> int:
    """Nanoseconds of milliseconds."""
    return round(value * NS_PER_MS)


def request(
    number: int = 0,
    *,
    at_s: float = 0.0,
    ttft_ms: float | None = None,
    tpot_ms: float | None = None,
    e2e_ms: float | None = None,
    input_tokens: int | None = 100,
    output_tokens: int | None = 11,
    status: str = "ok",
    streaming: bool | None = True,
    **columns: Any,
) -> dict[str, Any]:
    """One row of requests.

    Without `e2e_ms` it follows from TTFT and TPOT where both are known. `at_s` counts from Monday 2026-03-02 UTC.
    Any further column of the schema by its name; stages in milliseconds as `queue_ms=...`.
    """
    started = MONDAY_NS + round(at_s * NS_PER_S)
    generation = None
    if tpot_ms is not None and output_tokens is not None:
        generation = ms(tpot_ms) * (output_tokens - (columns.get("llm_calls") or 1))
    e2e = ms(e2e_ms) if e2e_ms is not None else None
    if e2e is None and ttft_ms is not None and generation is not None:
        e2e = ms(ttft_ms) + generation
    row: dict[str, Any] = {column.name: None for column in REQUESTS}
    row |= {
        "request_key": f"r-{number:06d}",
        "upload_id": "u-1",
        "source": "test",
        "started_ns": started,
        "ended_ns": None if e2e is None else started + e2e,
        "e2e_ns": e2e,
        "ttft_ns": None if ttft_ms is None else ms(ttft_ms),
        "generation_ns": generation,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "llm_calls": 1,
        "attempts": 1,
        "status_class": status,
        "streaming": streaming,
        "sampling_rate": 1.0,
        "n_call_rows": 0,
    }
    for name, value in columns.items():
        if name.endswith("_ms"):
            row[f"{name[:-3]}_ns"] = None if value is None else ms(value)
        else:
            row[name] = value
    return row


def frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a frame of requests; keys that the schema does not have (`cost_pico`) become columns of integers."""
    listed = list(rows)
    types = polars_schema(REQUESTS)
    extra = sorted({name for row in listed for name in row} - set(types))
    return pl.DataFrame(
        {name: [row.get(name) for row in listed] for name in [*types, *extra]},
        schema={**types, **dict.fromkeys(extra, pl.Int64())},
    )


def replica_hours(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a frame of replica hours; missing columns are null."""
    types = polars_schema(schema.REPLICA_HOURS)
    listed = list(rows)
    return pl.DataFrame({name: [row.get(name) for row in listed] for name in types}, schema=types)
