"""From normal to incident, by stage; and the figure over time, the segment against the rest.

Input: a finding with its shift and series, the objective; Text. Output: figures, and the shift in one line.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

from analysis.result import AnalysisResult, Finding, ObjectiveResult, SegmentLine, SegmentSeries, Shift, ShiftStep
from reports import text as words
from reports.charts import theme
from reports.charts.data import Line, Lines, Losses, Mark
from reports.text import Text
from reports.view.blocks import Chart, Column, Figure, Row, Swatch, Table, number_cell, row
from reports.view.labels import statistic_words
from reports.view.times import incidents, ticks, wall_clock

NANO = 1e9
MOST_BARS = 6  # between normal and incident; smaller ones stand together, and each in the table
WORTH_A_BAR = 0.01  # of the largest step
TOKEN_OF_STEP = {"error": "bad", "over_limit": "series-1", "rest": "too-few", "other": "too-few"}


def figure_name(figure: str, objective: ObjectiveResult, text: Text) -> str:
    """P95 of TTFT: what the shift is of."""
    if figure == "bad_share":
        return text.say("share of bad requests")
    metric = objective.clauses[0].metric if len(objective.clauses) == 1 else objective.metric
    return text.say("{statistic} of {metric}", statistic=text.say(statistic_words(figure)), metric=text.metric(metric))


def step_name(step: ShiftStep, text: Text) -> str:
    """A step as the page says it; of an error its kind."""
    known = {
        "over_limit": text.say("over the limit"),
        "rest": text.say("explained by no stage"),
        "cold_start": text.say("cold start"),
        "uncached_input": text.say("uncached input"),
        "cached_input": text.say("cached input"),
    }
    name = known.get(step.step) or text.say(step.step)
    return f"{name}: {step.of}" if step.of is not None else name


def shift_line(shift: Shift, text: Text, most: int = 4) -> str:
    """P95 0.995 s → 2.79 s: queue +2.36 s, prefill −0.502 s; what remains stands last, so the line adds up too."""
    if shift.baseline_nano is None or shift.value_nano is None:
        return ""
    before, after = (words.figure(nano / NANO, shift.unit) for nano in (shift.baseline_nano, shift.value_nano))
    name = text.say("share of bad requests") if shift.figure == "bad_share" else statistic_words(shift.figure)
    shown, rest = _largest(shift.steps, most)
    parts = [f"{step_name(step, text)} {words.move(step.change_nano / NANO, shift.unit)}" for step in shown]
    if rest:
        parts.append(f"{text.say('all other steps')} {words.move(rest / NANO, shift.unit)}")
    return f"{name} {before} → {after}" + (f": {', '.join(parts)}" if parts else "")


def _largest(steps: list[ShiftStep], most: int) -> tuple[list[ShiftStep], int]:
    """The steps with the largest changes, in their order; the sum of all others."""
    changed = sorted(range(len(steps)), key=lambda place: (-abs(steps[place].change_nano), place))
    limit = WORTH_A_BAR * max((abs(step.change_nano) for step in steps), default=0)
    kept = {place for place in changed[:most] if abs(steps[place].change_nano) > limit}
    rest = sum(step.change_nano for place, step in enumerate(steps) if place not in kept)
    return [steps[place] for place in sorted(kept)], rest


def shift_figure(finding: Finding, objective: ObjectiveResult, text: Text) -> Figure | None:
    """The waterfall; None where there is no normal, or nothing was split."""
    shift = finding.shift
    if shift is None or shift.baseline_nano is None or shift.value_nano is None or not shift.steps:
        return None
    shown, rest = _largest(shift.steps, MOST_BARS)
    names = [step_name(step, text) for step in shown] + ([text.say("all other steps")] if rest else [])
    changes = [step.change_nano for step in shown] + ([rest] if rest else [])
    begins = [0, *accumulate(changes[:-1], initial=shift.baseline_nano)] if changes else [0]
    values = [shift.baseline_nano, *changes, shift.value_nano]
    ends = [words.figure(shift.baseline_nano / NANO, shift.unit), *(words.move(c / NANO, shift.unit) for c in changes), words.figure(shift.value_nano / NANO, shift.unit)]  # fmt: skip
    tokens = [_token(step.step) for step in shown] + (["too-few"] if rest else [])
    labels = (text.say("normal"), *names, text.say("incident"))
    title = text.say("From normal to incident, by stage")
    figure = figure_name(shift.figure, objective, text)
    lead = text.say(
        "{figure}: {before} on a normal day (n {n_before}), {after} in the incident (n {n}).",
        figure=figure[:1].upper() + figure[1:], before=ends[0], after=ends[-1],
        n_before=words.count(shift.n_baseline), n=words.count(shift.n),
    )  # fmt: skip
    data = Losses(
        steps=labels,
        values=tuple(value / NANO for value in values),
        ends=tuple(ends),
        tokens=("series-2", *tokens, "bad"),
        hovers=tuple(f"{label}\n{end}" for label, end in zip(labels, ends, strict=True)),
        unit="s" if shift.unit == "s/token" else shift.unit,
        begins=tuple(begin / NANO for begin in (*begins, 0)),
    )
    return Figure(
        title=title,
        says=f"{lead} {shift.says}",
        charts=(Chart(text.say("What each stage adds from normal to incident"), data, 46 + 28 * len(labels)),),
        table=Table(
            name=title,
            columns=(Column(text.say("Stage")), Column(text.say("Normal"), number=True), Column(text.say("Incident"), number=True), Column(text.say("Change"), number=True)),
            rows=tuple(_step_row(step, shift, text) for step in shift.steps),
        ),
    )  # fmt: skip


def _token(step: str) -> str:
    return TOKEN_OF_STEP.get(step) or (theme.stage_token(step) if step in theme.STAGES else "series-1")


def _step_row(step: ShiftStep, shift: Shift, text: Text) -> Row:
    return row(
        step_name(step, text),
        number_cell(words.figure(step.baseline_nano / NANO, shift.unit)),
        number_cell(words.figure(step.value_nano / NANO, shift.unit)),
        number_cell(words.move(step.change_nano / NANO, shift.unit)),
    )


def series_figure(finding: Finding, objective: ObjectiveResult, result: AnalysisResult, text: Text) -> Figure | None:
    """The lines; None where fewer than two windows can be told."""
    series = finding.series
    if series is None or sum(value is not None for line in series.lines for value in line.values) < 2:
        return None
    instants = _instants(series)
    drawn = [_line(line, place, instants, series, text) for place, line in enumerate(series.lines)]
    figure = figure_name(series.figure, objective, text)
    bands = incidents(result, text, of=finding.objective)
    title = text.say("The segment against the rest")
    says = text.say(
        "{figure} in windows of {length}; a gap has fewer than {n} requests.",
        figure=figure[:1].upper() + figure[1:], length=_length(series.step_s), n=words.count(series.needed),
    )  # fmt: skip
    if any(any(line.at_least) for line in series.lines):
        says += " " + text.say("≥: so many failed that the percentile is one of them; the longest answer is drawn.")
    data = Lines(
        lines=tuple(drawn), x_unit="time", y_unit="s" if series.unit == "s/token" else series.unit,
        bands=bands, marks=_limit(series, objective, text), ticks=ticks(instants, text),
    )  # fmt: skip
    return Figure(
        title=title,
        says=says,
        charts=(Chart(text.say("{figure} over time, the segment against the rest", figure=figure), data, 230),),
        legend=(
            *(Swatch(line.token, line.name, "dash" if line.dash != "solid" else "line") for line in drawn),
            *((Swatch("incident", text.say("incident")),) if bands else ()),
        ),
        table=_series_table(title, series, instants, text),
    )


def _instants(series: SegmentSeries) -> list[str]:
    start, n = words.instant(series.start), len(series.lines[0].n)
    return [(start + timedelta(seconds=series.step_s * place)).isoformat() for place in range(n)]


def line_name(line: SegmentLine, text: Text) -> str:
    """The segment's values, or a word for all others."""
    return line.name or (text.say("all requests") if line.role == "all" else text.say("the rest"))


