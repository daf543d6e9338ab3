"""The door for assistants, /mcp; nothing here needs the extra `mcp`, without which the door says how to get it.

Input: a running service, a call of the Model Context Protocol. Output: the answer of its tools.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.extras import how_to_get, installed
from api.house import House
from api.middleware import refuse
from api.problems import Refused


@asynccontextmanager
async def open_mcp(house: House) -> AsyncIterator[ASGIApp | None]:
    """What answers calls until the context ends; None where the extra is not installed."""
    if not installed("mcp"):
        yield None
        return
    from api.assistants import answering

    async with answering(house) as app:
        yield app


class McpRoute(Route):
    """POST /mcp, handed on whole to the library; GET would open a stream on which nothing is ever said."""

    def __init__(self) -> None:
        super().__init__("/mcp", _Door(), methods=["POST"])

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}  # what the figures of the service are labeled by


class _Door:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp | None = scope["app"].state.mcp
        if app is None:
            await refuse(Refused(how_to_get("mcp"), status=404, code="no_such_route"), scope, send)
        else:
            await app(scope, receive, send)
