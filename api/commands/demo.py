"""tailwise demo: two simulated weeks, from the files to the report and the running page.

Input: the sample weeks that lie in api/demo. Output: a store, the weekly report, the verdicts at the prompt, a server.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from analysis.result import AnalysisResult
from api.commands.report import show, write
from api.commands.serve import run_server
from api.console import progress, say, show_receipts
from api.question import Books, Question
from api.service import Service
from api.settings import Settings
from ingest.errors import StateError
from ingest.load import load_paths
from ingest.receipts import LoadOptions
from ingest.store.database import Store, StoreSettings

HEALTHY, INCIDENT = "2026-W09", "2026-W10"
STORE, REPORT = "tailwise.duckdb", "report.html"


def demo(
    serve: Annotated[bool, typer.Option(help="Serve the page afterwards, until stopped.")] = True,
    folder: Annotated[Path, typer.Option(help="Folder for the store and the report.")] = Path("demo"),
    port: Annotated[int, typer.Option(help="Port to listen at; a free one if it is taken.")] = 4318,
) -> None:
    """Load two simulated weeks, write the weekly report, show its figures, serve it."""
    samples = Path(str(resources.files("api") / "demo"))
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{STORE}*"):
        if old.is_file():
            old.unlink()
    books = Books(samples / "objectives.yaml", samples / "prices.yaml")
    say("Two sample weeks. All figures are simulated.")
    result = make_demo(samples, folder / STORE, books)
    written = write(result, "html", str(folder / REPORT))
    show(result, sys.stdout)
    say(f"written: {written}")
    if serve:
        _serve(Settings(store=folder / STORE, port=port, objectives=books.objectives, prices=books.prices))


def make_demo(samples: Path, store_file: Path, books: Books) -> AnalysisResult:
    """The week of the incident against the healthy week before; stored as a report too."""
    with Store.open(store_file, StoreSettings((samples.resolve(),))) as store:
        service = Service(store, books)
        for week in (HEALTHY, INCIDENT):  # each week has its own sampling rate beside it
            with progress(f"reading {week}") as tell:
                show_receipts(load_paths([samples / week], store, LoadOptions(), progress=tell))
        service.changed()
        question = Question(week=INCIDENT, books=books, command="tailwise demo")
        service.make_report(question)
        return service.analyze(question)


def _serve(settings: Settings) -> None:
    try:
        run_server(settings)
    except StateError as error:
        if error.code != "address_taken":
            raise
        say(f"port {settings.port} is taken; a free one is used")
        run_server(settings.model_copy(update={"port": 0}))
