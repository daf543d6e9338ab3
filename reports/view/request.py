"""One request: why it was slow.

Input: RequestView; Text. Output: the page model.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports import text as words
from reports.charts import theme
from reports.charts.data import Mark, Segment, StackedBars, Timeline, TimelineBar
from reports.text import Text
from reports.view.blocks import (
    Badge,
    Block,
    Cell,
    Chart,
    Column,
    Columns,
    Figure,
    Head,
    Heads,
    Message,
    Panel,
    Piece,
    Rich,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.labels import address, stage_swatch
from reports.view.service import CallItem, JudgedBy, RequestView, SpanItem

MAX_ROWS = 500  # spans drawn; deeper ones are folded beyond it
NAME_ROOM = 30
UNSEEN = str.maketrans("01", "\u200b\u200c")  # characters without width
SHOWN_DIMENSIONS = ("scenario", "tenant", "user", "model", "replica", "region")


@dataclass(frozen=True)
class RequestPage:
    title: str
    id: str
    under_title: str
    simulated: bool
    heads: Heads
    blocks: tuple[Block, ...]
    has_charts: bool


def request_of(view: RequestView, text: Text) -> RequestPage:
    stages = {stage: seconds for stage, seconds in view.stages.items() if seconds}
    blocks: list[Block] = []
    if view.orphans:
        says = text.say(
            "{n} spans have a parent that was not read. Stages may be short; the request is assembled anew when the rest arrives.",
            n=words.count(view.orphans),
        )
        blocks.append(Message(plain(says), "warn"))
    blocks.append(
        _stages(stages, view, text)
        if stages
        else Message(
            plain(
                text.say(
                    "No stage of this request was measured: its trace holds neither spans below it nor times of the engine."
                )
            )
        )
    )
    blocks.append(
        _timeline(view, text)
        if view.spans
        else Message(
            plain(text.say("No span of this request is stored: it was read from a table, or its spans were not kept."))
        )
    )
    if view.calls:
        blocks.append(_calls(view.calls, text))
    sides: list[Block] = []
    if view.judged:
        sides.append(_judged(view.judged, text))
    sides.append(_facts(view, text))
    blocks.append(Columns(tuple(sides)))
    if view.attributes:
        blocks.append(_attributes(view.attributes, text))
    return RequestPage(
        title=_title(view, stages, text),
        id=view.id,
        under_title=_under_title(view, text),
        simulated=view.simulated,
        heads=_heads(view, text),
        blocks=tuple(blocks),
        has_charts=bool(stages or view.spans),
    )


def _title(view: RequestView, stages: dict[str, float], text: Text) -> str:
    """The stage that took most time, or how it failed."""
    name = view.id if len(view.id) <= 16 else f"{view.id[:12]}…"
    if view.status_class != "ok":
        return text.say("Request {id}: {status}", id=name, status=_failure(view.status_class, view.error_type))
    if stages:
        stage = max(stages, key=lambda found: stages[found])
        return text.say(
            "Request {id}: {seconds} in {stage}", id=name, seconds=words.seconds(stages[stage]), stage=text.say(stage)
        )
    return text.say("Request {id}", id=name)


def _failure(status: str, error: str | None) -> str:
    """timeout deadline; an error that holds the word of its status says both."""
    return error if error is not None and status in error.split("_") else " ".join(filter(None, (status, error)))


def _under_title(view: RequestView, text: Text) -> str:
    parts = [view.dimensions[name] for name in SHOWN_DIMENSIONS if name in view.dimensions]
    if view.started is not None:
        when = text.local(view.started)
        parts.append(f"{text.day(when.date(), year=True)}, {when:%H:%M:%S} {view.timezone}")
    return " · ".join(parts)


def _heads(view: RequestView, text: Text) -> Heads:
    calls = text.say(
        "attempts {attempts} · calls {calls}", attempts=words.count(view.attempts), calls=words.count(len(view.calls))
    )
    status = str(view.http_status) if view.http_status is not None else ""
    heads = [Head(text.say("Status"), view.status_class, status, (plain(calls),))]
    for metric, value in (("ttft", view.ttft), ("tpot", view.tpot), ("e2e", view.e2e)):
        figure, _, unit = words.seconds(value).partition(words.NBSP)
        heads.append(Head(text.metric(metric), figure, unit, (), _limit_badge(metric, view.judged, text)))
    cached = text.say(
        "{cached} cached, {out} out", cached=words.count(view.cached_input_tokens), out=words.count(view.output_tokens)
    )
    heads.append(Head(text.say("Tokens"), words.count(view.input_tokens), text.say("in"), (plain(cached),)))
    exact = (
        (plain(text.say("exact {usd} USD", usd=view.cost_usd)),)
        if view.cost_usd is not None
        else (plain(text.say("no price is known")),)
    )
    heads.append(Head(text.say("Cost"), words.money(view.cost_usd), "USD" if view.cost_usd is not None else "", exact))
    return Heads(tuple(heads))


def _limit_badge(metric: str, judged: list[JudgedBy], text: Text) -> Badge | None:
    """Over or within the strictest limit that judged this metric."""
    limits = [
        found
        for found in judged
        if found.metric == metric and found.threshold is not None and found.verdict in ("good", "bad")
    ]
    if not limits:
        return None
    strictest = min(limits, key=lambda found: found.threshold or 0.0)
    limit = words.limit(strictest.threshold, strictest.unit)
    if strictest.verdict == "bad":
        return Badge("breached", text.say("Over {limit}", limit=limit))
    return Badge("met", text.say("Within {limit}", limit=limit))


def _stages(stages: dict[str, float], view: RequestView, text: Text) -> Figure:
    ordered = sorted(stages, key=theme.stage_order)
    total = sum(stages.values())
    segments = tuple(
        Segment(
            name=stage,
            token=theme.stage_token(stage),
            hatched=stage in theme.HATCHED,
            deep=stage not in theme.LIGHT,
            values=(stages[stage],),
            labels=(text.say(stage) if stages[stage] / total > 0.08 else "",),
            hovers=(f"{text.say(stage)}\n{words.seconds(stages[stage])}\n{words.share(stages[stage] / total)}",),
        )
        for stage in ordered
    )
    unmeasured = [stage for stage, seconds in view.stages.items() if seconds is None]
    says = text.say("Not overlapping; they sum to E2E.")
    if any(stage in ("before_first_token", "after_first_token") for stage in ordered):
        says += " " + text.say(
            "Hatched: queue and prefill are not told apart; load the traces of the engine to see them."
        )
    rows = [
        row(
            Cell(((Piece(f" {text.say(stage)}"),),), swatch=stage_swatch(text, stage)),
            number_cell(words.seconds(stages[stage])),
            number_cell(words.share(stages[stage] / total)),
        )
        for stage in ordered
    ]
    if unmeasured:
        rows.append(
            row(
                text.say("not measured: {names}", names=", ".join(unmeasured)),
                number_cell(words.UNKNOWN),
                number_cell(words.UNKNOWN),
            )
        )
    return Figure(
        title=text.say("Stages"),
        says=says,
        charts=(Chart(text.say("Stages of this request in seconds"), StackedBars(("E2E",), segments, (words.seconds(total),), "s"), 92),),
        legend=tuple(stage_swatch(text, stage) for stage in ordered),
        table=Table(text.say("Stages"), (Column(text.say("Stage")), Column(text.say("Time"), number=True), Column(text.say("Share"), number=True)), tuple(rows)),
    )  # fmt: skip


def _timeline(view: RequestView, text: Text) -> Figure:
    spans = sorted(view.spans, key=lambda span: (span.start, span.depth, span.id))
    drawn = (
        spans
        if len(spans) <= MAX_ROWS
        else sorted(
            sorted(spans, key=lambda span: span.depth)[:MAX_ROWS], key=lambda span: (span.start, span.depth, span.id)
        )
    )
    parents = {span.parent for span in spans}
    rows = tuple(_row_name(index, span) for index, span in enumerate(drawn))
    bars = tuple((_bar(span, text, container=span.id in parents),) for span in drawn)
    marks = (Mark(view.ttft, text.say("first token"), vertical=True),) if view.ttft is not None else ()
    says = text.say(
        "{n} spans of {services} services, as reported. Outlines hold other spans.",
        n=words.count(len(spans)),
        services=words.count(len({s.service for s in spans})),
    )
    if len(drawn) < len(spans):
        says += " " + text.say("The {n} deepest are in the table only.", n=words.count(len(spans) - len(drawn)))
    return Figure(
        title=text.say("Spans"),
        says=says,
        charts=(Chart(text.say("Spans of this request over time"), Timeline(rows, bars, marks), 60 + 24 * len(drawn)),),
        table=_span_table(spans, text),
    )


def _row_name(index: int, span: SpanItem) -> str:
    """A row's word: indent by depth, name, and marks without width that keep equal names apart."""
    name = span.name if len(span.name) <= NAME_ROOM else f"{span.name[: NAME_ROOM - 1]}…"
    mark = f"{index:b}".translate(UNSEEN)
    return f"{words.NBSP * 2 * span.depth}{name}{mark}"