def _line(line: SegmentLine, place: int, instants: list[str], series: SegmentSeries, text: Text) -> Line:
    """A level from begin to end of each window, so that one between two gaps is seen too."""
    name = line_name(line, text)
    style = {
        "segment": ("series-1", "solid", 2.4),
        "all": ("series-1", "solid", 2.0),
        "rest": ("series-2", "dash", 1.6),
    }
    peers = theme.SERIES[2:]
    token, dash, width = style.get(
        line.role, (peers[(place - 1) % len(peers)], "solid" if place <= len(peers) else "dot", 1.2)
    )
    times, values, hovers = [], [], []
    for place_in_time, (instant, value, n) in enumerate(zip(instants, line.values, line.n, strict=True)):
        end = (words.instant(instant) + timedelta(seconds=series.step_s)).isoformat()
        times += [wall_clock(instant, text), wall_clock(end, text)]
        values += [value, value]
        hovers += [f"{text.moment(instant)}\n{name}: {_told(line, place_in_time, series)}\nn {words.count(n)}"] * 2
    return Line(name, token, dash, width, tuple(times), tuple(values), tuple(hovers))


def _told(line: SegmentLine, place: int, series: SegmentSeries) -> str:
    """The figure of one window, with ≥ before it where it is more than that."""
    more = place < len(line.at_least) and line.at_least[place]
    return ("≥ " if more else "") + words.figure(line.values[place], series.unit)


def _limit(series: SegmentSeries, objective: ObjectiveResult, text: Text) -> tuple[Mark, ...]:
    """The limit of the objective, where the figure is what it limits."""
    limit = objective.threshold
    if series.figure == "bad_share" and objective.target is not None:
        limit = 1 - objective.target
    elif len(objective.clauses) > 1 or (series.figure == "bad_share" and objective.unit != "ratio"):
        return ()
    if not isinstance(limit, int | float):
        return ()
    return (
        Mark(float(limit), text.say("limit {value}", value=words.figure(float(limit), series.unit)), vertical=False),
    )


def _length(step_s: float) -> str:
    for size, word in ((86_400, "d"), (3600, "h"), (60, "min")):
        if step_s >= size and step_s % size == 0:
            return f"{words.count(step_s / size)}{words.NBSP}{word}"
    return words.seconds(step_s)


def _series_table(title: str, series: SegmentSeries, instants: list[str], text: Text) -> Table:
    lines = series.lines
    columns = [Column(text.say("Window"))]
    for line in lines:
        columns += [Column(line_name(line, text), number=True), Column("n", number=True)]
    rows = []
    for place, instant in enumerate(instants):
        cells = []
        for line in lines:
            cells += [
                number_cell(_told(line, place, series)),
                number_cell(words.count(line.n[place])),
            ]
        rows.append(row(text.moment(instant), *cells))
    return Table(title, tuple(columns), tuple(rows))
