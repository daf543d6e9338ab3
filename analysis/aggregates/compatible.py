"""What other tools would print for the same requests, each by its own definition and labelled with it.

Input: a measured frame, the objectives that define good. Output: CompatibleFigure records by tool; never mixed with
ours, so that a number from another report can be found again. All of them look at successful requests alone.

    vLLM bench serve   percentiles interpolated; TPOT of one token is 0; throughputs over the duration it measured
    AIPerf             percentiles interpolated; its inter-token latency is our TPOT; throughputs over first start to
                       last end
    GuideLLM           percentiles by tokens: time per output token holds the first one, and is the time to the last
                       token over all tokens, each token one vote; tokens per second are counted from the first one on
    LLMPerf            percentiles interpolated; output tokens per second of each request, then the mean; answers that
                       it marked as too short are left out, as errors are
    inference-perf     normalized time per output token is E2E over tokens; good requests are of the successful ones

Source: metric definitions, sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from analysis.aggregates.exact import exact_mean, exact_sum
from analysis.aggregates.figures import OK
from analysis.aggregates.statistics import interpolated, quantile, weighted_quantiles
from analysis.aggregates.verdicts import clause_flags
from analysis.dimensions import matches
from analysis.division import divided
from analysis.metrics.latency import TOKENS_AFTER_FIRST
from analysis.objectives import Objective
from analysis.result import CompatibleFigure
from ingest.schema import NS_PER_S

SHORT_ANSWER = "short_answer"  # the flag of such an answer
_MS = 1000.0
_POINTS: tuple[tuple[str, float], ...] = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))
STATED = "over the duration that the file states"
SPANNED = "over first start to last end"
_READ = (
    *("status_class", "started_ns", "ttft_ns", "e2e_ns", "generation_ns", "ttft", "tpot", "e2e"),
    *("input_tokens", "cached_input_tokens", "output_tokens", "llm_calls", "streaming", "flags"),
)
Point = Callable[[pl.Series, float], float | None]


@dataclass(frozen=True)
class Duration:
    """What a load generator divides by, in seconds, and whose figure it is."""

    seconds: float | None
    says: str

    def rate(
        self, tool: str, figure: str, unit: str, amount: float | None, *, n: int, of: str = ""
    ) -> CompatibleFigure:
        """An amount per second, of so many requests."""
        value = None if amount is None or not self.seconds else amount / self.seconds
        return CompatibleFigure(tool, figure, unit, n, value, f"{of}, {self.says}" if of else self.says)


@dataclass(frozen=True)
class Ordered:
    """Known values in rising order, and their mean: worked out once for all tools."""

    values: pl.Series
    mean: float | None


def ordered_of(seconds: pl.Series) -> Ordered:
    known = seconds.drop_nulls().sort()
    return Ordered(known, known.to_frame("v").select(exact_mean(pl.col("v"))).item())


def compatible_figures(
    frame: pl.DataFrame, defining: tuple[Objective, ...], run_s: float | None = None
) -> list[CompatibleFigure]:
    """Figures of all tools, in the order of the table above; those that the requests cannot give are left out.

    Args:
        run_s: how long the load test took that the frame is of, as its file says (aggregates/run_time); without it
            the span of the successful requests stands in, and the figure says so.
    """
    dimensions = [name for item in defining for name in matches(item.where).meta.root_names()]
    clauses = [flag for item in defining for c in item.conditions for flag in clause_flags(c).kept.meta.root_names()]
    columns = dict.fromkeys([*_READ, *dimensions, *clauses])
    ok = frame.select(list(columns)).filter(OK)
    ordered = {name: ordered_of(ok.get_column(name)) for name in ("ttft", "tpot", "e2e")}
    spanned = Duration(_span(ok), SPANNED)
    duration = Duration(run_s, STATED) if run_s else spanned
    found = [
        *_vllm(ok, ordered, defining, duration),
        *_aiperf(ok, ordered, spanned),
        *_guidellm(ok, ordered, duration),
        *_llmperf(ok),
        *_inference_perf(ok, defining, duration),
    ]
    return [figure for figure in found if figure.value is not None]


def _vllm(
    ok: pl.DataFrame, ordered: dict[str, Ordered], defining: tuple[Objective, ...], duration: Duration
) -> list[CompatibleFigure]:
    tool = "vLLM bench serve"
    tpot = ok.select(pl.when(pl.col("output_tokens") <= 1).then(0.0).otherwise(pl.col("tpot"))).to_series()
    out, both = _tokens(ok)
    good = ok.filter(_keeps(defining)).height if defining else None
    return [
        *_summary(tool, "ttft", ordered["ttft"], interpolated, "from request to first token"),
        *_summary(tool, "tpot", ordered_of(tpot), interpolated, "0 for an answer of one token"),
        *_summary(tool, "e2el", ordered["e2e"], interpolated, "from request to end"),
        duration.rate(tool, "request_throughput", "per_s", ok.height, n=ok.height),
        duration.rate(tool, "output_throughput", "tokens/s", out, n=ok.height),
        duration.rate(tool, "total_token_throughput", "tokens/s", both, n=ok.height, of="input and output tokens"),
        duration.rate(tool, "request_goodput", "per_s", good, n=ok.height, of="of the successful requests"),
    ]


def _aiperf(ok: pl.DataFrame, ordered: dict[str, Ordered], spanned: Duration) -> list[CompatibleFigure]:
    tool = "AIPerf"
    out, _ = _tokens(ok)
    speeds = ordered_of((1 / ordered["tpot"].values).alias("v"))
    says = "1 / our TPOT"
    return [
        *_summary(tool, "time_to_first_token", ordered["ttft"], interpolated, "from request to first token"),
        *_summary(tool, "inter_token_latency", ordered["tpot"], interpolated, "our TPOT"),
        *_summary(tool, "request_latency", ordered["e2e"], interpolated, "from request to end"),
        *(
            CompatibleFigure(
                tool, f"{name}_output_token_throughput_per_user", "tokens/s", speeds.values.len(), value, says
            )
            for name, value in _points(speeds, interpolated)
        ),
        spanned.rate(tool, "request_throughput", "per_s", ok.height, n=ok.height),
        spanned.rate(tool, "output_token_throughput", "tokens/s", out, n=ok.height),
    ]


def _guidellm(ok: pl.DataFrame, ordered: dict[str, Ordered], duration: Duration) -> list[CompatibleFigure]:
    tool = "GuideLLM"
    last = pl.col("ttft_ns") + pl.col("generation_ns")
    each = ok.with_columns(
        (divided(last, NS_PER_S) / pl.col("output_tokens")).alias("_tpot"), TOKENS_AFTER_FIRST.alias("_after")
    ).filter((pl.col("output_tokens") > 0).fill_null(value=False))
    return [
        *_summary(tool, "time_to_first_token", ordered["ttft"], quantile, "from request to first token"),
        *_by_tokens(
            each, "time_per_output_token", "_tpot", votes="output_tokens", says="time to the last token over all tokens"
        ),
        *_by_tokens(
            each, "inter_token_latency", "tpot", votes="_after", says="our TPOT, each token after the first one vote"
        ),
        *_summary(tool, "request_latency", ordered["e2e"], quantile, "from request to end"),
        duration.rate(tool, "mean_requests_per_second", "per_s", ok.height, n=ok.height),
        *_token_rates(ok),
    ]


def _token_rates(ok: pl.DataFrame) -> list[CompatibleFigure]:
    """GuideLLM's mean rates of tokens: prompts count when their first token comes, answers from then to the last one."""
    first = pl.col("started_ns") + pl.col("ttft_ns")
    known = ok.filter(pl.col("ttft_ns").is_not_null() & pl.col("started_ns").is_not_null())
    earliest, latest, last = known.select(
        first.min().alias("earliest"),
        first.max().alias("latest"),
        (first + pl.col("generation_ns").fill_null(0)).max().alias("last"),
    ).row(0)
    answering = Duration(_seconds(earliest, last), "over first token to last token")
    prompted = Duration(_seconds(earliest, latest), "over first token to the last first token")
    out, both = _tokens(known)
    inputs = known.select(_sum(pl.col("input_tokens"))).item()
    n, unit = known.height, "tokens/s"
    return [
        prompted.rate("GuideLLM", "mean_prompt_tokens_per_second", unit, inputs, n=n, of="input tokens"),
        answering.rate("GuideLLM", "mean_output_tokens_per_second", unit, out, n=n),
        answering.rate("GuideLLM", "mean_tokens_per_second", unit, both, n=n, of="input and output tokens"),
    ]


