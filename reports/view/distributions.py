"""Part 7: percentiles in a table, the share of requests within a value, good requests by weekday and hour.

Input: latency and load of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, Distribution, HourCell
from reports import text as words
from reports.charts import theme
from reports.charts.data import HeatMap, Line, Lines, Mark
from reports.text import DAYS, Text
from reports.view.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Figure,
    Fold,
    Message,
    Panel,
    Part,
    Piece,
    Row,
    Swatch,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.estimates import bad_share
from reports.view.labels import MIN_CELL, of_count

IN_FRONT = ("ttft", "ttfa", "tpot", "itl_max", "e2e", "perceived")  # stages and the rest stand behind a fold
MIN_HOURS = 12  # cells of the heat map that make a pattern
DRAWN = ("ttft", "tpot", "e2e")  # three charts side by side; the table holds every metric
HEAT_EDGES = (0.98, 0.96, 0.92)
HEAT_TOKENS = ("heat-0", "badheat-1", "badheat-2", "badheat-3")
HEAT_INKS = ("heat-ink-low", "badheat-ink", "badheat-ink", "badheat-ink-high")
SHOWN_BELOW = 0.96  # the figure stands in the cell where it matters
WORST_HOURS = 6


def distributions_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("7. Distributions"), text.say("7. Distributions")
    lead = text.say(
        "Streamed and unstreamed requests stand apart; an unstreamed TTFT is the server's. Percentiles are over requests with status ok."
    )
    known = [distribution for distribution in result.latency if distribution.n]
    if not known:
        says = text.say("No request has a duration: log a start and an end, and the time of the first token.")
        return Part("p7", title, rail, "", (Message(plain(says)),))
    blocks: list[Block] = [_within(known, result, text)]
    further = [d for d in known if d.metric not in IN_FRONT]
    if further:
        blocks.append(
            Fold(
                text.say("Percentiles of {n} further metrics", n=words.count(len({d.metric for d in further}))),
                (_table(further, text),),
            )
        )
    if sum(1 for cell in result.load.hours if cell.good + cell.bad) >= MIN_HOURS:
        blocks.append(_hours(result.load.hours, text))
    else:
        blocks.append(
            Message(
                plain(
                    text.say(
                        "Judged requests lie in fewer than {n} hours of the week: no pattern over weekdays and hours is drawn.",
                        n=str(MIN_HOURS),
                    )
                )
            )
        )
    return Part("p7", title, rail, lead, tuple(blocks))


def streaming_word(streaming: bool | str | None, text: Text) -> str:
    if streaming == "all":
        return text.say("all")
    return {True: text.say("yes"), False: text.say("no"), None: text.say("not known")}[
        streaming if not isinstance(streaming, str) else None
    ]


def _within(known: list[Distribution], result: AnalysisResult, text: Text) -> Block:
    drawn = [metric for metric in DRAWN if any(d.metric == metric and len(d.curve) > 1 for d in known)]
    table = _table([d for d in known if d.metric in IN_FRONT], text)
    if not drawn:
        return Panel(text.say("Percentiles"), (table,))
    charts = tuple(
        Chart(
            text.say("Share of requests within a {metric}", metric=text.metric(metric)),
            _curves([d for d in known if d.metric == metric and len(d.curve) > 1], metric, result, text),
            240,
        )
        for metric in drawn
    )
    return Figure(
        title=text.say("Share of requests within …"),
        says=text.say("Rings stand at P50, P95 and P99. The axis of values is logarithmic."),
        charts=charts,
        labels=tuple(text.metric(metric) for metric in drawn),
        legend=_legend(known, drawn, text),
        table=table,
        table_open=True,
    )  # fmt: skip


def _drawn(known: list[Distribution], metric: str) -> list[Distribution]:
    """At most two lines of a metric, the larger group first; all requests together only where nothing tells them apart."""
    groups = [d for d in known if d.metric == metric and len(d.curve) > 1]
    apart = [group for group in groups if group.streaming != "all"]
    return sorted(apart or groups, key=lambda group: -group.n)[:2]


def _group_word(streaming: bool | str | None, text: Text) -> str:
    if streaming == "all":
        return text.say("all requests")
    known = {True: text.say("streamed"), False: text.say("not streamed"), None: text.say("not known whether streamed")}
    return known[None if isinstance(streaming, str) else streaming]


def _legend(known: list[Distribution], drawn: list[str], text: Text) -> tuple[Swatch, ...]:
    """One entry per kind of line; a kind that is the larger group in one chart and the smaller in another has two."""
    kinds = [(index, group.streaming) for metric in drawn for index, group in enumerate(_drawn(known, metric))]
    return tuple(
        Swatch("series-1" if index == 0 else "series-2", _group_word(streaming, text), "line" if index == 0 else "dash")
        for index, streaming in dict.fromkeys(kinds)
    )


def _curves(groups: list[Distribution], metric: str, result: AnalysisResult, text: Text) -> Lines:
    """One step line per group, the larger one solid; rings at the percentiles; limits that hold for all requests."""
    lines: list[Line] = []
    for index, group in enumerate(_drawn(groups, metric)):
        name = _group_word(group.streaming, text)
        points = [(value, share) for value, share in theme.thinned(group.curve) if value > 0]
        lines.append(
            Line(
                name, "series-1" if index == 0 else "series-2", "solid" if index == 0 else "dash", 2.0 if index == 0 else 1.4,
                tuple(value for value, _ in points), tuple(share for _, share in points),
                tuple(f"{name}\n{text.say('{share} within {value}', share=words.share(share), value=words.figure(value, group.unit))}" for value, share in points), step=True,
            )
        )  # fmt: skip
        rings = [(value, share) for value, share in ((group.p50, 0.5), (group.p95, 0.95), (group.p99, 0.99)) if value]
        if index == 0:
            lines.append(
                Line(
                    name, "series-1", "solid", 1.0, tuple(value for value, _ in rings), tuple(share for _, share in rings),
                    tuple(f"P{share * 100:.0f} {words.figure(value, group.unit)}\nn {words.count(group.n)}" for value, share in rings), markers=True,
                )
            )  # fmt: skip
    limits = {
        objective.threshold
        for objective in result.objectives
        if objective.metric == metric and not objective.where and isinstance(objective.threshold, int | float)
    }
    marks = tuple(Mark(limit, words.figure(limit, "s"), vertical=True) for limit in sorted(limits)[:1])
    return Lines(tuple(lines), "s", "ratio", marks=marks, x_log=True)


def _table(known: list[Distribution], text: Text) -> Table:
    return Table(
        name=text.say("Percentiles"),
        caption=text.say(
            "Status ok, inverse distribution function, 95 % intervals beneath; success share beside, and beneath it P95 and P99 if a failed request counts as slower than all, where that changes them"
        ),
        columns=(
            Column(text.say("Metric")),
            Column(text.say("Streamed")),
            Column("n", number=True),
            Column(text.say("Mean"), number=True),
            Column("P50", number=True),
            Column("P95", number=True),
            Column("P99", number=True),
            Column(text.say("Max"), number=True),
            Column(text.say("Success"), number=True),
        ),
        rows=tuple(_row(distribution, text) for distribution in known),
    )


def _row(distribution: Distribution, text: Text) -> Row:
    def percentile(name: str, value: float | None) -> Cell:
        if name in distribution.too_few:
            return number_cell(words.figure(value, distribution.unit), text.say("too few"))
        interval = distribution.intervals.get(name)
        return number_cell(
            words.figure(value, distribution.unit), words.interval_of(interval, distribution.unit) if interval else None
        )

    head = Cell(
        (
            (Piece(text.metric(distribution.metric)),),
            *((((Piece(distribution.note, "hint"),)),) if distribution.note else ()),
        )
    )
    return row(
        head,
        text_cell(streaming_word(distribution.streaming, text)),
        number_cell(words.count(distribution.n)),
        number_cell(words.figure(distribution.mean, distribution.unit)),
        percentile("p50", distribution.p50),
        percentile("p95", distribution.p95),
        percentile("p99", distribution.p99),
        number_cell(words.figure(distribution.max, distribution.unit)),
        Cell(
            (
                (Piece(words.share(distribution.success_share)),),
                *((Piece(line, "hint"),) for line in _with_failures(distribution, text)),
            ),
            number=True,
        ),
    )


def _with_failures(distribution: Distribution, text: Text) -> list[str]:
    """P95 and P99 with failures slower than all, where that is another figure; the table's caption says what it is."""
    pairs = (
        ("P95", 0.95, distribution.p95, distribution.p95_with_failures),
        ("P99", 0.99, distribution.p99, distribution.p99_with_failures),
    )
    success = 1.0 if distribution.success_share is None else distribution.success_share
    return [
        f"{name} {text.say('failed') if with_failures is None else words.figure(with_failures, distribution.unit)}"
        for name, share, plain_figure, with_failures in pairs
        if (success < share if with_failures is None else with_failures != plain_figure)
    ]


