"""What the service says of itself: Prometheus figures, labelled by route template and never by path.

Input: finished HTTP requests and gRPC calls, received spans. Output: the text of /metrics. One registry per app, so two apps in one
process do not share counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Telemetry:
    """The figures of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.http_requests = Counter(
            "tailwise_http_requests", "HTTP requests answered", ("method", "route", "status"), registry=self.registry
        )
        self.http_seconds = Histogram(
            "tailwise_http_request_seconds", "Time to answer", ("method", "route"), registry=self.registry
        )
        self.grpc_requests = Counter(
            "tailwise_grpc_requests", "gRPC calls answered", ("method", "code"), registry=self.registry
        )
        self.grpc_seconds = Histogram(
            "tailwise_grpc_request_seconds", "Time to answer over gRPC", ("method",), registry=self.registry
        )
        self.spans = Counter("tailwise_spans_received", "Spans received", ("outcome",), registry=self.registry)
        self.batch_seconds = Histogram(
            "tailwise_batch_seconds", "Time to bring received spans into the store", registry=self.registry
        )

    def watch(self, name: str, says: str, value: Callable[[], float]) -> None:
        """A gauge that is asked when the figures are read."""
        Gauge(name, says, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """The figures in the Prometheus text format."""
        return generate_latest(self.registry)


class Measured:
    """Counts and times every HTTP request; what no route takes is counted under one label."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._telemetry.http_requests.labels(scope["method"], route, str(status)).inc()
            self._telemetry.http_seconds.labels(scope["method"], route).observe(time.perf_counter() - began)
