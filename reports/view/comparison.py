"""Part 9: the selection against the one before.

Input: comparison of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, Change
from reports import text as words
from reports.text import Text, metric_name
from reports.view.blocks import Block, Cell, Column, Message, Panel, Part, Piece, Row, Table, number_cell, plain, row
from reports.view.labels import baseline_name, period_name

MAX_STRATA = 12


def comparison_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("9. Week over week"), text.say("9. Week over week")
    comparison = result.comparison
    if comparison is None or not comparison.changes:
        says = text.say(
            "No earlier selection was given to compare with: add --compare-with PATH, or load the week before."
        )
        if comparison is not None and comparison.note:
            says = comparison.note
        return Part("p9", title, rail, "", (Message(plain(says)),))
    before, after = baseline_name(text, result), period_name(text, result)
    table = Table(
        name=text.say("{before} against {after}", before=before, after=after),
        caption=text.say(
            "Mix: other lengths and scenarios. Within: the same work took longer. The two sum to the change."
        ),
        columns=(
            Column(text.say("Figure")),
            Column(before, number=True),
            Column(after, number=True),
            Column(text.say("Change"), number=True),
            Column(text.say("95 % interval"), number=True),
            Column(text.say("of it mix"), number=True),
            Column(text.say("within"), number=True),
            Column(text.say("Reading")),
        ),
        rows=tuple(_row(change, text) for change in comparison.changes),
        cards=True,
    )
    blocks: list[Block] = [Panel("", (table,))]
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


def _lead(changes: list[Change], text: Text) -> str:
    rule = text.say("A change counts only if its interval leaves out zero.")
    moved = [change for change in changes if change.verdict in ("better", "worse")]
    if not moved:
        return text.say("Nothing changed beyond noise.") + " " + rule
    told = ", ".join(f"{metric_name(c.metric)} {c.statistic} {words.change(c.change)}" for c in moved[:3])
    return text.say("Beyond noise: {changes}.", changes=told) + " " + rule


def _row(change: Change, text: Text) -> Row:
    style = "note" if change.verdict in ("unchanged", "unknown") else "strong"
    interval = (
        f"{words.change(change.interval[0])} – {words.change(change.interval[1])}"
        if change.interval is not None
        else words.UNKNOWN
    )
    head = Cell(((Piece(metric_name(change.metric)), Piece(f" {change.statistic}", "hint")),))
    return row(
        head,
        number_cell(words.figure(change.baseline, change.unit), f"n {words.count(change.n_baseline)}"),
        number_cell(words.figure(change.value, change.unit), f"n {words.count(change.n)}"),
        number_cell(words.change(change.change), style=style),
        number_cell(interval, style="note"),
        number_cell(words.change(change.mix)),
        number_cell(words.change(change.within)),
        Cell(((Piece(reading(change.verdict, text), style),),)),
    )


def _names(strata: list[str]) -> str:
    shown = ", ".join(strata[:MAX_STRATA])
    return f"{shown}, … ({len(strata)})" if len(strata) > MAX_STRATA else shown
