"""APISIX: text access log of its AI proxy plugin.

Input: lines of the documented log format, the AI variables quoted at the end. Output: RawRequest, seen at the gateway.
Client addresses and user agents are not kept.
Source: format page, 5.11. The time is that of logging, whole seconds: started = time - request time. The upstream time
is seconds in older lines and milliseconds in newer: whichever fits into the request. `0` is the default of every
unknown token count and first-token time, so 0 is unknown; a first token at the end was not streamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawReject, RawRow, RowReader, Source
from ingest.formats.json_rows import reject
from ingest.formats.request_rows import Times, checked, extra, timed, unread_time
from ingest.formats.text_rows import text_rows

_LINE = re.compile(
    r'\S+ - (?P<consumer>\S+) \[(?P<time>[^\]]+)\] (?P<host>\S+) "(?P<request>(?:[^"\\]|\\.)*)" '
    r'(?P<status>\d{3}) \S+ (?P<total>[\d.]+) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*" '
    r'(?P<upstream>\S+(?:, \S+)*) (?P<upstream_status>(?:\d{3}|-)(?:, (?:\d{3}|-))*) (?P<upstream_time>(?:[\d.]+|-)(?:, (?:[\d.]+|-))*) "(?P<url>[^"]*)" '
    r'"(?P<id>[^"]*)" "(?P<kind>[^"]*)" "(?P<ttft>[^"]*)" "(?P<model>[^"]*)" "(?P<requested>[^"]*)" '
    r'"(?P<input>[^"]*)" "(?P<output>[^"]*)"(?P<more>.*)$'
)
_MORE = re.compile(r'"([^"]*)"')
LONGEST_LINE = 16_384  # of a text log; longer ones are no log and would tire the pattern
_MILLISECONDS_FROM = 10  # an upstream that took ten times the request cannot be told in seconds
CLOCKS = {"time": v.access_log_ns}


def sniff(head: Head) -> float:
    if head.shape not in ("text", "csv"):  # a list of upstreams holds commas
        return 0.0
    lines = head.data.decode("utf-8", "replace").splitlines()[:5]
    return 0.95 if any(_LINE.match(line) for line in lines) else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:  # noqa: ARG001  # the contract of readers
    for row in text_rows(source):
        if isinstance(row, RawReject):
            yield row
            continue
        found = _LINE.match(row.text) if len(row.text) <= LONGEST_LINE else None
        if found is None:
            yield reject(
                "torn_line" if row.is_torn else "bad_value",
                row.line,
                row.offset,
                row.text,
                "it has not the form of an access log",
            )
        else:
            unread = unread_time(found.groupdict(), CLOCKS)
            yield checked(_columns(found), line=row.line, offset=row.offset, raw=row.text, unread=unread)


def _columns(found: re.Match[str]) -> dict[str, Any]:
    code = v.integer(found["status"])
    status = v.status_of_http(code) or "error"
    total, logged = v.duration_ns(found["total"], "s"), v.access_log_ns(found["time"])
    ttft = v.duration_ns(found["ttft"], "ms") or None
    is_streamed = found["kind"] == "ai_stream"
    upstream, n_tries = _upstream(found["upstream_time"], total)
    network = total - upstream if total is not None and upstream is not None and not is_streamed else None
    tokens_out = v.integer(found["output"]) or None
    times = Times(
        ended_ns=logged,
        e2e_ns=total,
        ttft_ns=ttft if is_streamed else None,
        streaming=is_streamed,
        output_tokens=tokens_out,
        stages={"network_ns": network if network is not None and network >= 0 else None},
    )
    made = timed(times, status)
    extras = dict(zip(("end_user", "cached", "reasoning"), _MORE.findall(found["more"]), strict=False))
    request = found["request"].split(" ")
    return made | {
        "flags": [*made["flags"], "approximate_time"],
        "vantage": "gateway",
        "status_class": status,
        "http_status": code,
        "request_id": v.text(found["id"]),
        "model": v.text(found["model"]),
        "requested_model": v.text(found["requested"]),
        "user": v.first(v.identity(extras.get("end_user")), v.identity(found["consumer"])),
        "tenant": v.identity(found["consumer"]),
        "route": request[1].split("?")[0] if len(request) > 1 else None,
        "input_tokens": v.integer(found["input"]) or None,
        "cached_input_tokens": v.integer(extras.get("cached")) or None,
        "output_tokens": tokens_out,
        "reasoning_tokens": v.integer(extras.get("reasoning")) or None,
        "attempts": n_tries,
        "attributes": extra(request_type=v.text(found["kind"]), host=v.text(found["host"])),
    }


def _upstream(stated: str, total: int | None) -> tuple[int | None, int]:
    """Time at the upstream over all tries, and their number."""
    parts = [part.strip() for part in stated.split(",")]
    times = [v.number(part) for part in parts if v.number(part) is not None]
    if not times or total is None:
        return None, max(len(parts), 1)
    whole = sum(time for time in times if time is not None)
    in_seconds = v.duration_ns(whole, "s")
    if in_seconds is not None and in_seconds > max(total, 1_000_000) * _MILLISECONDS_FROM:
        return v.duration_ns(whole, "ms"), len(parts)
    return in_seconds, len(parts)


FORMAT = Format(
    name="apisix",
    title="APISIX access log with AI variables",
    says="one text line per request through the gateway",
    sniff=sniff,
    reader=RowReader(read),
)
