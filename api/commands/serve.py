"""tailwise serve: the HTTP door.

Input: settings. Output: a server that holds the store until it is stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from api.console import say
from api.keys import KeyRing, keys_file
from api.logs import configure_logs
from api.problems import EXIT_FAILED
from api.settings import LOOPBACK, Settings, read_settings
from api.sockets import listen, place


def serve(
    *,
    store: Annotated[Path | None, typer.Option(help="The store's file; made if it is not there.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen at.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at; 0 takes a free one.")] = None,
    grpc_port: Annotated[
        str | None, typer.Option(help="Port for OTLP over gRPC, or off; default 4317 where the extra grpc is there.")
    ] = None,
    objectives: Annotated[Path | None, typer.Option(help="objectives.yaml or OpenSLO.")] = None,
    prices: Annotated[Path | None, typer.Option(help="prices.yaml.")] = None,
    fleet: Annotated[Path | None, typer.Option(help="fleet.yaml.")] = None,
    rules: Annotated[Path | None, typer.Option(help="rules.yaml, over the built-in rules.")] = None,
    mapping: Annotated[Path | None, typer.Option(help="mapping.yaml.")] = None,
    timezone: Annotated[str | None, typer.Option(help="IANA zone of weeks, days and hours.")] = None,
    retention: Annotated[
        str | None, typer.Option(help="How long raw rows are kept, such as 35d; older days become roll-ups.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file; default tailwise.yaml where it stands.")] = None,
) -> None:
    """Serve the page, the API and the OTLP receiver until stopped."""
    flags = {
        "store": store,
        "host": host,
        "port": port,
        "grpc_port": grpc_port,
        "objectives": objectives,
        "prices": prices,
        "fleet": fleet,
        "rules": rules,
        "mapping": mapping,
        "timezone": timezone,
        "retention": retention,
    }
    run_server(read_settings(flags, file=config))


def run_server(settings: Settings) -> None:
    """Serve until stopped; the address is told once it can be asked.

    Raises:
        StateError: the address is taken.
    """
    configure_logs()
    if settings.host not in LOOPBACK and not KeyRing(keys_file(settings.store)).listed():
        say(f"warning: {settings.host} can be reached by others and no key is set; tailwise keys add makes one")
    listener = listen(settings.host, settings.port)
    say(f"opening {settings.store} ...")
    from api.server import serve_app  # takes a second, and opening a large store more: the line above comes first

    address = f"http://{place(settings.host, listener.getsockname()[1])}/"

    def answers(grpc: str | None) -> None:
        say(f"tailwise answers at {address}{f', OTLP over gRPC at {grpc}' if grpc else ''} (stop with Ctrl-C)")

    if not serve_app(settings, listener, answers):
        raise typer.Exit(EXIT_FAILED)
