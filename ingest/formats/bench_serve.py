"""Bench serve: results of the benchmark scripts of vLLM and SGLang, with arrays per request.

Input: one JSON object per run (a document, or a line per run), arrays `input_lens`, `output_lens`, `ttfts`, `itls`,
`errors`, `start_times` in parallel. Output: RawRequest, seen at the client.
Source: format page, 5.6. Arrays are in seconds, aggregates in ms. E2E is not stored: it is TTFT + the sum of the gaps,
and the end is the last token. `duration` is what the tool divides its throughputs by. `start_times` count on a monotonic clock; the only wall time is `date`, local and
without zone, taken at the END of the run: started = date - duration + (start - first start), flagged as approximate.
A run without arrays holds no requests; if none has any, the source is refused with the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Any

from ingest.errors import UnusableFormat
from ingest.formats import relative
from ingest.formats import values as v
from ingest.formats.contract import Format, Head, RawNote, RawReject, RawRow, RawRun, RowReader, Source
from ingest.formats.json_rows import Row, json_rows, reject
from ingest.formats.request_rows import FROM_SEND, Times, checked, extra, gap_columns, timed, unread_time
from ingest.selection import to_ns, zone_of

ARRAYS = ("input_lens", "output_lens", "ttfts", "itls", "errors", "start_times", "latencies")
_ENDLESS = re.compile(rb'"request_rate"\s*:\s*Infinity')
_DATE = re.compile(r"(\d{8})-(\d{6})$")
CLOCKS = {"start_times": v.integer}


def sniff(head: Head) -> float:
    if not {"backend", "completed"} <= head.keys and not {"input_lens", "ttfts"} <= head.keys:
        return 0.0
    return 0.95 if head.keys & {"total_input_tokens", "total_output_tokens", "input_lens", "ttfts"} else 0.0


def read(source: Source, head: Head) -> Iterator[RawRow]:
    """Requests of all runs.

    Raises:
        UnusableFormat: no run has arrays per request.
    """
    n_requests = n_prompts = n_runs = n_clockless = 0
    held_back: list[RawReject] = []
    for row in json_rows(source):
        if isinstance(row, RawReject):
            yield row
            continue
        requests = list(_run(row, zone_of(source.timezone), source.start_ns))
        n_requests += len(requests)
        n_runs += bool(requests)
        n_clockless += bool(requests) and _anchor_ns(row.value, zone_of(source.timezone)) is None
        n_prompts += (v.integer(row.value.get("num_prompts")) or 0) if requests else 0
        if not requests:
            held_back.append(reject("not_a_request", row.line, row.offset, row.data))
        else:
            yield RawRun(v.duration_ns(row.value.get("duration"), "s"))
        yield from requests
    if held_back and not n_requests:
        raise UnusableFormat(
            f"{head.name} is a bench summary: it has percentiles but no requests. Run the benchmark with "
            "--save-detailed (vLLM) or --output-details (SGLang) and load that file"
        )
    yield from held_back
    yield FROM_SEND
    if n_prompts > n_requests:
        yield RawNote(
            f"{n_prompts - n_requests} of {n_prompts} prompts have no row, so figures tell of survivors alone"
        )
    if n_clockless:
        yield relative.note(
            source, "runs without a date count on the clock of the load generator, from its first request"
        )
    if n_clockless < n_runs:
        yield RawNote(
            f"the runs tell one time of day, at their end: starts were counted from it, read as {source.timezone}"
        )


def _run(row: Row, zone: tzinfo, start_ns: int | None) -> Iterator[RawRow]:
    run = row.value
    arrays = {name: v.listing(run.get(name)) for name in ARRAYS}
    if not arrays["ttfts"] and not arrays["latencies"]:
        return
    starts = [
        None if unread_time({"start_times": start}, CLOCKS) else v.duration_ns(start, "s")
        for start in arrays["start_times"]
    ]
    told = _anchor_ns(run, zone)
    anchor = told if told is not None else start_ns
    earliest = min((start for start in starts if start is not None), default=None)
    shared = _shared(run, is_endless=_ENDLESS.search(row.data) is not None)
    for index in range(max(len(arrays["ttfts"]), len(arrays["latencies"]))):
        start = starts[index] if index < len(starts) else None
        started = anchor + start - earliest if None not in (anchor, start, earliest) else None  # type: ignore[operator]
        one = {name: array[index] if index < len(array) else None for name, array in arrays.items()}
        columns = _columns(one, started)
        columns |= shared | {
            "flags": columns["flags"] + (["approximate_time"] if told is not None and started is not None else [])
        }
        raw = f"request {index} of the run"
        yield checked(columns, line=row.line, offset=row.offset, raw=raw, unread=unread_time(one, CLOCKS))


def _columns(one: Mapping[str, Any], started: int | None) -> dict[str, Any]:
    gaps = [v.duration_ns(gap, "s") for gap in v.listing(one["itls"])]
    after_first = sum(gap for gap in gaps if gap is not None)
    message = v.text(one["errors"])
    ttft, tokens_out = v.duration_ns(one["ttfts"], "s"), v.integer(one["output_lens"])
    stated = v.duration_ns(one["latencies"], "s")
    is_failed = message is not None or (not ttft and not stated)
    status = v.status_of_error(message) if is_failed else "ok"
    e2e = stated if stated else ttft + after_first if ttft else None
    times = Times(
        started_ns=started,
        e2e_ns=None if is_failed else e2e,
        ttft_ns=None if is_failed else ttft,
        last_token_ns=None if is_failed or not gaps else (ttft or 0) + after_first,
        streaming=True if gaps or tokens_out == 1 else None,  # one token has no gap
        output_tokens=tokens_out,
    )
    return (
        timed(times, status)
        | gap_columns(gaps, "chunk")
        | {
            "vantage": "client",
            "status_class": status,
            "error_type": v.error_name(message) if is_failed else None,
            "input_tokens": v.integer(one["input_lens"]),
            "output_tokens": tokens_out if not is_failed or tokens_out else None,
        }
    )


def _anchor_ns(run: Mapping[str, Any], zone: tzinfo) -> int | None:
    """The wall time of the first start, as near as the file tells."""
    found = _DATE.match(v.text(run.get("date")) or "")
    duration = v.duration_ns(run.get("duration"), "s")
    if not found or duration is None:
        return None
    try:
        ended = datetime.strptime(f"{found[1]}{found[2]}", "%Y%m%d%H%M%S").replace(tzinfo=zone)
    except ValueError:
        return None
    return to_ns(ended) - duration


def _shared(run: Mapping[str, Any], *, is_endless: bool) -> dict[str, Any]:
    """Columns that all requests of a run have in common.

    Args:
        is_endless: the rate was written as a bare Infinity, which is no JSON and not read as a value.
    """
    model = v.first(v.text(run.get("model_id")), v.text(run.get("model")))
    parts = {
        "rate": "inf" if is_endless else v.text(run.get("request_rate")),
        "concurrency": v.text(run.get("max_concurrency")),
        "input": v.text(run.get("random_input_len")),
        "output": v.text(run.get("random_output_len")),
    }
    return {
        "model": model,
        "requested_model": model,
        "scenario": ", ".join(f"{name} {value}" for name, value in parts.items() if value) or None,
        "attributes": extra(**{name: v.text(run.get(name)) for name in ("backend", "date", "label", "burstiness")}),
    }


REDUNDANT = (  # aggregates of the run
    *("mean_*", "median_*", "std_*", "p[0-9]*_ms", "*throughput", "*goodput", "total_*_tokens", "completed", "failed"),
    *("rtfx", "max_output_tokens_per_s", "max_concurrent_requests", "generated_texts"),
)


FORMAT = Format(
    name="bench_serve",
    title="vLLM bench serve, SGLang bench serving",
    says="results of a benchmark run with arrays per request",
    sniff=sniff,
    reader=RowReader(read, REDUNDANT),
)
