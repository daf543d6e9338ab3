"""Part 13: what the figures mean and how to make them again.

Input: definitions and provenance of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult
from reports import text as words
from reports.text import Text
from reports.view.blocks import (
    Block,
    Code,
    Column,
    Columns,
    Fact,
    Facts,
    Fold,
    Panel,
    Part,
    Row,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)

MAX_INPUTS = 12
KINDS = ("metric", "stage", "dimension", "rule")


def definitions_part(result: AnalysisResult, text: Text, embedded: str) -> Part:
    """The part; `embedded` says where the machine-readable result is."""
    title, rail = text.say("13. Definitions and reproduction"), text.say("13. Definitions")
    made = result.provenance
    facts = [
        (text.say("Selection"), _selection(result, text)),
        (text.say("Objectives"), made.objectives),
        (text.say("Price book"), made.price_book),
        (text.say("Rules"), made.rules),
        (text.say("Versions"), text.say("tailwise {version}, result {n}", version=made.version, n=str(result.result_version))),
        (text.say("Made"), f"{text.moment(made.made)} {made.timezone}"),
        (text.say("Input"), ", ".join(made.inputs[:MAX_INPUTS]) + (text.say(" and {n} more", n=words.count(len(made.inputs) - MAX_INPUTS)) if len(made.inputs) > MAX_INPUTS else "")),
    ]  # fmt: skip
    reproduce: list[Block] = [Facts(tuple(Fact(label, (plain(value),)) for label, value in facts if value))]
    if made.command is not None:
        reproduce.append(Code(made.command))
    general = Panel(text.say("How figures are computed"), (Facts(_rules(text)),))
    blocks: list[Block] = [Columns((general, Panel(text.say("Reproduce"), tuple(reproduce))))]
    if result.definitions:
        rows = tuple(_row(kind, result, text) for kind in KINDS)
        blocks.append(
            Fold(
                text.say("All definitions used: {n}", n=words.count(len(result.definitions))),
                tuple(table for table in rows if table is not None),
            )
        )
    if result.compatible:
        blocks.append(_compatible(result, text))
    return Part("p13", title, rail, embedded, tuple(blocks))


def _compatible(result: AnalysisResult, text: Text) -> Fold:
    """Figures as other tools define them, so that a reader can find their numbers again."""
    rows = tuple(
        row(
            text_cell(found.tool),
            text_cell(found.figure),
            number_cell(words.figure(found.value, found.unit)),
            number_cell(words.count(found.n)),
            text_cell(found.says, style="note"),
        )
        for found in result.compatible
    )
    name = text.say("Figures as other tools define them")
    columns = (
        Column(text.say("Tool")),
        Column(text.say("Figure")),
        Column(text.say("Value"), number=True),
        Column("n", number=True),
        Column(text.say("Meaning")),
    )
    return Fold(text.say("{name}: {n}", name=name, n=words.count(len(rows))), (Table(name, columns, rows),))


def _rules(text: Text) -> tuple[Fact, ...]:
    """Conventions that hold for every figure of the page."""
    rules = (
        (
            text.say("attainment"),
            text.say("good / (good + bad); failures are bad, unknown and excluded are counted apart"),
        ),
        (text.say("percentile"), text.say("rank ⌈q·n⌉ of the raw figures; never averaged")),
        (
            text.say("interval"),
            text.say(
                "95 %; Wilson for shares (Clopper and Pearson from a target of 99.9 % on); between order statistics for percentiles, whatever the distribution (Hettmansperger and Sheather, Nyblom)"
            ),
        ),
        (text.say("sure"), text.say("the whole interval lies on one side of the target; else within noise")),
        (text.say("rate"), text.say("divided by the wall-clock length of the selection")),
        (text.say("wasted"), text.say("cost of failed, timed-out, replaced and abandoned attempts")),
        (text.say("– and 0"), text.say("– is not known; 0 was measured")),
    )
    return tuple(Fact(label, (plain(says),)) for label, says in rules)


def _selection(result: AnalysisResult, text: Text) -> str:
    selection = result.selection
    where = "; ".join(f"{dimension} = {', '.join(values)}" for dimension, values in sorted(selection.where.items()))
    span = text.say("{start} to {end}", start=selection.start or "–", end=selection.end or "–")
    return f"{span}, {where or text.say('no filter')}"


def _row(kind: str, result: AnalysisResult, text: Text) -> Table | None:
    found = [definition for definition in result.definitions if definition.kind == kind]
    if not found:
        return None
    names = {
        "metric": text.say("Metrics"),
        "stage": text.say("Stages"),
        "dimension": text.say("Dimensions"),
        "rule": text.say("Rules"),
    }
    rows: tuple[Row, ...] = tuple(
        row(
            text_cell(d.id, style="code"),
            text_cell(d.title),
            text_cell(d.unit or words.UNKNOWN),
            text_cell(d.says),
            text_cell(d.source, style="note"),
        )
        for d in found
    )
    columns = (
        Column(text.say("Id")),
        Column(text.say("Name")),
        Column(text.say("Unit")),
        Column(text.say("Meaning")),
        Column(text.say("Source")),
    )
    return Table(names[kind], columns, rows, caption=names[kind])
