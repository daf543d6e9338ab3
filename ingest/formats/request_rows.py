"""What readers of single requests share: times to stages, status, and the checked canonical row.

Input: what one source row says of one request, in canonical units. Output: RawRequest under the names of
schema.REQUESTS, or RawReject. Source: metrics page, sections 1-3; format page, section 6 (traps of all formats).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.formats import values as v
from ingest.formats.contract import RawNote, RawReject, RawRequest
from ingest.formats.heads import Cells, named
from ingest.formats.json_rows import reject
from ingest.schema import NS_PER_S

DAY_NS = 86_400 * NS_PER_S
FAR_DIGITS = 19  # a number of more digits counts no unit of time
FAR_COUNT = 10**FAR_DIGITS
RESIDUAL_NS = 1_000_000  # stages may exceed the whole by 1 ms or 1 %: figures of two clocks
RESIDUAL_SHARE = 100
STAGE_COLUMNS = ("gateway_ns", "network_ns", "queue_ns", "prefill_ns", "decode_ns", "postprocess_ns")
FROM_SEND = RawNote(
    "latencies count from the sending of a request; time that it waited in the load generator before is not in them"
)
FAILED = ("error", "timeout", "shed", "rejected", "cancelled")
TOKEN_COLUMNS = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


@dataclass(frozen=True)
class Times:
    """What a source says of the times of one call; durations in ns, None where it says nothing.

    `ttft_ns` and `last_token_ns` count from the start. `streaming`: as stated. `stages`: measured parts, by the names
    of STAGE_COLUMNS; queue, prefill and decode only from an engine.
    """

    started_ns: int | None = None
    ended_ns: int | None = None
    e2e_ns: int | None = None
    ttft_ns: int | None = None
    last_token_ns: int | None = None
    streaming: bool | None = None
    output_tokens: int | None = None
    is_served: bool = False  # the first token was measured by the server, so it stands for unstreamed answers too
    stages: Mapping[str, int | None] = field(default_factory=dict)


def timed(times: Times, status: str) -> dict[str, Any]:
    """Columns of time and stages of a request of one call.

    A failed row without duration has none, instead of 0. A first token at the end is no first token: the answer was
    not streamed, or nobody looked. Stages are told only where an engine measured them; else the call is split at the
    client's first token, or stays whole.
    """
    flags: list[str] = []
    e2e = times.e2e_ns
    if e2e is None and times.started_ns is not None and times.ended_ns is not None:
        e2e = times.ended_ns - times.started_ns
    if e2e == 0:
        e2e = None
    started, ended = _instants(times, e2e)
    ttft, streaming = _first_token(times, e2e, flags)
    columns: dict[str, Any] = {
        "started_ns": started,
        "ended_ns": ended,
        "e2e_ns": e2e,
        "ttft_ns": ttft,
        "call_ttft_ns": ttft,
        "streaming": streaming,
    }
    measured = _sound_stages(times.stages, e2e, flags)
    columns |= measured
    columns |= _rest(times, measured, e2e, ttft, flags)
    columns |= _generation(times, measured, e2e, ttft)
    if e2e is None and status not in FAILED and (times.e2e_ns == 0 or times.ended_ns == times.started_ns is not None):
        flags.append("timing_invalid")
    columns["flags"] = flags
    return columns


def _instants(times: Times, e2e: int | None) -> tuple[int | None, int | None]:
    started, ended = times.started_ns, times.ended_ns
    if started is None and ended is not None and e2e is not None:
        started = v.total(ended, -e2e)
    if ended is None and started is not None and e2e is not None:
        ended = v.total(started, e2e)
    return started, ended if e2e is not None or started is None else None


def _first_token(times: Times, e2e: int | None, flags: list[str]) -> tuple[int | None, bool | None]:
    ttft, streaming = times.ttft_ns, times.streaming
    if ttft is None or ttft <= 0 or times.output_tokens == 0:
        return None, streaming
    is_one_token = streaming is True and times.output_tokens == 1
    if e2e is None or ttft < e2e or (ttft == e2e and is_one_token):
        return ttft, streaming if times.is_served or streaming is not None else True
    if ttft == e2e:
        flags.extend(["ttft_missing"] if streaming else [])
        return None, False if streaming is None else streaming
    flags.append("timing_invalid")
    return None, streaming


def _sound_stages(stages: Mapping[str, int | None], e2e: int | None, flags: list[str]) -> dict[str, int]:
    known = {name: value for name, value in stages.items() if value is not None}
    if any(value < 0 for value in known.values()):
        flags.append("timing_invalid")
        return {}
    if e2e is not None and sum(known.values()) - e2e > max(RESIDUAL_NS, e2e // RESIDUAL_SHARE):
        flags.append("timing_invalid")
        return {}
    return known


def _rest(
    times: Times, measured: Mapping[str, int], e2e: int | None, ttft: int | None, flags: list[str]
) -> dict[str, int]:
    """What the measured stages leave of the whole, so that stages sum to it."""
    if e2e is None:
        return {}
    left = e2e - sum(measured.values())
    if left < 0:
        flags.append("residual_negative")
    left = max(left, 0)
    is_engine = any(name in measured for name in ("queue_ns", "prefill_ns", "decode_ns"))
    if is_engine and ("decode_ns" in measured or ttft is None):
        return {"unattributed_ns": left}
    if is_engine and ttft is not None:
        after = min(max(e2e - ttft - measured.get("postprocess_ns", 0), 0), left)
        return {"after_first_token_ns": after, "unattributed_ns": left - after}
    if ttft is not None and not times.is_served:
        before = min(max(ttft - measured.get("network_ns", 0) - measured.get("gateway_ns", 0), 0), left)
        flags.append("ttft_split")
        return {"before_first_token_ns": before, "after_first_token_ns": left - before}
    return {"model_ns": left} if left or not measured else {}


def _generation(times: Times, measured: Mapping[str, int], e2e: int | None, ttft: int | None) -> dict[str, object]:
    """Time over which the tokens after the first were made, and how it was measured."""
    if times.output_tokens is None or times.output_tokens < 2:
        return {}
    if "decode_ns" in measured:
        return {"generation_ns": measured["decode_ns"], "generation_basis": "engine"}
    last = times.last_token_ns if times.last_token_ns is not None else e2e
    if ttft is None or last is None or last < ttft:
        return {}
    basis = "response_end" if times.last_token_ns is None else "last_token"
    return {"generation_ns": last - ttft, "generation_basis": basis}


def gap_columns(gaps: Iterable[int | None], basis: str) -> dict[str, object]:
    """Columns of the longest gap between two chunks or tokens, and of all of them if each is known."""
    told = list(gaps)
    known = [gap for gap in told if gap is not None and gap >= 0]
    if not known:
        return {}
    columns: dict[str, object] = {"itl_max_ns": max(known), "itl_basis": basis}
    if len(known) == len(told) and max(known) <= DAY_NS:  # a longer one is refused with its row
        columns["token_gaps_ns"] = array("q", known)
    return columns


def extra(**attributes: object) -> str | None:
    """What no column holds, as one JSON object; None if nothing is known."""
    known = {name: value for name, value in attributes.items() if value not in (None, "", [], {})}
    return json.dumps(known, sort_keys=True, ensure_ascii=False) if known else None


def unread_time(row: Mapping[str, object], clocks: Mapping[str, Callable[[Any], int | None]]) -> str:
    """The first time that is there and cannot be read, as `name: value rule`; "" where each is read or absent.

    A number that counts from elsewhere is a time that places nothing, unless it is beyond 64 bits of nanoseconds.

    Args:
        clocks: name of a value -> who reads it.
    """
    for name, read in clocks.items():
        value = row.get(name)
        if value is None or type(value) is int:
            is_bad = value is not None and abs(value) >= FAR_COUNT
        elif (told := v.number(value)) is not None:
            is_bad = told.adjusted() >= FAR_DIGITS
        else:
            is_bad = value not in (False, {}, []) and _is_told(value) and read(value) is None
        if is_bad:
            return named(name, value, "is no time")
    return ""


def _is_told(value: object) -> bool:
    """Whether it is other than a word for "not known"."""
    return not isinstance(value, str) or v.text(value) is not None


def checked(
    columns: Mapping[str, object],
    *,
    line: int | None,
    offset: int | None,
    raw: bytes | str | Cells,
    calls: tuple[Mapping[str, object], ...] = (),
    unread: str = "",
) -> RawRequest | RawReject:
    """The row, or why it cannot be one; columns without a value are left out.

    A replay from a response cache made no tokens and costs nothing (metrics page, 3): the counts that a source states
    are those of the stored answer, and go beside.

    Args:
        unread: what unread_time says of the row.
    """
    if unread:
        return reject("bad_value", line, offset, raw, unread)
    if columns.get("response_cached") is True:
        columns = _replayed(columns)
    fault = _fault(columns)
    if fault:
        return reject(fault[0], line, offset, raw, fault[1])
    kept = {name: value for name, value in columns.items() if value is not None}
    kept.setdefault("llm_calls", 1)
    kept.setdefault("attempts", 1)
    return RawRequest(kept, line, calls)


def _replayed(columns: Mapping[str, object]) -> dict[str, object]:
    made = {name: 0 for name in TOKEN_COLUMNS if columns.get(name) is not None}
    beside = v.mapping(columns.get("attributes"))
    stored = {f"stored_{name}": columns[name] for name in ("input_tokens", "output_tokens") if name in made}
    unmade = dict.fromkeys(("generation_ns", "generation_basis", "token_gaps_ns", "source_cost_usd"))
    return {**columns, **made, **unmade, "attributes": extra(**beside, **stored)}


def _fault(columns: Mapping[str, object]) -> tuple[str, str] | None:
    """Reason, and the column with its value and the rule."""
    duration = columns.get("e2e_ns")
    started, ended = columns.get("started_ns"), columns.get("ended_ns")
    if isinstance(started, int) and isinstance(ended, int) and ended < started:
        return "end_before_start", named("ended_ns", ended, f"lies {started - ended:,} ns before started_ns")
    if isinstance(duration, int) and duration < 0:
        return "negative_duration", named("e2e_ns", duration, "is below 0")
    if isinstance(duration, int) and duration > DAY_NS:
        return "duration_too_long", named("e2e_ns", duration, "is longer than 24 hours")
    tokens = {name: columns.get(name) for name in TOKEN_COLUMNS}
    for name, count in tokens.items():
        if isinstance(count, int) and count < 0:
            return "negative_tokens", named(name, count, "is below 0")
    if all(value is None for value in (started, ended, duration, columns.get("ttft_ns"), *tokens.values())):
        return "no_time", ""
    return None


def usage(body: object) -> dict[str, int | None]:
    """Token columns of a usage object of the OpenAI, Anthropic or Gemini kind; input is the grand total.

    Anthropic's own names keep the cached parts outside of `input_tokens`; there they are added. Gemini counts
    thoughts apart from candidates; there they are added too.
    """
    found = v.mapping(body)
    if "promptTokenCount" in found:
        thoughts = v.integer(found.get("thoughtsTokenCount"))
        return {
            "input_tokens": v.integer(found.get("promptTokenCount")),
            "cached_input_tokens": v.integer(found.get("cachedContentTokenCount")),
            "output_tokens": v.total(v.integer(found.get("candidatesTokenCount")), thoughts),
            "reasoning_tokens": thoughts,
        }
    stated = v.integer(v.first(found.get("prompt_tokens"), found.get("input_tokens")))
    details = v.first(found.get("prompt_tokens_details"), found.get("input_tokens_details"))
    outside = v.integer(found.get("cache_read_input_tokens"))
    written = v.integer(found.get("cache_creation_input_tokens"))
    inside = v.integer(v.at(details, "cached_tokens"))
    if "prompt_tokens" not in found and (outside is not None or written is not None):
        stated = v.total(stated, outside, written)
    out_details = v.first(found.get("completion_tokens_details"), found.get("output_tokens_details"))
    return {
        "input_tokens": stated,
        "cached_input_tokens": v.first(inside, outside),
        "cache_write_tokens": v.first(written, v.integer(v.at(details, "cache_creation_tokens"))),
        "output_tokens": v.integer(v.first(found.get("completion_tokens"), found.get("output_tokens"))),
        "reasoning_tokens": v.integer(v.at(out_details, "reasoning_tokens")),
    }


def with_cached(tokens: Mapping[str, object]) -> dict[str, Any]:
    """The token columns with `flags`; an input below its own cached parts was stated without them, so they are added."""
    parts = v.total(v.integer(tokens.get("cached_input_tokens")), v.integer(tokens.get("cache_write_tokens")))
    stated = v.integer(tokens.get("input_tokens"))
    if parts is None or stated is None or stated >= parts:
        return {**tokens, "flags": []}
    return {**tokens, "input_tokens": v.total(stated, parts), "flags": ["input_below_cached"]}
