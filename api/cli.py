"""The command line: the same verbs as the HTTP door, at the prompt.

Input: arguments. Output: the answer on standard output, everything else on standard error, an exit code: 0 done,
1 could not be done, 2 wrong usage, 3 an objective is breached (--fail-on-breach), 4 rows were rejected (--strict).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer
from typer.exceptions import TyperException

from api.problems import EXIT_DONE, EXIT_FAILED, EXIT_USAGE, exit_code_of
from ingest.errors import ServiceError

ABOUT = "From request traces of LLM services to verdicts, root causes, recommendations and costs."
MANY = ("--compare-with", "--baseline")  # options that take every PATH up to the next option
GC_THRESHOLD = 100_000  # a command makes records, writes them and ends: little to collect in between
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def make_app() -> typer.Typer:
    """The commands; their rooms are imported here and not before, so that `main` can set what polars reads once."""
    from api.commands import (
        bench,
        catalogs,
        costs,
        demo,
        diagnose,
        ingest,
        inspect,
        keys,
        reconcile,
        report,
        serve,
        upkeep,
    )

    app = typer.Typer(
        name="tailwise",
        help=ABOUT,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for command in (
        report.report,
        diagnose.diagnose,
        costs.costs,
        reconcile.reconcile,
        ingest.ingest,
        inspect.inspect,
        serve.serve,
        demo.demo,
        catalogs.formats,
        catalogs.metrics,
        catalogs.rules,
        catalogs.explain,
        upkeep.backup,
        upkeep.restore,
        upkeep.doctor,
        bench.bench,
    ):
        app.command()(command)
    app.add_typer(keys.keys, name="keys")
    app.callback(help=ABOUT)(_about)
    return app


def _tell_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"tailwise {metadata.version('tailwise')}\n")
        raise typer.Exit


def _about(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Say the version and end.")
    ] = False,
) -> None:
    """What holds for all commands."""


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command; errors are told on standard error, in one line and a hint."""
    from api.console import complain, say

    try:
        command = typer.main.get_command(make_app())
        ended = command.main(spread_paths(arguments), prog_name="tailwise", standalone_mode=False)
    except ServiceError as error:
        complain(error)
        return exit_code_of(error)
    except TyperException as error:
        return _wrong_usage(error)
    except (typer.Abort, KeyboardInterrupt):
        say("tailwise: stopped")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - who read the answer has gone
        return EXIT_DONE
    except Exception as error:
        return _unexpected(error)
    return ended if isinstance(ended, int) else EXIT_DONE


def spread_paths(arguments: Sequence[str]) -> list[str]:
    """Arguments in which every path after --compare-with or --baseline has the option before it.

    `report new.jsonl --compare-with old-1.jsonl old-2.jsonl -o x.html` is what people write; the parser below takes
    one value per option.
    """
    spread: list[str] = []
    option: str | None = None
    for argument in arguments:
        if argument in MANY:
            option = argument
            continue
        if argument.startswith("-") and argument != "-":
            option = None
        spread += [option, argument] if option else [argument]
    return spread


def _wrong_usage(error: TyperException) -> int:
    from api.console import say

    said = error.format_message()
    context = getattr(error, "ctx", None)
    if said:
        say(f"tailwise: {said}")
        say(f"hint: {context.command_path if context else 'tailwise'} --help lists what can be given")
    return EXIT_USAGE


def _unexpected(error: Exception) -> int:
    from api.console import say

    if os.environ.get("TAILWISE_DEBUG"):
        raise error
    say(f"tailwise: stopped by an error that it does not know: {type(error).__name__}: {error}")
    say("hint: TAILWISE_DEBUG=1 shows where; that text helps whoever mends it")
    return EXIT_FAILED


def main() -> None:
    """Entry of the console script."""
    if sys.argv[1:2] in (["serve"], ["demo"]):  # of many cores one is the event loop's; polars reads this at its import
        os.environ.setdefault("POLARS_MAX_THREADS", str(max(2, (os.cpu_count() or 2) - 1)))
    else:
        gc.set_threshold(GC_THRESHOLD)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
