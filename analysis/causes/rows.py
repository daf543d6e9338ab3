"""Request rows as the method reads them.

Input: the measured and priced frame of a selection (canonical columns of ingest/schema.REQUESTS, metric columns in
seconds, `cost_pico`). Output: Rows, the same requests with a clock in seconds, stage times in float seconds under
`t_<stage>`, dimensions as text, `pool`, `votes` (all 1 where one sampling rate holds), and the names of the columns that
no request carries.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass, replace

import polars as pl

from analysis.causes.figures import number
from analysis.causes.in_flight import MIN_RATE, counted_batch
from analysis.causes.settings import CauseSettings
from analysis.dimensions import dimension
from analysis.division import divided
from analysis.metrics.catalog import BY_ID
from analysis.metrics.votes import votes_of
from ingest.schema import NS_PER_S, REQUESTS, STAGES
from ingest.store.request_frame import taken

FAILED = ("error", "timeout", "shed", "truncated")
OUTER = ("gateway", "network", "guardrail", "retrieval", "rerank", "tool", "postprocess", "unattributed")
ENGINE = ("queue", "prefill", "decode", "before_first_token", "after_first_token", "model")

DIMENSIONS = (
    "replica",
    "model",
    "requested_model",
    "deployment_version",
    "region",
    "tenant",
    "scenario",
    "cache_state",
    "cold_start",
    "streaming",
    "route",
    "provider",
    "input_bucket",
    "output_bucket",
    "user",
)
FIGURES = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "image_input_tokens",
    "audio_input_tokens",
    "llm_calls",
    "tool_calls",
    "attempts",
    "batch_size",
    "queue_depth",
    "kv_cache_usage",
    "preemptions",
    "cost_pico",
    "http_status",
)
DRIVERS = ("uncached_input_pico", "cached_input_pico", "output_pico")
KEPT = (
    "request_key",
    "trace_id",
    "session",
    "status_class",
    "error_type",
    "finish_reason",
    "degraded",
    "response_cached",
)


_CLAIMS = pl.Series(["false", "true"], dtype=pl.Categorical)
COUNTED = "counted_batch_size"  # of a frame that was thinned: what was counted before
SCHEMA = frozenset(column.name for column in REQUESTS) | set(DIMENSIONS) | set(FIGURES)


@dataclass(frozen=True)
class Rows:
    """Requests with a known start, sorted by it; `absent` names the columns that no request carries, as in the schema."""

    frame: pl.DataFrame
    absent: frozenset[str]
    dimensions: tuple[str, ...]
    start_ns: int
    end_ns: int
    sampling_rate: float  # rows over the requests that they stand for
    each: float  # requests that one of the votes of a row stands for
    batch_basis: str | None  # measured by a source, counted from starts and ends, or None

    def lacks(self, name: str) -> bool:
        """Whether a column is empty, or one that the schema does not know and no mapping promoted."""
        return name in self.absent or name not in SCHEMA | set(self.dimensions)

    def has(self, *columns: str) -> bool:
        return not any(column in self.absent for column in columns)

    @property
    def times_answers(self) -> bool:
        """Whether the time after the first token is known, of the engine or by a client's clock."""
        return self.has("decode_ns") or self.has("after_first_token_ns")

    def missing(self, *columns: str) -> list[str]:
        return [column for column in columns if column in self.absent]


def main_stretch(frame: pl.DataFrame, settings: CauseSettings) -> pl.DataFrame:
    """The longest run of requests without a gap of days in it: strays of another month say nothing of this incident.

    Requests without a start are left out where there is more than one stretch.
    """
    gap = settings.stretch_gap_s * NS_PER_S
    stretch = (pl.col("started_ns").diff() > gap).fill_null(value=False).cum_sum()
    started = frame.get_column("started_ns").drop_nulls()  # alone: mostly there is one stretch, and no row moves
    started = started if started.is_sorted() else started.sort()
    if not (started.diff() > gap).any():
        return frame
    sizes = (
        started.to_frame()
        .select(stretch.alias("stretch"))
        .group_by("stretch")
        .len()
        .sort("len", "stretch", descending=[True, False])
    )
    timed = frame.filter(pl.col("started_ns").is_not_null()).sort("started_ns")
    return timed.filter(stretch == sizes["stretch"][0])


