"""Settings of the service: flag, then TAILWISE_<NAME>, then tailwise.yaml; the same name in each.

Input: flags that were given, the environment, a YAML file. Output: one frozen Settings.
A name that is not known is refused with a suggestion, wherever it stands: a mistyped setting must not be silent.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError, field_validator

from analysis import durations
from analysis.errors import ObjectivesError
from ingest import yaml_text
from ingest.errors import ConfigError

PREFIX = "TAILWISE_"
FILE_NAME = "tailwise.yaml"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
OTHER_VARIABLES = frozenset(
    {"TAILWISE_SERVER", "TAILWISE_KEY", "TAILWISE_DEBUG"}
)  # of the commands, not of the service

STOP_S = 30  # for answers under way when the server is told to stop
GRPC_PORT = 4317  # of OTLP over gRPC, as the specification gives it
MIB = 1024 * 1024
GIB = 1024 * MIB
SHORTEST_RETENTION_S = 86_400


class Settings(BaseModel):
    """How the service runs. Sizes may be written as `64MiB`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: Path = Field(Path("tailwise.duckdb"), description="the store's file; made if it is not there")
    host: str = Field("127.0.0.1", description="address to listen at; 0.0.0.0 for all")
    port: int = Field(4318, ge=0, le=65535, description="port to listen at; 4318 is that of OTLP over HTTP")
    grpc_port: Annotated[int, Field(ge=0, le=65535)] | Literal["off"] | None = Field(
        None, description="port of OTLP over gRPC, or off; default 4317 where the extra grpc is installed"
    )
    names: str = Field("", description="host names of a proxy before it, separated by commas")
    spool: Path | None = Field(None, description="folder for what is received; default beside the store")
    objectives: Path | None = Field(None, description="objectives file; default built-in objectives")
    prices: Path | None = Field(None, description="price file, before the built-in price book")
    fleet: Path | None = Field(None, description="self-hosted capacity")
    rules: Path | None = Field(None, description="rules of a house and thresholds, over the built-in ones")
    mapping: Path | None = Field(None, description="a house's own names")
    timezone: str | None = Field(None, description="zone of weeks, days and hours; default that of the objectives")
    smtp: str | None = Field(
        None, pattern=r"^[^:\s]+(:\d+)?$", description="mail server, HOST:PORT, for scheduled reports"
    )
    mail_from: str = Field("tailwise@localhost", description="sender of that mail")
    max_upload_bytes: ByteSize = Field(ByteSize(64 * GIB), gt=0, description="largest file that is taken")
    max_body_bytes: ByteSize = Field(ByteSize(64 * MIB), gt=0, description="largest OTLP body, as sent")
    max_unpacked_bytes: ByteSize = Field(ByteSize(256 * MIB), gt=0, description="largest OTLP body, unpacked")
    max_backlog_bytes: ByteSize = Field(
        ByteSize(2 * GIB), gt=0, description="received spans that may wait for the store"
    )
    requests_per_second: float = Field(500.0, ge=0, description="per client address; 0: no limit")
    threads: int | None = Field(None, ge=1, description="threads of a query; default one less than the cores")
    memory_limit: str = Field("4GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$", description="memory of the store")
    retention: str | None = Field(
        None, description="how long raw rows are kept, such as 35d; older days become roll-ups; default for ever"
    )
    batch_seconds: float = Field(1.0, gt=0, le=60, description="how often received spans go to the store")

    @field_validator("retention")
    @classmethod
    def _long_enough(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            kept_s = durations.seconds(value)
        except ObjectivesError as error:
            raise ValueError(error.message) from error
        if kept_s < SHORTEST_RETENTION_S or kept_s.denominator != 1:
            raise ValueError("whole days are dropped, so it must be at least 1d; write 35d or 13w")
        return value

    @property
    def retention_s(self) -> int | None:
        """Seconds for which raw rows are kept; None: for ever."""
        return None if self.retention is None else int(durations.seconds(self.retention))

    @property
    def host_names(self) -> list[str]:
        return [name.strip().lower() for name in self.names.split(",") if name.strip()]

    @property
    def spool_folder(self) -> Path:
        return self.spool or self.store.with_name(self.store.name + ".spool")

    @property
    def query_threads(self) -> int:
        """One core is left to the event loop."""
        return self.threads or max(1, (os.cpu_count() or 2) - 1)


def read_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings; flags that are None were not given. `file` defaults to tailwise.yaml where the process stands.

    Raises:
        ConfigError: a name is not known, or a value breaks its rule.
    """
    environment = os.environ if environment is None else environment
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    from_environment = _from_environment(environment)
    path = file or Path(FILE_NAME)
    from_file = _from_file(path) if file is not None or path.is_file() else {}
    places = dict.fromkeys(from_file, str(path)) | {n: PREFIX + n.upper() for n in from_environment}
    places |= {name: f"--{name.replace('_', '-')}" for name in given}
    try:
        return Settings(**(from_file | from_environment | given))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise ConfigError(
            f'{places.get(name, name)}: "{first["input"]}" is not a valid {name}: {first["msg"].lower()}'
        ) from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, value in environment.items():
        if not variable.upper().startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        name = variable[len(PREFIX) :].lower()
        _known(name, f"environment variable {variable}", lambda known: PREFIX + known.upper())
        if value:
            values[name] = value
    return values


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml_text.load(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must hold names and values, such as port: 4318")
    for name in content:
        _known(str(name), f'{path}: setting "{name}"', str)
    return {str(name): value for name, value in content.items()}


def _known(name: str, place: str, spell: Any) -> None:
    if name in Settings.model_fields:
        return
    near = difflib.get_close_matches(name, Settings.model_fields, 1)
    names = ", ".join(sorted(Settings.model_fields))
    raise ConfigError(f"{place} is not known. " + (f'Did you mean "{spell(near[0])}"?' if near else f"Known: {names}"))
