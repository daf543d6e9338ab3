"""Parts 3 and 4: the objectives in a table, their budgets and burn over time.

Input: objectives of the result; Text. Output: blocks.
"""

from __future__ import annotations

from datetime import date

from analysis.result import AnalysisResult, BurnPoint, ObjectiveResult
from reports import text as words
from reports.charts import theme
from reports.charts.data import Line, Lines, Mark, TimeBars
from reports.text import Text
from reports.view.blocks import (
    Bar,
    Block,
    Cell,
    Chart,
    Column,
    Figure,
    Message,
    Meter,
    Panel,
    Part,
    Piece,
    Rich,
    Row,
    Strip,
    Swatch,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.estimates import bad_share, judged
from reports.view.labels import VERDICTS, badge, objective_rule
from reports.view.rolled import rolled_blocks
from reports.view.times import incidents, ticks, wall_clock

STRIP_WIDTH = 134
STRIP_HEIGHT = 26
MAX_BUDGETS = 4  # lines that stay apart by dash
LEGEND_OF_DASH = ("line", "dash", "dot", "dashdot")  # as theme.DASHES
DAYS_SHOWN = 31
ROUNDED = 1e-6  # of a request: what estimates lose to floats
MIN_HOURS = 3  # points that make a line


def objectives_part(result: AnalysisResult, text: Text) -> Part:
    rows = tuple(objective_row(objective, text) for objective in ordered(result.objectives))
    lengths = sorted({o.window for o in result.objectives if o.window is not None})
    lead = text.say(
        "An objective is breached if any judged window is. Attainment is over the whole selection, over valid requests, failures bad."
    )
    if lengths:
        lead = text.say("Windows of {lengths}.", lengths=", ".join(lengths)) + " " + lead
    table = Table(
        name=text.say("Objectives"),
        columns=(
            Column(text.say("Objective")),
            Column(text.say("Verdict")),
            Column(text.say("Measured (95 % interval)"), number=True),
            Column(text.say("Valid"), number=True),
            Column(text.say("Budget spent")),
            Column(text.say("Fastest burn"), number=True),
            Column(text.say("Windows, in order")),
        ),
        rows=rows,
        cards=True,
        note=text.say(
            "Bars: burn of each judged window, dashed line 1× (the target); red: breached. A verdict within noise may turn with more requests."
        )
        + (
            " "
            + text.say(
                "By blocks: the interval where requests of the same ten minutes stand or fall together, as in an incident."
            )
            if any(o.block_interval is not None and o.target is not None for o in result.objectives)
            else ""
        ),
    )
    blocks: tuple[Block, ...] = (Panel("", (table,)),)
    if not rows:
        blocks = (Message(plain(text.say("No objective is defined for this selection."))),)
    whole = (*blocks, *rolled_blocks(result, text))
    return Part("p3", text.say("3. Objectives"), text.say("3. Objectives"), lead, whole)


def ordered(objectives: list[ObjectiveResult]) -> list[ObjectiveResult]:
    """The worst verdict first, then as the user wrote them."""
    return sorted(objectives, key=lambda objective: VERDICTS.index(objective.verdict))


def objective_row(objective: ObjectiveResult, text: Text) -> Row:
    head = Cell(((Piece(objective.id, "code"),), (Piece(objective_rule(text, objective), "note"),)))
    surety = {True: None, False: text.say("within noise"), None: None}[objective.sure]
    verdict = Cell(
        ((Piece(surety, "hint"),),) if surety and objective.verdict in ("breached", "met", "endangered") else (),
        badge=badge(text, objective.verdict),
    )
    return row(
        head,
        verdict,
        _attained(objective, text),
        _valid(objective, text),
        budget_cell(objective),
        burn_cell(objective),
        _windows(objective, text),
    )


def budget_cell(objective: ObjectiveResult) -> Cell:
    """Budget spent, with its bar, red above the whole of it; without a verdict there is no bar to read one from."""
    spent = objective.budget_spent
    if spent is None:
        return Cell(((Piece(words.UNKNOWN, "note"),),))
    width = f"{min(max(spent, 0.0), 1.0) * 100:.1f}%"
    lines: tuple[Rich, ...] = ((Piece(f" {words.whole_share(spent)}"),),)
    if objective.period_budget_spent is not None and objective.period is not None:
        lines = (*lines, (Piece(f"{objective.period}: {words.whole_share(objective.period_budget_spent)}", "hint"),))
    if objective.verdict in ("too_few", "unknown"):
        return Cell(lines)
    return Cell(lines, meter=Meter(width, over=spent > 1))


def burn_cell(objective: ObjectiveResult) -> Cell:
    """The highest burn of the objective's long windows, with its window."""
    known = [(burn.long, burn.window) for burn in objective.burn_rates if burn.long is not None]
    if not known:
        return number_cell(words.UNKNOWN)
    rate, window = max(known)
    return number_cell(words.times(rate), window)


def attained_words(objective: ObjectiveResult) -> tuple[str, str | None]:
    """The figure of an objective and what stands beneath it."""
    if objective.target is not None:
        interval = words.share_interval(objective.interval) if objective.interval is not None else None
        return words.share(objective.attainment, objective.target), interval
    interval = words.interval_of(objective.interval, objective.unit) if objective.interval is not None else None
    shown = objective.value
    if shown is None and objective.worst is not None:
        shown = objective.worst.value
    return words.figure(shown, objective.unit), interval


def _attained(objective: ObjectiveResult, text: Text) -> Cell:
    figure, under = attained_words(objective)
    if objective.per is not None and objective.worst is not None and objective.worst.of is not None:
        under = text.say("most: {who}, n {n}", who=objective.worst.of, n=words.count(objective.worst.n))
    cell = number_cell(figure, under)
    blocks = objective.block_interval
    if blocks is None or objective.target is None:
        return cell
    by_blocks = text.say("by blocks {interval}", interval=words.share_interval(blocks))
    return Cell((*cell.lines, (Piece(by_blocks, "hint"),)), number=True)


def _valid(objective: ObjectiveResult, text: Text) -> Cell:
    valid = objective.good + objective.bad
    parts = []
    if objective.unknown:
        parts.append(text.say("{n} unknown", n=words.count(objective.unknown)))
    if objective.excluded and objective.target is not None:
        parts.append(text.say("{n} excluded", n=words.count(objective.excluded)))
    if objective.verdict == "too_few" and objective.needed is not None:
        parts.append(text.say("{n} needed", n=words.count(objective.needed)))
    return number_cell(words.count(valid), ", ".join(parts) or None)


def _windows(objective: ObjectiveResult, text: Text) -> Cell:
    judged = objective.n_windows_judged
    if judged == 0:
        return text_cell(text.say("none judged"), style="hint")
    says = text.say("{n} of {of} breached", n=words.count(objective.n_windows_breached), of=words.count(judged))
    if objective.per is not None or objective.target is None or len(objective.windows) < 2:
        return text_cell(says, style="hint")
    return Cell(((Piece(says, "hint"),),), strip=_strip(objective, says))


def _strip(objective: ObjectiveResult, says: str) -> Strip:
    """One bar per window, as high as its burn; windows that were not judged leave a gap."""
    windows = objective.windows[-(STRIP_WIDTH // 2) :]
    budget = 1 - (objective.target or 0)
    burns = [
        (1 - window.attainment) / budget
        if window.attainment is not None and window.verdict in ("met", "breached")
        else None
        for window in windows
    ]
    top = max([2.0, *(burn for burn in burns if burn is not None)]) if budget > 0 else 2.0
    step = STRIP_WIDTH / len(windows)
    bars = []
    for index, (window, burn) in enumerate(zip(windows, burns, strict=True)):
        if burn is not None:
            height = max(1.0, burn / top * STRIP_HEIGHT)
            bars.append(
                Bar(
                    f"{index * step:.1f}",
                    f"{STRIP_HEIGHT - height:.1f}",
                    f"{height:.1f}",
                    bad=window.verdict == "breached",
                )
            )
    line = f"{STRIP_HEIGHT - STRIP_HEIGHT / top:.1f}"
    return Strip(STRIP_WIDTH, STRIP_HEIGHT, f"{step * 0.72:.1f}", line, tuple(bars), says)


def budget_part(result: AnalysisResult, text: Text) -> Part:
    title = text.say("4. Budget and burn")
    budgeted = [o for o in ordered(result.objectives) if o.hours and o.target is not None and o.target < 1]
    drawn = [o for o in budgeted if len(o.hours) >= MIN_HOURS]
    if budgeted and not drawn:
        says = text.say(
            "Requests lie in fewer than {n} hours: too short for a course of budget and burn.", n=str(MIN_HOURS)
        )
        return Part("p4", title, title, "", (Message(plain(says)), Panel("", (_by_day(budgeted[:MAX_BUDGETS], text),))))
    if not drawn:
        says = text.say(
            "No objective has requests over time: a budget needs a target and judged requests with a start time."
        )
        return Part("p4", title, title, "", (Message(plain(says)),))
    drawn = (
        sorted(drawn, key=lambda o: -(o.budget_spent or 0.0))
        if drawn[0].verdict not in ("breached", "endangered")
        else drawn
    )
    shown = drawn[:MAX_BUDGETS]
    lead = text.say(
        "Budget: the share of valid requests that may be bad. A selection that burns at 1× spends it exactly."
    )
    worst = shown[0]
    figure = Figure(
        title=text.say("Error budget left, and burn per hour of {objective}", objective=worst.id),
        says=_burn_says(worst, text),
        charts=(
            Chart(text.say("Error budget left over time"), _budget_lines(shown, result, text), 240),
            Chart(
                text.say("Burn rate of {objective} per hour", objective=worst.id), _burn_bars(worst, result, text), 150
            ),
        ),
        legend=(
            *(Swatch("series-1" if i == 0 else "series-2", o.id, LEGEND_OF_DASH[i]) for i, o in enumerate(shown)),
            *((Swatch("incident", text.say("incident")),) if incidents(result, text) else ()),
            Swatch("bad", text.say("burn above 1×")),
        ),
        table=_by_day(shown, text),
    )
    return Part("p4", title, title, lead, (figure,))


def _burn_says(objective: ObjectiveResult, text: Text) -> str:
    """Whether an alert fires, and when the budget ends at this pace."""
    says = _alert_says(objective, text)
    if objective.period_days and objective.period is not None:
        says += " " + text.say("The budget is that of its last {period}.", period=objective.period)
    if objective.burn_exhausted_at is not None:
        says += " " + text.say(
            "At this pace the budget is spent on {when}.", when=text.moment(objective.burn_exhausted_at)
        )
    return says


def _alert_says(objective: ObjectiveResult, text: Text) -> str:
    firing = [burn for burn in objective.burn_rates if burn.firing]
    known = [burn for burn in objective.burn_rates if burn.long is not None]
    if firing:
        return text.say(
            "Alert: the burn over {window} reached {rate}, its factor is {factor}.",
            window=firing[0].window, rate=words.times(firing[0].long), factor=words.times(firing[0].factor),
        )  # fmt: skip
    if known:
        highest = max(known, key=lambda burn: burn.long or 0.0)
        return text.say(
            "No alert: the burn over {window} is {rate}, its factor is {factor}.",
            window=highest.window, rate=words.times(highest.long), factor=words.times(highest.factor),
        )  # fmt: skip
    return text.say("Burn rates need an objective with a period.")


def course(objective: ObjectiveResult) -> list[tuple[str, float, float]]:
    """Instant, good and bad from one to the next over the error-budget period: days before the selection, hours in it.

    Without a period it is the selection. A day of which the selection has only a part stands first with its rest; one
    in which the period begins stands alone.
    """
    if not objective.period_days:
        return [(point.at, *judged(point)) for point in objective.hours]
    inside: dict[str, list[BurnPoint]] = {}
    for point in objective.hours:
        inside.setdefault(point.at[:10], []).append(point)
    points: list[tuple[str, float, float]] = []
    for day in objective.period_days:
        hours = inside.get(day.at[:10], [])
        good, bad = (
            total - sum(parts)
            for total, parts in zip(
                judged(day), zip(*map(judged, hours), strict=True) if hours else ((), ()), strict=True
            )
        )
        if good < -ROUNDED or bad < -ROUNDED:  # the period begins within this day
            points.append((day.at, *judged(day)))
            continue
        if good > ROUNDED or bad > ROUNDED:
            points.append((day.at, max(good, 0.0), max(bad, 0.0)))
        points += [(point.at, *judged(point)) for point in hours]
    return points


def _budget_lines(shown: list[ObjectiveResult], result: AnalysisResult, text: Text) -> Lines:
    lines = []
    instants: set[str] = set()
    for index, objective in enumerate(shown):
        steps = course(objective)
        instants.update(at for at, _, _ in steps)
        budget = sum(good + bad for _, good, bad in steps) * (1 - (objective.target or 0))
        spent = 0.0
        points: list[tuple[str, float | None, float]] = []
        for at, _, bad in steps:
            spent += bad
            points.append((at, 1 - spent / budget if budget else None, spent))
        kept = theme.thinned(points)
        lines.append(
            Line(
                objective.id,
                "series-1" if index == 0 else "series-2",
                theme.DASHES[index % len(theme.DASHES)],
                2.2 if index == 0 else 1.4,
                tuple(wall_clock(at, text) for at, _, _ in kept),
                tuple(left for _, left, _ in kept),
                tuple(
                    f"{objective.id}\n{text.moment(at)}\n{text.say('{share} left, {n} bad so far', share=words.whole_share(left), n=words.count(bad))}"
                    for at, left, bad in kept
                ),
                step=True,
            )
        )
    return Lines(tuple(lines), "time", "ratio", bands=incidents(result, text), ticks=ticks(sorted(instants), text))


def _burn_bars(objective: ObjectiveResult, result: AnalysisResult, text: Text) -> TimeBars:
    budget = 1 - (objective.target or 0)
    points = theme.thinned(objective.hours)
    burns = [None if share is None else share / budget for share in map(bad_share, points)]
    marks = [Mark(1.0, "1×", vertical=False)]
    factors = [burn.factor for burn in objective.burn_rates if burn.factor > 1.3]  # nearer to 1x the two lines are one
    top = max((burn for burn in burns if burn is not None), default=0.0)
    if factors and min(factors) <= 3 * max(top, 1.0):
        factor = min(factors)
        marks.append(Mark(factor, text.say("alert {factor}", factor=words.times(factor)), vertical=False))
    return TimeBars(
        x=tuple(wall_clock(point.at, text) for point in points),
        y=tuple(burns),
        bad=tuple(burn is not None and burn > 1 for burn in burns),
        hovers=tuple(
            f"{text.moment(p.at)}\n{text.say('burn {rate}, {bad} bad of {n}', rate=words.times(burn), bad=words.count(p.bad), n=words.count(p.good + p.bad))}"
            for p, burn in zip(points, burns, strict=True)
        ),
        y_unit="×",
        bands=incidents(result, text, named=False),
        marks=tuple(marks),
        width_s=3600.0,
        ticks=ticks([point.at for point in points], text),
    )


def _by_day(shown: list[ObjectiveResult], text: Text) -> Table:
    """Attainment per local day."""
    days: dict[date, dict[str, list[BurnPoint]]] = {}
    for objective in shown:
        for point in objective.hours:
            days.setdefault(text.local(point.at).date(), {}).setdefault(objective.id, []).append(point)
    rows = tuple(
        row(text.day(day), *(number_cell(*_day_words(hours.get(objective.id, []), objective)) for objective in shown))
        for day, hours in sorted(days.items())[-DAYS_SHOWN:]
    )
    return Table(
        name=text.say("Attainment by day"),
        caption=text.say("Attainment by day, valid requests beneath"),
        columns=(Column(text.say("Day")), *(Column(objective.id, number=True) for objective in shown)),
        rows=rows,
    )


def _day_words(hours: list[BurnPoint], objective: ObjectiveResult) -> tuple[str, str | None]:
    good, bad = (sum(parts) for parts in zip(*map(judged, hours), strict=True)) if hours else (0.0, 0.0)
    if good + bad == 0:
        return words.UNKNOWN, None
    return words.share(good / (good + bad), objective.target), words.count(sum(p.good + p.bad for p in hours))
