"""Latency as a caller sees it: first token, tokens after it, the whole request.

Source: metric definitions, sections 1 and 2. Queue is inside TTFT; nothing is ever substituted for a first token.
"""

from __future__ import annotations

import polars as pl

from analysis.division import divided
from analysis.metrics.metric import Better, Kind, Metric, Unit
from ingest.schema import NS_PER_S

CALLS = pl.col("llm_calls").fill_null(1).clip(lower_bound=1)
TOKENS_AFTER_FIRST = pl.col("output_tokens") - CALLS


def seconds_of(column: str) -> pl.Expr:
    """A column of nanoseconds as seconds."""
    return divided(pl.col(column), NS_PER_S)


def _latency(metric_id: str, title: str, expr: pl.Expr, *, needs: tuple[str, ...], says: str, source: str) -> Metric:
    return Metric(
        id=metric_id,
        title=title,
        unit=Unit.SECOND,
        better=Better.LOWER,
        kind=Kind.REQUEST,
        needs=needs,
        expr=expr,
        says=says,
        source=source,
        elapsed=metric_id in ("ttft", "ttfa", "e2e", "perceived"),
    )


TTFT = _latency(
    "ttft",
    "Time to first token",
    seconds_of("ttft_ns"),
    needs=("ttft_ns",),
    says="From the request's arrival to the first token of its last call, waiting in the queue inside.",
    source="OpenTelemetry GenAI conventions; MLPerf; measured at the outermost point available",
)
TTFA = _latency(
    "ttfa",
    "Time to first answer token",
    seconds_of("ttfa_ns"),
    needs=("ttfa_ns",),
    says="From the request's arrival to the first token of the answer, reasoning left out.",
    source="AIPerf, time to first output token",
)
TPOT = Metric(
    id="tpot",
    title="Time per output token",
    unit=Unit.SECOND_PER_TOKEN,
    better=Better.LOWER,
    kind=Kind.REQUEST,
    needs=("generation_ns", "output_tokens"),
    # one exact integer denominator, so that the quotient is rounded once
    expr=pl.when(TOKENS_AFTER_FIRST > 0).then(pl.col("generation_ns") / (TOKENS_AFTER_FIRST * NS_PER_S)),
    says="Time after the first token over the tokens after the first of each call; unknown below two tokens.",
    source="vLLM bench, AIPerf and DistServe use the same formula",
)
ITL_MAX = _latency(
    "itl_max",
    "Longest gap between tokens",
    seconds_of("itl_max_ns"),
    needs=("itl_max_ns",),
    says="The longest wait between two tokens, or chunks, of one answer.",
    source="measured by the source; its basis is token or chunk",
)
E2E = _latency(
    "e2e",
    "End-to-end latency",
    seconds_of("e2e_ns"),
    needs=("e2e_ns",),
    says="From the request's arrival to its last output.",
    source="measured at the outermost point available",
)
PERCEIVED = _latency(
    "perceived",
    "Perceived latency",
    pl.when(pl.col("streaming")).then(seconds_of("ttft_ns")).when(~pl.col("streaming")).then(seconds_of("e2e_ns")),
    needs=("streaming", "ttft_ns", "e2e_ns"),
    says="What the caller waits before anything can be read: TTFT if streamed, E2E if not.",
    source="unknown where it is not known whether the answer was streamed",
)

LATENCY: tuple[Metric, ...] = (TTFT, TTFA, TPOT, ITL_MAX, E2E, PERCEIVED)
