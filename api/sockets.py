"""Sockets to listen at, or the sentence that says why there is none."""

from __future__ import annotations

import socket

from ingest.errors import StateError


def place(host: str, port: int) -> str:
    """HOST:PORT as an address has it: brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def listen(host: str, port: int, option: str = "port") -> socket.socket:
    """A socket that is bound; port 0 takes a free one.

    Args:
        option: the option that gave the port, for the hint.

    Raises:
        StateError: the address is taken, or is none of this machine.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, UnicodeError) as error:
        listener.close()
        raise StateError(
            f"cannot listen at {host}:{port}: {getattr(error, 'strerror', None) or error}",
            code="address_taken",
            hint=f"give another --{option}; 0 takes a free one",
        ) from error
    return listener
