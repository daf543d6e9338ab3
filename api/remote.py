"""A running server, asked over HTTP.

Input: its URL. Output: receipts, results and costs as this process would have made them.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from analysis.result import AnalysisResult, Costs, Reconciliation
from api.console import Tell, progress
from api.finance import unzipped
from api.outlet import place_of
from api.question import Question
from ingest.bills import Bill
from ingest.errors import ConfigError, Reject, ServiceError, UnreadableInput
from ingest.paths import Found, find
from ingest.receipts import FIRST_REJECTS, LoadOptions, Receipt
from ingest.selection import to_iso
from ingest.unpack import open_source

NO_BILLS = "a server compares no bills; give its store with --store while it stands still, or the traces"
CHUNK = 1 << 20
POLL_S = 0.3
TIMEOUT = httpx2.Timeout(10.0, read=3600.0, write=600.0)  # a result of many requests takes a while


class ServerError(ServiceError):
    """The server could not be reached, or refused."""

    code = "server"


class RemoteDesk:
    """A server's answers."""

    def __init__(self, client: httpx2.Client, url: str, mapping: Path | None) -> None:
        self._client = client
        self._url = url
        self._mapping = mapping

    @classmethod
    @contextmanager
    def open(cls, url: str, mapping: Path | None = None, key: str | None = None) -> Iterator[RemoteDesk]:
        """A desk at a server that answers; files are sent with the text of that mapping file.

        Raises:
            ServerError: nothing answers there.
        """
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f'--server "{url}" is no URL; write http://127.0.0.1:4318')
        headers = {"authorization": f"Bearer {key}"} if key else {}
        with httpx2.Client(base_url=url, timeout=TIMEOUT, headers=headers) as client:
            desk = cls(client, url, mapping)
            desk._ask("GET", "/healthz")
            yield desk

    def load(self, paths: Sequence[str], options: LoadOptions) -> list[Receipt]:
        """Every file sent and read by the server."""
        with tempfile.TemporaryDirectory(prefix="tailwise-") as scratch:
            files = find(paths, Path(scratch))
            rate = options.sampling_rate or next((r for f in files if (r := _run_rate(f.path)) is not None), None)
            parameters = {"format": options.format, "sampling_rate": rate, "attributes": options.attributes}
            parameters["mapping"] = _text(self._mapping)
            parameters["start"] = to_iso(options.start_ns) if options.start_ns is not None else None
            given = {name: value for name, value in parameters.items() if value is not None}
            return [self._load(file, given) for file in files if _run_rate(file.path) is None]

    def analyze(self, question: Question) -> AnalysisResult:
        """The result, computed there."""
        said = self._ask("POST", "/api/v1/result", json=_asked(question))
        return msgspec.json.decode(said.content, type=AnalysisResult)

    def costs(self, question: Question, by: Sequence[str]) -> Costs:
        """The cost cube, computed there with the server's prices."""
        said = self._ask("GET", "/api/v1/costs", params=[("by", ",".join(by)), *_priced_there(question)])
        return msgspec.json.decode(said.content, type=Costs)

    def finance(
        self, question: Question, further: Sequence[str], version: str, bill: Bill | None = None
    ) -> dict[str, bytes]:
        """The finance bundle, made there.

        Raises:
            ConfigError: a bill is given: it is compared where the ledger lies.
        """
        if bill is not None:
            raise ConfigError(NO_BILLS)
        parameters = [("by", ",".join(further)), ("version", version), *_priced_there(question)]
        return unzipped(self._ask("GET", "/api/v1/exports/focus", params=parameters).content)

    def reconcile(self, question: Question, bill: Bill, period: str | None) -> Reconciliation:
        """Refused: a bill is compared where the ledger lies.

        Raises:
            ConfigError: always.
        """
        del question, bill, period
        raise ConfigError(NO_BILLS)

    def back_up(self, target: Path, tell: Tell) -> int:
        """Bytes of the server's store written to `target`."""
        try:
            with (
                self._client.stream("GET", "/api/v1/backup") as said,
                place_of(target) as place,
                place.open("wb") as out,
            ):
                if not said.is_success:
                    said.read()
                    raise self._refused(said, "GET", "/api/v1/backup")
                whole = int(said.headers.get("content-length", 0))
                for chunk in said.iter_bytes(CHUNK):
                    out.write(chunk)
                    tell(out.tell(), whole)
        except OSError as error:
            raise ConfigError(f"{target} cannot be written: {error.strerror or error}") from error
        return target.stat().st_size

    def _load(self, file: Found, parameters: dict[str, Any]) -> Receipt:
        try:
            size = open_source(file.path, file.name).size_bytes
        except UnreadableInput as error:
            return Receipt("", file.name, "failed", message=error.message, code=error.code)
        with progress(f"sending {file.name}") as tell:
            said = self._ask(
                "PUT",
                f"/api/v1/uploads/{quote(file.name, safe='')}",
                params=parameters,
                content=_chunks(file.path, size, tell),
                headers={"content-length": str(size)},
            ).json()
        with progress(f"reading {file.name}") as tell:
            while said["state"] in ("waiting", "reading"):
                if shown := said.get("progress"):
                    tell(shown["done_bytes"], shown["total_bytes"])
                time.sleep(POLL_S)
                said = self._ask("GET", f"/api/v1/uploads/{said['id']}").json()
        return self._receipt(said)

    def _receipt(self, said: dict[str, Any]) -> Receipt:
        path = f"/api/v1/uploads/{said['id']}/rejects"
        rows = self._ask("GET", path, params={"limit": FIRST_REJECTS}).json()["rejects"] if said["rejected"] else []
        return Receipt(
            upload_id=said["id"],
            name=said["name"],
            state=said["state"],
            format=said["format"],
            sha256=said["sha256"],
            size_bytes=said["size_bytes"],
            read=said["read"] or 0,
            accepted=said["accepted"] or 0,
            duplicate=said["duplicate"] or 0,
            rejected=said["rejected"] or 0,
            reasons=said["reasons"],
            rejects=tuple(Reject(r["line"], r["offset"], r["reason"], r["head"], r.get("detail", "")) for r in rows),
            not_understood=said["not_understood"],
            notes=tuple(said["notes"]),
            message=said["message"],
            sampling_rate=said["sampling_rate"],
        )

    def _ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            said = self._client.request(method, path, **more)
        except httpx2.HTTPError as error:
            raise ServerError(
                f"no tailwise server answers at {self._url}: {error}", hint="tailwise serve starts one"
            ) from error
        if said.is_success:
            return said
        raise self._refused(said, method, path)

    def _refused(self, said: httpx2.Response, method: str, path: str) -> ServerError:
        try:
            told = said.json()
            return ServerError(f"{self._url} says: {told['detail']}", code=told["code"], hint=told.get("hint"))
        except (ValueError, KeyError, TypeError):
            return ServerError(f"{self._url} answered {said.status_code} to {method} {path}")


