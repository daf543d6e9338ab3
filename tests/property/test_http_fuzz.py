"""Whatever is asked over HTTP, the answer is an answer or a problem, never a failure of the server."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from tests.support.server import BASE, put, request_rows, settings

ROUNDS = 12  # of every route
LONG_ROUNDS = 60
ODD = (
    "",
    " ",
    "0",
    "-1",
    "1e999",
    "NaN",
    "9" * 40,
    "null",
    "../../etc/passwd",
    "%00",
    "\x00",
    "'; DROP TABLE requests; --",
    '"',
    "\\",
    "😀",
    "\u202e",
    "a" * 5000,
    "2026-W10",
    "2026-W53",
    "0000-W00",
    "9999-W52",
    "2026-03-02",
    "0001-01-01",
    "9999-12-31T23:59:59+14:00",
    "2026-03-02T10:00:00.123456789Z",
    "UTC",
    "Europe/Berlin",
    "../UTC",
    "scenario=chat",
    "hour=10",
    "team=x",
    "=",
    "a=b=c",
    "user",
    "user,scenario",
    "day",
    "ttft",
    "50,99.9",
    "json",
    "latest",
    "latest.pdf.html",
    "r-1",
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = create_app(settings(tmp_path_factory.mktemp("fuzz"), requests_per_second=0))
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as opened:
        put(opened, "requests.jsonl", request_rows(60))
        opened.post("/api/v1/reports")
        yield opened


def asked(document: dict[str, Any], chance: random.Random, rounds: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(method, address, more) of every route with odd values in its places."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for _ in range(rounds):
                address = re.sub(r"\{[^}]*\}", lambda _: quote(chance.choice(ODD) or "x", safe=""), path)
                named = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
                query = {name: chance.choice(ODD) for name in named if chance.random() < 0.4}
                body = chance.choice(ODD).encode() if "requestBody" in operation or method in ("put", "post") else None
                kind = {"content-type": chance.choice(("application/json", "application/x-protobuf", "text/plain"))}
                yield method, address, {"params": query, "content": body, "headers": kind if body is not None else {}}


def failures(service: TestClient, seed: int, rounds: int) -> list[str]:
    document = service.get("/openapi.json").json()
    document["paths"].pop("/api/v1/backup")  # streams the store, whatever it is asked
    found = []
    for method, address, more in asked(document, random.Random(seed), rounds):
        if address.endswith("/events") or ".pdf" in address:
            continue
        said = service.request(method, address, **more)
        if said.status_code >= 500 or (said.status_code >= 400 and not _is_told(said.headers["content-type"], address)):
            found.append(f"{said.status_code} {method} {address[:200]} {more}: {said.text[:200]}")
    return found


def _is_told(kind: str, address: str) -> bool:
    """A problem everywhere, but for the receiver, whose errors are those of its specification."""
    return kind == "application/problem+json" or address == "/v1/traces"


def test_odd_questions_get_answers_or_problems(service: TestClient) -> None:
    assert failures(service, 1, ROUNDS) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_very_many_odd_questions_get_answers_or_problems(service: TestClient, seed: int) -> None:
    assert failures(service, seed, LONG_ROUNDS) == []
