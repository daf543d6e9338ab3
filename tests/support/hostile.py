"""What befalls a file between its writer and its reader, as data: bytes in, bytes out, None where it cannot befall it.

SAME: what says the same in other bytes. ONE_BAD: one line more, which is no row. DAMAGE: what may cost rows.
ODD: values, as JSON, that stand where another was meant.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Mutation = Callable[[bytes], bytes | None]
Place = tuple[str | int, ...]
BOM = b"\xef\xbb\xbf"
HERE = "@@HERE@@"  # stands in JSON where an odd value is put


def text_of(data: bytes) -> str | None:
    """The text of a file, None of protobuf."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def json_of(data: bytes) -> tuple[bool, Any] | None:
    """Whether a file is lines, and its values: a list of them, or the document."""
    if text_of(data) is None:
        return None
    try:
        return False, json.loads(data)
    except ValueError:
        pass
    try:
        return True, [json.loads(line) for line in data.splitlines() if line.strip()]
    except ValueError:
        return None


def written(is_lines: bool, value: Any, **layout: Any) -> bytes:
    """The value as a file again."""
    values = value if is_lines else [value]
    return b"".join(json.dumps(one, **layout).encode() + b"\n" for one in values)


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip archive of the files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def _text(change: Callable[[str], str | bytes]) -> Mutation:
    def mutation(data: bytes) -> bytes | None:
        text = text_of(data)
        if text is None:
            return None
        changed = change(text)
        return changed if isinstance(changed, bytes) else changed.encode()

    return mutation


