"""Values as sources write them, turned into canonical ones.

Input: a value of parsed JSON or a CSV cell, of any type. Output: text, integers, integer nanoseconds, integer
pico-USD, or None where the value says nothing (empty, "None", NaN, wrong type); never an exception.
Instants and durations go through Decimal or integers, so no float error enters.
"""

from __future__ import annotations

import ast
import hashlib
import re
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, DecimalException
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

from ingest.selection import to_ns

Unit = Literal["s", "ms", "us", "ns"]

NS_PER_UNIT: dict[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
PICO_PER_USD = 10**12
INT64_MAX = 2**63 - 1
EXACT_FLOAT = 2.0**50  # below it a product of floats is off by less than an eighth, so rounding gives the integer
ABSENT = frozenset({"", "none", "null", "nan", "-", "undefined", "n/a"})  # spreadsheets, Python, access logs

_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?)?\s*(Z|z|UTC|[+-]\d{2}:?\d{2})?$"
)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+$")
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?$|(?=.*::|(?:.*:){7})[0-9a-fA-F:]+$")
_KEY = re.compile(r"(?:sk|pk|rk|key|Bearer)[-_ ]\S{8,}$")
_HEX = re.compile(r"[0-9a-f]+$")
_ERROR_NAME = re.compile(r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Timeout)\b")
_LITERAL_LIMIT = 20_000  # characters of Python text that are worth a literal parser
# Epoch units by size: 1e9 s, 1e12 ms, 1e15 us, 1e18 ns are all 2001; below 1e8 a clock does not count from 1970
_EPOCHS = ((10**8, 10**11, "s"), (10**11, 10**14, "ms"), (10**14, 10**17, "us"), (10**17, 10**19, "ns"))

