"""The tables of the README, as the catalogs have them."""

from __future__ import annotations

import typer

from analysis.metrics.catalog import METRICS
from analysis.rules.catalog import built_in
from api.cli import make_app
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Refusal


def tables() -> dict[str, list[str]]:
    """Rows of each table in the README, told by the header of the table."""
    group = typer.main.get_command(make_app())
    commands = group.commands  # type: ignore[attr-defined]
    return {
        "| command | does |": [f"| `tailwise {name}` | {_first(command.help)} |" for name, command in commands.items()],
        "| format | what it is |": [
            f"| `{item.name}` | {item.title} |" for item in FORMATS if not isinstance(item.reader, Refusal)
        ],
        "| metric | unit | what it is |": [f"| `{item.id}` | {item.unit.value} | {item.title} |" for item in METRICS],
        "| rule | what to do | recommendations |": [
            f"| {rule.id} | {rule.title} | {', '.join(f'`{advice}`' for advice in rule.recommends)} |"
            for rule in built_in().rules
        ],
    }


def _first(text: str | None) -> str:
    return (text or "").strip().splitlines()[0].rstrip(".")