def _priced_there(question: Question) -> list[tuple[str, str]]:
    """Parameters of a question about money.

    Raises:
        ConfigError: it brings files that price.
    """
    if question.books.prices or question.books.fleet:
        raise ConfigError("a server prices with its own files; --prices and --fleet go without --server")
    parameters: list[tuple[str, str]] = []
    for name, value in _asked(question).items():
        parameters += [(name, v) for v in (value if isinstance(value, list) else [value]) if name != "command"]
    return parameters


def _asked(question: Question) -> dict[str, Any]:
    books = question.books
    asked = {
        "week": question.week,
        "from": question.start,
        "to": question.end,
        "timezone": question.timezone,
        "where": [f"{name}={value}" for name, value in question.where],
        "objectives": _text(books.objectives),
        "prices": _text(books.prices),
        "fleet": _text(books.fleet),
        "rules": _text(books.rules),
        "command": question.command,
    }
    return {name: value for name, value in asked.items() if value is not None}


def _text(path: Path | None) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig") if path else None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}") from error


def _chunks(file: Path, size: int, tell: Tell) -> Iterator[bytes]:
    done = 0
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK):
            yield chunk
            done += len(chunk)
            tell(done, size)


def _run_rate(file: Path) -> float | None:
    """Sampling rate of a simulator's run.json; None if the file is something else."""
    if file.name != "run.json":
        return None
    try:
        rate = json.loads(file.read_text())["sampling_rate"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return float(rate) if isinstance(rate, int | float) else None
