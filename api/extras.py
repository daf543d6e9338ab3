"""Extras: what is there only where the operator installed it.

Input: the name of an extra. Output: whether its libraries are here, or the sentence that says how to get them.
The modules of an extra are imported where they are used, after this was asked.
"""

from __future__ import annotations

from importlib.util import find_spec

from api.settings import GRPC_PORT, Settings
from ingest.errors import ConfigError

LIBRARIES = {"grpc": "grpc", "mcp": "mcp"}  # extra of pyproject.toml: the module that it brings


def installed(extra: str) -> bool:
    """Whether the library of an extra can be imported."""
    return find_spec(LIBRARIES[extra]) is not None


def how_to_get(extra: str) -> str:
    """What to do where an extra is missing."""
    return f'the extra "{extra}" is not installed; pip install "tailwise[{extra}]"'


def demand(extra: str, place: str) -> None:
    """Nothing, where the extra is there.

    Args:
        place: what asked for it, the first words of the message.

    Raises:
        ConfigError: it is not installed.
    """
    if not installed(extra):
        raise ConfigError(f"{place}: {how_to_get(extra)}")


def grpc_port(settings: Settings) -> int | None:
    """Port to listen at, 0 for a free one; None: OTLP over gRPC is off.

    Raises:
        ConfigError: it was asked for, and the extra is not installed.
    """
    if settings.grpc_port == "off":
        return None
    if settings.grpc_port is None:
        return GRPC_PORT if installed("grpc") else None
    demand("grpc", f"grpc_port {settings.grpc_port}")
    return settings.grpc_port
