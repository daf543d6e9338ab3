"""tailwise formats, metrics, rules, explain: what there is, and what an id means.

Input: the catalogs of the rooms. Output: tables and entries at the prompt.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from analysis.metrics.catalog import METRICS
from analysis.objectives import default_objectives, load_objectives
from analysis.openslo_export import write_openslo
from analysis.rules.catalog import Catalog, built_in
from analysis.rules.own import read_catalog
from api import entries
from api.commands.options import settings_of
from api.words import table_lines
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Refusal

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
    _print(entries.explain(entry_id, promised, _catalog(own)))


def _catalog(own: Path | None) -> Catalog:
    path = own or settings_of().rules
    return read_catalog(path) if path is not None else built_in()


def _print(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
