"""tailwise backup, restore, doctor: the care of a store.

Input: a store or a server. Output: copies; a list of what is well and what is not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.console import progress, say
from api.copies import back_up
from api.copies import restore as restore_copy
from api.doctor import examine
from api.problems import EXIT_FAILED
from api.remote import RemoteDesk
from api.settings import read_settings
from api.words import check_lines
from ingest.errors import ConfigError
from ingest.store.database import Store

MEGABYTE = 1_000_000

OfStore = Annotated[Path | None, typer.Option("--store", help="The store's file; default that of the settings.")]


def backup(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; packed if it ends in .zst.")],
    *,
    store: OfStore = None,
    server: Annotated[str | None, typer.Option(envvar="TAILWISE_SERVER", help="Ask the running server.")] = None,
    key: Annotated[str | None, typer.Option(envvar="TAILWISE_KEY", help="Key of role admin.")] = None,
) -> None:
    """Copy a store into one file, from a running server too."""
    if server:
        with RemoteDesk.open(server, key=key) as desk, progress("copying") as tell:
            size = desk.back_up(output, tell)
    else:
        path = read_settings({"store": store}).store
        if not path.is_file():
            raise ConfigError(f"{path} does not exist; give --store FILE or --server URL")
        with Store.open(path) as opened:
            size = back_up(opened, output)
    say(f"written: {output}, {size / MEGABYTE:,.1f} MB")


def restore(
    copy: Annotated[Path, typer.Argument(metavar="IN", help="A backup.")],
    *,
    store: OfStore = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that exists.")] = False,
) -> None:
    """Make a store from a backup."""
    path = read_settings({"store": store}).store
    rows = restore_copy(copy, path, replace=replace)
    say(f"written: {path}, {rows['requests']:,} requests of {rows['uploads']:,} uploads, {rows['reports']:,} reports")


def doctor(store: OfStore = None) -> None:
    """Check what tailwise needs here: settings, store, disk, memory, zones, browser."""
    checks = examine(read_settings({"store": store}))
    sys.stdout.write("\n".join(check_lines(checks)) + "\n")
    if any(check.state == "bad" for check in checks):
        raise typer.Exit(EXIT_FAILED)
