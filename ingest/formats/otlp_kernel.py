"""What reads the spans of protobuf messages that are written as usual: arrays, or compiled code for large sources.

Output: Kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingest.formats import otlp_alike
from ingest.formats.byte_slices import views_of
from ingest.formats.otlp_alike import Alike
from ingest.formats.otlp_wire import Data, Ints, Keys


@dataclass(frozen=True)
class Cut:
    """Spans of one resource and scope: the bytes of these two messages, and where the spans are in the message."""

    resource: bytes
    scope: bytes
    starts: Ints
    ends: Ints


@dataclass(frozen=True)
class Kernel:
    """`read`: the spans that are written as usual; `views`: as byte_slices.views_of; `cut`: the spans of a message that
    is written as usual, None of another one."""

    read: Callable[[Data, Keys], Alike]
    views: Callable[[bytes, Ints, Ints], Ints]
    cut: Callable[[bytes], list[Cut] | None]


def plain() -> Kernel:
    """Arrays, and the protobuf library for the messages."""
    return Kernel(otlp_alike.read, views_of, lambda _: None)