def thinned(frame: pl.DataFrame, fewest_bad: int, settings: CauseSettings) -> tuple[pl.DataFrame, int]:
    """One request in n, and n: of a selection with many requests so few that the method holds them several times over.

    By the hash of the key, so that the same requests are taken every time; `sampling_rate` says so to all who count.

    Args:
        frame: measured requests.
        fewest_bad: bad requests of the objective that has the fewest; where a sample would have too few, all are taken.
        settings: limits of the method.
    """
    one_in = min(-(-frame.height // settings.max_rows), fewest_bad // settings.min_bad)
    if one_in < 2:
        return frame, 1
    known = frame.select("batch_size", "replica", "sampling_rate").select(
        batch=pl.col("batch_size").max(), replicas=pl.col("replica").count(), rate=pl.col("sampling_rate").mean()
    )
    if not known["batch"][0] and known["replicas"][0] and known["rate"][0] >= MIN_RATE:
        frame = frame.with_columns(_running(frame))  # all of them run beside each other, not only those that are taken
    return one_of(frame.filter(taken(one_in)), one_in), one_in


def one_of(frame: pl.DataFrame, one_in: int) -> pl.DataFrame:
    """Requests that were taken one in so many, their `sampling_rate` told so."""
    return frame if one_in < 2 else frame.with_columns(pl.col("sampling_rate") / one_in)


def completed(told: pl.DataFrame, every: pl.DataFrame) -> pl.DataFrame:
    """The requests that are told with all columns of the same ones, in the order of these."""
    own = [name for name in told.columns if name not in every.columns or name == "sampling_rate"]
    if told.height == every.height:  # all of them, and both by arrival, then key: nothing is copied
        return every.with_columns(told.select(own))
    joined = every.drop("sampling_rate").join(
        told.select("request_key", *own), on="request_key", how="inner", maintain_order="left"
    )
    return joined.select(*every.columns, *(name for name in own if name != "sampling_rate"))


def _running(frame: pl.DataFrame) -> pl.Series:
    """Sequences in flight per request of a measured frame, counted, as column COUNTED."""
    clock = divided(pl.col("started_ns") - pl.col("started_ns").min(), NS_PER_S).alias("at")
    stages = ("queue", "prefill", "before_first_token", "decode", "after_first_token")
    times = [_seconds(frame, stage) for stage in stages]
    told = frame.select(clock, _coded(frame, "replica"), pl.col("ttft").alias("m_ttft"), *times).with_row_index(
        "at_row"
    )
    found = pl.repeat(None, told.height, dtype=pl.Float64, eager=True)
    for part in told.drop_nulls("replica").partition_by("replica"):  # the counting takes its rows four times over
        found.scatter(part["at_row"], counted_batch(part))
    return found.alias(COUNTED)


def aligned(earlier: Rows, rows: Rows) -> Rows:
    """Earlier rows with every column of the later ones; what they did not carry is null."""
    missing = [name for name in rows.frame.columns if name not in earlier.frame.columns]
    nulls = [pl.lit(None, dtype=rows.frame.schema[name]).alias(name) for name in missing]
    return replace(earlier, frame=earlier.frame.with_columns(nulls)) if nulls else earlier


def prepare(frame: pl.DataFrame) -> Rows:
    """Rows of a selection, requests without a start left out, promoted attributes as columns.

    Shape: (n_requests, columns of the measured frame), any order.
    """
    timed = frame if "started_ns" in frame.columns else frame.clear()
    if timed.height and timed["started_ns"].null_count():
        timed = timed.filter(pl.col("started_ns").is_not_null())
    promoted = _promoted(timed)
    timed = timed.with_columns(dimension(name).alias(name) for name in promoted)
    dimensions = (*DIMENSIONS, *promoted)
    wanted = [*dimensions, *FIGURES, *(column.name for column in REQUESTS)]
    absent = {name for name in wanted if name not in timed.columns or timed[name].null_count() == timed.height}
    if "batch_size" not in absent and (timed["batch_size"].max() or 0.0) == 0.0:
        absent.add("batch_size")  # a batch of none cannot make a token: a source that writes 0 has not measured it
    known = [name for name in dimensions if name not in absent]
    rates = timed["sampling_rate"].fill_null(1.0) if "sampling_rate" in timed.columns else pl.Series([1.0])
    weight = number((1.0 / rates).mean()) or 1.0
    votes = votes_of(rates) if rates.len() == timed.height else pl.repeat(1, timed.height, dtype=pl.Int64, eager=True)
    rate = 1.0 / weight
    start = int(timed["started_ns"].min() or 0) if timed.height else 0  # type: ignore[arg-type]
    clock = divided(pl.col("started_ns") - start, NS_PER_S).alias("at")
    prepared = timed.select(
        clock,
        votes.alias("votes"),
        *(_carried(timed, name) for name in (*FIGURES, *KEPT) if name != "batch_size"),
        pl.col(COUNTED).alias("batch_size") if COUNTED in timed.columns else _carried(timed, "batch_size"),
        *(_coded(timed, name) for name in known),
        *_metrics(timed),
        *(_seconds(timed, stage) for stage in STAGES),
        _seconds(timed, "itl_max"),
        *(pl.col(name) for name in timed.columns if name in DRIVERS or name.startswith(("bad:", "in:"))),
        pl.col("status_class").is_in(FAILED).alias("failed"),
        (pl.col("status_class") == "ok").alias("ok"),
        (pl.col("status_class") == "cancelled").alias("cancelled"),
    )
    if not prepared["at"].is_sorted():  # the store gives them in this order, and a sort copies all
        prepared = prepared.sort("at", maintain_order=True)
    prepared = prepared.with_columns(_pool(prepared, known), _uncached(absent), *_halves(absent))
    basis = "measured" if "batch_size" not in absent else None
    if basis is None and COUNTED in timed.columns:
        basis = "counted"
    elif basis is None and {"replica", "m_ttft"} <= set(prepared.columns) and rate >= MIN_RATE:
        prepared, basis = prepared.with_columns(counted_batch(prepared)), "counted"
    last = float(prepared["at"].max() or 0.0) if prepared.height else 0.0  # type: ignore[arg-type]
    return Rows(
        frame=prepared,
        absent=frozenset(absent),
        dimensions=tuple(known),
        start_ns=start,
        end_ns=start + int(last * NS_PER_S) + 1,
        sampling_rate=rate,
        each=weight / (number(votes.mean()) or 1.0),
        batch_basis=basis,
    )


def _promoted(frame: pl.DataFrame) -> tuple[str, ...]:
    """Names of the attributes that a mapping file made dimensions, as far as a thousand different rows tell."""
    if "dimensions" not in frame.columns:
        return ()
    texts = frame["dimensions"].drop_nulls().unique().sort().head(1000).to_list()
    names = {str(name) for text in texts for name in json.loads(text)}
    return tuple(sorted(names - set(frame.columns)))


def _carried(frame: pl.DataFrame, name: str) -> pl.Expr:
    if name in frame.columns:
        return pl.col(name)
    return pl.lit(None, dtype=pl.Float64 if name in FIGURES else pl.String).alias(name)


def _coded(frame: pl.DataFrame, name: str) -> pl.Expr:
    if frame.schema[name] == pl.Categorical:
        return pl.col(name)
    if frame.schema[name] == pl.Boolean:
        return pl.lit(_CLAIMS).gather(pl.col(name).cast(pl.UInt32)).alias(name)
    return pl.col(name).cast(pl.String).cast(pl.Categorical)


def _metrics(frame: pl.DataFrame) -> list[pl.Expr]:
    """Metric columns (float seconds, ratios, counts) of the measured frame, under `m_<metric>`; times in stages apart."""
    timed = {BY_ID[stage].column for stage in STAGES}
    return [
        pl.col(name).alias(f"m_{name}")
        for name, dtype in frame.schema.items()
        if dtype == pl.Float64 and name not in timed
    ]


def _seconds(frame: pl.DataFrame, stage: str) -> pl.Expr:
    name, measured = f"{stage}_ns", BY_ID[stage].column
    if frame.schema.get(measured) == pl.Float64:
        return pl.col(measured).alias(f"t_{stage}")
    if name not in frame.columns:
        return pl.lit(None, dtype=pl.Float64).alias(f"t_{stage}")
    return divided(pl.col(name), NS_PER_S).alias(f"t_{stage}")


def _halves(absent: Set[str]) -> list[pl.Expr]:
    """A call before and after its first token: as the engine measured it, else as a client's clock split it.

    `t_prompt` then holds the wait as well, so that only its low quantiles speak of prefill.
    """
    rest = ["t_unattributed"] if hides_the_wait(absent) else []
    return [
        pl.coalesce("t_prefill", "t_before_first_token", *rest).alias("t_prompt"),
        pl.coalesce("t_decode", "t_after_first_token").alias("t_answer"),
    ]


def hides_the_wait(absent: Set[str]) -> bool:
    """Whether queue and prefill have no column of their own, so that what is left of the time holds them."""
    return "decode_ns" not in absent and {"queue_ns", "prefill_ns", "before_first_token_ns"} <= absent


def _pool(frame: pl.DataFrame, known: list[str]) -> pl.Series:
    """Replicas that share traffic: one model in one region, as far as the columns say."""
    parts = [name for name in ("model", "region") if name in known]
    if not parts:
        return pl.repeat("all", frame.height, dtype=pl.String, eager=True).cast(pl.Categorical).alias("pool")
    text = [pl.col(name).cast(pl.String).fill_null("?") for name in parts]
    named = pl.concat_str(text, separator="|").cast(pl.Categorical).alias("pool")
    pools = frame.select(parts).unique().with_columns(named)  # few: no text is made for every request
    return frame.select(parts).join(pools, on=parts, how="left", maintain_order="left", nulls_equal=True)["pool"]


def _uncached(absent: set[str]) -> pl.Expr:
    cached = pl.lit(0) if "cached_input_tokens" in absent else pl.col("cached_input_tokens").fill_null(0)
    return (pl.col("input_tokens") - cached).cast(pl.Float64).alias("uncached")
