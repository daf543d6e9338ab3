"""Read-only tools for assistants over the Model Context Protocol. Needs the extra `mcp`.

Input: calls of tools with the parameters of the HTTP routes. Output: the JSON of those routes, by the same functions.
A call stands for itself: no sessions, no streams.
Source: Model Context Protocol, streamable HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import wraps
from importlib import metadata
from typing import Annotated, Any

from fastapi.responses import Response
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from starlette.types import ASGIApp

from api.house import House
from api.routes import costs, figures, objectives, requests, rules
from api.routes.asking import question_of
from ingest.errors import ServiceError

INSTRUCTIONS = (
    "tailwise reads request traces of an LLM service, judges objectives, finds root causes and splits cost. Ask breaches "
    "first, then diagnosis of an objective that broke; request shows one of its exemplars. Durations are seconds, shares "
    "are ratios, money is decimal text in USD, unknown is null. Figures are about requests that a selection takes; "
    "without one they are about everything loaded."
)
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Told = CallToolResult
Tool = tuple[str, Callable[..., Told], str]  # name, as the route has it; function, run in a thread; what it is for
OWN_NAMES = {"from": "start", "to": "end"}
Week = Annotated[str | None, Field(description="ISO week, such as 2026-W48")]
Start = Annotated[str | None, Field(alias="from", description="ISO 8601, this instant included")]
End = Annotated[str | None, Field(alias="to", description="ISO 8601, this instant not included")]
Zone = Annotated[str | None, Field(description="IANA name; default that of the objectives")]
Where = Annotated[list[str] | None, Field(description="dimension=value, such as model=lm-large; all must hold")]


@asynccontextmanager
async def answering(house: House) -> AsyncIterator[ASGIApp]:
    """What answers calls until the context ends."""
    server = _server(house)
    server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # SameSite stands before
    )
    manager = server.session_manager
    async with manager.run():
        yield manager.handle_request


def _server(house: House) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer(
        "tailwise",
        instructions=INSTRUCTIONS,
        version=metadata.version("tailwise"),
        log_level="WARNING",
        subscriptions=False,
    )
    for name, tool, says in (*_about_a_selection(house), *_about_an_id(house)):
        server.add_tool(_by_own_names(tool), name=name, description=says, annotations=READS)
    return server


def _about_a_selection(house: House) -> tuple[Tool, ...]:
    def breaches(
        *, week: Week = None, start: Start = None, end: End = None, timezone: Zone = None, where: Where = None
    ) -> Told:
        return _told(lambda: objectives.breaches(house, question_of(week, start, end, timezone, where)))

    def verdicts(
        *, week: Week = None, start: Start = None, end: End = None, timezone: Zone = None, where: Where = None
    ) -> Told:
        return _told(lambda: objectives.objectives(house, question_of(week, start, end, timezone, where)))

    def diagnosis(
        *,
        objective: Annotated[str, Field(description="id of an objective")],
        week: Week = None,
        start: Start = None,
        end: End = None,
        timezone: Zone = None,
        where: Where = None,
    ) -> Told:
        return _told(lambda: objectives.diagnosis(house, question_of(week, start, end, timezone, where), objective))

    def summary(
        *, week: Week = None, start: Start = None, end: End = None, timezone: Zone = None, where: Where = None
    ) -> Told:
        route = figures.figure_route("summary")
        return _told(lambda: route(house, question_of(week, start, end, timezone, where)))

    def cost(
        *,
        by: Annotated[str, Field(description="dimensions, separated by commas, such as user,scenario")] = "user",
        week: Week = None,
        start: Start = None,
        end: End = None,
        timezone: Zone = None,
        where: Where = None,
    ) -> Told:
        return _told(lambda: costs.costs(house, question_of(week, start, end, timezone, where), by, "json"))

    return (
        ("breaches", breaches, "Broken and endangered objectives with their findings; an empty list if all is well"),
        ("objectives", verdicts, "Every objective with its verdict, counts, budget and burn rates"),
        ("diagnosis", diagnosis, "One objective: why it broke, since when, where, and what to do first"),
        ("summary", summary, "How much there was, and how far it can be trusted"),
        ("costs", cost, "Who spent what, by any dimensions; the rows add up to the total"),
    )


def _about_an_id(house: House) -> tuple[Tool, ...]:
    def request(request_id: Annotated[str, Field(description="key, trace id or id of a request")]) -> Told:
        return _told(lambda: requests.request(house, request_id))

    def explain(
        entry_id: Annotated[str, Field(description="of a metric, a format, a rule, a recommendation or an objective")],
    ) -> Told:
        return _told(lambda: rules.explain(house, entry_id))

    return (
        ("request", request, "One request with the timeline of its stages, its calls and its spans"),
        ("explain", explain, "What an id means, where it comes from, and what it needs"),
    )


def _by_own_names(tool: Callable[..., Told]) -> Callable[..., Told]:
    """The library hands parameters over by their names outside, of which two are words of Python."""

    @wraps(tool)
    def called(**given: Any) -> Told:
        return tool(**{OWN_NAMES.get(name, name): value for name, value in given.items()})

    return called


def _told(ask: Callable[[], Response]) -> Told:
    """The JSON of a route, to the byte; what the caller can mend goes to it as the sentence of the error."""
    try:
        said = bytes(ask().body)
    except ServiceError as error:
        raise ToolError(error.message if error.hint is None else f"{error.message}. {error.hint}") from error
    return CallToolResult(content=[TextContent(text=said.decode())])
