"""Guards before every route: rate, size, other sites, headers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from api.middleware import Allowance, BodyLimit, Heads, RateLimit, SameSite, SecurityHeaders


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


clock = Clock()


def app_with(*middleware: tuple[type, dict[str, object]]) -> FastAPI:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    for kind, options in middleware:
        app.add_middleware(kind, **options)  # type: ignore[arg-type]
    return app


def client_of(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1:4318")


def test_an_address_that_asks_too_often_waits_and_may_ask_again() -> None:
    clock.now = 0.0
    client = client_of(app_with((RateLimit, {"allowance": Allowance(2.0, clock)})))
    first = [client.post("/echo").status_code for _ in range(5)]
    answer = client.post("/echo")
    clock.now = 0.5
    assert first == [200, 200, 200, 200, 429]
    assert (answer.headers["retry-after"], answer.json()["code"]) == ("1", "too_many_requests")
    assert [client.post("/echo").status_code for _ in range(2)] == [200, 429]


def chunks() -> Iterator[bytes]:
    for _ in range(100):
        yield b"x" * 100


@pytest.mark.parametrize("content", [b"x" * 10_000, chunks()])
def test_a_body_above_the_limit_is_refused_with_and_without_a_length(content: bytes | Iterator[bytes]) -> None:
    client = client_of(app_with((BodyLimit, {"limit_of": lambda _: 1000})))
    answer = client.post("/echo", content=content)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_body_at_the_limit_passes() -> None:
    client = client_of(app_with((BodyLimit, {"limit_of": lambda _: 1000})))
    assert client.post("/echo", content=b"x" * 1000).json() == {"bytes": 1000}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "localhost:4318"}, 200),
        ({"host": "[::1]:4318"}, 200),
        ({"host": "rebound.example:4318"}, 421),
    ],
)
def test_a_page_of_another_site_changes_nothing(headers: dict[str, str], status: int) -> None:
    client = client_of(app_with((SameSite, {"host": "127.0.0.1"})))
    assert client.post("/echo", headers=headers).status_code == status


def test_a_server_for_others_answers_to_any_name() -> None:
    client = client_of(app_with((SameSite, {"host": "0.0.0.0"})))  # noqa: S104 - what the option is for
    assert client.post("/echo", headers={"host": "tailwise.example"}).status_code == 200


def test_every_answer_carries_the_headers_of_safety() -> None:
    headers = client_of(app_with((SecurityHeaders, {}))).get("/nowhere").headers
    assert {name: headers[name] for name in ("x-content-type-options", "x-frame-options", "cache-control")} == {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
    }
    assert headers["content-security-policy"].startswith("default-src 'none'")


def test_a_head_is_that_of_a_get_without_its_body() -> None:
    app = FastAPI()

    @app.get("/page")
    async def page() -> str:
        return "text"

    app.add_middleware(Heads)
    client = TestClient(app)
    got, head, missing = client.get("/page"), client.head("/page"), client.head("/absent")
    assert (head.status_code, head.content, dict(head.headers)) == (200, b"", dict(got.headers))
    assert (missing.status_code, missing.content) == (404, b"")
    assert client.head("/page/events").status_code == 404
