"""Bounds of what one row can say; what lies beyond is a slip of its writer (a time in a token column, a wrong unit).

Kept here once for all readers: flat tables (store/flat_sql, flat_rows), rows of Python readers (normalize), spans
(store/span_columns, span_judgement). One value beyond would spoil every sum of the store: integers of 64 bits end at
9.2e18, and money is counted in 1e-12 USD.
"""

from __future__ import annotations

from ingest.schema import NS_PER_S

MAX_TOKENS = 10**12  # of one request; a day of the largest deployment known stays below
MAX_COUNT = 10**6  # calls, tries, statuses of one request
MAX_COST_USD = 10**6  # of one request, or of a replica's hour
MAX_FIGURE = 1e12  # quality, batch size, queue depth: beyond it the figure is not known and the row is flagged
MAX_DURATION_NS = 86_400 * NS_PER_S
MAX_OBJECT_BYTES = 64 << 20  # of one line, element or message: what is held in memory at once
FAR_NS = 10**15  # durations beyond are cut to this before they are judged, so that their sums stay integers
LAST_NS = 4 * 10**18  # likewise instants; the year 2096
NO_TIME = -1  # in place of a time of a span that was told and is none
FAR_TIME_NS = 9 * 10**18  # times of spans beyond what 64 bits hold are cut to this, the year 2255; no span can have it
LEAST_RATE = 1e-9  # of sampling, one request of a thousand million; below it a weight of 1 / rate says nothing
FIGURE_FLAG = "figure_out_of_range"


def most(column: str) -> int:
    """The largest whole number that a column of requests or calls may hold, apart from times."""
    return MAX_TOKENS if column.endswith("_tokens") else MAX_COUNT
