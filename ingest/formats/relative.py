"""Times that count from the start of a trace or run: placed by the user's `start`, or left out of the calendar.

Input: an offset in ns, and the source with the user's start. Output: an instant or None; the note of the receipt.
Source: format page, 5.14 and 6 (monotonic or relative clock: needs an anchor from the user; never show 1970).
"""

from __future__ import annotations

from ingest.formats.contract import RawNote, Source
from ingest.selection import to_iso


def placed(source: Source, offset_ns: int | None) -> int | None:
    """The instant of an offset from the start; None where no start is known."""
    return None if source.start_ns is None or offset_ns is None else source.start_ns + offset_ns


def note(source: Source, counted: str = "times count from the start of the trace") -> RawNote:
    """What the receipt says of the clock.

    Args:
        counted: what the times of the source are, as the beginning of a sentence.
    """
    if source.start_ns is None:
        return RawNote(
            f"{counted}: its requests have no wall clock and belong to no week. start places them, such as "
            "--start 2026-03-02T10:00:00Z"
        )
    return RawNote(f"{counted}, read as {to_iso(source.start_ns)}")


def no_place(source: Source) -> list[RawNote]:
    """What the receipt says where rows have no times at all, so that a start places nothing."""
    return [] if source.start_ns is None else [RawNote("the rows have no times, so start places none of them")]
