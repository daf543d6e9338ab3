"""The app on a socket, until it is told to stop.

Input: settings, a bound socket. Output: whether it ever answered.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from api.app import create_app
from api.settings import STOP_S, Settings
from ingest.errors import ServiceError

LONGEST_HEAD = 64 * 1024  # bytes of a request's line and headers


class Server(uvicorn.Server):
    """Tells when it answers; ends in order when it is told to stop."""

    def __init__(self, config: uvicorn.Config, answers: Callable[[], None]) -> None:
        super().__init__(config)
        self._answers = answers

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn calls it so
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self._answers()


def serve_app(settings: Settings, listener: socket.socket, answers: Callable[[str | None], None]) -> bool:
    """True if the server ever answered.

    Args:
        answers: told once, when it does, with the address of OTLP over gRPC, or None.

    Raises:
        ServiceError: the store cannot be opened, or a file of the settings breaks a rule.
    """
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_level="critical",  # a failed start is told by what stopped it, below
        access_log=False,
        timeout_graceful_shutdown=STOP_S,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_HEAD,
    )
    server = Server(config, lambda: answers(app.state.grpc))
    with suppress(SystemExit):  # how the library ends where the app does not start
        server.run(sockets=[listener])
    stopped_by: ServiceError | None = getattr(app.state, "stopped_by", None)
    if stopped_by is not None:
        raise stopped_by
    return server.started