def _llmperf(ok: pl.DataFrame) -> list[CompatibleFigure]:
    kept = ok.filter(~pl.col("flags").list.contains(SHORT_ANSWER).fill_null(value=False))
    ordered = {name: ordered_of(kept.get_column(name)) for name in ("ttft", "e2e")}
    speed = kept.select((pl.col("output_tokens") / pl.col("e2e")).alias("v")).filter(pl.col("v").is_finite())
    mean = speed.select(exact_mean(pl.col("v"))).item()
    says = "output tokens of a request over its E2E"
    return [
        *_summary("LLMPerf", "ttft", ordered["ttft"], interpolated, "from request to first token"),
        *_summary("LLMPerf", "end_to_end_latency", ordered["e2e"], interpolated, "from request to end"),
        CompatibleFigure("LLMPerf", "mean_request_output_throughput", "tokens/s", speed.height, mean, says),
    ]


def _inference_perf(ok: pl.DataFrame, defining: tuple[Objective, ...], duration: Duration) -> list[CompatibleFigure]:
    tool = "inference-perf"
    normalized = ok.select((pl.col("e2e") / pl.col("output_tokens")).alias("v")).filter(pl.col("v").is_finite())
    good = ok.filter(_keeps(defining)) if defining else ok.clear()
    share = good.height / ok.height if defining and ok.height else None
    both = _tokens(good)[1] if defining else None
    return [
        *_summary(
            tool,
            "normalized_time_per_output_token",
            ordered_of(normalized.to_series()),
            interpolated,
            "E2E over tokens",
        ),
        CompatibleFigure(tool, "good_requests", "ratio", ok.height, share, "of the successful requests"),
        duration.rate(tool, "token_goodput", "tokens/s", both, n=good.height, of="input and output tokens"),
    ]


