"""What a source is: shape by its bytes, keys by a tokenizer that bears truncation, format by score.

Input: the first 64 KiB, unpacked. Output: a Head, and the Format that recognizes it best.
Names of files never decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from ingest.errors import ConfigError, UnknownFormat, UnreadableInput
from ingest.formats.contract import HEAD_BYTES, Format, Head, Shape, Source
from ingest.formats.visible import is_header, shown_name
from ingest.unpack import CR_LINES, Damage, one_step

BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
BINARY_MAGIC: tuple[tuple[bytes, str], ...] = (  # what lies beside traces in folders, named in the receipt
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a media file"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"\x7fELF", "a program"),
    (b"BZh", "a bzip2 archive; unpack it first"),
    (b"\xfd7zXZ", "an xz archive; unpack it first"),
)
MAX_HEAD_LINES = 200  # within which the first rows of a table are looked for
JUDGED_ROWS = 9  # of a table, by which it is told from prose with commas; a bad one among them is borne
WIDE_HEAD_BYTES = 16 << 20  # what is looked at of JSON that its first 64 KiB do not tell: a long prompt goes first
SHOWN_KEYS = 8
MAX_DEPTH = 3  # keys deeper than this tell formats no better
_SPACE = b" \t\r\n"
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")  # which text does not have
_TOKEN = re.compile(rb'[{}\[\],:]|"(?:[^"\\]|\\.)*"|(?P<torn>"(?:[^"\\]|\\.)*$)|[^\s{}\[\],:"]+', re.DOTALL)


def read_head(source: Source, size: int = HEAD_BYTES) -> Head:
    """The start of a source: shape, keys or columns.

    Raises:
        UnreadableInput: it unpacks to nothing that is whole.
    """
    data = _start(source, size)
    if data.startswith(b"PAR1"):
        return Head(source.name, "parquet", data, columns=_parquet_columns(source))
    encoding = _text_of(data)
    if encoding == CR_LINES:
        data = data.replace(b"\r", b"\n")
    elif encoding != "utf-8":
        data = data[: len(data) // 2 * 2].decode(encoding, "replace").encode("utf-8")
    return head_of(source.name, data.removeprefix(BOM))


def _parquet_columns(source: Source) -> tuple[str, ...]:
    try:
        return tuple(pl.read_parquet_schema(source.path))
    except (pl.exceptions.ComputeError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UnreadableInput(f"{source.name} begins as a Parquet file and is none: {reason}") from error


def source_encoding(source: Source) -> str:
    """Encoding of a source's text: utf-8, a form of UTF-16, or CR_LINES."""
    return _text_of(_start(source))


def _text_of(data: bytes) -> str:
    """The encoding; CR_LINES where nothing but carriage returns parts lines or rows."""
    encoding = encoding_of(data)
    if encoding != "utf-8" or b"\n" in data or b"\r" not in data.rstrip(_SPACE):
        return encoding
    shape = shape_of(data.removeprefix(BOM).replace(b"\r", b"\n"))
    return CR_LINES if shape in ("csv", "json_lines", "text") else encoding


def other_heads(source: Source, head: Head) -> Iterator[Head]:
    """Further looks at text whose first line or value tells nothing: at what follows, then at more of it."""
    if head.shape in ("parquet", "protobuf", "binary"):
        return
    yield from _behind_the_first(head)
    if len(head.data) >= HEAD_BYTES:
        wide = read_head(source, WIDE_HEAD_BYTES)
        yield wide
        yield from _behind_the_first(wide)


def _behind_the_first(head: Head) -> Iterator[Head]:
    for line in object_lines(head.data)[1:]:
        yield replace(head, keys=frozenset(json_keys(line)))
    start = head.data.lstrip(_SPACE)
    if start[:1] in (b"{", b"["):
        yield head_of(head.name, start.partition(b"\n")[2])


def _start(source: Source, size: int = HEAD_BYTES) -> bytes:
    """As much of the first bytes as is whole."""
    parts: list[bytes] = []
    left = size
    try:
        with source.open() as file:
            while left > 0 and (part := one_step(file, min(left, 4096))):
                parts.append(part)
                left -= len(part)
    except Damage:
        pass
    return b"".join(parts)


def encoding_of(data: bytes) -> str:
    """utf-16 where a byte order mark or the pattern of zero bytes says so, else utf-8."""
    if data.startswith(UTF16):
        return "utf-16"
    if len(data) >= 8 and not data.startswith((b"PAR1", b"\0")):
        even, odd = data[:256:2], data[1:256:2]
        if odd.count(0) == len(odd) and 0 not in even and even.isascii():
            return "utf-16-le"
    if len(data) >= 8 and data[0] == 0 and data[:256:2].count(0) == len(data[:256:2]) and 0 not in data[1:256:2]:
        return "utf-16-be"
    return "utf-8"


