"""DOOR of ingest for spans that arrive live: bodies are checked before they are acknowledged, stored in batches.

Input: bodies of OTLP, protobuf or JSON. Output: spans and requests in the store; one upload per hour of
arrival, whose counts grow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import msgspec

from ingest.assemble import SpanCounts, SpanOptions, assemble, load_spans
from ingest.errors import Reject, UnreadableInput
from ingest.formats.contract import Source
from ingest.formats.heads import head_of
from ingest.formats.otlp_messages import check_json, check_protobuf
from ingest.formats.visible import without_credentials
from ingest.lines import mended
from ingest.messages import stage_messages
from ingest.receipts import LoadOptions
from ingest.schema import NS_PER_S
from ingest.selection import to_datetime
from ingest.span_counts import summed
from ingest.store import lists
from ingest.store.append import add_rejects
from ingest.store.database import Store
from ingest.store.spans import latest_instant_ns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Kind = Literal["json", "protobuf"]
HOUR_NS = 3600 * NS_PER_S
MOST_REMARKS = 20  # of an hour
MOST_KEPT = 1000  # names that are not understood, of an hour
FORMATS: dict[Kind, str] = {"json": "otlp_json", "protobuf": "otlp_protobuf"}
_OF_HOUR = "otlp-"  # begins the id of an upload of received spans


@dataclass(frozen=True)
class Checked:
    """A body that may be acknowledged: how many spans it holds and which of them are refused, by reason."""

    spans: int
    refused: dict[str, int]


def check(kind: Kind, body: bytes) -> Checked:
    """What a body holds, found without storing anything.

    Raises:
        UnreadableInput: it is no export request of that kind.
    """
    judge = check_json if kind == "json" else check_protobuf
    try:
        spans, rejects = judge(body, latest_instant_ns())
    except UnreadableInput:
        whole = mended(body) if kind == "json" else None  # half a character is mended when the body is stored
        if whole is None:
            raise
        spans, rejects = judge(whole, latest_instant_ns())
    return Checked(spans, dict(Counter(reject.reason for reject in rejects)))


def receive(bodies: Iterable[tuple[Kind, bytes]], store: Store, options: LoadOptions, now_ns: int) -> SpanCounts:
    """Counts of a batch of checked bodies whose spans and requests are now in the store, in one transaction.

    Args:
        now_ns: time of arrival; the upload of its hour takes the counts.
    """
    lines: list[bytes] = []
    messages: list[bytes] = []
    size = 0
    for kind, body in bodies:
        size += len(body)
        (lines if kind == "json" else messages).append(body)
    upload_id = _upload_of(now_ns)
    with store.writing() as cursor:
        told = [*_store_lines(lines, store, cursor, upload_id, options)]
        told += _store_messages(messages, cursor, upload_id, options)
        assemble(cursor)
        counts = summed(told)
        _note(store, cursor, counts, upload_id=upload_id, size=size, now_ns=now_ns)
    return counts


def set_aside(kind: Kind, body: bytes, store: Store, *, file: str, why: str, now_ns: int) -> None:
    """Tells in the upload of the hour that an acknowledged body could not be stored, as one rejected row.

    Args:
        file: name under which the body lies.
        why: the error that it met.
    """
    spans = check(kind, body).spans
    says = f"{spans} {'span' if spans == 1 else 'spans'} in {file}: {why}"
    refused = Reject(None, None, "set_aside", head_of(body) if kind == "json" else "", without_credentials(says))
    note = f"received bodies that could not be stored lie in {Path(file).parent}; look at them with tailwise doctor"
    counts = SpanCounts(read=1, rejected=1, rejects=(refused,), remarks=(note,))
    with store.writing() as cursor:
        _note(store, cursor, counts, upload_id=_upload_of(now_ns), size=len(body), now_ns=now_ns)


def is_of_an_hour(upload_id: str) -> bool:
    """Whether an upload is one of received spans, of which more may wait on disk."""
    return upload_id.startswith(_OF_HOUR)


def _upload_of(now_ns: int) -> str:
    return f"{_OF_HOUR}{to_datetime(now_ns).astimezone(UTC):%Y%m%dT%H}"


def _span_options(options: LoadOptions, kind: Kind) -> SpanOptions:
    return SpanOptions(options.mapping, options.attributes, options.sampling_rate, FORMATS[kind])


def _store_lines(
    lines: list[bytes], store: Store, cursor: DuckDBPyConnection, upload_id: str, options: LoadOptions
) -> Iterator[SpanCounts]:
    """JSON bodies go the way of files: one body a line."""
    if not lines:
        return
    path = store.scratch / f"live-{uuid4().hex}.jsonl"
    try:
        path.write_bytes(b"".join(_one_line(line) + b"\n" for line in lines))
        source = Source(path, path.name, "none", path.stat().st_size, lambda: path.open("rb"))
        counts = load_spans(store, cursor, source, "lines", upload_id, _span_options(options, "json"))
        placeless = tuple(replace(reject, line=None, offset=None) for reject in counts.rejects)
        yield replace(counts, rejects=placeless)
    finally:
        path.unlink(missing_ok=True)


def _one_line(body: bytes) -> bytes:
    """A checked body without line ends; half a character in it, which a checked body may have, becomes a question mark."""
    try:
        return msgspec.json.format(body, indent=-1)
    except msgspec.DecodeError:
        return mended(body) or body


def _store_messages(
    bodies: list[bytes], cursor: DuckDBPyConnection, upload_id: str, options: LoadOptions
) -> Iterator[SpanCounts]:
    if bodies:
        counts = stage_messages(cursor, bodies, upload_id, _span_options(options, "protobuf"))
        yield replace(counts, rejects=tuple(replace(reject, offset=None) for reject in counts.rejects))


def _note(
    store: Store, cursor: DuckDBPyConnection, counts: SpanCounts, *, upload_id: str, size: int, now_ns: int
) -> None:
    """Add the counts to the upload of the hour; rejected spans stand in the store like those of a file."""
    before = lists.upload(store, upload_id) or {}
    receipt: dict[str, Any] = json.loads(before.get("receipt") or "{}")
    reasons = Counter(receipt.get("reasons", {})) + Counter(reject.reason for reject in counts.rejects)
    told = summed((_told_before(receipt), replace(counts, rejects=())))
    totals = {
        f"n_{key}": (before.get(f"n_{key}") or 0) + getattr(counts, key)
        for key in ("read", "accepted", "duplicate", "rejected")
    }
    row = {
        "upload_id": upload_id,
        "name": f"OTLP, {to_datetime(now_ns - now_ns % HOUR_NS):%Y-%m-%d %H:%M} UTC",
        "format": "otlp",
        "state": "done",
        "size_bytes": (before.get("size_bytes") or 0) + size,
        "received_ns": before.get("received_ns") or now_ns,
        "finished_ns": now_ns,
        "receipt": json.dumps(
            {
                "reasons": dict(reasons),
                "not_understood": dict(told.most_frequent),
                "names": dict(told.not_understood[:MOST_KEPT]),
                "notes": told.notes,
                "replaced": told.replaced,
                "skipped": dict(told.skipped),
                "remarks": told.remarks[:MOST_REMARKS],
            }
        ),
    }
    store.put_upload(row | totals, cursor)
    if counts.rejects:
        add_rejects(store, cursor, upload_id, counts.rejects)


def _told_before(receipt: Mapping[str, Any]) -> SpanCounts:
    """What notes are made from, of the batches of the hour until now."""
    return SpanCounts(
        replaced=receipt.get("replaced", 0),
        not_understood=tuple(receipt.get("names", {}).items()),
        skipped=tuple(receipt.get("skipped", {}).items()),
        remarks=tuple(receipt.get("remarks", ())),
    )
