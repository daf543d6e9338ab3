"""Usage and cost buckets of the OpenAI administration API, and daily activity tables: refused by name.

Input: `{"object": "page", "data": [{"object": "bucket", ...}]}`, or a table of one row per day and model.
They hold sums, no requests. Source: format page, 1 (row 22) and 8.
"""

from __future__ import annotations

from ingest.formats.contract import Format, Head, Refusal

_BUCKETS = (b'"bucket"', b'"page"')
_ACTIVITY = ({"date", "model"}, {"day", "model"})


def sniff(head: Head) -> float:
    columns = {name.strip().lower() for name in head.columns}
    if any(names <= columns for names in _ACTIVITY) and columns & {
        "requests",
        "num_requests",
        "usage",
        "num_model_requests",
    }:
        return 0.9
    is_page = "object" in head.keys and any(mark in head.data for mark in _BUCKETS)
    return 0.92 if is_page and head.keys & {"data", "results", "start_time", "data.results", "data.start_time"} else 0.0


def says(head: Head) -> str:
    if head.columns:
        return f"{head.name} has one row per day and model. Costs per request need request logs"
    return f"{head.name} has usage or costs per time bucket, no requests. Costs per request need request logs or traces"


FORMAT = Format(
    name="openai_usage",
    title="OpenAI usage and costs, daily activity",
    says="sums per bucket without requests; refused",
    sniff=sniff,
    reader=Refusal(says),
)
