"""SQL that says of a refused row of a table which column is at fault, with its value and the rule.

Input: a plan of flat_sql, whose typed layer gives v0, v1, ... (typed) and r0, r1, ... (as written). Output: reason ->
SQL of a sentence's rest, null where the row is sound in that respect. Only run over files with refused rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingest.bounds import LEAST_RATE, MAX_COST_USD, most
from ingest.formats.heads import is_hidden
from ingest.formats.visible import HIDDEN, marked_sql
from ingest.store.flat_sql import DAY_NS, DURATIONS, FIRST_NS, RATE, TOKENS, Input, Plan, bad_clause, text
from ingest.store.retention import REASON

PREFIX = "detail_"  # of the columns that fields_layer carries through
RULES = {
    "int": "is no whole number",
    "money": "is no amount in USD",
    "float": "is no number",
    "bool": "is neither true nor false",
    "time": "is no time",
    "duration": "is no number",
}


def details(plan: Plan) -> dict[str, str]:
    """Reason of errors.REJECT_REASONS -> SQL of text over v0, r0, ...; null where that is not the fault."""
    latest = plan.now_ns + DAY_NS
    inputs = [(number, item) for number, item in enumerate(plan.inputs) if item.kind != "text"]
    found = {
        "bad_value": _first(
            arm for number, item in inputs if (clause := bad_clause(number, item)) for arm in _bad(clause, number, item)
        ),
        "negative_tokens": _first(_below(inputs, TOKENS)),
        "negative_duration": _first(_below(inputs, (*DURATIONS, "up_s", "busy_s"))),
        "duration_too_long": _first(
            (f"v{number} > {DAY_NS}", _named(number, item, "is longer than 24 hours"))
            for number, item in inputs
            if item.field in DURATIONS
        ),
        "time_out_of_range": _first(
            (f"v{number} < {FIRST_NS} OR v{number} > {latest}", _named(number, item, "is out of range"))
            for number, item in inputs
            if item.field in ("started_ns", "ended_ns")
        ),
    }
    if plan.closed:
        found[REASON] = _first(
            (f"v{number} IS NOT NULL", _named(number, item, "lies in a day that was rolled up"))
            for number, item in inputs
            if item.field in ("started_ns", "ended_ns")
        )
    starts = [(number, item) for number, item in inputs if item.field == "started_ns"]
    ends = [(number, item) for number, item in inputs if item.field == "ended_ns"]
    if starts:
        found["start_unset"] = (
            f"coalesce({_first((f'r{number} IS NOT NULL', _named(number, item, 'is no start')) for number, item in starts)}, "
            f"{text(f'{starts[0][1].key} is missing')})"
        )
    if starts and ends:
        start, end = (_first((f"v{n} IS NOT NULL", _named(n, item, "")) for n, item in side) for side in (starts, ends))
        found["end_before_start"] = f"rtrim({end}) || ' lies before ' || rtrim({start})"
        found["duration_too_long"] = (
            f"coalesce({found['duration_too_long']}, 'from ' || rtrim({start}) || ' to ' || rtrim({end}))"
        )
    return found


def _bad(clause: str, number: int, item: Input) -> Iterable[tuple[str, str]]:
    """A value that is a number and yet none for its column is too large."""
    limit = {"int": most(item.field), "money": MAX_COST_USD}.get(item.kind)
    if limit is not None:
        above = f"({clause}) AND abs(try_cast(CAST(r{number} AS VARCHAR) AS DOUBLE)) > {limit}"
        yield above, _named(number, item, f"is above {limit:,}, which no row can have")
    if item.field == RATE:
        is_number = f"({clause}) AND try_cast(CAST(r{number} AS VARCHAR) AS DOUBLE) IS NOT NULL"
        yield is_number, _named(number, item, f"is no share of requests that were kept, from {LEAST_RATE:g} to 1")
    yield clause, _named(number, item, RULES[item.kind])


def _below(inputs: Iterable[tuple[int, Input]], fields: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((f"v{number} < 0", _named(number, item, "is below 0")) for number, item in inputs if item.field in fields)


def _first(arms: Iterable[tuple[str, str]]) -> str:
    """SQL of the text of the first condition that holds."""
    cases = " ".join(f"WHEN {condition} THEN {said}" for condition, said in arms)
    return f"CASE {cases} END" if cases else "CAST(NULL AS VARCHAR)"


def _named(number: int, item: Input, rule: str) -> str:
    """SQL of `name: value rule`, the value marked (visible)."""
    if is_hidden(item.key):
        return text(f"{item.key}: {HIDDEN} {rule}")
    shown = marked_sql(f"CAST(r{number} AS VARCHAR)")
    return f"concat({text(f'{item.key}: ')}, {shown}, {text(f' {rule}' if rule else '')})"
