"""tailwise inspect: what a file is, and what could be read of it.

Input: paths. Output: per file its format, counts, filled and lacking columns, first rejects. Nothing is stored.
"""

from __future__ import annotations

import json as json_
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from api.commands.desk import end_strict
from api.commands.options import Input, settings_of, with_options
from api.words import inspection_lines
from ingest.errors import ConfigError
from ingest.load import inspect_paths


@with_options(Input)
def inspect(
    given: Input,
    json: Annotated[bool, typer.Option("--json", help="As JSON on standard output.")] = False,
) -> None:
    """Say what files are, what could be read of them, and what each row lacks."""
    if not given.paths:
        raise ConfigError("PATH is missing. Give a file, a directory, a glob or -")
    given.check()
    found = inspect_paths(given.paths, given.options(settings_of()))
    if json:
        rows = [asdict(item) | {"receipt": item.receipt.to_json()} for item in found]
        sys.stdout.write(json_.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    else:
        sys.stdout.writelines("\n".join(inspection_lines(item)) + "\n" for item in found)
    end_strict(given.strict, [item.receipt for item in found])
