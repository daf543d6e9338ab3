"""What stands before every route: who may ask, how much, how often, and what every answer carries.

Input: ASGI scopes. Output: the answer of the app, or a refusal as a problem. Pure ASGI, so that streams stay streams.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.bodies import too_large
from api.export_answer import PATH, failure
from api.keys import OPEN_PATHS, KeyRing, key_in, may
from api.problems import MEDIA_TYPE, Refused, problem_of
from api.settings import LOOPBACK

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
BURST_S = 2.0  # a client may use the allowance of so many seconds at once
CLIENTS = 10_000  # addresses whose allowance is remembered
SECURITY_HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
DEFAULT_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"


async def refuse(refusal: Refused, scope: Scope, send: Send) -> None:
    """Answer with the problem of a refusal, an exporter with what it expects."""
    members = problem_of(refusal, scope["path"])
    status, media, body = refusal.status, MEDIA_TYPE, json.dumps(members).encode()
    if scope["path"] == PATH:
        status, media, body = failure(Headers(scope=scope).get("content-type", ""), members)
    headers = [(b"content-type", media.encode()), (b"content-length", str(len(body)).encode())]
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Basic realm="tailwise", charset="UTF-8"'))
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class SecurityHeaders:
    """Adds the headers that every answer carries; a page brings its own content policy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS:
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", DEFAULT_POLICY)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class Heads:
    """Answers HEAD like GET, without the body; a stream of events, which has no end, is left alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith("/events"):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


class SameSite:
    """Refuses what another site's page sends through the reader's browser.

    A change must not come from another site; a server that listens on this machine alone answers to its own names
    and to those of a proxy before it alone, or a page could reach it under a name of its own.
    """

    def __init__(self, app: ASGIApp, *, host: str, names: Iterable[str] = ()) -> None:
        self._app = app
        self._names = LOOPBACK | set(names) if host in LOOPBACK else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is not None:
            await refuse(refusal, scope, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refused | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if self._names is not None and name and name.lower() not in self._names:
            return Refused(
                f'this server answers to localhost, not to "{name}"',
                status=421,
                code="wrong_host",
                hint="behind a proxy, list its names in the setting names",
            )
        site = headers.get("sec-fetch-site", "")
        if scope["method"] not in SAFE_METHODS and site in ("cross-site", "same-site"):
            return Refused("a page of another site may not change anything here", status=403, code="cross_site")
        return None


def key_refusal(ring: KeyRing, headers: Mapping[str, str], method: str, path: str) -> Refused | None:
    """Why who sends these headers may not do this; None: it may, or the server has no keys."""
    if not ring.listed():
        return None
    text = key_in(headers)
    role = ring.role_of(text) if text else None
    if role is None:
        return Refused(
            "this server wants a key" if text is None else "the key is none of this server",
            status=401,
            code="no_key",
            hint="tailwise keys add makes one; send it as Authorization: Bearer KEY",
        )
    if not may(role, method, path):
        return Refused(f"a key of role {role} may not do this", status=403, code="role")
    return None


class Keys:
    """Asks for a key where there are any, and refuses what its role does not allow."""

    def __init__(self, app: ASGIApp, *, ring: KeyRing) -> None:
        self._app = app
        self._ring = ring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" and scope["path"] not in OPEN_PATHS else None
        if refusal is not None:
            await refuse(refusal, scope, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refused | None:
        return key_refusal(self._ring, Headers(scope=scope), scope["method"], scope["path"])


class BodyLimit:
    """Refuses bodies above a limit by path: `limit_of` gives bytes; a stream is counted while it is read."""

    def __init__(self, app: ASGIApp, *, limit_of: Callable[[str], int]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        said = Headers(scope=scope).get("content-length", "")
        if said.isdigit() and int(said) > limit:
            await refuse(too_large("body", limit), scope, send)
            return
        size, answered, exceeded = 0, False, False

        async def receive_counted() -> Message:
            nonlocal size, exceeded
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                exceeded = True
                return {"type": "http.disconnect"}
            return message

        async def send_unless_exceeded(message: Message) -> None:
            nonlocal answered
            if exceeded and not answered:
                answered = True
                await refuse(too_large("body", limit), scope, send)
            elif not answered:
                await send(message)

        try:
            await self._app(scope, receive_counted, send_unless_exceeded)
        except Exception:
            if not exceeded:
                raise
        if exceeded and not answered:
            await refuse(too_large("body", limit), scope, send)


class Allowance:
    """What a client address may still ask, by whatever door it comes; `per_s` 0: as much as it likes."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address: allowance, when

    def refusal(self, address: str) -> Refused | None:
        """None: one request is taken off the allowance of the address; else when it may ask again."""
        if self._per_s <= 0 or self._allow(address):
            return None
        return Refused(
            f"more than {self._per_s:g} requests a second from one address",
            status=HTTPStatus.TOO_MANY_REQUESTS,
            code="too_many_requests",
            retry_after=1,
        )

    def _allow(self, address: str) -> bool:
        now = self._clock()
        most = max(1.0, self._per_s * BURST_S)
        allowance, before = self._clients.pop(address, (most, now))
        allowance = min(most, allowance + (now - before) * self._per_s)
        allowed = allowance >= 1
        self._clients[address] = (allowance - 1 if allowed else allowance, now)
        while len(self._clients) > CLIENTS:
            self._clients.popitem(last=False)
        return allowed


class RateLimit:
    """Refuses a client address that asks more often than its allowance, with the time after which it may ask again."""

    def __init__(self, app: ASGIApp, *, allowance: Allowance) -> None:
        self._app = app
        self._allowance = allowance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        refusal = self._allowance.refusal((scope.get("client") or ("", 0))[0]) if is_http else None
        if refusal is not None:
            await refuse(refusal, scope, send)
        else:
            await self._app(scope, receive, send)