def head_of(name: str, data: bytes) -> Head:
    """The head of unpacked bytes."""
    shape = shape_of(data)
    if shape in ("json_lines", "json_document"):
        lines = object_lines(data) if shape == "json_lines" else []
        return Head(name, shape, data, keys=frozenset(json_keys(lines[0] if lines else data)))
    if shape == "csv":
        header = first_line(data)
        delimiter = delimiter_of(header)
        return Head(name, shape, data, columns=tuple(split_header(header, delimiter)), delimiter=delimiter)
    return Head(name, shape, data)


def shape_of(data: bytes) -> Shape:
    """What kind of text or binary the bytes are."""
    if not data.strip(_SPACE):
        return "empty"
    if data.startswith(b"PAR1"):
        return "parquet"
    if any(data.startswith(magic) for magic, _ in BINARY_MAGIC):
        return "binary"
    if _is_protobuf(data):
        return "protobuf"
    start = data.lstrip(_SPACE)
    if object_lines(data):
        return "json_lines"
    if start[:1] in b"{[":  # a zero byte within JSON is a fault of one line
        return "binary" if b"\0" in data[:64] and not _is_text_but_zeros(data) else _json_shape(start)
    if b"\0" in data:
        if not _is_damaged_text(start):
            return "binary"
        data = b"\n".join(line for line in data.split(b"\n") if b"\0" not in line)
    return "csv" if is_table(data) else "text"


def _is_damaged_text(data: bytes) -> bool:
    """Whether zero bytes are all that keeps the bytes from being text: pages that a crash left empty, a broken cell."""
    line, newline, _ = data.partition(b"\n")
    if not newline or b"\0" in line:
        return False
    return _is_text_but_zeros(data)


def _is_text_but_zeros(data: bytes) -> bool:
    rest = data.replace(b"\0", b"")
    return _CONTROL.search(rest) is None and "\ufffd" not in rest[:-4].decode("utf-8", "replace")


def is_table(data: bytes) -> bool:
    """Whether the first line is a header, and no heading: several names, and half of the next lines have the delimiter
    too."""
    records = _first_records(data, 1 + JUDGED_ROWS)
    header = first_line(data)
    delimiter = delimiter_of(header)
    if not delimiter or len(split_header(header, delimiter)) < 2 or header.startswith("# "):
        return False
    rows = records[1:]
    return not rows or 2 * sum(delimiter.encode() in row for row in rows) >= len(rows)


def _first_records(data: bytes, count: int) -> list[bytes]:
    """The first rows of a table, blank lines left out; a line end within quotes parts no rows."""
    lines = data.split(b"\n", MAX_HEAD_LINES)[:MAX_HEAD_LINES]
    records: list[bytes] = []
    taken: list[bytes] = []
    n_quotes = 0
    for line in lines:
        if not taken and not line.strip(_SPACE):
            continue
        taken.append(line)
        n_quotes += line.count(b'"')
        if n_quotes % 2 == 0:
            records.append(b"\n".join(taken))
            taken = []
        if len(records) == count:
            return records
    if not records or not taken:  # a quote that never ends
        return records or [line for line in lines if line.strip(_SPACE)][:count]
    return [*records, b"\n".join(taken)]


def _is_protobuf(data: bytes) -> bool:
    """Export requests: bare (field 1, length-delimited), or each behind a 4-byte length, compressed alone or not."""
    if len(data) > 8 and data[0] == 0:
        length = int.from_bytes(data[:4], "big")
        return 0 < length < 1 << 30 and (data[4] == 0x0A or data[4:8] == b"\x28\xb5\x2f\xfd")
    return data[:1] == b"\x0a" and b"\0" in data[:4096] and data.lstrip(_SPACE)[:1] not in (b"{", b"[")


def object_lines(data: bytes) -> list[bytes]:
    """Lines that are one object each, if a third of the first fifty whole lines are; a bad first line is borne."""
    if data.lstrip(_SPACE)[:1] == b"[":
        return []
    lines = data.split(b"\n", 51)
    whole = [line.strip(_SPACE) for line in (lines[:-1] if len(lines) > 1 else lines)[:50] if line.strip(_SPACE)]
    objects = [line for line in whole if line[:1] == b"{" and line[-1:] == b"}" and _first_value_end(line) == len(line)]
    return objects if objects and 3 * len(objects) >= len(whole) else []


def _json_shape(data: bytes) -> Shape:
    """Lines or one document: lines if the first value ends on its line and another follows, or ends the input."""
    end = _first_value_end(data)
    if end is None:
        return "json_lines" if b"\n" not in data and data[:1] == b"{" else "json_document"
    line_end = data.find(b"\n")
    rest = data[end:].lstrip(_SPACE)
    one_line = line_end < 0 or end <= line_end + 1
    if data[:1] == b"{" and one_line and (not rest or rest[:1] != b""):
        return "json_lines"
    return "json_document"


def _first_value_end(data: bytes) -> int | None:
    """Where the first JSON value ends, or None if it does not end in the data."""
    depth = 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