def _bar(span: SpanItem, text: Text, *, container: bool) -> TimelineBar:
    stage = span.stage
    attributes = "".join(f"\n{name}: {value[:80]}" for name, value in list(span.attributes.items())[:8])
    error = f"\n{text.say('error')}: {span.error}" if span.error else ""
    return TimelineBar(
        label=span.name,
        start=max(0.0, span.start),
        seconds=span.seconds if span.seconds is not None else 0.0,
        token="bad" if span.error else theme.stage_token(stage) if stage is not None else "line-strong",
        outline=container and stage is None,
        hatched=stage in theme.HATCHED,
        hover=f"{span.name}\n{span.service or ''}\n{words.seconds(span.start)} + {words.seconds(span.seconds)}{error}{attributes}",
    )


def _span_table(spans: list[SpanItem], text: Text) -> Table:
    rows = tuple(
        row(
            Cell(
                (
                    (Piece(words.NBSP * 3 * span.depth + span.name),),
                    *(((Piece(span.error, "hint"),),) if span.error else ()),
                )
            ),
            text_cell(span.service or words.UNKNOWN),
            number_cell(words.seconds(span.start)),
            number_cell(words.seconds(span.seconds)),
            text_cell(text.say(span.stage) if span.stage else words.UNKNOWN),
        )
        for span in spans
    )
    columns = (
        Column(text.say("Span")), Column(text.say("Service")), Column(text.say("Start"), number=True), Column(text.say("Duration"), number=True), Column(text.say("Stage")),
    )  # fmt: skip
    return Table(text.say("Spans"), columns, rows)


