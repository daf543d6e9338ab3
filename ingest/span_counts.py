"""How spans are read, and what became of the spans of a source.

Output: SpanOptions, SpanCounts; counts of an intake, and of several together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ingest.errors import Reject
from ingest.mapping import Mapping
from ingest.store.span_columns import Learned
from ingest.store.spans import Intake

MOST_NAMES = 200  # that are not understood, told by name; names with ids in them make more than anyone reads
SIGNALS = {"line.metrics": "metrics", "line.logs": "logs"}


@dataclass(frozen=True)
class SpanOptions:
    """How spans are read.

    `mapping`: a house's own names, before the built-in ones. `attributes`: "all" keeps unmapped attributes as JSON.
    `sampling_rate`: share of traces that the source kept; None: that of the mapping, else of the trace state.
    `source`: name of the format, for column `source` of requests.
    """

    mapping: Mapping = field(default_factory=Mapping)
    attributes: Literal["all", "mapped"] = "all"
    sampling_rate: float | None = None
    source: str = "otlp_json"


@dataclass(frozen=True)
class SpanCounts:
    """What became of the spans of one source: read = accepted + duplicate + rejected.

    A line that cannot be read counts as one rejected span. `duplicate`: spans that stood already, or were told twice.
    `replaced`: spans among them whose later telling was better and took the place of the first.
    `rejects`: every rejected span, in source order. `not_understood`: attribute names that no field holds, with the
    number of spans that carry them, most frequent first. `notes`: sentences a reader should know.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    replaced: int = 0
    rejects: tuple[Reject, ...] = ()
    not_understood: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


def summed(told: Iterable[SpanCounts]) -> SpanCounts:
    """The counts of all; a note that several have is told once."""
    told = tuple(told)
    names: Counter[str] = Counter()
    for counts in told:
        names.update(dict(counts.not_understood))
    return SpanCounts(
        read=sum(counts.read for counts in told),
        accepted=sum(counts.accepted for counts in told),
        duplicate=sum(counts.duplicate for counts in told),
        rejected=sum(counts.rejected for counts in told),
        replaced=sum(counts.replaced for counts in told),
        rejects=tuple(reject for counts in told for reject in counts.rejects),
        not_understood=tuple(names.most_common()),
        notes=tuple(dict.fromkeys(note for counts in told for note in counts.notes)),
    )


def counts_of(intake: Intake, learned: Learned, rejects: tuple[Reject, ...]) -> SpanCounts:
    """What became of the spans of an intake, `rejects` among them."""
    ranked = sorted(learned.not_understood(intake.shapes).items(), key=lambda item: (-item[1], item[0]))
    notes = [
        f"{n} {'entry' if n == 1 else 'entries'} of {signal} skipped: only spans are read"
        for state, signal in SIGNALS.items()
        if (n := intake.refused.get(state, 0))
    ]
    if len(ranked) > MOST_NAMES:
        notes.append(f"{len(ranked) - MOST_NAMES} further attribute names are not understood")
    if intake.replaced:
        notes.append(f"{intake.replaced} spans were told again with more or other content; the fuller telling stands")
    return SpanCounts(
        read=intake.told + len(rejects),
        accepted=intake.accepted,
        duplicate=intake.duplicate,
        rejected=len(rejects),
        replaced=intake.replaced,
        rejects=rejects,
        not_understood=tuple(ranked[:MOST_NAMES]),
        notes=tuple(notes),
    )
