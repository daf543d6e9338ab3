"""How the objectives stood in the weeks before a week.

Input: the store, a selection that is an ISO week, the objectives. Output: WeekVerdict records per objective, oldest
first; weeks without requests are left out. The earlier weeks are judged anew by the objectives of today, so a changed
limit does not look like a changed service. Objectives on cost and capacity have no history: prices are not read.
Of days whose rows were dropped the counts, and the sums of means, volumes and quotients, are added to those of rows that
stand, exactly; where a day was counted by
another definition, or a window is no multiple of what was kept (an hour; a day per value), the week's verdict is
unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

from analysis.aggregates.attainment import judge, with_good
from analysis.aggregates.verdicts import last_instant
from analysis.aggregates.windows import Span
from analysis.describe import week_of
from analysis.dimensions import grouped, matches
from analysis.metrics.catalog import BY_ID
from analysis.metrics.measure import measure
from analysis.metrics.metric import Kind
from analysis.objectives import Objective, Objectives
from analysis.result import WeekVerdict
from analysis.rollups.roll_up import reads_good
from analysis.rollups.trend import with_rolled
from analysis.rollups.verdicts import RolledVerdicts, rolled_verdicts, standing_cells
from ingest.schema import REQUESTS
from ingest.selection import DERIVED_DIMENSIONS, Selection, to_datetime, to_ns, zone_of
from ingest.store.database import Store

WEEKS = 7  # with the week itself the eight of a report
MOST_REQUESTS = 2_000_000  # that are read for it; of busier services fewer weeks
VERDICT_COLUMNS = (  # that any verdict and any derived dimension reads
    *("request_key", "started_ns", "ended_ns", "e2e_ns", "status_class", "streaming", "degraded", "response_cached"),
    *("input_tokens", "cached_input_tokens", "output_tokens", "llm_calls", "sampling_rate", "dimensions"),
)


@dataclass(frozen=True)
class Week:
    """One week of a zone: its name and its half-open range."""

    name: str
    start_ns: int
    end_ns: int


def history(store: Store, selection: Selection, objectives: Objectives) -> dict[str, list[WeekVerdict]]:
    """Verdicts of earlier weeks by id of the objective; empty where the selection is no week."""
    items = tuple(item for item in objectives.items if without_prices(item))
    weeks = weeks_before(selection)
    if not weeks or not items:
        return {}
    arrivals = store.requests(selection.within(weeks[0].start_ns, weeks[-1].end_ns), ["started_ns"])
    told = replace(objectives, items=items)
    kept = rolled_verdicts(store, selection.within(weeks[0].start_ns, weeks[-1].end_ns), told)
    since = None if kept is None else kept.days[0].start_ns
    weeks = _within_reach(weeks, arrivals.get_column("started_ns"), since)
    if not weeks:
        return {}
    rows = store.requests(selection.within(weeks[0].start_ns, weeks[-1].end_ns), columns_for(items))
    frame = measure(rows, objectives.settings)
    derived = grouped(pair for pair in selection.where if pair[0] in DERIVED_DIMENSIONS)
    frame = frame.filter(matches(derived)) if derived else frame
    found: dict[str, list[WeekVerdict]] = {item.id: [] for item in items}
    for week in weeks:
        part = frame.filter(pl.col("started_ns").is_between(week.start_ns, week.end_ns, closed="left"))
        days = [] if kept is None else [d for d in kept.days if d.start_ns < week.end_ns and d.end_ns > week.start_ns]
        if part.is_empty() and not days:
            continue
        for item, one in zip(items, judge(part, told, start_ns=week.start_ns, end_ns=week.end_ns), strict=True):
            told_now = WeekVerdict(week.name, one.verdict, one.good, one.bad, one.attainment, one.value)
            if kept is not None and days:
                cells = _cells(kept, part, item, told)
                told_now = with_rolled(told_now, item, cells, Span(week.start_ns, week.end_ns))
            found[one.id].append(told_now)
    return found


def _cells(kept: RolledVerdicts, part: pl.DataFrame, item: Objective, objectives: Objectives) -> pl.DataFrame:
    """Counts and sums of dropped days (`is_gone`) and of the rows of a week, per value where the objective is."""
    if reads_good(item):
        part = with_good(part, objectives, last_instant(part))
    gone = kept.cells(item) if item.per is None else kept.cells_by_value(item)
    standing = standing_cells(part, item, objectives.settings, by_value=item.per is not None)
    both = ((gone, True), (standing, False))
    return pl.concat([cells.with_columns(is_gone=pl.lit(is_gone)) for cells, is_gone in both])


def without_prices(item: Objective) -> bool:
    """Whether an objective can be judged on requests alone, without prices and replica hours."""
    if any("cost_pico" in condition.metric.needs for condition in item.conditions):
        return False
    return item.joint or BY_ID[item.metric].kind is not Kind.FLEET


def columns_for(items: Sequence[Objective]) -> list[str]:
    """Columns of requests that the verdicts of objectives read, and filters beside them."""
    names = {*VERDICT_COLUMNS, *(name for item in items for name, _ in item.where)}
    names.update(item.per for item in items if item.per is not None)
    for item in items:
        metric = BY_ID.get(item.metric)
        parts = [metric.numerator, metric.denominator] if metric is not None else []
        for expr in (*(condition.metric.expr for condition in item.conditions), *parts):
            if expr is not None:
                names.update(expr.meta.root_names())
    return [column.name for column in REQUESTS if column.name in names]


def weeks_before(selection: Selection) -> list[Week]:
    """The weeks before a week, oldest first, each from local Monday to local Monday; none if it is no week."""
    if week_of(selection) is None or selection.start_ns is None:
        return []
    zone = zone_of(selection.timezone)
    monday = to_datetime(selection.start_ns).astimezone(zone).date()
    starts = [monday - timedelta(days=7 * back) for back in range(WEEKS, -1, -1)]
    edges = [to_ns(datetime(day.year, day.month, day.day, tzinfo=zone)) for day in starts]
    names = [f"{day.isocalendar().year}-W{day.isocalendar().week:02d}" for day in starts]
    return [Week(*parts) for parts in zip(names[:-1], edges[:-1], edges[1:], strict=True)]


def _within_reach(weeks: list[Week], arrivals: pl.Series, rolled_since: int | None) -> list[Week]:
    """The latest weeks whose requests together are not too many to read, from the first that has or had any."""
    kept: list[Week] = []
    total = 0
    for week in reversed(weeks):
        n = int(arrivals.is_between(week.start_ns, week.end_ns, closed="left").sum())
        total += n
        if total > MOST_REQUESTS:
            break
        kept.insert(0, week)
    first = arrivals.min()
    starts = [at for at in (first, rolled_since) if isinstance(at, int)]
    while kept and (not starts or min(starts) >= kept[0].end_ns):
        kept.pop(0)
    return kept
