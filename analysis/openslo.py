"""OpenSLO v1 documents, read as entries of objectives.yaml.

Input: YAML documents of kind SLO, with their indicator inside or as a document of kind SLI; other kinds are noted.
Output: entries in the form of objectives.yaml, each with the line of its SLO; notes on what has no meaning here.

    spec.objectives[].target or targetPercent   target
    spec.objectives[].op and value              threshold, in seconds, USD, a ratio or a count as the metric has it
    spec.timeWindow[0].duration                 period; its calendar's timeZone is the time zone
    metadata.annotations tailwise/id, /timezone the id, where it is no name of OpenSLO; the time zone
    indicator: metricSource.spec                metric, threshold or all_of, where, per, window, min_requests

A metric source is understood if its spec names a metric (or all_of); a query of another system is not. Only
budgeting by occurrences means what a target means here.
Source: OpenSLO specification, version v1.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.comments import CommentedMap

from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Unit
from ingest.documents import Entry, read_documents, scalar_text, suggestion

VERSION = "openslo/v1"
ID, TIMEZONE = "tailwise/id", "tailwise/timezone"  # annotations
SPEC_KEYS = ("metric", "all_of", "threshold", "where", "per", "window", "min_requests", "title")
_OPERATORS = {Better.LOWER: "lte", Better.HIGHER: "gte"}
_MARK = re.compile(r"^[\s{]*[\"']?apiVersion[\"']?\s*:\s*[\"']?openslo/", re.MULTILINE)
_SUFFIX = {Unit.SECOND: "s", Unit.SECOND_PER_TOKEN: "s", Unit.USD: " USD"}


def is_openslo(text: str) -> bool:
    """Whether a YAML text holds OpenSLO documents."""
    return _MARK.search(text) is not None


def openslo_entries(text: str, file: str) -> tuple[str, list[Entry], tuple[str, ...]]:
    """Time zone and objectives of the SLOs of a text, in its order; notes on what is not read.

    Raises:
        ConfigError: a version, a form or a source that cannot be read, with its line.
    """
    documents = read_documents(text, file)
    indicators: dict[str, Entry] = {}
    slos: list[Entry] = []
    notes: list[str] = []
    for document in documents:
        if document.text("apiVersion") != VERSION:
            raise document.error(
                f'apiVersion "{document.text("apiVersion")}" is not read. Write {VERSION}', "apiVersion"
            )
        kind = document.text("kind")
        name = _name(document)
        if kind == "SLI":
            indicators[name] = _inner(document, "spec", name)
        elif kind == "SLO":
            slos.append(Entry(file, document.values, _annotation(document, ID) or name))
        else:
            notes.append(f'{file}, line {document.line()}: {kind} "{name}" is not read; objectives are SLO and SLI')
    entries = [entry for slo in slos for entry in _entries(slo, indicators)]
    zones = {zone for slo in slos if (zone := _annotation(slo, TIMEZONE) or _timezone(_inner(slo, "spec", slo.name)))}
    if len(zones) > 1:
        raise slos[-1].error(f"time windows name several time zones: {', '.join(sorted(zones))}; objectives have one")
    notes += [note for slo in slos for note in _notes(slo)]
    return (zones.pop() if zones else "UTC"), entries, tuple(notes)


def _notes(slo: Entry) -> list[str]:
    """What an SLO says that has no meaning here."""
    spec = _inner(slo, "spec", slo.name)
    notes = []
    if "alertPolicies" in spec.values:
        notes.append(f'{slo.file}, line {spec.line("alertPolicies")}, "{slo.name}": alertPolicies are not read')
    for window in spec.entries("timeWindow", "duration"):
        if window.text("isRolling") == "false":
            told = "a window by the calendar is read as a rolling one of the same length"
            notes.append(f'{slo.file}, line {window.line()}, "{slo.name}": {told}')
    return notes


def _entries(slo: Entry, indicators: dict[str, Entry]) -> list[Entry]:
    spec = _inner(slo, "spec", slo.name)
    method = spec.text("budgetingMethod") or "Occurrences"
    if method != "Occurrences":
        raise spec.error(
            f"budgetingMethod {method} is not read; a target here counts requests: Occurrences", "budgetingMethod"
        )
    source = _source(spec, indicators)
    period = _period(spec)
    objectives = list(spec.entries("objectives", "displayName"))
    if not objectives:
        raise spec.error("objectives is missing")
    return [
        _entry(slo, source, objective, period, slo.name if len(objectives) == 1 else f"{slo.name}.{number}")
        for number, objective in enumerate(objectives, 1)
    ]


def _entry(slo: Entry, source: Entry, objective: Entry, period: str | None, identity: str) -> Entry:
    native: dict[str, Any] = {"id": identity}
    title = objective.text("displayName") or _inner(slo, "metadata", slo.name).text("displayName")
    if title:
        native["title"] = title
    native |= {key: source.values[key] for key in SPEC_KEYS if key in source.values}
    target = objective.text("target")
    percent = objective.text("targetPercent")
    if target is None and percent is None:
        raise objective.error("target is missing")
    native["target"] = target if target is not None else f"{percent}%"
    if "threshold" not in native and "all_of" not in native and objective.text("value") is not None:
        native["threshold"] = _limit(source, objective)
    if period is not None:
        native["period"] = period
    return Entry(slo.file, CommentedMap(native), identity, at=slo.line())


def _limit(source: Entry, objective: Entry) -> str:
    """Threshold of `op` and `value`, in the unit of the metric."""
    name = source.needed("metric")
    if name not in BY_ID:
        raise source.error(f'metric "{name}" is not known. {suggestion(name, tuple(BY_ID))}', "metric")
    metric = BY_ID[name]
    wanted, given = _OPERATORS[metric.better], objective.text("op")
    if given != wanted:
        raise objective.error(
            f'op "{given}" is not read for {name}: a request is good at its limit. Write {wanted}', "op"
        )
    return f"{objective.needed('value')}{_SUFFIX.get(metric.unit, '')}"


def _source(spec: Entry, indicators: dict[str, Entry]) -> Entry:
    """The spec of the metric source of an SLO's indicator: of the good events of a ratio, or of a threshold metric."""
    reference = spec.text("indicatorRef")
    if reference is not None:
        if reference not in indicators:
            raise spec.error(f'indicatorRef "{reference}": no document of kind SLI has that name', "indicatorRef")
        indicator = indicators[reference]
    else:
        indicator = _inner(_inner(spec, "indicator", spec.name), "spec", spec.name)
    holder = indicator.mapping("thresholdMetric")
    ratio = indicator.mapping("ratioMetric")
    if holder is None and ratio is not None:
        holder = ratio.mapping("good")
    if holder is None:
        raise indicator.error("an indicator needs a thresholdMetric, or a ratioMetric with good")
    metric_source = _inner(holder, "metricSource", spec.name)
    source = metric_source.mapping("spec")
    if source is None or not ({"metric", "all_of"} & set(source.values)):
        kind = metric_source.text("type") or "unknown"
        raise metric_source.error(
            f"a metric source of type {kind} holds a query of another system, which request traces do not answer. "
            "Write type: tailwise, spec: {metric: ttft} (tailwise metrics lists them)"
        )
    source = Entry(source.file, source.values, spec.name)
    source.only(SPEC_KEYS)
    return source


def _period(spec: Entry) -> str | None:
    windows = list(spec.entries("timeWindow", "duration"))
    if not windows:
        return None
    duration = windows[0].needed("duration")
    if not re.fullmatch(r"[0-9]+[mhdw]", duration):
        raise windows[0].error(f"duration {duration} is no fixed length. Write 28d or 4w", "duration")
    return duration


def _timezone(spec: Entry) -> str | None:
    for window in spec.entries("timeWindow", "duration"):
        calendar = window.mapping("calendar")
        if calendar is not None:
            return calendar.text("timeZone")
    return None


def _inner(entry: Entry, key: str, name: str) -> Entry:
    found = entry.mapping(key)
    if found is None:
        raise entry.error(f"{key} is missing")
    return Entry(found.file, found.values, name)


def _annotation(document: Entry, key: str) -> str | None:
    metadata = document.mapping("metadata")
    annotations = metadata.mapping("annotations") if metadata is not None else None
    return annotations.text(key) if annotations is not None else None


def _name(document: Entry) -> str:
    metadata = document.mapping("metadata")
    name = metadata.values.get("name") if metadata is not None else None
    return scalar_text(name) if name is not None else ""
