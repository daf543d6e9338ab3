"""Names out of traces as pages and files show them: nothing that moves a cursor or turns text around, and no megabytes.

Input: text. Output: text that is safe to look at and short enough to be a name.
"""

from __future__ import annotations

import hashlib
import re

MOST_NAME = 300  # characters of a value of a dimension in a file; two names that only differ beyond stay two
MOST_SHOWN = 10_000  # characters of any text on a page; no sentence of ours is near
_HEAD = 250
# control characters but for tab and line ends; marks that turn the direction of text; ends of lines and paragraphs
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text with every control character shown as a dot, and cut where it is longer than any text is."""
    cut = text if len(text) <= MOST_SHOWN else f"{text[:_HEAD]}… ({len(text):,} characters)"
    return _CONTROL.sub("·", cut)


def capped(name: str | None) -> str | None:
    """The name, of one that is too long its beginning, its length, and a mark that tells it from others like it."""
    if name is None or len(name) <= MOST_NAME:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{name[:_HEAD]}… ({len(name):,} characters, {mark})"