def _calls(calls: list[CallItem], text: Text) -> Panel:
    rows = tuple(
        row(
            call.model or words.UNKNOWN,
            text_cell(call.replica or words.UNKNOWN),
            *(
                number_cell(words.seconds(value))
                for value in (call.start, call.seconds, call.queue, call.prefill, call.decode)
            ),
            number_cell(f"{words.count(call.input_tokens)} / {words.count(call.output_tokens)}"),
        )
        for call in calls
    )
    columns = (
        Column(text.say("Model")), Column(text.say("Replica")), Column(text.say("Start"), number=True), Column(text.say("Duration"), number=True), Column(text.say("queue"), number=True),
        Column(text.say("prefill"), number=True), Column(text.say("decode"), number=True), Column(text.say("Tokens in / out"), number=True),
    )  # fmt: skip
    return Panel(text.say("Model calls"), (Table(text.say("Model calls"), columns, rows),))


def _judged(judged: list[JudgedBy], text: Text) -> Panel:
    verdicts = {
        "good": Badge("met", text.say("good")),
        "bad": Badge("breached", text.say("bad")),
        "excluded": Badge("too_few", text.say("excluded")),
    }
    rows = tuple(
        row(
            text_cell(found.objective, style="code", href=address("objectives", found.objective)),
            Cell(badge=verdicts.get(found.verdict, Badge("unknown", text.say("not known")))),
            number_cell(words.figure(found.value, found.unit)),
            number_cell(words.limit(found.threshold, found.unit)),
        )
        for found in judged
    )
    columns = (
        Column(text.say("Objective")),
        Column(text.say("Verdict")),
        Column(text.say("Value"), number=True),
        Column(text.say("Limit"), number=True),
    )
    return Panel(text.say("Objectives"), (Table(text.say("Objectives"), columns, rows, cards=True),))


def _facts(view: RequestView, text: Text) -> Panel:
    facts: list[tuple[str, str | None]] = [
        (text.say("Trace"), view.trace_id),
        *((name, value) for name, value in view.dimensions.items()),
        (text.say("Streamed"), {True: text.say("yes"), False: text.say("no"), None: None}[view.streaming]),
        (text.say("Measured at"), view.vantage),
        (text.say("Marks"), ", ".join(view.flags) or None),
        (text.say("Upload"), view.upload),
    ]
    rows = tuple(row(label, text_cell(value if value is not None else words.UNKNOWN)) for label, value in facts)
    table = Table(
        text.say("What is known of it"), (Column(text.say("Field")), Column(text.say("Value"))), rows, cards=True
    )
    return Panel(text.say("What is known of it"), (table,))


def _attributes(attributes: dict[str, str], text: Text) -> Panel:
    rows = tuple(row(text_cell(name, style="code"), text_cell(value)) for name, value in sorted(attributes.items()))
    note: Rich = (Piece(text.say("Prompts, answers and credentials are never stored."), "hint"),)
    table = Table(
        text.say("Further attributes"), (Column(text.say("Attribute")), Column(text.say("Value"))), rows, cards=True
    )
    return Panel(text.say("Further attributes"), (table, Message(note)))
