"""tailwise inspect: what a file is, and what could be read of it.

Input: paths. Output: per file its format, counts, filled and lacking columns, first rejects. Nothing is stored.
"""

from __future__ import annotations

import json as json_
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from api.words import inspection_lines
from ingest.load import inspect_paths
from ingest.mapping import Mapping, read_mapping
from ingest.receipts import LoadOptions


def inspect(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, directories, globs or -.")],
    format: Annotated[str | None, typer.Option(help="Read as this format.")] = None,  # noqa: A002 - name of the option
    mapping: Annotated[Path | None, typer.Option(help="mapping.yaml: a house's own names.")] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON on standard output.")] = False,
) -> None:
    """Say what files are, what could be read of them, and what each row lacks."""
    options = LoadOptions(format, read_mapping(mapping) if mapping else Mapping())
    found = inspect_paths(paths, options)
    if json:
        rows = [asdict(item) | {"receipt": item.receipt.to_json()} for item in found]
        sys.stdout.write(json_.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        return
    for item in found:
        sys.stdout.write("\n".join(inspection_lines(item)) + "\n")
