"""tailwise formats, metrics, rules, explain: what there is, and what an id means.

Input: the catalogs of the rooms. Output: tables and entries at the prompt.
"""

from __future__ import annotations

import difflib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from analysis.explain import explain_objective
from analysis.metrics.catalog import METRICS
from analysis.metrics.metric import Metric
from analysis.objectives import default_objectives, load_objectives
from analysis.openslo_export import write_openslo
from analysis.rules.catalog import Catalog, built_in
from analysis.rules.explain import explain as explain_rule
from analysis.rules.own import read_catalog
from api.commands.options import settings_of
from api.words import entry_lines, prose_lines, table_lines
from ingest.errors import NotFound
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Format, Refusal

OWN = "rules.yaml: rules and thresholds over the built-in ones; default that of the settings."


def formats() -> None:
    """List the formats that can be read."""
    rows = [[item.name, "no" if isinstance(item.reader, Refusal) else "yes", item.title] for item in FORMATS]
    _print(table_lines(["FORMAT", "READ", "WHAT IT IS"], rows, figures=0))


def metrics() -> None:
    """List the metrics that objectives can use."""
    rows = [[item.id, item.unit.value, item.kind.value, item.title] for item in METRICS]
    _print(table_lines(["METRIC", "UNIT", "KIND", "TITLE"], rows, figures=0))


def rules(own: Annotated[Path | None, typer.Option("--rules", help=OWN)] = None) -> None:
    """List the rules: what they find, and what they advise."""
    rows = [[rule.id, rule.title, ", ".join(rule.recommends)] for rule in _catalog(own).rules]
    _print(table_lines(["RULE", "TITLE", "RECOMMENDS"], rows, figures=0))


def explain(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="Of a metric, a format, a rule or an objective.")],
    objectives: Annotated[
        Path | None, typer.Option(help="Whose objectives; default those of the settings, or built in.")
    ] = None,
    openslo: Annotated[bool, typer.Option("--openslo", help="The objective as OpenSLO; ID all: all of them.")] = False,
    own: Annotated[Path | None, typer.Option("--rules", help=OWN)] = None,
) -> None:
    """Say what a metric, a format, a rule or an objective means, where it comes from, and what it needs."""
    path = objectives or settings_of().objectives
    promised = load_objectives(path) if path is not None else default_objectives()
    named = [item for item in promised.items if (openslo and entry_id == "all") or item.id == entry_id]
    if named and openslo:
        sys.stdout.write(write_openslo(replace(promised, items=tuple(named))))
        return
    if named:
        _print(explain_objective(named[0], promised.settings))
        return
    entries = {item.id: _metric(item) for item in METRICS} | {item.name: _format(item) for item in FORMATS}
    catalog = _catalog(own)
    if told := explain_rule(entry_id, catalog):
        _print(prose_lines(told))
        return
    if entry_id not in entries:
        known = [*entries, *(item.id for item in promised.items), *(rule.id for rule in catalog.rules), *catalog.advice]
        near = difflib.get_close_matches(entry_id, known, 1)
        hint = f'Did you mean "{near[0]}"?' if near else "tailwise metrics, formats and rules list what there is"
        raise NotFound(f'nothing is called "{entry_id}". {hint}')
    _print(entry_lines(*entries[entry_id]))


def _catalog(own: Path | None) -> Catalog:
    path = own or settings_of().rules
    return read_catalog(path) if path is not None else built_in()


def _metric(metric: Metric) -> tuple[str, dict[str, str]]:
    return f"{metric.id}: {metric.title}", {
        "means": metric.says,
        "unit": metric.unit.value,
        "better": metric.better.value,
        "needs": ", ".join(metric.needs),
        "source": metric.source,
    }


def _format(item: Format) -> tuple[str, dict[str, str]]:
    refused = isinstance(item.reader, Refusal)
    return f"{item.name}: {item.title}", {"says": item.says, "read": "no" if refused else "yes"}


def _print(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
