"""Part 9: the selection against the one before.

Input: comparison of the result; Text. Output: blocks.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from analysis.result import AnalysisResult, Change, CostStep, SliceChange
from reports import text as words
from reports.text import Text
from reports.view.blocks import (
    Block,
    Cell,
    Column,
    Fold,
    Message,
    Panel,
    Part,
    Piece,
    Row,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.follow_up import follow_up_blocks
from reports.view.labels import baseline_name, change_words, period_name, statistic_words

MAX_STRATA = 12
PLAIN = ("mean", "sum", "rate", "ratio", "share", "attainment")  # statistics that are words
LOOKED_FOR = frozenset(
    {
        ("ttft", "p95"),
        ("ttft", "mean"),
        ("tpot", "p95"),
        ("e2e", "p95"),
        ("queue", "mean"),
        ("availability", "ratio"),
        ("error_rate", "ratio"),
        ("cache_hit_ratio", "ratio"),
        ("cost", "mean"),
        ("cost", "sum"),
        ("goodput", "rate"),
        ("requests_per_second", "rate"),
    }
)


def comparison_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("9. Week over week"), text.say("9. Week over week")
    comparison = result.comparison
    if comparison is None or not comparison.changes:
        says = text.say(
            "No earlier selection was given to compare with: add --compare-with PATH, or load the week before."
        )
        if comparison is not None and comparison.note:
            says = comparison.note
        return Part("p9", title, rail, "", (Message(plain(says)), *follow_up_blocks(result, text)))
    before, after = baseline_name(text, result), period_name(text, result)
    table = Table(
        name=text.say("{before} against {after}", before=before, after=after),
        caption=text.say(
            "Mix: other lengths and scenarios. Within, beneath: the same work took longer. The two sum to the change; pp are percentage points."
        ),
        columns=(
            Column(text.say("Figure")),
            Column(before, number=True),
            Column(after, number=True),
            Column(text.say("Change"), number=True),
            Column(text.say("95 % interval"), number=True),
            Column(text.say("of it mix, within"), number=True),
            Column(text.say("Reading")),
        ),
        rows=tuple(_row(change, text) for change in _in_front(comparison.changes)),
        cards=True,
    )
    blocks: list[Block] = [*follow_up_blocks(result, text), Panel("", (table,))]
    if len(table.rows) < len(comparison.changes):
        whole = replace(table, rows=tuple(_row(change, text) for change in comparison.changes), cards=False)
        blocks.append(
            Fold(text.say("All {n} figures that were compared", n=words.count(len(comparison.changes))), (whole,))
        )
    if comparison.cost_steps:
        blocks.append(_cost_steps(comparison.cost_steps, text))
    slices = [found for found in comparison.slices if found.changed]
    if slices:
        blocks.append(_slices(slices, before, after, text))
    strata = [
        (text.say("New lengths: {names}", names=_names(comparison.new_strata)), comparison.new_strata),
        (
            text.say("Lengths that are gone: {names}", names=_names(comparison.vanished_strata)),
            comparison.vanished_strata,
        ),
    ]
    blocks += [Message(plain(says)) for says, found in strata if found]
    if comparison.note:
        blocks.append(Message(plain(comparison.note)))
    return Part("p9", title, rail, _lead(comparison.changes, text), tuple(blocks))


def reading(verdict: str, text: Text) -> str:
    known = {
        "better": text.say("better"),
        "worse": text.say("worse"),
        "unchanged": text.say("within noise"),
        "unknown": text.say("not known"),
        "changed": text.say("changed"),
    }
    return known.get(verdict, verdict)


def _in_front(changes: list[Change]) -> list[Change]:
    """What moved beyond noise, then the figures that a reader looks for first; the others stand in the fold."""
    moved = [change for change in changes if change.verdict in ("better", "worse")]
    asked = [change for change in changes if change not in moved and (change.metric, change.statistic) in LOOKED_FOR]
    return (moved + asked) or changes


def statistic_word(statistic: str, text: Text) -> str:
    """P95, P95 at the mix before, mean."""
    name, same_mix, _ = statistic.partition("_same_mix")
    shown = statistic_words(name)
    if same_mix:
        return text.say("{statistic} at the mix before", statistic=shown)
    return text.say(shown) if shown in PLAIN else shown


def _lead(changes: list[Change], text: Text) -> str:
    rule = text.say("A change counts only if its interval leaves out zero.")
    moved = [change for change in changes if change.verdict in ("better", "worse")]
    if not moved:
        return text.say("Nothing changed beyond noise.") + " " + rule
    told = ", ".join(
        f"{text.metric(c.metric)} {statistic_word(c.statistic, text)} {change_words(c)}" for c in moved[:3]
    )
    if len(moved) > 3:
        told += text.say(" and {n} more", n=words.count(len(moved) - 3))
    return text.say("Beyond noise: {changes}.", changes=told) + " " + rule


def _row(change: Change, text: Text) -> Row:
    style = "note" if change.verdict in ("unchanged", "unknown") else "strong"
    head = Cell(((Piece(text.metric(change.metric)),), (Piece(statistic_word(change.statistic, text), "hint"),)))
    relative = words.change(change.change / change.baseline) if change.change is not None and change.baseline else None
    return row(
        head,
        number_cell(words.figure(change.baseline, change.unit), f"n {words.count(change.n_baseline)}"),
        number_cell(words.figure(change.value, change.unit), f"n {words.count(change.n)}"),
        number_cell(words.move(change.change, change.unit), relative if change.unit != "ratio" else None, style=style),
        number_cell(words.move_between(change.interval, change.unit), style="note"),
        number_cell(
            words.move(change.mix, change.unit),
            words.move(change.within, change.unit) if change.within is not None else None,
        ),
        Cell(((Piece(reading(change.verdict, text), style),),)),
    )


def _cost_steps(steps: list[CostStep], text: Text) -> Panel:
    """Why the bill changed; the steps add up to the change."""
    known = {
        "volume": text.say("more or fewer requests"),
        "mix": text.say("other kinds of requests"),
        "tokens_per_request": text.say("tokens per request"),
        "cache": text.say("cached share of the input"),
        "price": text.say("prices"),
        "new": text.say("new models or scenarios"),
        "vanished": text.say("models or scenarios that are gone"),
    }
    rows = tuple(row(known.get(step.id, step.title), number_cell(words.cents(step.change_usd))) for step in steps)
    total = sum((words.decimal(step.change_usd) or Decimal(0) for step in steps), Decimal(0))
    foot = (row(text.say("Total"), number_cell(words.cents(str(total)))),)
    columns = (Column(text.say("Reason")), Column("USD", number=True))
    caption = text.say("Requests that have a price on their side, in the order in which the steps are taken")
    return Panel(
        text.say("Why the bill changed"),
        (Table(text.say("Why the bill changed"), columns, rows, caption=caption, foot=foot),),
    )


def _slices(slices: list[SliceChange], before: str, after: str, text: Text) -> Panel:
    """The same work on both sides: what changed in it is no change of mix."""
    rows = tuple(
        row(
            found.stratum,
            text_cell(text.metric(found.metric)),
            number_cell(words.figure(found.p50_baseline, found.unit), words.figure(found.p95_baseline, found.unit)),
            number_cell(words.figure(found.p50, found.unit), words.figure(found.p95, found.unit)),
            number_cell(words.count(found.n_baseline)),
            number_cell(words.count(found.n)),
        )
        for found in slices[:MAX_STRATA]
    )
    columns = (
        Column(text.say("Same work")), Column(text.say("Metric")), Column(text.say("{name}, P50 and P95", name=before), number=True),
        Column(text.say("{name}, P50 and P95", name=after), number=True), Column(text.say("n before"), number=True), Column("n", number=True),
    )  # fmt: skip
    caption = (
        text.say("First {n} of {of}", n=words.count(len(rows)), of=words.count(len(slices)))
        if len(rows) < len(slices)
        else None
    )
    return Panel(
        text.say("Changed within the same work"),
        (Table(text.say("Changed within the same work"), columns, rows, caption=caption),),
    )


def _names(strata: list[str]) -> str:
    shown = ", ".join(strata[:MAX_STRATA])
    return f"{shown}, … ({len(strata)})" if len(strata) > MAX_STRATA else shown
