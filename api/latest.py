"""Which stored report is the latest that tells of requests.

Input: the store, a result. Output: an id; whether there are requests.
A report of a week without requests is kept and told like any other, but hides none that says more.
"""

from __future__ import annotations

import msgspec

from analysis.result import AnalysisResult
from ingest.store import lists
from ingest.store.database import Store

PAGE = 50


class _Count(msgspec.Struct):
    requests: int


class _Told(msgspec.Struct):
    """Of a stored result, what says whether it tells of requests."""

    summary: _Count
    rolled: _Count | None = None


def has_requests(result: AnalysisResult | _Told) -> bool:
    """Whether a result tells of requests, by their rows or by roll-ups of them."""
    return bool(result.summary.requests or (result.rolled is not None and result.rolled.requests))


def latest_report(store: Store) -> str | None:
    """Id of the newest report that tells of requests; of the newest one if none does; None if there is no report."""
    after: tuple[int, str] | None = None
    newest: str | None = None
    while rows := lists.reports_page(store, after, PAGE).to_dicts():
        newest = newest or rows[0]["report_id"]
        for row in rows:
            stored = lists.report(store, row["report_id"])
            if stored is not None and has_requests(msgspec.json.decode(stored["result"], type=_Told)):
                return str(row["report_id"])
        after = (rows[-1]["made_ns"], rows[-1]["report_id"])
    return newest
