"""What a reject shows of the row it stands for: its first characters and what is wrong with it, without content.

Input: bytes or text of a refused row. Output: at most 200 characters; prompts, answers, credentials and addresses are
replaced by an ellipsis or their shape (visible), and text of which nobody can say whether it is one is not shown.
Source: format page, section 6 (personal data); list of names in content and flat_names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingest.bounds import MAX_OBJECT_BYTES
from ingest.errors import HEAD_CHARACTERS
from ingest.formats import content, flat_names
from ingest.formats.visible import HIDDEN, plain_text, visible, without_credentials

LOOKED_AT = 16 * HEAD_CHARACTERS  # bytes of a row that its head is made from
MAX_TEXT = 64  # characters of a text within a head
PLAIN_LINE = 80  # a line of text without quotes that is longer may be the rest of a cut one
EXPLAINED = 1 << 20  # bytes of a line that is parsed once more to say where it breaks

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?$)|[{}\[\]]|[^"{}\[\]]+', re.DOTALL)
_IS_KEY = re.compile(r"\s*:")
_IS_ATTRIBUTE = re.compile(r'"[a-zA-Z]\w*(?:\.\w+)+"')  # the name of an attribute under "key", which is no credential
_CONTENT_WORDS = frozenset(
    (
        *("prompt", "prompts", "message", "messages", "content", "contents", "completion", "completions", "answer"),
        *("answers", "question", "questions", "secret", "password", "passwd", "authorization", "cookie", "cookies"),
        *("credential", "credentials", "bearer", "apikey"),
    )
)
_FIGURE_ENDS = ("tokens", "count", "length", "len", "id", "ms", "s", "ns", "time", "cost", "type")
_NAMES_OF_NAMES = ("key", "name")  # {"key": "input.value", "value": ...}: attributes as a list
_NAMES_OF_VALUES = ("value", "vStr", "v_str")


@dataclass(frozen=True, slots=True)
class Cells:
    """A row of a table, of which a head is made only if it is refused."""

    cells: Sequence[str]
    header: Sequence[str]
    delimiter: str


@lru_cache(maxsize=4096)
def is_hidden(name: str) -> bool:
    """Whether what stands under a name may be a prompt, an answer, a credential or an address."""
    if flat_names.is_content(name):
        return True
    words = flat_names.plain(name).replace(".", "_").split("_")
    if words[-1] in _FIGURE_ENDS:
        return False
    return not _CONTENT_WORDS.isdisjoint(words) or content.is_content(name)


def head_of(data: bytes | str | Cells) -> str:
    """First characters of a row of JSON, text or cells, without content."""
    if isinstance(data, Cells):
        return head_of_cells(data.cells, data.header, data.delimiter)
    if isinstance(data, bytes):
        text = data[:LOOKED_AT].decode("utf-8", "replace")
    else:
        text = data[:LOOKED_AT].encode("utf-8", "replace").decode("utf-8")
    text = text.strip("\r\n").replace("\0", "\ufffd")
    start = text.lstrip(" \t\ufeff")[:1]
    if start in ("{", "[", '"'):
        return without_credentials(_without_content(text)[: 2 * HEAD_CHARACTERS])[:HEAD_CHARACTERS]
    return plain_text(text[: 2 * HEAD_CHARACTERS])[:HEAD_CHARACTERS]


def head_of_line(data: bytes) -> str:
    """First characters of a line of a JSON source; the rest of a cut line, which may be prose, is not shown."""
    start = data[:LOOKED_AT].lstrip(b" \t\xef\xbb\xbf")[:1]
    if start not in (b"{", b"[", b'"') and (len(data.strip()) > PLAIN_LINE or b'"' in data):
        return HIDDEN
    return head_of(data)


def head_of_cells(cells: Sequence[str], header: Sequence[str], delimiter: str) -> str:
    """First characters of a row of a table, cell by cell."""
    shown: list[str] = []
    length = 0
    for name, cell in zip(header, cells, strict=False):
        shown.append(HIDDEN if cell and is_hidden(name) else _short(cell, name))
        length += len(shown[-1]) + len(delimiter)
        if length > HEAD_CHARACTERS:
            break
    return delimiter.join(shown).replace("\0", "\ufffd")[:HEAD_CHARACTERS]


def head_of_torn(data: bytes | str, header: Sequence[str]) -> str:
    """First characters of a row whose cells cannot be told apart; none where a column may hold content."""
    return HIDDEN if any(map(is_hidden, header)) else head_of(data)


def shortened(value: object, name: str = "") -> str:
    """A value of that name as a message shows it: in quotes if it is text, by its shape if it may be content."""
    if isinstance(value, str):
        told = visible(value, name)
        return f'"{value}"' if told == value else told
    return visible(json.dumps(value, ensure_ascii=False, default=str), name)


def named(name: str, value: object, rule: str) -> str:
    """`name: value rule`; the value is left out where the name says that it may be content."""
    return f"{name}: {HIDDEN if is_hidden(name) else shortened(value, name)} {rule}"


def too_long(size: int | None = None) -> str:
    """What is said of a line, element or message above the limit, and what to do; `size` in bytes, where it is known."""
    told = f"{size:,} bytes are" if size is not None else "it is"
    return (
        f"{told} above the {MAX_OBJECT_BYTES:,} bytes that one line or object may have; write it as several, each with "
        "a part of its rows or spans, or without prompts and answers"
    )


def fault_of(data: bytes, reason: str) -> str:
    """Where a line breaks that reason; "" where the reason says it all."""
    if reason == "line_too_long":
        return too_long()
    if len(data) > EXPLAINED:
        return f"{len(data):,} bytes" if reason == "torn_line" else ""
    if reason == "invalid_utf8":
        return _odd_byte(data)
    if reason == "zero_bytes":
        return f"{data.count(0):,} zero bytes, the first at byte {data.find(0) + 1}"
    if reason not in ("invalid_json", "torn_line", "trailing_text", "not_an_object"):
        return ""
    text = data.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        return f"character {error.pos + 1} of {len(text)}: {error.msg}"
    except (ValueError, RecursionError):
        return "nested too deeply"
    if reason == "trailing_text":
        return f"the value ends at character {end} of {len(text)}"
    kinds = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return f"it is {kinds.get(type(value), 'null')}" if not isinstance(value, dict) else ""


def _odd_byte(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is 0x{data[error.start]:02x}"
    return "half a surrogate pair"


def _without_content(text: str) -> str:
    """JSON, whole or cut, with hidden values replaced and long ones shortened."""
    parts: list[str] = []
    length = 0
    hides = is_named = False  # the next value; the names of the innermost list entry
    key = ""
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        mark = token[0]
        if mark[0] == '"':
            if _IS_KEY.match(text, token.end()):
                key = mark.strip('"')
                hides = is_hidden(key) or (is_named and key in _NAMES_OF_VALUES)
                shown = mark
            else:
                if key in _NAMES_OF_NAMES:
                    is_named = is_hidden(mark.strip('"'))
                    hides = hides and not _IS_ATTRIBUTE.fullmatch(mark)
                shown = f'"{HIDDEN}"' if hides else _short_text(mark, key)
        elif mark in "{[" and hides:
            _skip(tokens)
            shown, is_named = HIDDEN, False
        elif mark in "{}[]":
            is_named = is_named and mark == "{"  # within the value of an attribute
            shown = mark
        else:
            shown = plain_text(mark)
        hides = hides and (mark.strip().endswith(":") or bool(_IS_KEY.match(text, token.end())))
        parts.append(shown)
        length += len(shown)
        if length > 2 * HEAD_CHARACTERS:
            break
    return "".join(parts)


def _short_text(mark: str, name: str) -> str:
    """A text of JSON, quotes and escapes included, or what may be shown of it."""
    try:
        value = str(json.loads(mark))
    except ValueError:
        value = mark.strip('"')
    told = _short(value, name)
    return mark if told == value else f'"{told}"'


def _short(value: str, name: str) -> str:
    """What a head shows of a text of that name."""
    told = visible(value[:LOOKED_AT], name, most=LOOKED_AT, length=len(value))
    return f"{told[:MAX_TEXT]}{HIDDEN}" if len(told) > MAX_TEXT else told


def _skip(tokens: object) -> None:
    """Goes to the end of the container that has just begun."""
    depth = 1
    for token in tokens:  # type: ignore[attr-defined]
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return
