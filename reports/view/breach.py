"""One objective for the person on call: what broke, since when, where, what to do, the evidence.

Input: AnalysisResult, the id of an objective; Text. Output: the page model.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.result import AnalysisResult, Finding, ObjectiveResult, WindowVerdict
from reports import text as words
from reports.charts.data import Mark, TimeBars
from reports.text import Text
from reports.view import actions, verdict
from reports.view.blocks import (
    Badge,
    Block,
    Chart,
    Code,
    Column,
    Fact,
    Facts,
    Figure,
    Fold,
    Head,
    Heads,
    Message,
    Panel,
    Piece,
    Rich,
    Row,
    Swatch,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.estimates import bad_share
from reports.view.labels import (
    address,
    badge,
    objective_address,
    objective_label,
    objective_rule,
    period_name,
    segment_full,
    segment_short,
    selection_query,
)
from reports.view.objectives import budget_cell, burn_cell
from reports.view.shift import series_figure, shift_figure
from reports.view.times import incidents, ticks, wall_clock

MAX_WINDOWS = 60


@dataclass(frozen=True)
class BreachPage:
    title: str
    objective: str
    badge: Badge
    under_title: str
    selection: str  # the requests that the figures are of
    simulated: bool
    heads: Heads
    left: tuple[Block, ...]
    advice: tuple[Block, ...]
    right: tuple[Block, ...]
    has_charts: bool


def breach_of(result: AnalysisResult, objective_id: str, text: Text) -> BreachPage:
    """The page of one objective.

    Raises:
        ValueError: the result has no such objective.
    """
    objective = next((found for found in result.objectives if found.id == objective_id), None)
    if objective is None:
        known = ", ".join(found.id for found in result.objectives)
        raise ValueError(f"objective {objective_id!r} is not in the result. Known: {known}")
    findings = [finding for finding in result.findings if finding.objective == objective_id]
    incident = {finding.incident for finding in findings if finding.incident is not None}
    together = [finding for finding in result.findings if finding.incident in incident or finding in findings]
    over_time = _over_time(objective, result, text)
    first = findings[0] if findings else None
    drawn = (
        over_time,
        None if first is None else shift_figure(first, objective, text),
        None if first is None else series_figure(first, objective, result, text),
    )
    left = [
        block
        for block in (
            _broken(together, result, text),
            *drawn,
            _evidence(findings, text),
            _exemplars(findings, text),
            _windows(objective, text),
        )
        if block is not None
    ]
    right = [
        block
        for block in (
            actions.rejected(findings, text),
            actions.untested(findings, text),
            _ask_again(objective, result, text),
        )
        if block is not None
    ]
    return BreachPage(
        title=findings[0].title
        if findings
        else f"{objective_label(text, objective)}: {badge(text, objective.verdict).word}",
        objective=objective.id,
        badge=badge(text, objective.verdict),
        under_title=_under_title(objective, findings, text),
        selection=_selection(result, text),
        simulated=result.provenance.simulated,
        heads=_heads(objective, findings, result, text),
        left=tuple(left),
        advice=_advice(objective, findings, result, text),
        right=tuple(right),
        has_charts=any(block is not None for block in drawn),
    )


def _under_title(objective: ObjectiveResult, findings: list[Finding], text: Text) -> str:
    parts = [objective_rule(text, objective)]
    window = findings[0].window if findings else None
    if window is not None:
        parts.append(f"{text.moment(window[0])} – {text.moment(window[1])} {text.zone.key}")
    return " · ".join(parts)


def _selection(result: AnalysisResult, text: Text) -> str:
    """Week or range, days, zone, requests, filter."""
    parts = [period_name(text, result), verdict.under_title(result, text)]
    if result.selection.start is None and result.selection.end is None:
        parts.insert(0, text.say("All requests"))
    return " · ".join(dict.fromkeys(parts))


def _heads(objective: ObjectiveResult, findings: list[Finding], result: AnalysisResult, text: Text) -> Heads:
    worst = objective.worst
    share = words.share(worst.attainment, objective.target) if worst is not None else words.UNKNOWN
    if objective.target is None:
        share = words.figure(worst.value if worst is not None else objective.value, objective.unit)
    n = (
        text.say("worst window, n {n}", n=words.count(worst.n))
        if worst is not None
        else text.say("no window was judged")
    )
    heads = [Head(text.say("Verdict"), share, "", (plain(n),), badge(text, objective.verdict))]
    if not findings:
        return Heads(tuple(heads))
    first = findings[0]
    since = text.moment(first.window[0]) if first.window is not None else words.UNKNOWN
    heads.append(
        Head(
            text.say("Since"),
            since,
            "",
            (plain(text.say("until {when}", when=text.moment(first.window[1]))),) if first.window is not None else (),
        )
    )
    heads.append(
        Head(
            text.say("Stage"),
            text.say(first.stage),
            "",
            (plain(text.say("cause {cause}", cause=text.say(first.cause))),) if first.cause else (),
        )
    )
    explained = (
        text.say("{share} of the bad requests over the limit", share=words.whole_share(first.share_of_bad))
        if first.share_of_bad is not None
        else ""
    )
    heads.append(
        Head(
            text.say("Segment"),
            segment_short(first.segment) or text.say("all"),
            "",
            (plain(explained),) if explained else (),
        )
    )
    cards = actions.cards(result, text)
    do = next((card for card in cards for r in first.recommendations if card.id == r.id), None)
    if do is not None:
        title: Rich = (Piece(do.lift),)
        heads.append(
            Head(text.say("First thing to do"), do.title.partition(". ")[2], "", (title, plain(do.confidence)))
        )
    return Heads(tuple(heads))


def _broken(findings: list[Finding], result: AnalysisResult, text: Text) -> Block | None:
    """All objectives of the incident, each with its share explained."""
    rows: list[Row] = []
    for finding in findings:
        objective = next((found for found in result.objectives if found.id == finding.objective), None)
        if objective is None:
            continue
        worst = objective.worst
        figure, interval = _judged(worst, objective) if worst is not None else (words.UNKNOWN, None)
        rows.append(
            row(
                text_cell(objective.id, style="code", href=objective_address(objective.id, result.selection)),
                text_cell(badge(text, objective.verdict).word),
                number_cell(figure, interval),
                number_cell(words.count(worst.n) if worst is not None else words.UNKNOWN),
                budget_cell(objective),
                burn_cell(objective),
                number_cell(words.whole_share(finding.share_of_bad)),
                number_cell(words.whole_share(finding.structural_share)),
            )
        )  # fmt: skip
    if not rows:
        return None
    columns = (
        Column(text.say("Objective")), Column(text.say("Verdict")), Column(text.say("Measured"), number=True), Column(text.say("Valid"), number=True), Column(text.say("Budget spent")),
        Column(text.say("Fastest burn"), number=True), Column(text.say("Explained"), number=True), Column(text.say("On a normal day too"), number=True),
    )  # fmt: skip
    return Panel(text.say("What broke"), (Table(text.say("What broke"), columns, tuple(rows), cards=True),))


def _judged(window: WindowVerdict, objective: ObjectiveResult) -> tuple[str, str | None]:
    """The figure of a window, a share or a value, and its interval."""
    if objective.target is not None:
        return words.share(window.attainment, objective.target), words.share_interval(
            window.interval
        ) if window.interval else None
    return words.figure(window.value, objective.unit), words.interval_of(
        window.interval, objective.unit
    ) if window.interval else None


def _window_share(window: WindowVerdict) -> float | None:
    """Share of bad of a window; of a sum or a quotient all of its requests are good or all bad."""
    if window.attainment is not None:
        return 1 - window.attainment
    judged = window.good + window.bad
    return window.bad / judged if judged else None


def _over_time(objective: ObjectiveResult, result: AnalysisResult, text: Text) -> Figure | None:
    """Share of bad requests per hour, or per window where hours are not known."""
    points = [(p.at, p.good, p.bad, bad_share(p)) for p in objective.hours] or [
        (w.start, w.good, w.bad, _window_share(w)) for w in objective.windows if w.start is not None and w.of is None
    ]
    known = [(at, good, bad, share) for at, good, bad, share in points if share is not None]
    if len(known) < 2:
        return None
    budget = 1 - objective.target if objective.target is not None else None
    marks = (
        (Mark(budget, text.say("allowed {share}", share=words.share(budget)), vertical=False),)
        if budget is not None
        else ()
    )
    data = TimeBars(
        x=tuple(wall_clock(at, text) for at, *_ in known),
        y=tuple(share for *_, share in known),
        bad=tuple(budget is not None and share > budget for *_, share in known),
        hovers=tuple(
            f"{text.moment(at)}\n{text.say('{bad} bad of {n}', bad=words.count(bad), n=words.count(good + bad))}\n{words.share(share)}"
            for at, good, bad, share in known
        ),
        y_unit="ratio",
        bands=incidents(result, text, of=objective.id),
        marks=marks,
        width_s=3600.0 if objective.hours else None,
        ticks=ticks([at for at, *_ in known], text),
    )
    worst = max(known, key=lambda point: point[3])
    says = text.say(
        "Highest at {when}: {bad} bad of {n}.",
        when=text.moment(worst[0]),
        bad=words.count(worst[2]),
        n=words.count(worst[1] + worst[2]),
    )
    return Figure(
        title=text.say("Share of bad requests over time"),
        says=says,
        charts=(Chart(text.say("Share of bad requests of {objective} over time", objective=objective.id), data, 230),),
        legend=(Swatch("series-2", text.say("within the budget")), Swatch("bad", text.say("above it")), Swatch("incident", text.say("incident"))),
        table=Table(
            name=text.say("Share of bad requests over time"),
            columns=(Column(text.say("Hour")), Column(text.say("Bad"), number=True), Column("n", number=True), Column(text.say("Share"), number=True)),
            rows=tuple(row(text.moment(at), number_cell(words.count(bad)), number_cell(words.count(good + bad)), number_cell(words.share(share))) for at, good, bad, share in known),
        ),
    )  # fmt: skip


def _windows(objective: ObjectiveResult, text: Text) -> Block | None:
    """The breached windows; all judged ones behind a fold, up to a cap."""
    windows = [window for window in objective.windows if window.verdict in ("breached", "met")]
    if not windows:
        return None
    breached = [window for window in windows if window.verdict == "breached"]
    first = sorted(windows, key=lambda w: (w.verdict != "breached", w.start or "", w.of or ""))[:MAX_WINDOWS]
    blocks: list[Block] = (
        [_window_table(text.say("Breached windows"), breached[:MAX_WINDOWS], objective, text)] if breached else []
    )
    if len(windows) > len(breached):
        summary = text.say("Judged windows: {n} of {of}", n=words.count(len(first)), of=words.count(len(windows)))
        blocks.append(Fold(summary, (_window_table(text.say("Judged windows"), first, objective, text),)))
    return Panel(text.say("Windows"), tuple(blocks))


def _window_table(name: str, windows: list[WindowVerdict], objective: ObjectiveResult, text: Text) -> Table:
    columns = (
        Column(text.say("Window")), Column(text.say("Verdict")), Column(text.say("Measured"), number=True), Column(text.say("Valid"), number=True), Column(text.say("Bad"), number=True), Column(text.say("Sure")),
    )  # fmt: skip
    return Table(name, columns, tuple(_window_row(window, objective, text) for window in windows))


def _window_row(window: WindowVerdict, objective: ObjectiveResult, text: Text) -> Row:
    figure, interval = _judged(window, objective)
    sure = {True: text.say("sure"), False: text.say("within noise"), None: words.UNKNOWN}[window.sure]
    name = window.of or text.span(window.start, window.end)
    return row(
        name,
        text_cell(badge(text, window.verdict).word),
        number_cell(figure, interval),
        number_cell(words.count(window.n)),
        number_cell(words.count(window.bad)),
        text_cell(sure),
    )


def _exemplars(findings: list[Finding], text: Text) -> Block | None:
    names = list(dict.fromkeys(name for finding in findings for name in finding.exemplars))
    if not names:
        return None
    rows = tuple(
        row(
            text_cell(name, style="code", href=address("requests", name)),
            text_cell(text.say("its timeline"), href=address("requests", name)),
        )
        for name in names
    )
    table = Table(text.say("Exemplars"), (Column(text.say("Trace")), Column(text.say("Open"))), rows)
    return Panel(text.say("Exemplars"), (table,))


def _advice(
    objective: ObjectiveResult, findings: list[Finding], result: AnalysisResult, text: Text
) -> tuple[Block, ...]:
    found = [advice for advice in actions.advice_of(result) if any(finding in findings for finding in advice.findings)]
    told: set[str] = set()
    shown = frozenset(actions.name_of(finding) for finding in findings[:1])  # `_evidence` and `_exemplars` tell it
    blocks: list[Block] = [
        Panel(
            f"{index}. {advice.recommendation.title}",
            (actions.action_facts(advice, result, text, told, shown=shown),),
            f"rec{index}",
        )
        for index, advice in enumerate(found, 1)
    ]
    if not blocks:
        calm = objective.verdict not in ("breached", "endangered")
        blocks.append(
            Message(plain(text.say("Nothing: this objective is not breached.")))
            if calm
            else actions.message_of_none(text)
        )
    return tuple(blocks)


def _evidence(findings: list[Finding], text: Text) -> Block | None:
    if not findings or not findings[0].evidence:
        return None
    rows = tuple(
        row(
            item.figure,
            number_cell(words.figure(item.value, item.unit)),
            number_cell(words.figure(item.baseline, item.unit)),
            number_cell(words.count(item.n)),
        )
        for item in findings[0].evidence
    )
    columns = (
        Column(text.say("Figure")),
        Column(text.say("Incident"), number=True),
        Column(text.say("Normal"), number=True),
        Column("n", number=True),
    )
    together = [f"{dimension} {', '.join(values)}" for dimension, values in findings[0].moves_together.items()]
    facts = []
    if findings[0].segment:
        facts.append(Fact(text.say("Concentrated in"), (plain(segment_full(findings[0].segment)),)))
    if together:
        facts.append(Fact(text.say("Moves together with"), tuple(plain(line) for line in together)))
    table = Table(text.say("Evidence"), columns, rows)
    return Panel(text.say("Evidence"), (table, Facts(tuple(facts))) if facts else (table,))


def _ask_again(objective: ObjectiveResult, result: AnalysisResult, text: Text) -> Panel:
    path = f"/api/v1{address('objectives', objective.id)}/diagnosis"
    return Panel(text.say("The same over HTTP"), (Code(f"GET {path}?{selection_query(result.selection)}"),))
