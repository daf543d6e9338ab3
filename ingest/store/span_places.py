"""Where the spans of some traces stand in the store, whenever they began.

Input: SQL of trace ids. Output: a temporary table of their places, by which rows are then fetched. A span may be told
again with another start, and a trace may last for days, so no range of time is asked for. Only the ids of the store are
read for it, some 10 ns of CPU a span; to ask for whole rows of these traces at once costs six times as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection


def find(cursor: DuckDBPyConnection, table: str, traces: str, parameters: Sequence[object] = ()) -> str:
    """SQL list of the places (rowid) of the stored spans of these traces, in temporary table `table`.

    Args:
        traces: SELECT of one column of trace ids; its parameters are `parameters`.
    """
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT rowid AS place FROM spans WHERE trace_id IN ({traces})",
        list(parameters),
    ).fetchall()
    return f"(SELECT place FROM {table})"
