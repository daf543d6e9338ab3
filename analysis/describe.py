"""What a result says about itself: its selection, its sums, the meaning of its words, where it came from.

Output: SelectionRecord, Summary, Definition and Provenance records.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import metadata

import polars as pl

from analysis.aggregates.exact import exact_sum
from analysis.aggregates.fluidity import FLUIDITY_INDEX
from analysis.aggregates.quality import Rule, rules
from analysis.aggregates.windows import Span
from analysis.dimensions import grouped
from analysis.metrics.catalog import METRICS
from analysis.metrics.outcome import FAILED
from analysis.metrics.stages import SAYS
from analysis.result import Costs, Definition, Provenance, SelectionRecord, Summary
from ingest.schema import REQUESTS
from ingest.selection import DIMENSIONS, Selection, to_datetime, to_iso, to_ns, zone_of

SIMULATORS = ("simulator",)  # `source` of rows that a simulator made

_DERIVED: dict[str, str] = {
    "cache_state": "hit if a part of the input was read from a prompt cache, miss if none was",
    "input_bucket": "bucket of the input length; it holds its lower edge and not its upper",
    "output_bucket": "bucket of the output length; it holds its lower edge and not its upper",
    "hour": "hour of arrival in the time zone of the objectives, 0 to 23",
    "weekday": "day of arrival in the time zone of the objectives, 1 (Monday) to 7",
}


def selection_record(selection: Selection, span: Span, compare_with: Selection | None) -> SelectionRecord:
    """The selection in words; `start` and `end` as selected, `seconds` of the range that the data fill if it is open."""
    return SelectionRecord(
        start=None if selection.start_ns is None else to_iso(selection.start_ns),
        end=None if selection.end_ns is None else to_iso(selection.end_ns),
        timezone=selection.timezone,
        week=week_of(selection),
        where={name: list(values) for name, values in grouped(selection.where)},
        title=title_of(selection),
        seconds=span.seconds,
        compare_with=None if compare_with is None else title_of(compare_with),
    )


def week_of(selection: Selection) -> str | None:
    """2026-W48 if the range is exactly an ISO week of its time zone."""
    if selection.start_ns is None or selection.end_ns is None:
        return None
    zone = zone_of(selection.timezone)
    local = to_datetime(selection.start_ns).astimezone(zone)
    day = local.date()
    after = day + timedelta(days=7)
    monday = datetime(day.year, day.month, day.day, tzinfo=zone)
    following = datetime(after.year, after.month, after.day, tzinfo=zone)
    if day.isoweekday() != 1 or (to_ns(monday), to_ns(following)) != (selection.start_ns, selection.end_ns):
        return None
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def title_of(selection: Selection) -> str:
    """Week 2026-W48, or the range, and the filters."""
    week = week_of(selection)
    if week is not None:
        title = f"Week {week}"
    elif selection.start_ns is None and selection.end_ns is None:
        title = "All requests"
    else:
        ends = [_local(ns, selection.timezone) for ns in (selection.start_ns, selection.end_ns)]
        title = f"{ends[0] or 'the beginning'} to {ends[1] or 'the end'}"
    filters = ", ".join(f"{name} {' or '.join(values)}" for name, values in grouped(selection.where))
    return f"{title}, {filters}" if filters else title


def _local(ns: int | None, timezone: str) -> str | None:
    if ns is None:
        return None
    moment = to_datetime(ns).astimezone(zone_of(timezone))
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment.second else moment.strftime("%Y-%m-%d %H:%M")


def summary(frame: pl.DataFrame, costs: Costs) -> Summary:
    """Sums of the selection: requests, calls and attempts as rows; tokens and cost divided by the sampling rate."""
    weight = pl.col("weight")

    def tokens(column: str) -> pl.Expr:
        return pl.when(pl.col(column).count() > 0).then(exact_sum(pl.col(column) * weight).round(0)).alias(column)

    row = frame.select(
        tokens("input_tokens"),
        tokens("cached_input_tokens"),
        tokens("output_tokens"),
        tokens("reasoning_tokens"),
        pl.col("llm_calls").fill_null(1).sum().alias("calls"),
        pl.col("attempts").fill_null(1).sum().alias("attempts"),
        pl.col("status_class").is_in(FAILED).sum().alias("failed"),
        exact_sum(weight).alias("estimated"),
        pl.col("started_ns").min().alias("first"),
        pl.col("started_ns").max().alias("last"),
        *(pl.col(name).drop_nulls().n_unique().alias(f"n_{name}") for name in ("user", "tenant", "model")),
    ).row(0, named=True)
    by_status = (
        frame.select("status_class")
        .group_by("status_class")
        .len()
        .sort(["len", "status_class"], descending=[True, False])
    )
    return Summary(
        requests=frame.height,
        calls=int(row["calls"]),
        attempts=int(row["attempts"]),
        failed=int(row["failed"]),
        input_tokens=_whole(row["input_tokens"]),
        cached_input_tokens=_whole(row["cached_input_tokens"]),
        output_tokens=_whole(row["output_tokens"]),
        first=None if row["first"] is None else to_iso(row["first"]),
        last=None if row["last"] is None else to_iso(row["last"]),
        cost_usd=costs.total_usd,
        unpriced_requests=costs.unpriced_requests,
        reasoning_tokens=_whole(row["reasoning_tokens"]),
        users=int(row["n_user"]),
        tenants=int(row["n_tenant"]),
        models=int(row["n_model"]),
        requests_estimated=float(row["estimated"]),
        by_status={name: int(n) for name, n in by_status.iter_rows()},
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def definitions() -> list[Definition]:
    """Meaning of every metric, stage, dimension and check of the data, in the order of the catalogs."""
    metrics = [Definition(m.id, "metric", m.title, str(m.unit), m.says, m.source) for m in METRICS]
    stages = [Definition(name, "stage", name.replace("_", " "), "s", says, "") for name, says in SAYS.items()]
    columns = {column.name: column.says for column in REQUESTS} | _DERIVED
    dimensions = [Definition(name, "dimension", name.replace("_", " "), "", columns[name], "") for name in DIMENSIONS]
    checks = [Definition(rule.id, "check", rule.title, "ratio", f"{rule.says} {_grades(rule)}", "") for rule in rules()]
    return [*metrics, FLUIDITY_INDEX, *stages, *dimensions, *checks]


def _grades(rule: Rule) -> str:
    a, b = (f"{float(limit):.6%}".rstrip("0%").rstrip(".") for limit in (rule.a, rule.b))
    if rule.c is None:
        return f"A up to {a} %, B up to {b} %, else C."
    c = f"{float(rule.c):.6%}".rstrip("0%").rstrip(".")
    return f"A up to {a} %, B up to {b} %, C up to {c} %, else D, which withholds verdicts."


def provenance(
    frame: pl.DataFrame, inputs: list[str], *, now: datetime, timezone: str, objectives: str, price_book: str, rules: str,
    command: str | None,
) -> Provenance:  # fmt: skip
    """Where the result came from; `made` is the instant given, not the clock."""
    sources = set(frame.get_column("source").unique())
    return Provenance(
        version=metadata.version("tailwise"),
        made=to_iso(to_ns(now)),
        timezone=timezone,
        objectives=objectives,
        price_book=price_book,
        rules=rules,
        simulated=any(source in SIMULATORS for source in sources),
        inputs=inputs,
        command=command,
    )
