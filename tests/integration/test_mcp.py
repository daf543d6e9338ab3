"""/mcp: a real client of the Model Context Protocol over HTTP; the answers are those of the routes, the keys too."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from api.keys import KeyRing, keys_file
from tests.support.server import client, listening, receipt, request_rows, settings

OBJECTIVES = (
    b"objectives: [{id: chat.ttft, metric: ttft, threshold: 300ms, target: 95%}, "
    b"{id: chat.e2e, metric: e2e, threshold: 5s, target: 95%}]"
)
HOUR = {"from": "2026-03-02T10:00:00Z", "to": "2026-03-02T11:00:00Z"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with listening(tmp_path_factory.mktemp("mcp")) as url, httpx2.Client(base_url=url, timeout=60) as opened:
        opened.put("/api/v1/objectives", content=OBJECTIVES)
        receipt(opened, opened.put("/api/v1/uploads/r.jsonl", content=request_rows(120)).json()["id"])
        yield opened


def ask(service: httpx2.Client, tool: str, **parameters: Any) -> tuple[bool, str]:
    """Whether the call of a tool failed, and its text."""

    async def call() -> tuple[bool, str]:
        async with (
            httpx2.AsyncClient(headers=service.headers, timeout=60) as sender,
            Client(streamable_http_client(str(service.base_url.join("/mcp")), http_client=sender)) as assistant,
        ):
            said = await assistant.call_tool(tool, parameters)
            return said.is_error, "".join(part.text for part in said.content if part.type == "text")

    return asyncio.run(call())


def test_tools_only_read_and_say_what_they_take(service: httpx2.Client) -> None:
    async def listed() -> list[Any]:
        async with Client(str(service.base_url.join("/mcp"))) as assistant:
            return (await assistant.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    names = ["breaches", "objectives", "diagnosis", "summary", "costs", "request", "explain"]
    parameters = {name: sorted(tool.input_schema["properties"]) for name, tool in tools.items()}
    assert list(tools) == names
    assert {tool.annotations.read_only_hint for tool in tools.values()} == {True}
    assert parameters["summary"] == ["from", "timezone", "to", "week", "where"]
    assert parameters["costs"] == ["by", *parameters["summary"]]
    assert (parameters["diagnosis"][2], parameters["request"]) == ("timezone", ["request_id"])


@pytest.mark.parametrize(
    ("tool", "parameters", "route", "query"),
    [
        ("breaches", {}, "/breaches", {}),
        ("breaches", HOUR | {"where": ["user=u-1"]}, "/breaches", HOUR | {"where": "user=u-1"}),
        ("objectives", {"week": "2026-W10"}, "/objectives", {"week": "2026-W10"}),
        ("diagnosis", {"objective": "chat.ttft"}, "/objectives/chat.ttft/diagnosis", {}),
        ("summary", {"where": ["user=u-1", "model=m"]}, "/summary", {"where": ["user=u-1", "model=m"]}),
        ("costs", {"by": "user,model"}, "/costs", {"by": "user,model"}),
        ("request", {"request_id": "r-7"}, "/requests/r-7", {}),
        ("explain", {"entry_id": "KB-09"}, "/explain/KB-09", {}),
        ("explain", {"entry_id": "chat.ttft"}, "/explain/chat.ttft", {}),
    ],
)
def test_an_answer_is_that_of_the_route_to_the_byte(
    service: httpx2.Client, tool: str, parameters: dict[str, Any], route: str, query: dict[str, Any]
) -> None:
    over_http = service.get(f"/api/v1{route}", params=query)
    assert over_http.status_code == 200
    assert ask(service, tool, **parameters) == (False, over_http.text)


def test_a_selection_is_one(service: httpx2.Client) -> None:
    counts = [
        json.loads(ask(service, "summary", **more)[1])["summary"]["requests"]
        for more in ({}, {"where": ["user=u-1"]}, {"from": "2026-03-02T10:01:00Z"}, {"to": "2026-03-02T10:00:30Z"})
    ]
    broken = json.loads(ask(service, "breaches")[1])["breaches"]
    assert counts == [120, 40, 60, 30]
    assert [row["objective"]["id"] for row in broken] == ["chat.ttft"]


@pytest.mark.parametrize(
    ("tool", "parameters", "says"),
    [
        ("summary", {"week": "nonsense"}, 'week "nonsense" is not of the form 2026-W48'),
        ("summary", {"where": ["colour=red"]}, 'dimension "colour" is not known'),
        ("diagnosis", {"objective": "none"}, 'no objective has the id "none". Known: chat.ttft, chat.e2e'),
        ("request", {"request_id": "none"}, 'no request has the key, trace id or id "none"'),
        ("explain", {"entry_id": "tttft"}, 'nothing is called "tttft". Did you mean "ttft"?'),
        ("diagnosis", {}, "objective"),
        ("forget", {}, "Unknown tool: forget"),
    ],
)
def test_what_is_asked_wrongly_is_told_in_a_sentence(
    service: httpx2.Client, tool: str, parameters: dict[str, Any], says: str
) -> None:
    failed, told = ask(service, tool, **parameters)
    assert (failed, says in told, "Traceback" in told) == (True, True, False)


def test_calls_are_counted_by_their_route_and_nothing_streams(service: httpx2.Client) -> None:
    ask(service, "summary")
    figures = service.get("/metrics").text
    assert 'tailwise_http_requests_total{method="POST",route="/mcp",status="200"}' in figures
    assert [service.request(method, "/mcp").status_code for method in ("GET", "DELETE")] == [405, 405]
    assert service.post("/mcp", headers={"host": "evil.example"}).status_code == 421
    assert service.post("/mcp", headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_a_key_that_may_read_may_ask(tmp_path: Path) -> None:
    ring = KeyRing(keys_file(settings(tmp_path).store))
    keys = {role: ring.add(role, role)[1] for role in ("read", "ingest", "admin")}
    with listening(tmp_path) as url, httpx2.Client(base_url=url) as service:
        statuses = {
            role: service.post("/mcp", headers={"authorization": f"Bearer {key}"}).status_code
            for role, key in (keys | {"none": "tw_none"}).items()
        }
        service.headers["authorization"] = f"Bearer {keys['read']}"
        assert ask(service, "breaches")[0] is False
    assert statuses == {"read": 400, "ingest": 403, "admin": 400, "none": 401}  # 400: let in, and the body is none


def test_without_the_extra_the_door_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "api.assistants", raising=False)
    with client(tmp_path) as service:
        said = service.post("/mcp", json={})
    told = 'the extra "mcp" is not installed; pip install "tailwise[mcp]"'
    assert (said.status_code, said.json()["detail"]) == (404, told)
