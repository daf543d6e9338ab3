"""What a command says while it works, on standard error: progress, receipts, errors.

Input: progress in bytes, receipts, errors. Output: a bar on a terminal, plain lines elsewhere; never anything on
standard output, which belongs to the answer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from api.words import receipt_lines
from ingest.errors import ServiceError
from ingest.receipts import Receipt

LINE_S = 5.0  # between two plain lines of progress
SHOWN_RECEIPTS = 30  # receipts without anything to say are summed up beyond this
MEGABYTE = 1_000_000

Tell = Callable[[int, int], None]


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def complain(error: ServiceError) -> None:
    """An error as one line and its hint."""
    say(f"tailwise: {error.message}")
    if error.hint:
        say(f"hint: {error.hint}")


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """A function that is told (bytes done, bytes in all)."""
    if sys.stderr.isatty():
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)
    else:
        yield _PlainLines(what).tell


class _PlainLines:
    """Progress as lines, one every few seconds; work that is done before the first of them says nothing."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._last = time.monotonic()

    def tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < LINE_S or not done:
            return
        self._last = now
        rate = done / (now - self._began)
        left = f", {max(0, total - done) / rate:.0f} s left" if total else ""
        of = f" of {total / MEGABYTE:,.1f}" if total else ""
        say(f"{self._what}: {done / MEGABYTE:,.1f}{of} MB, {rate / MEGABYTE:,.1f} MB/s{left}")


def show_receipts(receipts: Sequence[Receipt]) -> None:
    """Every receipt that has something to tell; of very many plain ones only their sum."""
    plain = [r for r in receipts if r.state == "done" and not r.rejected and not r.notes and not r.message]
    hidden = plain[SHOWN_RECEIPTS:] if len(receipts) > SHOWN_RECEIPTS else []
    for receipt in receipts:
        if receipt not in hidden:
            for line in receipt_lines(receipt):
                say(line)
    if hidden:
        accepted, duplicate = sum(r.accepted for r in hidden), sum(r.duplicate for r in hidden)
        say(f"and {len(hidden):,} further files: accepted {accepted:,}, duplicate {duplicate:,}, rejected 0")
