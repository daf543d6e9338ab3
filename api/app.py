"""The HTTP door: settings in, an ASGI app out.

Routes are thin: they read parameters, call the service in a thread, and hand on what it says. Errors of any room
become RFC 9457 problems here and nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import cast

import structlog
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from api.export_answer import PATH, failure
from api.grpc_door import open_grpc
from api.house import open_house
from api.keys import KeyRing, keys_file
from api.mcp_door import McpRoute, open_mcp
from api.middleware import Allowance, BodyLimit, Heads, Keys, RateLimit, SameSite, SecurityHeaders
from api.pages import page_policy
from api.problems import MEDIA_TYPE, Refused, problem, problem_of, status_of
from api.routes import (
    costs,
    docs,
    exports,
    figures,
    objectives,
    pages,
    probes,
    reports,
    requests,
    rules,
    schedules,
    traces,
    upkeep,
    uploads,
)
from api.routes.asking import known_parameters
from api.settings import MIB, Settings
from api.telemetry import Measured, Telemetry
from ingest.errors import ServiceError
from reports.pages import render_problem

SMALL_BODY = 4 * MIB  # of every route that takes neither files nor spans
MODULES = (
    traces,
    uploads,
    figures,
    objectives,
    rules,
    requests,
    costs,
    exports,
    reports,
    schedules,
    pages,
    probes,
    upkeep,
    docs,
)
DESCRIPTION = "Request traces of LLM services in; verdicts, root causes, recommendations and costs out."


def create_app(settings: Settings) -> FastAPI:
    """The app; the store is opened when it starts and closed when it ends."""
    telemetry, ring = Telemetry(), KeyRing(keys_file(settings.store))
    allowance = Allowance(settings.requests_per_second)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            with open_house(settings, telemetry) as house:
                app.state.house = house
                async with open_grpc(house, ring, allowance) as app.state.grpc, open_mcp(house) as app.state.mcp:
                    yield
        except ServiceError as error:
            app.state.stopped_by = error  # for whoever serves the app: the library's log has a traceback alone
            raise

    app = FastAPI(
        title="tailwise",
        description=DESCRIPTION,
        version="0.1.0",
        lifespan=lifespan,
        docs_url=None,  # the built-in page loads scripts from elsewhere; routes/docs.py has one that does not
        redoc_url=None,
    )
    for module in MODULES:
        app.include_router(module.router, dependencies=[Depends(known_parameters)])
    app.router.routes.append(McpRoute())
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(Heads)
    app.add_middleware(BodyLimit, limit_of=lambda path: _limit(settings, path))
    app.add_middleware(RateLimit, allowance=allowance)
    app.add_middleware(Keys, ring=ring)
    app.add_middleware(SameSite, host=settings.host, names=settings.host_names)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Measured, telemetry=telemetry)
    return app


def _limit(settings: Settings, path: str) -> int:
    if path == "/v1/traces":
        return settings.max_body_bytes
    return settings.max_upload_bytes if path.startswith("/api/v1/uploads") else SMALL_BODY


def _answer(request: Request, members: dict[str, object], retry_after: int | None = None) -> Response:
    """The problem: a page for a reader at a browser, JSON for programs and below /api, a status of OTLP for exporters."""
    headers = {"retry-after": str(retry_after)} if retry_after is not None else {}
    if request.url.path == PATH:
        status, media, body = failure(request.headers.get("content-type", ""), members)
        return Response(body, status, headers, media)
    reads_page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    if reads_page and not request.url.path.startswith(("/api/", "/v1/")):
        hint = members.get("hint")
        page = render_problem(str(members["title"]), str(members["detail"]), None if hint is None else str(hint))
        headers["content-security-policy"] = page_policy(page)
        return HTMLResponse(page, int(str(members["status"])), headers)
    return JSONResponse(members, int(str(members["status"])), headers, MEDIA_TYPE)


async def _service_error(request: Request, error: Exception) -> Response:
    error = cast(ServiceError, error)
    is_for_now = isinstance(error, Refused) and error.retry_after is not None  # the client is told to come back
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR and not is_for_now:
        structlog.get_logger("http").error("failed", path=request.url.path, code=error.code, message=error.message)
    return _answer(
        request, problem_of(error, request.url.path), error.retry_after if isinstance(error, Refused) else None
    )


async def _invalid(request: Request, error: Exception) -> Response:
    error = cast(RequestValidationError, error)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return _answer(request, problem(422, "invalid_parameter", f"{place}: {first['msg']}", instance=request.url.path))


async def _http_error(request: Request, error: Exception) -> Response:
    error = cast(HTTPException, error)
    codes = {404: ("no_such_route", "nothing is at this address; GET /docs lists what is"), 405: ("wrong_method", "")}
    code, detail = codes.get(error.status_code, ("http", str(error.detail)))
    return _answer(request, problem(error.status_code, code, detail or str(error.detail), instance=request.url.path))


async def _unexpected(request: Request, error: Exception) -> Response:
    structlog.get_logger("http").error("unexpected", path=request.url.path, exc_info=error)
    detail = f"the server met an error that it does not know ({type(error).__name__}); its log has more"
    return _answer(request, problem(500, "unexpected", detail, instance=request.url.path))
