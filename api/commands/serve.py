"""tailwise serve: the HTTP door.

Input: settings. Output: a server that holds the store until it is stopped.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer

from api.console import say
from api.keys import KeyRing, keys_file
from api.logs import configure_logs
from api.problems import EXIT_FAILED
from api.settings import LOOPBACK, Settings, read_settings
from ingest.errors import StateError


def serve(
    *,
    store: Annotated[Path | None, typer.Option(help="The store's file; made if it is not there.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at; 0 takes a free one.")] = None,
    objectives: Annotated[Path | None, typer.Option(help="objectives.yaml or OpenSLO.")] = None,
    prices: Annotated[Path | None, typer.Option(help="prices.yaml.")] = None,
    fleet: Annotated[Path | None, typer.Option(help="fleet.yaml.")] = None,
    rules: Annotated[Path | None, typer.Option(help="rules.yaml, over the built-in rules.")] = None,
    mapping: Annotated[Path | None, typer.Option(help="mapping.yaml.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA zone of weeks, days and hours.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file; default tailwise.yaml where it stands.")] = None,
) -> None:
    """Serve the page, the API and the OTLP receiver until stopped."""
    flags = {
        "store": store,
        "host": host,
        "port": port,
        "objectives": objectives,
        "prices": prices,
        "fleet": fleet,
        "rules": rules,
        "mapping": mapping,
        "timezone": timezone,
    }
    run_server(read_settings(flags, file=config))


def run_server(settings: Settings) -> None:
    """Serve until stopped; the address is told once it can be asked.

    Raises:
        StateError: the address is taken.
    """
    from api.server import serve_app

    configure_logs()
    if settings.host not in LOOPBACK and not KeyRing(keys_file(settings.store)).listed():
        say(f"warning: {settings.host} can be reached by others and no key is set; tailwise keys add makes one")
    listener = _listen(settings.host, settings.port)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{shown}:{listener.getsockname()[1]}/"
    if not serve_app(settings, listener, lambda: say(f"tailwise answers at {address} (stop with Ctrl-C)")):
        raise typer.Exit(EXIT_FAILED)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError) as error:
        listener.close()
        raise StateError(
            f"cannot listen at {host}:{port}: {getattr(error, 'strerror', None) or error}",
            code="address_taken",
            hint="give another --port; 0 takes a free one",
        ) from error
    return listener