def _json(change: Callable[[bool, Any], bytes | None]) -> Mutation:
    def mutation(data: bytes) -> bytes | None:
        found = json_of(data)
        return None if found is None else change(*found)

    return mutation


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _halves(data: bytes, pack: Callable[[bytes], bytes]) -> bytes:
    return pack(data[: len(data) // 2]) + pack(data[len(data) // 2 :])


def _reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed_keys(value[key]) for key in reversed(value)}
    return [_reversed_keys(one) for one in value] if isinstance(value, list) else value


def _with_unheard(value: Any) -> Any:
    return {"aa_unheard": 1} | value | {"zz_unheard": {"x": [1, None]}} if isinstance(value, dict) else value


def _shuffled(data: bytes) -> bytes | None:
    """Rows in another order; the header of a table stays first."""
    found = json_of(data)
    if text_of(data) is None or (found is not None and not found[0] and not isinstance(found[1], list)):
        return None
    if found is not None and not found[0]:
        return written(False, found[1][::-1])
    lines = data.splitlines()
    first = 0 if found is not None or data[:1].isdigit() else 1
    return b"\n".join(lines[:first] + lines[: first - 1 if first else None : -1]) + b"\n"


SAME: dict[str, Mutation] = {
    "bom": lambda data: BOM + data if text_of(data) else None,
    "crlf": _text(_crlf),
    "bom, crlf": _text(lambda text: BOM + _crlf(text).encode()),
    "utf-16 le": _text(lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    "utf-16 be": _text(lambda text: b"\xfe\xff" + text.encode("utf-16-be")),
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstd.compress,
    "gzip, two members": lambda data: _halves(data, gzip.compress),
    "zstd, two frames": lambda data: _halves(data, zstd.compress),
    "zip": lambda data: zipped({"a": data}),
    "gzip, zeros after it": lambda data: gzip.compress(data, mtime=0) + bytes(512),
    "gzip of bom, crlf": _text(lambda text: gzip.compress(BOM + _crlf(text).encode())),
    "gzip of utf-16": _text(lambda text: gzip.compress(text.encode("utf-16"))),
    "blank lines": _text(lambda text: "\n\n" + "\n\n".join(text.splitlines()) + "\n  \n\n"),
    "no last line end": _text(lambda text: text.rstrip("\r\n")),
}
REWRITTEN: dict[str, Mutation] = {  # the same values as other JSON
    "keys reversed": _json(lambda lines, value: written(lines, _reversed_keys(value))),
    "compact": _json(lambda lines, value: written(lines, value, separators=(",", ":"))),
    "indented": _json(lambda lines, value: written(lines, value, indent=2)),
    "indented, crlf, tabs": _json(lambda lines, value: written(lines, value, indent="\t").replace(b"\n", b"\r\n")),
    "not escaped": _json(lambda lines, value: written(lines, value, ensure_ascii=False)),
    "list": _json(lambda lines, value: json.dumps(value).encode() if lines else None),
    "lines": _json(lambda lines, value: written(True, value) if isinstance(value, list) and not lines else None),
    "shuffled": _shuffled,
}  # fmt: skip
BAD_LINES: dict[str, bytes] = {
    "prose": b"garbage",
    "half an object": b'{"a": tru',
    "null": b"null",
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "deep, open": b"[" * 10_000,
    "5 MB": b"y" * 5_000_000,
    "zero bytes": bytes(60),
    "latin-1": b"caf\xe9 au lait",
    "a quote": b'"',
    "a bracket": b"}",
}
DAMAGE: dict[str, Mutation] = {
    "empty": lambda _: b"",
    "blank": lambda _: b" \n\t\r\n \n",
    "a bom alone": lambda _: BOM,
    "gzip of nothing": lambda _: gzip.compress(b""),
    "half a gzip": lambda data: (packed := gzip.compress(data, mtime=0))[: len(packed) // 2],
    "half a zstd": lambda data: (packed := zstd.compress(data))[: len(packed) // 2],
    "half a zip": lambda data: (packed := zipped({"a": data}))[: len(packed) // 2],
    "two files in a zip": lambda data: zipped({"a": data, "b": data}),
    "gzip, garbage after it": lambda data: gzip.compress(data, mtime=0) + b"garbage at the end",
    "zstd, garbage after it": lambda data: zstd.compress(data) + b"garbage at the end",
    "half": lambda data: data[: len(data) // 2],
    "last line cut": lambda data: data.rstrip()[: -max(1, len(data.rstrip().rsplit(b"\n", 1)[-1]) // 3)],
    "each line twice": lambda data: b"".join(line * 2 for line in data.splitlines(keepends=True)),
    "zero byte": lambda data: data[: len(data) // 2] + b"\0" + data[len(data) // 2 :],
    "latin-1 byte": lambda data: data[: len(data) // 2] + b"\xe9" + data[len(data) // 2 :],
    "half a character": _json(lambda lines, value: written(lines, _texts(value)).replace(b"~", b"\\ud800")),
    "keys twice": _json(lambda lines, value: "\n".join(_doubled(one) for one in (value if lines else [value])).encode()),
    "numbers as text": _json(lambda lines, value: written(lines, _numbers_as_text(value))),
}  # fmt: skip
ODD: tuple[str, ...] = (
    *("NaN", "Infinity", "-Infinity", "1e400", "1e-400", "-0", "-0.0", "9223372036854775807", "9223372036854775808"),
    *("18446744073709551616", "1" * 30, "1e18", "-1", "-5.5", "null", "true", "[]", "{}", '""', '"abc"', '"NaN"'),
    *(
        '"None"',
        '"-"',
        '"\\ud800"',
        '"a\\u0000b"',
        '"0001-01-01T00:00:00Z"',
        '"9999-12-31T23:59:59Z"',
        "253402300799000",
    ),
    *('"1e400"', "[" * 900 + "]" * 900, '{"a": {"b": [null, {"c": 1}]}}', '"12 ms"', "[1, null]"),
)


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_texts(one) for one in value]
    return f"{value}~" if isinstance(value, str) and not any(map(str.isdigit, value)) else value


def _numbers_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers_as_text(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_numbers_as_text(one) for one in value]
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _doubled(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(key)}:{_doubled(one)}" for key, one in (*value.items(), *value.items())) + "}"
        )
    return f"[{','.join(map(_doubled, value))}]" if isinstance(value, list) else json.dumps(value)


def with_line(data: bytes, line: bytes, at: int) -> bytes:
    """The lines with one more, before the one of that number from 0."""
    lines = data.rstrip(b"\r\n").split(b"\n")
    return b"\n".join([*lines[:at], line, *lines[at:]]) + b"\n"


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Places of all values within one of JSON that hold no other; of long lists those of the first two entries."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from leaves(one, (*place, key))
    elif isinstance(value, list) and value:
        for index, one in enumerate(value[:2]):
            yield from leaves(one, (*place, index))
    else:
        yield place


def put(is_lines: bool, value: Any, place: Place, odd: str) -> bytes:
    """The file with an odd value at a place."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = HERE
    return written(is_lines, copy).replace(json.dumps(HERE).encode(), odd.encode())
