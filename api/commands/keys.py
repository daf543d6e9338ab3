"""tailwise keys: make, list and revoke the API keys of a store.

Input: a store's name. Output: the file of keys beside it; a new key's text on standard output, this once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.console import say
from api.keys import KeyRing, Role, keys_file
from api.settings import read_settings
from api.words import table_lines

keys = typer.Typer(
    help="Make (keys add NAME --role read/ingest/admin), list and revoke the keys of a server.", no_args_is_help=True
)

OfStore = Annotated[Path | None, typer.Option("--store", help="The store's file; default that of the settings.")]


def _ring(store: Path | None) -> KeyRing:
    return KeyRing(keys_file(read_settings({"store": store}).store))


@keys.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")],
    role: Annotated[Role, typer.Option(help="read asks, ingest sends traces, admin does everything.")] = "read",
    store: OfStore = None,
) -> None:
    """Make a key. Its text is printed once and stored nowhere."""
    key, text = _ring(store).add(name, role)
    say(f"key {key.id} of {key.name}, role {key.role}. It is not shown again:")
    sys.stdout.write(text + "\n")


@keys.command("list")
def list_(store: OfStore = None) -> None:
    """List the keys."""
    rows = [[key.id, key.name, key.role, key.created] for key in _ring(store).listed()]
    sys.stdout.write("\n".join(table_lines(["ID", "NAME", "ROLE", "MADE"], rows, figures=0)) + "\n")


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Of the list.")],
    store: OfStore = None,
) -> None:
    """Revoke a key; a running server refuses it from its next request on."""
    key = _ring(store).revoke(key_id)
    say(f"key {key.id} of {key.name} is revoked")
