"""Options that several commands share, as records that a command takes whole.

Input: fields with typer annotations. Output: commands whose parameters are those fields and their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from api.question import Books, Question, parse_where
from api.settings import Settings, read_settings
from ingest.bounds import LEAST_RATE
from ingest.errors import ConfigError
from ingest.mapping import Mapping, read_mapping
from ingest.receipts import LoadOptions
from ingest.selection import parse_instant

R = TypeVar("R")

WHICH, FILES, READING, PLACE = "Which requests", "Files of settings", "How input is read", "Where requests are kept"

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="Files, directories, globs or - for standard input.")
]


@dataclass(frozen=True)
class Input:
    """What is read, and how."""

    paths: Paths = None
    format: Annotated[
        str | None, typer.Option(help="Format of the input; default recognized by content.", rich_help_panel=READING)
    ] = None
    mapping: Annotated[
        Path | None, typer.Option(help="mapping.yaml: a house's own names.", rich_help_panel=READING)
    ] = None
    sampling_rate: Annotated[
        float | None, typer.Option(help="Share of requests that the source kept, in (0, 1].", rich_help_panel=READING)
    ] = None
    run_start: Annotated[
        str | None,
        typer.Option(
            "--start",
            help="Where times begin that count from the start of a trace or run, ISO 8601.",
            rich_help_panel=READING,
        ),
    ] = None
    attributes: Annotated[
        Literal["all", "mapped"], typer.Option(help="Keep attributes that no column holds.", rich_help_panel=READING)
    ] = "all"
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 4 if any row was rejected.", rich_help_panel=READING)
    ] = False

    def check(self) -> None:
        """Refuse a rate or a start that cannot be, before a file is read.

        Raises:
            ConfigError: naming the option.
        """
        if self.sampling_rate is not None and not 0 < self.sampling_rate <= 1:
            raise ConfigError(f"--sampling-rate {self.sampling_rate:g} is not above 0 and at most 1")
        if self.sampling_rate is not None and self.sampling_rate < LEAST_RATE:
            raise ConfigError(f"--sampling-rate {self.sampling_rate:g} is below {LEAST_RATE:g}, the least that is read")
        if self.run_start is not None:
            parse_instant(self.run_start, "UTC")

    def options(self, settings: Settings) -> LoadOptions:
        """As the door of ingest takes them."""
        path = self.mapping or settings.mapping
        mapping = read_mapping(path) if path else Mapping()
        start_ns = parse_instant(self.run_start, mapping.timezone) if self.run_start is not None else None
        return LoadOptions(self.format, mapping, self.sampling_rate, self.attributes, start_ns)


@dataclass(frozen=True)
class Reading(Input):
    """How input is read, and where its requests are kept."""

    store: Annotated[
        Path | None,
        typer.Option(
            envvar="TAILWISE_STORE",
            help="Keep requests in this store; default one for this call.",
            rich_help_panel=PLACE,
        ),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(envvar="TAILWISE_SERVER", help="Ask the running server at this URL.", rich_help_panel=PLACE),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(envvar="TAILWISE_KEY", help="Key of the server, if it wants one.", rich_help_panel=PLACE),
    ] = None

    def check(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            ConfigError: naming the two options.
        """
        if self.store and self.server:
            raise ConfigError("--store and --server were both given; a store has one process, so ask the server alone")
        if not (self.paths or self.store or self.server):
            raise ConfigError("PATH is missing. Give a file, a directory, a glob or -, or --store or --server")
        super().check()


@dataclass(frozen=True)
class Asking(Reading):
    """Reading, and a question about what was read."""

    objectives: Annotated[
        Path | None, typer.Option(help="objectives.yaml or OpenSLO; default built in.", rich_help_panel=FILES)
    ] = None
    prices: Annotated[
        Path | None, typer.Option(help="prices.yaml, before the built-in price book.", rich_help_panel=FILES)
    ] = None
    fleet: Annotated[Path | None, typer.Option(help="fleet.yaml: self-hosted capacity.", rich_help_panel=FILES)] = None
    week: Annotated[str | None, typer.Option(help="ISO week, such as 2026-W48.", rich_help_panel=WHICH)] = None
    start: Annotated[
        str | None, typer.Option("--from", help="ISO 8601; this instant is included.", rich_help_panel=WHICH)
    ] = None
    end: Annotated[
        str | None, typer.Option("--to", help="ISO 8601; this instant is not included.", rich_help_panel=WHICH)
    ] = None
    timezone: Annotated[
        str | None, typer.Option(help="IANA zone; default that of the objectives.", rich_help_panel=WHICH)
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(help="dimension=value; may be given several times.", rich_help_panel=WHICH),
    ] = None

    def check(self) -> None:
        """Refuse what contradicts itself, and a week, range or zone that cannot be, before a file is read.

        Raises:
            ConfigError: naming the option.
        """
        super().check()
        self.question(None).selection(self.timezone or "UTC")

    def question(self, command: str | None) -> Question:
        """The question; files that were not given come from the settings."""
        return Question(
            self.week, self.start, self.end, self.timezone, parse_where(self.where or ()), self.books(), command
        )

    def books(self) -> Books:
        """The files that were given."""
        return Books(self.objectives, self.prices, self.fleet)


@dataclass(frozen=True)
class Judging(Asking):
    """Asking, and by which rules causes and advice are told."""

    rules: Annotated[
        Path | None,
        typer.Option(help="rules.yaml: rules and thresholds over the built-in ones.", rich_help_panel=FILES),
    ] = None

    def books(self) -> Books:
        """The files that were given."""
        return replace(super().books(), rules=self.rules)


def settings_of() -> Settings:
    """Settings of the environment and of tailwise.yaml where the process stands."""
    return read_settings()


def with_options(record: type[R]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: the function's first parameter is a record whose fields become parameters of the command."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(record, include_extras=True)
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in fields(record)  # type: ignore[arg-type]
        ]

        @wraps(function)
        def command(**given: Any) -> None:
            names = [parameter.name for parameter in shared]
            function(record(**{name: given.pop(name) for name in names}), **given)

        parameters = [*shared, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate
