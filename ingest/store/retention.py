"""Days whose raw rows are dropped: which, in what pieces, and taking them out.

Input: a store, an instant before which whole days go. Output: rows gone and roll-ups in their place, in the
transaction of the given cursor. A day that was rolled up is closed: later rows of it are refused, for nothing is left
to tell them from those that were counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

import polars as pl

from ingest.schema_rolled import ROLLED
from ingest.selection import to_datetime, to_ns, zone_of
from ingest.store import shadows, tellings
from ingest.store.database import Store
from ingest.store.repeats import KEYS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

REASON = "day_rolled_up"
Range = tuple[int, int]  # half-open, nanoseconds


@dataclass(frozen=True)
class Piece:
    """A day, cut at midnight of UTC and at local midnight: [start_ns, end_ns)."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Dropped:
    """Raw rows that went with one piece."""

    requests: int
    calls: int
    spans: int


def cutoff(now_ns: int, keep_s: int, timezone: str) -> int:
    """Local midnight before which whole days have been over for at least `keep_s` seconds."""
    zone = zone_of(timezone)
    day = to_datetime(now_ns - keep_s * 1_000_000_000).astimezone(zone).date()
    return to_ns(datetime(day.year, day.month, day.day, tzinfo=zone))


def due(store: Store, before_ns: int, timezone: str, after_ns: int | None = None) -> Piece | None:
    """The earliest piece of a day that ends by `before_ns` and holds requests, from `after_ns` on; None if none does."""
    sql = "SELECT min(started_ns) FROM requests WHERE started_ns < ?" + (
        "" if after_ns is None else " AND started_ns >= ?"
    )
    with store.cursor() as cursor:
        row = cursor.execute(sql, [before_ns, *([] if after_ns is None else [after_ns])]).fetchone()
        ranges = closed(cursor)
    if row is None or row[0] is None:
        return None
    start, end = (f(row[0], timezone) for f in (_edge_before, _edge_after))
    for low, high in ranges:  # days that were closed in another zone have other edges
        start = max(start, high) if high <= row[0] else start
        end = min(end, low) if low > row[0] else end
    return Piece(start, end) if end <= before_ns else None


def _edge_before(ns: int, timezone: str) -> int:
    return max(_midnight(ns, zone, 0) for zone in (UTC, zone_of(timezone)))


def _edge_after(ns: int, timezone: str) -> int:
    return min(_midnight(ns, zone, 1) for zone in (UTC, zone_of(timezone)))


def _midnight(ns: int, zone: tzinfo, days: int) -> int:
    day = to_datetime(ns).astimezone(zone).date() + timedelta(days=days)
    return to_ns(datetime(day.year, day.month, day.day, tzinfo=zone))


def closed(cursor: DuckDBPyConnection) -> tuple[Range, ...]:
    """The time that was rolled up, adjacent pieces as one range, in order."""
    found: list[Range] = []
    for start, end in cursor.execute("SELECT start_ns, end_ns FROM rolled_days ORDER BY start_ns").fetchall():
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def is_closed(ranges: Sequence[Range], ns: int | None) -> bool:
    """Whether an instant lies in one of the ranges, which are in order."""
    if ns is None or not ranges:
        return False
    at = bisect_right(ranges, (ns, 2**63)) - 1
    return at >= 0 and ranges[at][0] <= ns < ranges[at][1]


def closed_sql(ranges: Sequence[Range], column: str) -> str:
    """SQL condition that an instant lies in one of the ranges; "" if there are none."""
    return " OR ".join(f"({column} >= {start} AND {column} < {end})" for start, end in ranges)


def torn_traces(cursor: DuckDBPyConnection) -> str:
    """SQL of the ids of traces that were dropped with their request although later spans may come; "" if none."""
    if not cursor.execute("SELECT 1 FROM rolled_traces LIMIT 1").fetchall():
        return ""
    return "SELECT trace_id FROM rolled_traces"


def tear_traces(cursor: DuckDBPyConnection, table: str, upload_id: str) -> None:
    """Refuse all fresh spans of a trace that has a span in a closed day: the rest of it would be half a request."""
    torn = (
        f"SELECT trace_id, max(started_ns) FROM {table} WHERE upload_id = $1 AND started_ns IS NOT NULL "
        f"AND coalesce(refused, '{REASON}') = '{REASON}' GROUP BY trace_id "
        "HAVING bool_or(refused IS NOT NULL) AND bool_or(refused IS NULL)"
    )
    cursor.execute(f"INSERT INTO rolled_traces {torn}", [upload_id]).fetchall()
    cursor.execute(
        f"UPDATE {table} SET refused = '{REASON}' WHERE upload_id = $1 AND refused IS NULL "
        "AND trace_id IN (SELECT trace_id FROM rolled_traces)",
        [upload_id],
    ).fetchall()


