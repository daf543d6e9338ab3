"""How spans are read, and what became of the spans of a source.

Output: SpanOptions, SpanCounts; counts of an intake, and of several together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ingest.errors import Reject
from ingest.mapping import Mapping as OwnNames
from ingest.rejects import Rejects
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

    mapping: OwnNames = field(default_factory=OwnNames)
    attributes: Literal["all", "mapped"] = "all"
    sampling_rate: float | None = None
    source: str = "otlp_json"


@dataclass(frozen=True)
class SpanCounts:
    """What became of the spans of one source: read = accepted + duplicate + rejected.

    A line that cannot be read counts as one rejected span. `duplicate`: spans that stood already, or were told twice.
    `replaced`: spans among them whose later telling was better and took the place of the first.
    `rejects`: every rejected span, in source order. `not_understood`: attribute names that no field holds, with the
    number of spans that carry them, most frequent first. `skipped`: entries of other signals, by signal. `remarks`:
    further sentences a reader should know.
    """

    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    replaced: int = 0
    rejects: Sequence[Reject] = ()
    not_understood: tuple[tuple[str, int], ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def most_frequent(self) -> tuple[tuple[str, int], ...]:
        """Of `not_understood` as many as anyone reads."""
        return self.not_understood[:MOST_NAMES]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences a reader should know, of all the spans counted."""
        notes = [
            f"{n} {'entry' if n == 1 else 'entries'} of {signal} skipped: only spans are read"
            for signal, n in self.skipped
        ]
        if (more := len(self.not_understood) - MOST_NAMES) > 0:
            notes.append(f"{more} further attribute names are not understood")
        if self.replaced:
            are = "span was" if self.replaced == 1 else "spans were"
            notes.append(f"{self.replaced} {are} told again with more or other content; the fuller telling stands")
        return (*notes, *self.remarks)


def summed(told: Iterable[SpanCounts]) -> SpanCounts:
    """The counts of all; a remark that several have is told once."""
    told = tuple(told)
    names: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for counts in told:
        names.update(dict(counts.not_understood))
        skipped.update(dict(counts.skipped))
    return SpanCounts(
        read=sum(counts.read for counts in told),
        accepted=sum(counts.accepted for counts in told),
        duplicate=sum(counts.duplicate for counts in told),
        rejected=sum(counts.rejected for counts in told),
        replaced=sum(counts.replaced for counts in told),
        rejects=Rejects(reject for counts in told for reject in counts.rejects),
        not_understood=_ranked(names),
        skipped=tuple(skipped.items()),
        remarks=tuple(dict.fromkeys(remark for counts in told for remark in counts.remarks)),
    )


def _ranked(names: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(names.items(), key=lambda item: (-item[1], item[0])))


def counts_of(intake: Intake, learned: Learned, rejects: Sequence[Reject]) -> SpanCounts:
    """What became of the spans of an intake, `rejects` among them."""
    return SpanCounts(
        read=intake.told + len(rejects),
        accepted=intake.accepted,
        duplicate=intake.duplicate,
        rejected=len(rejects),
        replaced=intake.replaced,
        rejects=rejects,
        not_understood=_ranked(learned.not_understood(intake.shapes)),
        skipped=tuple((signal, n) for state, signal in SIGNALS.items() if (n := intake.refused.get(state, 0))),
    )
