"""OTLP files that hold metrics or logs and no spans: refused by name.

Input: OTLP JSON that ends inside the head. A file that mixes signals, or is longer than the head, is read as OTLP JSON,
which skips what is no span. Source: format page, 8.
"""

from __future__ import annotations

import re

from ingest.formats.contract import HEAD_BYTES, Format, Head, Refusal

SIGNALS = {"resourceMetrics": "metrics", "resourceLogs": "logs"}
_RESOURCE = re.compile(rb'"resource"\s*:')


def sniff(head: Head) -> float:
    is_whole = len(head.data) < HEAD_BYTES
    has_spans = b'"resourceSpans"' in head.data or b'"resource_spans"' in head.data
    return 0.97 if SIGNALS.keys() & head.keys and is_whole and not has_spans else 0.0


def says(head: Head) -> str:
    told = " and ".join(word for key, word in SIGNALS.items() if f'"{key}"'.encode() in head.data)
    count = len(_RESOURCE.findall(head.data))
    noun = "resource" if count == 1 else "resources"
    return (
        f"{head.name} holds OTLP {told} ({count} {noun}), no spans. "
        "Export traces, or add the traces pipeline to the file exporter"
    )


FORMAT = Format(
    name="otlp_other_signals",
    title="OTLP metrics or logs",
    says="no spans in it; refused",
    sniff=sniff,
    reader=Refusal(says),
)
