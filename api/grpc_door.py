"""Whether OTLP over gRPC is taken, and where; nothing here needs the extra.

Input: settings, a running service. Output: the address at which exports are taken, or none.
Asked for and impossible is an error; a default that cannot be is told and left, for the server has work without it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from api.extras import grpc_port
from api.house import House
from api.keys import KeyRing
from api.middleware import Allowance
from api.sockets import listen
from ingest.errors import StateError


@asynccontextmanager
async def open_grpc(house: House, ring: KeyRing, allowance: Allowance) -> AsyncIterator[str | None]:
    """HOST:PORT where exports are taken until the context ends; None: nowhere.

    Raises:
        ConfigError: it was asked for, and the extra is not installed.
        StateError: it was asked for, and the address is taken.
    """
    port = grpc_port(house.settings)
    try:
        if port:  # the library says which address it could not have, and not why
            listen(house.settings.host, port, "grpc-port").close()
    except StateError as error:
        if house.settings.grpc_port is not None:
            raise
        structlog.get_logger("grpc").warning("OTLP over gRPC is off", why=error.message)
        port = None
    if port is None:
        yield None
        return
    from api.grpc_receiver import receiving

    async with receiving(house, ring, allowance, port) as address:
        yield address
