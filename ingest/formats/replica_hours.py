"""Replica hours: how long each replica was up and busy within an hour, and what it cost. One row per replica and hour.

Input: JSON lines, CSV or Parquet. Output: rows of table replica_hours; never sampled.
"""

from __future__ import annotations

from ingest.formats.contract import FlatReader, Format, Head, SourceColumn

COLUMNS: tuple[SourceColumn, ...] = (
    SourceColumn("replica", ("replica", "replica_id", "pod")),
    SourceColumn("hour_ns", ("hour_start", "hour"), "time"),
    SourceColumn("model", ("model",)),
    SourceColumn("region", ("region",)),
    SourceColumn("deployment_version", ("deployment_version",)),
    SourceColumn("up_s", ("up_seconds", "up_s")),
    SourceColumn("busy_s", ("busy_seconds", "busy_s")),
    SourceColumn("mean_batch_size", ("mean_batch_size", "batch_size")),
    SourceColumn("preemptions", ("preemptions",)),
    SourceColumn("cost_usd", ("cost_usd",)),
)


def sniff(head: Head) -> float:
    names = set(head.columns) | head.keys
    has_hour, has_up = bool({"hour_start", "hour"} & names), bool({"up_seconds", "up_s"} & names)
    return 0.95 if "replica" in names and has_hour and has_up else 0.0


FORMAT = Format(
    name="replica_hours",
    title="Replica hours",
    says="up time, busy time and cost of each replica and hour",
    sniff=sniff,
    reader=FlatReader(lambda head: COLUMNS, table="replica_hours"),  # noqa: ARG005  # the contract of readers
)
