"""Rows of the multi-round question-answering load generator, seen at the client.

Input: CSV with `prompt_tokens`, `generation_tokens` (written as floats), `ttft` and `generation_time` in seconds,
`launch_time` and `finish_time` in Unix seconds; a table of several runs may have `deployment` and `target_qps` added.
Output: request rows; TTFT is launch to first token, generation first to last token. E2E is their sum, which the
source's two instants confirm to 10 microseconds. The load of a run is its scenario: the column `target_qps` where it
was added, else the file's name.
Source: format page, 5.8. Requests that never finished are absent: overloaded runs look better than they were.
"""

from __future__ import annotations

from pathlib import Path

from ingest.formats.contract import FlatReader, Format, Head, SourceColumn

COLUMNS: tuple[SourceColumn, ...] = (
    SourceColumn("started_ns", ("launch_time",), "time"),
    SourceColumn("ttft_ns", ("ttft",), "s"),
    SourceColumn("generation_ns", ("generation_time",), "s"),
    SourceColumn("input_tokens", ("prompt_tokens",)),
    SourceColumn("output_tokens", ("generation_tokens",)),
    SourceColumn("user", ("user_id",)),
    SourceColumn("deployment_version", ("deployment",)),
    SourceColumn("scenario", ("target_qps",), prefix="qps-"),
    SourceColumn("model", ("model",)),
)
_MARKS = frozenset({"prompt_tokens", "generation_tokens", "ttft", "generation_time", "launch_time", "finish_time"})


def constants(head: Head) -> dict[str, str]:
    """The scenario of a run whose load only the file's name tells."""
    return {} if "target_qps" in head.columns else {"scenario": Path(head.name).name.split(".csv")[0]}


def sniff(head: Head) -> float:
    return 0.95 if set(head.columns) >= _MARKS else 0.0


FORMAT = Format(
    name="multiround_qa",
    title="Multi-round QA load generator",
    says="one row per request of a load test: time to first token, generation time, tokens",
    sniff=sniff,
    reader=FlatReader(
        lambda head: COLUMNS,  # noqa: ARG005  # the contract of readers
        vantage="client",
        generation_basis="last_token",
        redundant=("finish_time",),
        identity=("user_id", "question_id", "launch_time"),
        constants=constants,
    ),
)
