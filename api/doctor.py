"""What is well here and what is not.

Input: settings. Output: one Check per thing that tailwise needs, with what to do about it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from analysis.objectives import load_objectives
from analysis.prices import default_prices, read_prices
from analysis.rules.catalog import built_in
from analysis.rules.own import read_catalog
from api.extras import grpc_port, how_to_get
from api.keys import KeyRing, keys_file
from api.pdf import BROWSERS
from api.settings import GIB, LOOPBACK, Settings
from api.sockets import listen, place
from ingest.errors import ServiceError, StateError, StoreHeld
from ingest.selection import to_iso, zone_of
from ingest.store import lists
from ingest.store.database import Store

LITTLE_DISK = 2 * GIB  # a day of traces of a busy service unpacks to about as much
LITTLE_MEMORY = 2 * GIB

State = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    says: str


def examine(settings: Settings) -> list[Check]:
    """All checks, in the order in which a reader mends things."""
    looks: tuple[tuple[str, Callable[[Settings], tuple[State, str]]], ...] = (
        ("version", _version),
        ("objectives", _objectives),
        ("prices", _prices),
        ("rules", _rules),
        ("time zones", _zones),
        ("store", _store),
        ("retention", _retention),
        ("spool", _spool),
        ("disk", _disk),
        ("memory", _memory),
        ("keys", _keys),
        ("gRPC", _grpc),
        ("browser", _browser),
    )
    checks = []
    for name, look in looks:
        try:
            checks.append(Check(name, *look(settings)))
        except ServiceError as error:
            checks.append(Check(name, "bad", error.message))
    return checks


def _version(settings: Settings) -> tuple[State, str]:  # noqa: ARG001 - all looks take the settings
    parts = ", ".join(f"{name} {metadata.version(name)}" for name in ("duckdb", "polars", "genai-prices"))
    return "good", f"tailwise {metadata.version('tailwise')}; {parts}"


def _objectives(settings: Settings) -> tuple[State, str]:
    if settings.objectives is None:
        return "note", "none given: the built-in ones judge (TTFT 2 s, TPOT 100 ms, availability 99 %)"
    read = load_objectives(settings.objectives)
    told = "; ".join(
        (f"{settings.objectives}: {len(read.items)} objectives, zone {read.settings.timezone}", *read.notes)
    )
    return ("note" if read.notes else "good"), told


def _prices(settings: Settings) -> tuple[State, str]:
    book = read_prices(settings.prices) if settings.prices else default_prices()
    return "good", book.title


def _rules(settings: Settings) -> tuple[State, str]:
    catalog = read_catalog(settings.rules) if settings.rules else built_in()
    return "good", f"{len(catalog.rules)} rules: {catalog.source}"


def _zones(settings: Settings) -> tuple[State, str]:
    zone = settings.timezone or "Europe/Berlin"
    zone_of(zone)
    return "good", f"{zone} is known"


def _store(settings: Settings) -> tuple[State, str]:
    if not settings.store.exists():
        return "note", f"{settings.store} does not exist yet; serve and ingest make it"
    try:
        with Store.open(settings.store) as store:
            rows = lists.counts(store)
    except StoreHeld as error:
        return "note", error.message
    size = settings.store.stat().st_size / 1e6
    return "good", f"{settings.store}: {size:,.1f} MB, {rows['requests']:,} requests of {rows['uploads']:,} uploads"


def _retention(settings: Settings) -> tuple[State, str]:
    kept = "rows are kept for ever" if settings.retention is None else f"rows are kept for {settings.retention}"
    if not settings.store.exists():
        return "good", kept
    try:
        with Store.open(settings.store) as store:
            told = lists.rolled(store)
    except StoreHeld:
        return "good", kept
    if told["start_ns"] is None or told["end_ns"] is None:
        return "good", f"{kept}; no day is rolled up"
    days = f"{to_iso(told['start_ns'])} to {to_iso(told['end_ns'])}"
    return "good", f"{kept}; {days} is rolled up: {told['requests']:,} requests in {told['rows']:,} rows"


def _spool(settings: Settings) -> tuple[State, str]:
    folder = settings.spool_folder
    if not folder.exists():
        return "good", f"{folder}: nothing waits"
    waiting = [path for path in folder.rglob("*") if path.is_file()]
    aside = [path for path in waiting if path.parent.name == "set-aside"]
    if aside:
        return "bad", f"{len(aside)} received bodies could not be stored and lie in {aside[0].parent}; look at them"
    size = sum(path.stat().st_size for path in waiting)
    return "good", f"{folder}: {len(waiting)} files, {size:,} bytes"


def _disk(settings: Settings) -> tuple[State, str]:
    place = next(p for p in (settings.store.resolve(), *settings.store.resolve().parents) if p.exists())
    free = shutil.disk_usage(place).free
    return ("good" if free > LITTLE_DISK else "bad"), f"{free / 1e9:,.1f} GB free for {settings.store}"


def _memory(settings: Settings) -> tuple[State, str]:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    state: State = "good" if whole > LITTLE_MEMORY else "note"
    return state, f"{whole / 1e9:,.1f} GB in this machine; the store may use {settings.memory_limit}"


def _keys(settings: Settings) -> tuple[State, str]:
    path: Path = keys_file(settings.store)
    count = len(KeyRing(path).listed())
    if count:
        return "good", f"{count} in {path}"
    if settings.host in LOOPBACK:
        return "good", f"none, and {settings.host} cannot be reached from elsewhere"
    return "bad", f"none, and {settings.host} can be reached by others; tailwise keys add NAME --role admin makes one"


def _grpc(settings: Settings) -> tuple[State, str]:
    port = grpc_port(settings)
    if port is None:
        told = "the setting grpc_port says so" if settings.grpc_port == "off" else how_to_get("grpc")
        return "note", f"OTLP over gRPC is off: {told}"
    address = place(settings.host, port)
    try:
        listen(settings.host, port).close()
    except StateError:
        return "note", f"{address} is taken, by a tailwise that runs or by another program"
    return "good", f"OTLP over gRPC will be taken at {address}; grpcio {metadata.version('grpcio')}"


def _browser(settings: Settings) -> tuple[State, str]:  # noqa: ARG001 - all looks take the settings
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    return ("good", found) if found else ("note", "none: reports cannot be had as PDF; apt-get install chromium")
