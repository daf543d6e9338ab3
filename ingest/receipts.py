"""What a load tells: options in, receipt out.

Input: nothing; plain frozen records.
Output: LoadOptions, Reject counts, Receipt, Inspection; the door (load.py) hands them on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ingest.errors import Reject
from ingest.mapping import Mapping

State = Literal["done", "failed", "cancelled", "skipped"]
FIRST_REJECTS = 20  # how many rejected rows a receipt shows; the store holds all


@dataclass(frozen=True)
class LoadOptions:
    """How sources are read.

    Args:
        format: name of a format of formats/catalog.FORMATS; None: recognized by content.
        mapping: a house's own names (mapping.yaml).
        sampling_rate: share of requests the source kept, in (0, 1]; goes before what the mapping and the trace state of spans
            say of it, and after what a row of a flat table says of itself.
        attributes: "all" keeps unmapped attributes as JSON, "mapped" drops them.
        start_ns: instant from which times count that are told from the start of a trace or run; goes before the
            mapping's.
    """

    format: str | None = None
    mapping: Mapping = field(default_factory=Mapping)
    sampling_rate: float | None = None
    attributes: Literal["all", "mapped"] = "all"
    start_ns: int | None = None

    @property
    def origin_ns(self) -> int | None:
        """Where relative times begin, of all who may say it."""
        return self.start_ns if self.start_ns is not None else self.mapping.start_ns


@dataclass(frozen=True)
class Receipt:
    """What became of one source: read = accepted + duplicate + rejected, rows or spans.

    `state`: done; failed (nothing of it is stored); cancelled (likewise); skipped (no trace file: an image, a settings
    file, a file of totals), with the sentence in `message`. `reasons`: rejected rows by reason. `not_understood`:
    names that no column holds, with the number of rows that carry them. `notes`: sentences a reader should know. `run_ns`:
    how long the load test took that the source is of, as it says.
    """

    upload_id: str
    name: str
    state: State
    format: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None
    read: int = 0
    accepted: int = 0
    duplicate: int = 0
    rejected: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    rejects: tuple[Reject, ...] = ()
    not_understood: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    message: str | None = None
    code: str | None = None
    sampling_rate: float | None = None
    run_ns: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The receipt as plain JSON values."""
        return asdict(self) | {"rejects": [asdict(reject) for reject in self.rejects], "notes": list(self.notes)}


@dataclass(frozen=True)
class Inspection:
    """What a source is and what could be read of it, found without storing anything.

    `receipt`: as a load into an empty store would tell it. `filled`: canonical columns of requests with the number of
    rows that have a value, in the order of schema.REQUESTS; a column that is absent here is null in every row.
    `requests`: rows of table requests it makes (spans make fewer).
    """

    receipt: Receipt
    title: str | None = None
    requests: int = 0
    filled: dict[str, int] = field(default_factory=dict)
