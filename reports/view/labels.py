"""Words and signs that several parts share: verdicts, stages, segments, objectives, weeks.

Input: records of the result; Text. Output: words, badges, swatches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from urllib.parse import quote, urlencode

from analysis.result import AnalysisResult, Change, Costs, ObjectiveResult, SelectionRecord
from reports.charts import theme
from reports.text import UNKNOWN, Text, count, decimal, limit, move, target_share
from reports.text import change as words_of_change
from reports.view.blocks import Badge, Cell, Piece, Swatch

VERDICTS = ("breached", "endangered", "met", "too_few", "unknown")  # the worst first
MIN_CELL = 30  # requests below which a cell of the grid is hatched: the least that an objective is judged on


BARE = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?|true|false|yes|no|null", re.IGNORECASE)
WEEK_S = 7 * 86_400


def text_for(result: AnalysisResult, lang: str) -> Text:
    """How a page of a result speaks; beyond a week a weekday stands with its date."""
    seconds = result.selection.seconds
    return Text.of(lang, result.selection.timezone, dated=seconds is None or seconds > WEEK_S)


def badge(text: Text, verdict: str) -> Badge:
    words = {
        "breached": text.say("Breached"),
        "endangered": text.say("Endangered"),
        "met": text.say("Met"),
        "too_few": text.say("Too few"),
    }
    known = verdict if verdict in words else "unknown"
    return Badge(known, words.get(known, text.say("Unknown")))


def worst_verdict(objectives: Iterable[ObjectiveResult]) -> str:
    """The worst verdict among objectives; unknown if there are none."""
    found = {objective.verdict for objective in objectives}
    return next((verdict for verdict in VERDICTS if verdict in found), "unknown")


def stage_swatch(text: Text, stage: str) -> Swatch:
    return Swatch(theme.stage_token(stage), text.say(stage), "hatched" if stage in theme.HATCHED else "box")


def segment_short(segment: dict[str, str]) -> str:
    """lm-large us-east."""
    return " ".join(segment.values())


def segment_full(segment: dict[str, str]) -> str:
    """model lm-large, region us-east."""
    return ", ".join(f"{dimension} {value}" for dimension, value in segment.items())


RAISED = (
    "availability",
    "cache_hit_ratio",
    "output_tokens_per_usd",
    "goodput",
    "goodput_tokens_per_second",
    "mfu",
)  # more is better


def limit_words(objective: ObjectiveResult) -> str:
    """The limit as its owner wrote it; text where it depends on the length."""
    if isinstance(objective.threshold, int | float):
        return limit(objective.threshold, objective.unit)
    return objective.threshold_text or limit(objective.target, "ratio")


def asked(text: Text, objective: ObjectiveResult) -> str:
    """TTFT ≤ 2.45 s: what is measured and its limit, clause by clause."""
    if len(objective.clauses) > 1:
        return ", ".join(f"{text.metric(c.metric)} ≤ {limit(c.threshold, c.unit)}" for c in objective.clauses)
    sign = "≥" if objective.metric in RAISED else "≤"
    of = statistic_words(objective.statistic) + " " if objective.statistic is not None else ""
    return f"{of}{text.metric(objective.metric)} {sign} {limit_words(objective)}"


def statistic_words(statistic: str) -> str:
    """p95 as P95, mean and sum as they are."""
    return statistic.upper() if statistic[:1] == "p" and statistic[1:2].isdigit() else statistic


def objective_label(text: Text, objective: ObjectiveResult) -> str:
    """Its title; without one of its own what it asks and of whom, or the id of a joint objective."""
    if objective.title and objective.title != objective.id:
        return objective.title
    if len(objective.clauses) > 1:
        return objective.id
    where = where_words(objective)
    return text.say("{rule} for {where}", rule=asked(text, objective), where=where) if where else asked(text, objective)


def objective_rule(text: Text, objective: ObjectiveResult) -> str:
    """TTFT ≤ 2.45 s for 95 % · code: what an objective asks, from its parts."""
    rule = asked(text, objective)
    if objective.target is not None and objective.metric not in RAISED:
        rule = text.say("{rule} for {target}", rule=rule, target=target_share(objective.target))
    where = where_words(objective)
    return f"{rule} · {where}" if where else rule


def where_words(objective: ObjectiveResult) -> str:
    """The values that it is about; one that says nothing by itself, as 1 or true, with its dimension."""
    return ", ".join(
        value if BARE.fullmatch(value) is None else f"{name} = {value}"
        for name, values in objective.where.items()
        for value in values
    )


def value_cell(value: str | None, text: Text) -> Cell:
    """A value of a dimension; requests without one are told so."""
    if value is None:
        return Cell(((Piece(text.say("unattributed"), "note"),),))
    return Cell(((Piece(value),),))


def period_name(text: Text, result: AnalysisResult) -> str:
    """Week 10; without a week the days of the range, or those of the first and the last request."""
    selection, summary = result.selection, result.summary
    if selection.week is not None and "-W" in selection.week:
        return text.say("Week {n}", n=str(int(selection.week.split("-W")[1])))
    if selection.start is not None and selection.end is not None:
        return text.days(selection.start, selection.end)
    if summary.first is not None and summary.last is not None:
        return text.stretch(summary.first, summary.last)
    return text.say("All requests")


def baseline_name(text: Text, result: AnalysisResult) -> str:
    """Week 9: what the result is compared with."""
    title = result.comparison.title if result.comparison is not None else UNKNOWN
    found = re.search(r"\d{4}-W(\d{2})$", title)
    return text.say("Week {n}", n=str(int(found[1]))) if found else title


def find_change(result: AnalysisResult, metric: str) -> Change | None:
    """The first change of a metric against the baseline."""
    changes = result.comparison.changes if result.comparison is not None else []
    return next((change for change in changes if change.metric == metric and change.baseline is not None), None)


def change_words(change: Change) -> str:
    """A change against its baseline: in points for a ratio, else relative, else in its unit."""
    if change.unit == "ratio" or not change.baseline or change.change is None:
        return move(change.change, change.unit)
    return words_of_change(change.change / change.baseline)


def bucket_key(label: str) -> tuple[float, int]:
    """Sort key of length buckets by their lower edge: <512 before 512-2k before >=32k."""
    found = re.search(r"(\d+(?:\.\d+)?)(k|M)?", label)
    if found is None:
        return (float("inf"), 1)
    edge = float(found[1]) * {"k": 1e3, "M": 1e6, None: 1.0}[found[2]]
    return (-1.0, 0) if label.startswith("<") else (edge, 1)


def of_count(text: Text, n: float | None, of: float | None) -> str:
    """35 of 113,526."""
    return text.say("{n} of {of}", n=count(n), of=count(of))


def address(kind: str, name: str) -> str:
    """Where the service shows a thing: /requests/ID; a name from outside stays one path."""
    return f"/{kind}/{quote(name, safe='')}"


def objective_address(name: str, selection: SelectionRecord) -> str:
    """Where the service shows an objective over a selection: /objectives/ID?week=2026-W10&timezone=UTC."""
    return f"{address('objectives', name)}?{selection_query(selection)}"


def selection_query(selection: SelectionRecord) -> str:
    """Parameters by which the service selects the same requests: week or range, time zone, filters."""
    span = {"week": selection.week} if selection.week else {"from": selection.start, "to": selection.end}
    pairs = [(name, value) for name, value in (span | {"timezone": selection.timezone}).items() if value is not None]
    filters = [("where", f"{name}={value}") for name, values in sorted(selection.where.items()) for value in values]
    return urlencode([*pairs, *filters], safe=":/")


def has_price(costs: Costs) -> bool:
    """Whether the total says anything; nothing spent while most requests have no price is not known, and not zero."""
    share = costs.priced_share
    return costs.total_usd is not None and share != 0 and (share is None or is_spent(costs.total_usd, 1 - share, 1))


def is_spent(usd: str | None, unpriced: float, requests: float) -> bool:
    """Whether a sum of money is a figure: not of nothing, and not zero while most of its requests have no price."""
    amount = decimal(usd)
    return amount is not None and (amount != 0 or unpriced * 2 <= requests)


def day_of(text: Text, instant: str) -> date:
    return text.local(instant).date()
