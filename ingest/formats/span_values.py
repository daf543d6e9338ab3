"""What readers of spans share: attribute values as text, kinds, status, ids.

Input: values of parsed JSON. Output: parts of RawSpan. Which spans cannot be is judged when they are staged, so
missing ids are empty here and missing times 0.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ingest.formats import values as v

KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
STATUS = {"unset": 0, "ok": 1, "error": 2}

_VALUE_KINDS = frozenset(
    f"{kind}{end}"
    for kind in ("string", "int", "double", "bool", "array", "kvlist", "bytes")
    for end in ("Value", "_value")
)
_HEX = re.compile(r"[0-9a-fA-F]+$")


def attribute_text(value: object) -> str | None:
    """An attribute value as text: text as it is, everything else as JSON; None for null."""
    if value is None:
        return None
    if isinstance(value, str):
        return v.clean(value)
    try:
        return v.clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (ValueError, RecursionError, TypeError):
        return None


def attributes(pairs: Iterable[tuple[object, object]]) -> dict[str, str]:
    """Attributes by name, values as text."""
    found: dict[str, str] = {}
    for key, value in pairs:
        told = attribute_text(value)
        if isinstance(key, str) and key and told is not None:
            found[v.clean(key)] = told
    return found


def plain(value: object) -> dict[str, str]:
    """Attributes of a plain object."""
    return attributes(v.mapping(value).items())


def tagged(value: object) -> dict[str, str]:
    """Attributes of a list of `{"key", "value"}`, where a typed value is wrapped as in OTLP."""
    pairs = [(one.get("key"), _unwrapped(one.get("value"))) for one in v.listing(value) if isinstance(one, dict)]
    return attributes(pairs)


def _unwrapped(value: object) -> object:
    """The value inside `{"stringValue": ...}` and its kin, fields beside it passed over; 64-bit integers may be text."""
    if not isinstance(value, dict):
        return value
    kind = next((name for name in value if name in _VALUE_KINDS), None)
    if kind is None:
        return None if value == {} else value
    inner = value[kind]
    if kind in ("arrayValue", "array_value"):
        return [_unwrapped(one) for one in v.listing(v.at(inner, "values"))]
    if kind in ("kvlistValue", "kvlist_value"):
        return {
            str(one.get("key")): _unwrapped(one.get("value"))
            for one in v.listing(v.at(inner, "values"))
            if isinstance(one, dict)
        }
    return inner


def flattened(value: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """A nested object as one of dotted names; lists stay values."""
    found: dict[str, object] = {}
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(inner, dict) and inner and len(name) < 256:
            found |= flattened(inner, name)
        else:
            found[name] = inner
    return found


def hex_id(value: object, digits: int) -> str:
    """An id as lower-case hex of that many digits: hex (0x, dashes, short ones padded on the left) or base64."""
    found = (v.text(value) or "").strip()
    bare = found.removeprefix("0x").removeprefix("0X").replace("-", "")
    if len(bare) <= digits and _HEX.match(bare):
        return bare.lower().zfill(digits)
    try:
        decoded = base64.b64decode(found, validate=True)
    except (binascii.Error, ValueError):
        return bare.lower()
    return decoded.hex() if len(decoded) * 2 == digits else bare.lower()


def parent_id(value: object) -> str | None:
    """Span id of the parent; None where there is none, which some write as empty text or zeros."""
    found = v.text(value)
    return hex_id(found, 16) if found and found.strip("0") else None


def kind_of(value: object) -> int:
    """OTLP's number of a span kind, of its name in any spelling or of the number itself, which may be text."""
    number = v.integer(value)
    if number is not None:
        return number if 0 <= number <= 5 else 0
    name = (v.text(value) or "").lower().removeprefix("span_kind_").removeprefix("spankind.")
    return KINDS.get(name, 0)


def status_of(value: object) -> int:
    """OTLP's number of a status code, of its name in any spelling or of the number itself, which may be text."""
    number = v.integer(value)
    if number is not None:
        return number if 0 <= number <= 2 else 0
    name = (v.text(value) or "").lower().removeprefix("status_code_").removeprefix("statuscode.")
    return STATUS.get(name, 0)


def nanoseconds(value: object) -> int:
    """A 64-bit count of nanoseconds as number or text; 0 where it is not set."""
    return v.integer(value) or 0