def _hours(cells: list[HourCell], text: Text) -> Figure:
    known = {(cell.weekday, cell.hour): cell for cell in cells}
    days = [text.say(day[:3]) for day in DAYS]
    grid = [[known.get((weekday, hour)) for hour in range(24)] for weekday in range(1, 8)]
    data = HeatMap(
        rows=tuple(days),
        columns=tuple(f"{hour:02d}" for hour in range(24)),
        steps=tuple(tuple(_step(cell) for cell in line) for line in grid),
        tokens=HEAT_TOKENS,
        inks=HEAT_INKS,
        texts=tuple(tuple(_in_cell(cell) for cell in line) for line in grid),
        hovers=tuple(tuple(_hover(cell, days, text) for cell in line) for line in grid),
    )
    worst = sorted((c for c in cells if c.good + c.bad >= MIN_CELL), key=lambda c: (_share(c), c.weekday, c.hour))[
        :WORST_HOURS
    ]
    says = text.say("Figures in cells: good, in percent, where below 96.")
    if worst and _share(worst[0]) < SHOWN_BELOW:
        says = (
            text.say(
                "Lowest: {when} with {share} good of {n}.",
                when=_when(worst[0], days),
                share=words.share(_share(worst[0])),
                n=words.count(worst[0].good + worst[0].bad),
            )
            + " "
            + says
        )
    return Figure(
        title=text.say("Good requests by weekday and hour"),
        says=says,
        charts=(Chart(text.say("Share of good requests by weekday and hour"), data, 236),),
        legend=(
            Swatch(HEAT_TOKENS[0], text.say("98 % and more")),
            Swatch(HEAT_TOKENS[1], text.say("96–98 %")),
            Swatch(HEAT_TOKENS[2], text.say("92–96 %")),
            Swatch(HEAT_TOKENS[3], text.say("below 92 %")),
        ),
        table=Table(
            name=text.say("The lowest hours"),
            columns=(Column(text.say("Hour")), Column(text.say("Good"), number=True), Column("n", number=True)),
            rows=tuple(row(_when(c, days), number_cell(words.share(_share(c))), number_cell(words.count(c.good + c.bad))) for c in worst),
            caption=text.say("The lowest hours with at least {n} judged requests", n=str(MIN_CELL)),
        ),
    )  # fmt: skip


def _share(cell: HourCell) -> float:
    return 1 - (bad_share(cell) or 0.0)


def _step(cell: HourCell | None) -> int | None:
    """Index of the token; null where too few requests were judged."""
    if cell is None or cell.good + cell.bad < MIN_CELL:
        return None
    return sum(1 for edge in HEAT_EDGES if _share(cell) < edge)


def _in_cell(cell: HourCell | None) -> str:
    if cell is None or cell.good + cell.bad < MIN_CELL or _share(cell) >= SHOWN_BELOW:
        return ""
    return words.fixed(_share(cell) * 100, 0)


def _when(cell: HourCell, days: list[str]) -> str:
    return f"{days[cell.weekday - 1]} {cell.hour:02d}:00"


def _hover(cell: HourCell | None, days: list[str], text: Text) -> str:
    if cell is None or cell.good + cell.bad == 0:
        return text.say("no judged request")
    good = of_count(text, cell.good, cell.good + cell.bad)
    return f"{_when(cell, days)}\n{text.say('{good} good', good=good)}\n{words.share(_share(cell))}"
