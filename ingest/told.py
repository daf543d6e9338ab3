"""What one source told while it was read: the counts that every kind of reader gives back.

Input and output: plain records.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ingest.errors import Reject


@dataclass(frozen=True)
class Told:
    """Counts of rows or spans: read = accepted + duplicate + rejected.

    `rejects`: the first of them, in source order; all stand in the store. `has_spans`: requests are still to be made.
    `run_ns`: how long the runs of a load generator took that the source holds, as it says; None unless it says so of all.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    rejects: tuple[Reject, ...] = ()
    not_understood: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    has_spans: bool = False
    run_ns: int | None = None
