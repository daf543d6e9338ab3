"""nginx: access log with request and upstream times, as JSON or as `name=value` behind the combined format.

Input: one request a line. Output: RawRequest, seen at the gateway; no tokens are known. Addresses, user agents and
query strings are not kept.
Source: format page, 5.11 (no real file was seen). The time is that of logging: started = time - request time.
`$upstream_response_time` lists every try (`0.01, 0.8`): attempts. `$upstream_header_time` is believed as first token
only if it lies clearly before the end (more than 1 ms and 1 %); otherwise the answer came in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import Row, json_rows, reject
from ingest.formats.request_rows import Times, checked, timed, unread_time
from ingest.formats.text_rows import text_rows

_COMBINED = re.compile(
    r'\S+ - (?P<remote_user>\S+) \[(?P<time_local>[^\]]+)\] "(?P<request>(?:[^"\\]|\\.)*)" (?P<status>\d{3}) \S+'
)
_PAIR = re.compile(r'\b([a-z_]+)[=:]\s?("[^"]*"|[\d.]+(?:(?:, | : )[\d.]+)*|\S+)')
LONGEST_LINE = 16_384  # of a text log; longer ones are no log and would tire the pattern
_NAMES = {  # short names that are common in log formats
    "request_time": ("request_time", "rt", "request_length_time"),
    "upstream_response_time": ("upstream_response_time", "urt"),
    "upstream_header_time": ("upstream_header_time", "uht"),
}
_USER = ("http_x_user_id", "x_user_id", "user_id", "remote_user")
_TENANT = ("http_x_tenant_id", "x_tenant_id", "tenant_id", "http_x_team_id")
CLOCKS: dict[str, Callable[[Any], int | None]] = {
    "msec": v.instant_ns,
    "time_iso8601": v.instant_ns,
    "time_local": v.access_log_ns,
    "timestamp": v.instant_ns,
}


def sniff(head: Head) -> float:
    if {"request_time", "status"} <= head.keys and head.keys & {"upstream_response_time", "time_local", "msec"}:
        return 0.9
    if head.shape not in ("text", "csv"):  # a list of upstreams holds commas
        return 0.0
    lines = head.data.decode("utf-8", "replace").splitlines()[:5]
    return 0.85 if any(_COMBINED.match(line) and _value(_pairs(line), "request_time") for line in lines) else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    if head.shape not in ("json_lines", "json_document"):
        yield from _text(source)
        return
    for row in json_rows(source):
        yield row if isinstance(row, RawReject) else _json(row)


def _json(row: Row) -> RawRow:
    columns = _columns(row.value)
    return checked(columns, line=row.line, offset=row.offset, raw=row.data, unread=_unread(row.value, columns))


def _unread(row: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    """What is wrong with the times of a row of which none can be read."""
    return unread_time(row, CLOCKS) if columns["ended_ns"] is None else ""


def _text(source: Source) -> Iterator[RawRow]:
    for row in text_rows(source):
        if isinstance(row, RawReject):
            yield row
            continue
        found = _COMBINED.match(row.text) if len(row.text) <= LONGEST_LINE else None
        if found is None:
            yield reject(
                "torn_line" if row.is_torn else "bad_value",
                row.line,
                row.offset,
                row.text,
                "it has not the form of an access log with request times",
            )
        else:
            told = _seen(source, _pairs(row.text) | found.groupdict())
            columns = _columns(told)
            yield checked(columns, line=row.line, offset=row.offset, raw=row.text, unread=_unread(told, columns))


def _seen(source: Source, pairs: dict[str, Any]) -> dict[str, Any]:
    return pairs if source.unread is None else source.unread.watched(pairs)


def _pairs(line: str) -> dict[str, Any]:
    return {name: value.strip('"') for name, value in _PAIR.findall(line)}


def _value(row: Mapping[str, Any], name: str) -> Any:
    return v.first(*(row.get(key) for key in _NAMES[name]))


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    code = v.integer(row.get("status"))
    status = v.status_of_http(code) or "error"
    total = v.duration_ns(_value(row, "request_time"), "s")
    tries = _tries(_value(row, "upstream_response_time"))
    headers = _tries(_value(row, "upstream_header_time"))
    upstream = sum(tries) if tries else None
    first = sum(tries[:-1]) + headers[-1] if headers and tries else None
    is_streamed = status == "ok" and first is not None and tries[-1] - headers[-1] > max(1_000_000, tries[-1] // 100)
    network = total - upstream if total is not None and upstream is not None and not is_streamed else None
    ended = v.first(
        v.instant_ns(row.get("msec"), "s"),
        v.instant_ns(row.get("time_iso8601")),
        v.access_log_ns(row.get("time_local")),
        v.instant_ns(row.get("timestamp")),
    )
    times = Times(
        ended_ns=ended,
        e2e_ns=total,
        ttft_ns=first if is_streamed else None,
        stages={"network_ns": network if network is not None and network >= 0 else None},
    )
    made = timed(times, status)
    request = (v.text(row.get("request")) or "").split(" ")
    path = v.first(v.text(row.get("uri")), v.text(row.get("request_uri")), request[1] if len(request) > 1 else None)
    is_coarse = row.get("msec") is None and ended is not None
    return made | {
        "flags": [*made["flags"], *(["approximate_time"] if is_coarse else [])],
        "vantage": "gateway",
        "status_class": status,
        "http_status": code,
        "request_id": v.text(row.get("request_id")),
        "user": v.first(*(v.identity(row.get(name)) for name in _USER)),
        "tenant": v.first(*(v.identity(row.get(name)) for name in _TENANT)),
        "route": path.split("?")[0] if path else None,
        "attempts": max(len(tries), 1),
    }


def _tries(value: object) -> list[int]:
    """Durations of all tries; nginx separates servers by a comma and internal redirects by a colon."""
    parts = re.split(r"[,:]", value) if isinstance(value, str) else [value]
    return [found for found in (v.duration_ns(part, "s") for part in parts) if found is not None]


FORMAT = Format(
    name="nginx",
    title="nginx access log with request times",
    says="one line per request, JSON or text with rt= and urt=",
    sniff=sniff,
    reader=RowReader(read),
)
