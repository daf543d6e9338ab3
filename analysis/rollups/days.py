"""Which days of a selection were rolled up.

Input: a store, a selection. Output: the pieces of days, in order of time, with what was counted then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.errors import ConfigError
from ingest.selection import Selection, to_iso
from ingest.store.database import Store


@dataclass(frozen=True)
class Day:
    """One piece of a day; `objectives`: fingerprint of the definition by id, as it was counted."""

    start_ns: int
    end_ns: int
    requests: int
    first_ns: int | None
    last_ns: int | None
    objectives: dict[str, str]


def rolled_days(store: Store, selection: Selection) -> tuple[Day, ...]:
    """Rolled-up pieces of days that a selection touches."""
    clauses, parameters = [], []
    if selection.start_ns is not None:
        clauses.append("end_ns > ?")
        parameters.append(selection.start_ns)
    if selection.end_ns is not None:
        clauses.append("start_ns < ?")
        parameters.append(selection.end_ns)
    rows = store.read("rolled_days", " AND ".join(clauses), parameters, "start_ns")
    return tuple(
        Day(
            row["start_ns"],
            row["end_ns"],
            row["n_requests"],
            row["first_ns"],
            row["last_ns"],
            json.loads(row["objectives"] or "{}"),
        )
        for row in rows.iter_rows(named=True)
    )


def is_whole(day: Day, start_ns: int | None, end_ns: int | None) -> bool:
    """Whether all of a piece, or at least all of its requests, lie in a range."""
    starts = start_ns is None or start_ns <= day.start_ns or (day.first_ns is not None and start_ns <= day.first_ns)
    ends = end_ns is None or end_ns >= day.end_ns or (day.last_ns is not None and end_ns > day.last_ns)
    return starts and ends


def refuse_cut(selection: Selection, days: Sequence[Day]) -> None:
    """Refuse a selection that begins or ends within a rolled-up day: nobody can tell which part lies inside.

    Raises:
        ConfigError: naming the nearest edges.
    """
    for day in days:
        if not is_whole(day, selection.start_ns, selection.end_ns):
            raise ConfigError(
                f"the range cuts {to_iso(day.start_ns)} to {to_iso(day.end_ns)}, which was rolled up in one when its "
                f"rows were dropped. Begin or end it at {to_iso(day.start_ns)} or {to_iso(day.end_ns)}"
            )