def _summary(tool: str, figure: str, seconds: Ordered, point: Point, says: str) -> list[CompatibleFigure]:
    n = seconds.values.len()
    return [
        CompatibleFigure(tool, f"{name}_{figure}_ms", "ms", n, _in_ms(value), says)
        for name, value in _points(seconds, point)
    ]


def _points(known: Ordered, point: Point) -> list[tuple[str, float | None]]:
    return [("mean", known.mean), *((name, point(known.values, p)) for name, p in _POINTS)]


def _by_tokens(rows: pl.DataFrame, figure: str, value: str, *, votes: str, says: str) -> list[CompatibleFigure]:
    known = rows.filter(pl.col(value).is_not_null() & (pl.col(votes) > 0))
    total, weighted = known.select(
        pl.col(votes).sum().alias("n"), exact_sum(pl.col(value) * pl.col(votes)).alias("sum")
    ).row(0)
    at = weighted_quantiles(known.get_column(value), known.get_column(votes), [Fraction(repr(p)) for _, p in _POINTS])
    points = [("mean", weighted / total if total else None), *zip((name for name, _ in _POINTS), at, strict=True)]
    return [
        CompatibleFigure("GuideLLM", f"{name}_{figure}_ms", "ms", int(total), _in_ms(found), says)
        for name, found in points
    ]


def _keeps(defining: tuple[Objective, ...]) -> pl.Expr:
    """Whether a successful request breaks no clause; what is missing breaks none, as in those tools."""
    return ~pl.any_horizontal(
        matches(item.where) & clause_flags(condition).broken for item in defining for condition in item.conditions
    )


def _tokens(rows: pl.DataFrame) -> tuple[float | None, float | None]:
    """Output tokens, and input and output tokens together, of the rows that tell both; None where no row does."""
    out, both = pl.col("output_tokens"), pl.col("input_tokens") + pl.col("output_tokens")
    return rows.select(_sum(out).alias("out"), _sum(both).alias("both")).row(0)


def _sum(expr: pl.Expr) -> pl.Expr:
    return pl.when(expr.count() > 0).then(exact_sum(expr))


def _span(ok: pl.DataFrame) -> float | None:
    return _seconds(
        *ok.select(
            pl.col("started_ns").min().alias("first"), (pl.col("started_ns") + pl.col("e2e_ns")).max().alias("last")
        ).row(0)
    )


def _seconds(first: int | None, last: int | None) -> float | None:
    return None if first is None or last is None or last <= first else (last - first) / NS_PER_S


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _MS
