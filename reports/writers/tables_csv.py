"""Every figure of the result in one long table, for a spreadsheet or a pivot.

Input: AnalysisResult. Output: UTF-8 CSV (RFC 4180) with the columns

    table   part of the result: summary, latency, stages, objectives, windows, costs.user, ...
    key     what the line is about: "ttft / true", "chat.ttft", "lm-large"; empty where the part is one record
    field   name of the figure as in the JSON
    value   the figure, unrounded; empty where it is not known

A text that a spreadsheet would take for a formula gets a leading apostrophe; numbers are never touched.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from analysis.result import AnalysisResult
from reports.names import MOST_SHOWN, capped

COLUMNS = ("table", "key", "field", "value")
RECORDS = ("selection", "summary", "goodput", "throughput", "cache", "provenance")  # parts that are one record
LISTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (  # table, path in the result, fields that tell a line
    ("latency", "latency", ("metric", "streaming")),
    ("stages", "stages", ("stage",)),
    ("strata", "strata", ("metric", "input_bucket", "output_bucket")),
    ("objectives", "objectives", ("id",)),
    ("goodput.waterfall", "goodput.waterfall", ("step",)),
    ("goodput.series", "goodput.series", ("at",)),
    ("load.by_concurrency", "load.by_concurrency", ("concurrency_from", "concurrency_to")),
    ("load.replicas", "load.replicas", ("replica",)),
    ("load.batch_sizes", "load.batch_sizes", ("label",)),
    ("load.hours", "load.hours", ("weekday", "hour")),
    ("costs.drivers", "costs.drivers", ("driver",)),
    ("costs.days", "costs.days", ("day", "by")),
    ("costs.unpriced", "costs.unpriced", ("provider", "model")),
    ("costs.budgets", "costs.budgets", ("month", "of")),
    ("rolled.latency", "rolled.latency", ("metric", "streaming")),
    ("rolled.objectives", "rolled.objectives", ("id",)),
    ("comparison", "comparison.changes", ("metric", "statistic")),
    ("data_quality.coverage", "data_quality.coverage", ("field",)),
    ("data_quality.checks", "data_quality.checks", ("id",)),
    ("data_quality.uploads", "data_quality.uploads", ("name", "sha256")),
    ("data_quality.rejects", "data_quality.rejects", ("upload", "line", "offset")),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Line = tuple[str, str, str, Any]


def tables_csv(result: AnalysisResult, lang: str = "en") -> bytes:  # noqa: ARG001 - one signature for all writers
    """The long table; it has no language."""
    tree: dict[str, Any] = msgspec.to_builtins(result)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows((table, _cell(key), field, _cell(value)) for table, key, field, value in _lines(tree))
    return out.getvalue().encode("utf-8")


def _lines(tree: dict[str, Any]) -> Iterator[Line]:
    for name in RECORDS:
        yield from _fields(name, "", tree[name])
    for table, path, key_fields in LISTS:
        yield from _listed(table, _at(tree, path), key_fields)
    for objective in tree["objectives"]:
        for table in ("windows", "burn_rates", "hours", "clauses"):
            for index, entry in enumerate(objective[table]):
                label = " / ".join(filter(None, (objective["id"], _word(entry.get("start") or entry.get("at") or entry.get("window") or entry.get("metric") or index), _word(entry.get("of")))))  # fmt: skip
                yield from _fields(f"objectives.{table}", label, entry)
    for dimension, rows in sorted(tree["costs"]["cubes"].items()):
        yield from _listed(f"costs.{dimension}", rows, ("by",))
    yield from _fields("costs", "", tree["costs"])
    if tree["rolled"] is not None:
        yield from _fields("rolled", "", tree["rolled"])
    yield from (("notes", str(number), "says", note) for number, note in enumerate(tree["notes"], 1))
    yield from _rates(tree["availability"])
    for finding in tree["findings"]:
        key = f"{finding['objective']} / {finding['rank']}"
        yield from _fields("findings", key, finding)
        for table, name in (("recommendations", "id"), ("evidence", "figure")):
            for entry in finding[table]:
                yield from _fields(f"findings.{table}", f"{key} / {entry[name]}", entry)


def _listed(table: str, rows: Iterable[dict[str, Any]], key_fields: tuple[str, ...]) -> Iterator[Line]:
    for entry in rows:
        yield from _fields(table, " / ".join(_word(entry[name]) for name in key_fields), entry)


def _fields(table: str, key: str, record: dict[str, Any]) -> Iterator[Line]:
    """The plain fields of a record, pairs as `_low` and `_high`, dictionaries of plain values by their keys."""
    for field, value in record.items():
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from _plain(table, key, f"{field}.{name}", inner)
        else:
            yield from _plain(table, key, field, value)


def _plain(table: str, key: str, field: str, value: Any) -> Iterator[Line]:
    if isinstance(value, list | tuple):
        if len(value) == 2 and all(isinstance(item, int | float) for item in value):
            yield table, key, f"{field}_low", value[0]
            yield table, key, f"{field}_high", value[1]
        elif value and all(isinstance(item, str) for item in value):
            yield table, key, field, "; ".join(value)
    elif not isinstance(value, dict):
        yield table, key, field, value


def _rates(availability: dict[str, Any]) -> Iterator[Line]:
    for name, rate in availability.items():
        if isinstance(rate, dict) and "rate" in rate:
            yield from _fields("availability", name, rate)
        else:
            yield from _fields("availability", "", {name: rate})


def _at(tree: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """A list inside the tree; empty where the part is null."""
    place: Any = tree
    for name in path.split("."):
        place = place[name] if place is not None else None
    return list(place or ())


def _word(value: Any) -> str:
    """A part of a key: null is empty, truth is lower case, a group of dimensions is its values."""
    if isinstance(value, dict):
        return " / ".join(_word(item) or "unattributed" for item in value.values())
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and len(value) > MOST_SHOWN:
        return _cell(capped(value))
    if isinstance(value, str) and value.startswith(FORMULA) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
