"""Days whose rows were dropped: what roll-ups and standing rows say together, each figure with how exact it is.

Input: the rolled-up figures of a result; Text. Output: one block, or none.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, RolledFigures
from reports import text as words
from reports.text import Text
from reports.view.blocks import (
    Block,
    Cell,
    Column,
    Message,
    Panel,
    Piece,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)

SHOWN = ("ttft", "tpot", "e2e", "queue")  # of the latencies; the result has them all


def rolled_blocks(result: AnalysisResult, text: Text) -> tuple[Block, ...]:
    """The panel of dropped days; none where no day of the selection was dropped."""
    rolled = result.rolled
    if rolled is None:
        return ()
    says = text.say(
        "Rows of {n} requests, {since} to {until}, were dropped by retention. Of all requests of the selection together: counts, attainment and costs are exact, percentiles within 1 %. Findings need rows.",
        n=words.count(rolled.requests_dropped), since=text.moment(rolled.start), until=text.moment(rolled.end),
    )  # fmt: skip
    blocks: list[Block] = [Message(plain(says)), *(Message(plain(note)) for note in rolled.notes)]
    if rolled.requests is not None:
        told = text.say(
            "{n} requests in all, costs {usd} (exact).", n=words.count(rolled.requests), usd=words.dollars(rolled.cost_usd)
        )  # fmt: skip
        blocks.append(Message(plain(told)))
    if rolled.objectives:
        blocks.append(_attainment(rolled, text))
    if rolled.latency:
        blocks.append(_latency(rolled, text))
    return (Panel(text.say("Dropped days"), tuple(blocks), "rolled"),)


def _attainment(rolled: RolledFigures, text: Text) -> Table:
    rows = tuple(
        row(
            Cell(((Piece(one.id, "code"),), *(((Piece(one.note, "hint"),),) if one.note else ()))),
            number_cell(words.share(one.attainment)),
            number_cell(words.count(one.good)),
            number_cell(words.count(one.bad)),
            number_cell(words.count(one.rolled)),
        )
        for one in rolled.objectives
    )
    columns = (
        Column(text.say("Objective")), Column(text.say("Attainment, exact"), number=True), Column(text.say("Good"), number=True),
        Column(text.say("Bad"), number=True), Column(text.say("Of them from roll-ups"), number=True),
    )  # fmt: skip
    return Table(text.say("Attainment, dropped days included"), columns, rows, cards=True)


def _latency(rolled: RolledFigures, text: Text) -> Table:
    rows = tuple(
        row(
            text_cell(line.title),
            number_cell(words.count(line.n)),
            *(number_cell(words.figure(value, line.unit)) for value in (line.p50, line.p95, line.p99)),
        )
        for line in rolled.latency
        if line.streaming == "all" and line.metric in SHOWN
    )
    columns = (
        Column(text.say("Metric")),
        Column(text.say("Requests"), number=True),
        *(Column(text.say("{p}, within 1 %", p=name), number=True) for name in ("P50", "P95", "P99")),
    )
    return Table(text.say("Percentiles, dropped days included"), columns, rows, cards=True)