def json_keys(data: bytes) -> set[str]:
    """Dotted names of depth 1 to 3 of the first element: of the document, of an array's first entry, of line one.

    Bears truncation anywhere. Inside arrays below the top the entries' names are joined to the array's own name.
    """
    found: set[str] = set()
    stack: list[tuple[str, bytes, int]] = []  # (path of the container, its opening bracket, objects around and in it)
    path = ""  # path of the value that comes next
    expect_key = False
    key: str | None = None
    values = 0
    for token in _TOKEN.finditer(data):
        mark = token[0]
        if mark in (b"{", b"["):
            stack.append((path, mark, (stack[-1][2] if stack else 0) + (mark == b"{")))
            expect_key = mark == b"{"
        elif mark in (b"}", b"]"):
            if stack:
                stack.pop()
            top_array = len(stack) == 1 and stack[0][:2] == ("", b"[")
            values += not stack or top_array
            if values:
                break
            path = stack[-1][0] if stack else ""
            expect_key = False
        elif mark == b",":
            expect_key = bool(stack) and stack[-1][1] == b"{"
            path = stack[-1][0] if stack else ""
        elif mark == b":":
            if key is not None and stack and stack[-1][2] <= MAX_DEPTH:
                path = f"{stack[-1][0]}.{key}" if stack[-1][0] else key
        elif expect_key and mark[:1] == b'"' and token.lastgroup != "torn":
            key = _text(mark)
            expect_key = False
            if stack[-1][2] <= MAX_DEPTH:
                found.add(f"{stack[-1][0]}.{key}" if stack[-1][0] else key)
    return found


def _text(token: bytes) -> str:
    return token.strip(b'"').decode("utf-8", "replace")


def first_line(data: bytes) -> str:
    """The first line that is not blank, without its end; of a table its first row, which may have several lines."""
    records = _first_records(data, 1)
    return records[0].rstrip(b"\r").decode("utf-8", "replace") if records else ""


def delimiter_of(line: str) -> str:
    """The delimiter of a table's header, or "" if it has none: the most frequent of comma, semicolon, tab, bar."""
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {mark: bare.count(mark) for mark in ",;\t|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ""


def split_header(line: str, delimiter: str) -> list[str]:
    """Names of a header line, quotes taken off."""
    if not delimiter:
        return [line.strip()]
    import csv

    try:
        return [" ".join(name.split()) for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a bare carriage return, a name above the library's limit: no header anyone wrote
        return line.split(delimiter)


def recognize(head: Head, formats: Sequence[Format], name: str | None = None) -> Format:
    """The format of a source: the one named, else the one with the highest score; of equals the first listed.

    Raises:
        ConfigError: no format of that name.
        UnknownFormat: none recognizes the bytes; the message says what they look like.
    """
    if name is not None:
        return named(formats, name)
    scores = [(candidate.sniff(head), candidate) for candidate in formats]
    best = max(scores, key=lambda pair: pair[0], default=None)
    if best is None or best[0] <= 0:
        raise UnknownFormat(f"{head.name} is not a trace file, not read: {looks_like(head)}")
    return best[1]


def is_known(head: Head, formats: Iterable[Format]) -> bool:
    """Whether one of the formats recognizes the source."""
    return any(candidate.sniff(head) > 0 for candidate in formats)


def named(formats: Iterable[Format], name: str) -> Format:
    """The format of that name.

    Raises:
        ConfigError: there is none.
    """
    import difflib

    known = {candidate.name: candidate for candidate in formats}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, list(known), n=1)
    suggestion = f' Did you mean "{near[0]}"?' if near else ""
    raise ConfigError(f'format "{name}" is not known. Known: {", ".join(sorted(known))}.{suggestion}')


def looks_like(head: Head) -> str:
    """What the bytes are, as the end of a sentence."""
    if head.shape == "empty":
        return "it is empty"
    if head.shape == "binary":
        found = [says for magic, says in BINARY_MAGIC if head.data.startswith(magic)]
        return f"no known format ({found[0]})" if found else "no known format (binary data)"
    if head.shape in ("json_lines", "json_document"):
        names = sorted(map(shown_name, (key for key in head.keys if _is_outermost(key, head.keys))))
        told = f"JSON with the keys {', '.join(names[:SHOWN_KEYS])}" if names else "JSON without keys"
        return f"no known format ({told}{', …' if len(names) > SHOWN_KEYS else ''})"
    if head.shape == "csv" and (len(head.columns) < 2 or head.columns[0].lstrip().startswith("#")):
        return "no known format (text)"  # prose with commas in its first line
    if head.shape in ("csv", "parquet"):
        if not is_header(head.columns):
            return "no known format (a table whose first line holds values; its columns have no names)"
        return f"no known format (a table with the columns {', '.join(head.columns[:SHOWN_KEYS]) or 'none'})"
    return f"no known format ({head.shape})"


def _is_outermost(key: str, keys: frozenset[str]) -> bool:
    """Whether no other key is what stands around it; a file name has a dot and nothing around it."""
    parts = key.split(".")
    return not any(".".join(parts[:n]) in keys for n in range(1, len(parts)))