_FINISH = {
    "tool_call": "tool_calls",
    "tool-calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
_FINISH |= {"end_turn": "stop", "stop_sequence": "stop", "eos": "stop", "max_tokens": "length"}

_ERROR_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (  # first match wins; words in names of error classes
    ("timeout", ("timeout", "timed out", "deadline")),
    ("shed", ("ratelimit", "rate_limit", "rate limit", "toomanyrequests", "overloaded", "serviceunavailable")),
    ("cancelled", ("cancel", "abort", "clientdisconnect")),
    ("rejected", ("badrequest", "invalidrequest", "invalid_request", "authentication", "permissiondenied")),
    ("rejected", ("notfound", "contextwindow", "contentpolicy", "unprocessable", "budgetexceeded")),
)


def text(value: object) -> str | None:
    """The value as text without outer blanks; lone surrogates and zero bytes, which no store takes, are replaced."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        found = str(value)
    elif isinstance(value, str):
        found = value.strip()
    else:
        return None
    if found.lower() in ABSENT:
        return None
    return clean(found)


def clean(value: str) -> str:
    """The text with lone surrogates and zero bytes replaced."""
    if value.isascii() and "\0" not in value:
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def number(value: object) -> Decimal | None:
    """The value as an exact finite number; floats by their shortest decimal form."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, float):
        found = repr(value)
    elif isinstance(value, str):
        found = value.strip().strip('"')
    elif isinstance(value, dict):
        return _halves(value)
    else:
        return None
    return Decimal(found) if len(found) <= 64 and _NUMBER.match(found) else None


def _halves(value: dict[Any, Any]) -> Decimal | None:
    """The 64-bit integer that some JavaScript exporters write as two 32-bit halves, the low one unsigned."""
    low, high = value.get("low"), value.get("high")
    if type(low) is int and type(high) is int and abs(low) < 2**32 and abs(high) < 2**32:
        return Decimal(high * 2**32 + (low & 0xFFFFFFFF))
    return None


def integer(value: object) -> int | None:
    """The value as a 64-bit integer: an int, a whole float, or text of either ("21073.0"); true is no number."""
    if type(value) is int:
        return value if abs(value) <= INT64_MAX else None
    found = number(value)
    return _int64(found) if found is not None and found == found.to_integral_value() else None


def _int64(value: Decimal) -> int | None:
    if value.adjusted() > 18:  # also keeps int() from writing out 1E+999999
        return None
    whole = int(value.to_integral_value())
    return whole if abs(whole) <= INT64_MAX else None


def real(value: object) -> float | None:
    """The value as a finite float."""
    found = number(value)
    if found is None or abs(found.adjusted()) > 300:
        return None
    return float(found)


def flag(value: object) -> bool | None:
    """The value as a claim: true, false, or their spellings as text."""
    word = str(value).strip().lower()
    if word in ("true", "1", "yes"):
        return True
    return False if word in ("false", "0", "no") else None


def scaled(value: object, factor: int) -> int | None:
    """The value times an integer factor, rounded to a 64-bit integer."""
    if type(value) is float and abs(product := value * factor) < EXACT_FLOAT:
        return round(product)
    found = number(value)
    if found is None or found.adjusted() > 18:
        return None
    try:
        return _int64(found * factor)
    except DecimalException:
        return None


def duration_ns(value: object, unit: Unit) -> int | None:
    """Integer nanoseconds of a duration in `unit`; the sign is kept, for negative is a fault to be seen.

    One beyond 64 bits is the longest that they hold, for it is a fault to be seen too.
    """
    found = scaled(value, NS_PER_UNIT[unit])
    if found is None and (told := number(value)) is not None and told:
        return INT64_MAX if told > 0 else -INT64_MAX
    return found


def pico_usd(value: object) -> int | None:
    """Integer pico-USD of an amount in USD."""
    return scaled(value, PICO_PER_USD)


def stated_cost(value: object, *token_counts: int | None) -> int | None:
    """Integer pico-USD of a stated cost; 0 beside tokens means that the source knew no price, so None."""
    cost = pico_usd(value)
    return None if cost == 0 and any(token_counts) else cost


def instant_ns(value: object, unit: Unit | None = None, *, zone: tzinfo = UTC) -> int | None:
    """Integer nanoseconds since 1970 of an ISO text or an epoch number; None for a clock that counts from elsewhere.

    Args:
        unit: of an epoch number; None: told by its size.
        zone: of texts without one.
    """
    if isinstance(value, str) and (found := _ISO.match(value.strip())):
        return _iso_ns(found, zone)
    if isinstance(value, datetime):
        return _int64(Decimal(to_ns(value if value.tzinfo else value.replace(tzinfo=zone))))
    epoch = number(value)
    if epoch is None:
        return None
    for low, high, size_unit in _EPOCHS:
        if low <= epoch < high and unit in (None, size_unit):
            return scaled(epoch, NS_PER_UNIT[size_unit])
    return None


def _iso_ns(found: re.Match[str], zone: tzinfo) -> int | None:
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    try:
        clock = int(hour or 0), int(minute or 0), min(int(second or 0), 59)
        moment = datetime(int(year), int(month), int(day), *clock, tzinfo=UTC if offset else zone)
        whole = to_ns(moment) - (_offset_s(offset) * NS_PER_UNIT["s"] if offset else 0)
    except (ValueError, OverflowError):
        return None
    instant = whole + int((fraction or "0").ljust(9, "0")[:9]) + (int(second or 0) // 60) * NS_PER_UNIT["s"]
    return instant if abs(instant) <= INT64_MAX else None


def _offset_s(offset: str) -> int:
    if offset[0] not in "+-":
        return 0
    digits = offset[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60
    return -seconds if offset[0] == "-" else seconds


def is_naive(value: object) -> bool:
    """Whether the value is a time without zone, which is taken as UTC and said so."""
    found = _ISO.match(value.strip()) if isinstance(value, str) else None
    return found is not None and found.group(8) is None


def naive_note(zone: str) -> str:
    """What a receipt says of times without zone."""
    return f"times without zone were read as {zone}; timezone in the mapping file sets another"


def http_date_ns(value: object) -> int | None:
    """Integer nanoseconds of the Date header of HTTP ("Thu, 20 Nov 2025 12:06:07 GMT")."""
    if not isinstance(value, str):
        return None
    try:
        moment = parsedate_to_datetime(value)
        return _int64(Decimal(to_ns(moment if moment.tzinfo else moment.replace(tzinfo=UTC))))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def access_log_ns(value: object) -> int | None:
    """Integer nanoseconds of the time of access logs ("21/Mar/2025:04:28:03 +0000"), whole seconds."""
    if not isinstance(value, str):
        return None
    try:
        return _int64(Decimal(to_ns(datetime.strptime(value.strip("[] "), "%d/%b/%Y:%H:%M:%S %z"))))
    except (ValueError, OverflowError):
        return None


def json_in_text(value: object) -> Any:
    """The value itself, or what its JSON or Python literal text holds; None where it is neither."""
    if not isinstance(value, str):
        return value
    stripped = value.strip()
    if not stripped or stripped[0] not in '{["':
        return None
    try:
        return msgspec.json.decode(stripped)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    if len(stripped) > _LITERAL_LIMIT:
        return None
    try:
        return ast.literal_eval(stripped)  # LiteLLM writes Python dictionaries as text; a literal parser runs nothing
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def mapping(value: object) -> dict[str, Any]:
    """The value, or the object in its text; empty where it is no object."""
    found = json_in_text(value)
    return found if isinstance(found, dict) else {}


def listing(value: object) -> list[Any]:
    """The value, or the array in its text; empty where it is no array."""
    found = json_in_text(value)
    return found if isinstance(found, list) else []


def at(value: object, *path: str) -> Any:
    """The value under nested keys; a text on the way is read as JSON; None where the path ends early."""
    for key in path:
        value = mapping(value).get(key)
        if value is None:
            return None
    return value


def first(*values: Any) -> Any:
    """The first value that is not None."""
    return next((value for value in values if value is not None), None)


def total(*values: int | None) -> int | None:
    """Sum of the known values as far as 64 bits hold it, None if none is known."""
    known = [value for value in values if value is not None]
    return max(-INT64_MAX, min(sum(known), INT64_MAX)) if known else None


def identity(value: object) -> str | None:
    """An id that may be stored: an e-mail address or a key becomes a stable pseudonym, a network address nothing."""
    found = text(value)
    if found is None or _ADDRESS.match(found):
        return None
    if _MAIL.match(found) or _KEY.match(found):
        kind = "mail" if "@" in found else "key"
        return f"{kind}-{hashlib.sha256(found.lower().encode()).hexdigest()[:16]}"
    return found[:256]


def provider(value: object) -> str | None:
    """Name of a provider, lower case."""
    found = text(value)
    return found.lower() if found else None


def trace_id(value: object) -> str | None:
    """32 lower-case hex digits of a trace id, a UUID or a 64-bit id padded on the left; None for anything else."""
    found = (text(value) or "").lower().removeprefix("0x").replace("-", "")
    return found.zfill(32) if 0 < len(found) <= 32 and _HEX.match(found) and found.strip("0") else None


def hashed_id(*parts: object, digits: int = 32) -> str:
    """A stable id of that many hex digits, for sources whose ids are no hex."""
    return hashlib.sha256("\0".join(clean(str(part)) for part in parts).encode()).hexdigest()[:digits]


def finish_reason(value: object) -> str | None:
    """Finish reason in lower case under one name per meaning; of a list, or its text, the first."""
    if isinstance(value, str) and value[:1] in '["':
        value = json_in_text(value)
    if isinstance(value, list):
        value = value[0] if value else None
    found = (text(value) or "").lower()
    return _FINISH.get(found, found) or None


def status_of_http(code: int | None) -> str | None:
    """Status class of an HTTP status; None if there is none."""
    if code is None or not 100 <= code <= 599:
        return None
    special = {499: "cancelled", 429: "shed", 503: "shed", 504: "timeout", 408: "timeout"}
    if code in special:
        return special[code]
    return "error" if code >= 500 else "rejected" if code >= 400 else "ok"


def error_name(message: str | None) -> str | None:
    """The name of the error class in a message; the message itself may hold a prompt and is not kept."""
    if message is None:
        return None
    found = _ERROR_NAME.search(message[:2000])
    return found[0][:120] if found else "error"


def status_of_error(name: str | None) -> str:
    """Status class of a failure by the name or message of its error."""
    words = (name or "").lower()
    return next((status for status, marks in _ERROR_WORDS if any(mark in words for mark in marks)), "error")


def seconds(duration: int) -> Decimal:
    """Exact seconds of a duration in nanoseconds."""
    return Decimal(duration).scaleb(-9)