def replace_rows(
    store: Store, cursor: DuckDBPyConnection, piece: Piece, rolled: Mapping[str, pl.DataFrame], now_ns: int
) -> Dropped:
    """Roll-ups of a piece in, its raw rows out; both or neither, with the transaction of the cursor.

    Args:
        rolled: rows per table of schema_rolled; of rolled_days the one row without its counts and times.
    """
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE gone_requests AS SELECT request_key, trace_id, upload_id FROM requests "
        "WHERE started_ns >= ? AND started_ns < ?",
        [piece.start_ns, piece.end_ns],
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE gone_traces AS SELECT DISTINCT trace_id FROM gone_requests WHERE trace_id IS NOT NULL"
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE gone_spans AS SELECT trace_id, span_id, upload_id, started_ns FROM spans "
        "WHERE trace_id IN (SELECT trace_id FROM gone_traces)"
    )
    _count_by_upload(cursor)
    cursor.execute(
        "INSERT INTO rolled_traces SELECT trace_id, max(started_ns) FROM gone_spans GROUP BY trace_id HAVING max(started_ns) >= ?",
        [piece.end_ns],
    ).fetchall()
    dropped = Dropped(
        calls=_delete(cursor, "calls", "request_key IN (SELECT request_key FROM gone_requests)"),
        requests=_delete(cursor, "requests", "request_key IN (SELECT request_key FROM gone_requests)"),
        spans=_delete(cursor, "spans", "trace_id IN (SELECT trace_id FROM gone_traces)"),
    )
    gone = (
        f"(told = 'requests' AND row_key IN (SELECT {KEYS['requests']} FROM gone_requests)) "
        f"OR (told IN ('spans', '{tellings.AGAIN_TOLD}') AND row_key[:48] IN (SELECT {KEYS['spans']} FROM gone_spans)) "
        f"OR (told = '{shadows.ROWS}' AND {shadows.KEY} IN (SELECT {KEYS['requests']} FROM gone_requests)) "
        f"OR (told = '{tellings.TELLINGS}' AND {tellings.TOLD_KEY} IN (SELECT {KEYS['spans']} FROM gone_spans))"
    )
    _delete(cursor, "repeats", gone)
    day = rolled["rolled_days"].with_columns(
        start_ns=piece.start_ns,
        end_ns=piece.end_ns,
        rolled_ns=now_ns,
        n_requests=dropped.requests,
        n_calls=dropped.calls,
        n_spans=dropped.spans,
    )
    for table in ROLLED:
        if table in rolled:
            store.append(table, day if table == "rolled_days" else rolled[table], cursor)
    for table in ("gone_requests", "gone_traces", "gone_spans"):
        cursor.execute(f"DROP TABLE {table}")
    return dropped


def drop_leftovers(cursor: DuckDBPyConnection, before_ns: int) -> int:
    """Number of spans dropped that began before an instant and belong to no request; and what no later span can need."""
    orphans = "started_ns < ? AND trace_id NOT IN (SELECT trace_id FROM requests WHERE trace_id IS NOT NULL)"
    n = _delete(cursor, "spans", orphans, [before_ns])
    ranges = closed_sql(closed(cursor), "last_ns")
    if ranges:
        _delete(cursor, "rolled_traces", ranges)
    _delete(
        cursor, "rolled_prices", "price_key NOT IN (SELECT price_key FROM rolled_charges WHERE price_key IS NOT NULL)"
    )
    return n


def rolled_rows(store: Store, upload_id: str) -> int:
    """Rows or spans of an upload that were rolled up."""
    with store.cursor() as cursor:
        row = cursor.execute("SELECT n_rolled FROM uploads WHERE upload_id = ?", [upload_id]).fetchone()
    return int(row[0] or 0) if row else 0


def checkpoint(store: Store) -> None:
    """Hand the room of dropped rows back: later rows take it, and what lies at the end of the file goes."""
    with store.quiet(), store.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def _count_by_upload(cursor: DuckDBPyConnection) -> None:
    """Notes at each upload how many of its rows go: spans where they were read as spans, else requests."""
    cursor.execute(
        """UPDATE uploads SET n_rolled = coalesce(n_rolled, 0) + n FROM (
            SELECT upload_id, count(*) AS n FROM (
                SELECT upload_id FROM gone_spans
                UNION ALL
                SELECT upload_id FROM gone_requests WHERE trace_id IS NULL OR trace_id NOT IN (SELECT trace_id FROM gone_spans)
            ) GROUP BY upload_id) AS gone
        WHERE uploads.upload_id = gone.upload_id"""
    ).fetchall()


def _delete(cursor: DuckDBPyConnection, table: str, where: str, parameters: Sequence[object] = ()) -> int:
    row = cursor.execute(f"DELETE FROM {table} WHERE {where}", list(parameters)).fetchone()
    return int(row[0]) if row else 0
