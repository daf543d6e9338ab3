"""Part 8: from offered to good, and both over time.

Input: goodput of the result; Text. Output: blocks.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise

from analysis.result import AnalysisResult, Fluidity, Goodput, TimePoint, Waterfall, WaterfallStep
from reports import text as words
from reports.charts import theme
from reports.charts.data import Line, Lines, Losses
from reports.text import ABBREVIATIONS, Text
from reports.view import estimates
from reports.view.blocks import Block, Chart, Column, Figure, Message, Part, Row, Swatch, Table, number_cell, plain, row
from reports.view.times import incidents, ticks, wall_clock

TOKEN_OF_STEP = {"ok": "bad", "valid": "too-few", "ttft": "stage-queue", "tpot": "stage-decode", "e2e": "series-1"}


def goodput_part(result: AnalysisResult, text: Text) -> Part:
    title = text.say("8. Goodput")
    good = result.goodput
    if good.valid == 0 or not good.waterfall:
        says = good.note or text.say("No request could be judged, so none can be called good.")
        return Part("p8", title, title, "", (Message(plain(says)),))
    lead = text.say(
        "Good: status ok and every limit of {objective} that applies is kept.", objective=good.objective or "–"
    )
    if result.throughput.seconds is not None:
        lead += " " + text.say(
            "Rates are divided by the {seconds} s of the selection.", seconds=words.count(result.throughput.seconds)
        )
    offered = good.waterfall[0].left
    if offered < result.summary.requests:
        lead += " " + text.say(
            "It is about {n} of {of} requests; the others are not counted here.",
            n=words.count(offered),
            of=words.count(result.summary.requests),
        )
    if _not_judged(good):
        lead += " " + text.say(
            "It judges {n} of {of} requests; the others are excluded.",
            n=words.count(good.valid),
            of=words.count(offered),
        )
    if good.good_requests_per_replica_hour is not None:
        lead += " " + text.say(
            "Good requests per hour of a replica: {n}.", n=words.number(good.good_requests_per_replica_hour)
        )
    if good.good_requests_per_device_hour is not None:
        lead += " " + text.say("Per hour of a GPU: {n}.", n=words.number(good.good_requests_per_device_hour))
    if good.note:
        lead = f"{lead} {good.note}"
    if good.fluidity is not None:
        lead += " " + _fluidity(good.fluidity, text)
    title_of = text.say("From offered to good")
    if good.waterfalls:
        blocks: list[Block] = [_losses(_named(one, title_of), one, text) for one in good.waterfalls]
    else:
        whole = Waterfall(good.objective or "", good.good, good.valid, good.waterfall)
        blocks = [_losses(title_of, whole, text, tokens=good.output_tokens_per_second)]
    if len(good.series) > 1:
        blocks.append(_over_time(good, result, text))
    return Part("p8", title, title, lead, tuple(blocks))


def _fluidity(told: Fluidity, text: Text) -> str:
    says = text.say(
        "Of {n} requests with times of tokens, {share} kept at least {least} of their token deadlines (fluidity index, mean {mean}; limits of {objectives}).",
        n=words.count(told.n),
        share=words.share(told.share),
        least=words.share(told.least),
        mean=words.number(told.mean_index),
        objectives=", ".join(told.limits),
    )
    if told.by_chunk:
        says += " " + text.say("For {n} of them a deadline is that of a chunk.", n=words.count(told.by_chunk))
    return says


def _not_judged(good: Goodput) -> bool:
    """Whether the objective leaves out more requests than policy excludes on a normal day."""
    offered = good.waterfall[0].left
    return offered > 0 and good.valid < 0.98 * offered


def _named(fall: Waterfall, title: str) -> str:
    return f"{title}: {fall.objective}"


def _losses(title: str, fall: Waterfall, text: Text, tokens: float | None = None) -> Figure:
    lost = [step for step in fall.steps if step.step not in ("offered", "good")]
    valid = max(estimates.left(next((step for step in fall.steps if step.step == "valid"), fall.steps[0])), 1.0)
    good = estimates.left(fall.steps[-1])
    data = Losses(
        steps=tuple(step_words(step.step, text) for step in lost),
        values=tuple(estimates.lost(step) for step in lost),
        ends=tuple(text.say("{lost} lost, {left} left", lost=words.count(estimates.lost(step)), left=words.count(estimates.left(step))) for step in lost),
        tokens=tuple(TOKEN_OF_STEP.get(step.step, "series-1") for step in lost),
        hovers=tuple(f"{step_words(step.step, text)}\n{text.say('{n} lost, {share} of valid', n=words.count(estimates.lost(step)), share=words.share(estimates.lost(step) / valid))}" for step in lost),
        unit="",
    )  # fmt: skip
    says = text.say(
        "{offered} offered, {good} good ({share} of valid).",
        offered=words.count(estimates.left(fall.steps[0])), good=words.count(good), share=words.share(good / valid),
    )  # fmt: skip
    if tokens is not None:
        says += " " + text.say("In tokens: {n} output tokens per second in good requests.", n=words.number(tokens))
    return Figure(
        title=title,
        says=says,
        charts=(Chart(text.say("Requests lost at each step from offered to good"), data, 40 + 38 * len(lost)),),
        table=Table(
            name=title,
            columns=(
                Column(text.say("Step")),
                Column(text.say("Requests left"), number=True),
                Column(text.say("Lost"), number=True),
                Column(text.say("Share of valid"), number=True),
            ),
            rows=tuple(_row(step, valid, text) for step in fall.steps),
        ),
    )


def _row(step: WaterfallStep, valid: float, text: Text) -> Row:
    return row(
        step_words(step.step, text),
        number_cell(words.count(estimates.left(step))),
        number_cell(words.count(estimates.lost(step))),
        number_cell(words.share(estimates.left(step) / valid) if step.step != "offered" else words.UNKNOWN),
    )


def step_words(step: str, text: Text) -> str:
    """A step of the waterfall as the page says it."""
    known = {
        "offered": text.say("offered"),
        "valid": text.say("not judged"),
        "ok": text.say("failed or cancelled"),
        "good": text.say("good"),
        "unknown": text.say("not known"),
    }
    if step in known:
        return known[step]
    return text.say("over the limit of {metric}", metric=ABBREVIATIONS.get(step, step))


def _over_time(good: Goodput, result: AnalysisResult, text: Text) -> Figure:
    points = theme.thinned(with_silence(good.series, text))
    times = tuple(wall_clock(point.at, text) for point in points)
    hovers = tuple(
        f"{text.moment(p.at)}\n{text.say('offered {offered}, good {good} req/s, n {n}', offered=words.number(p.offered), good=words.number(p.good), n=words.count(p.n))}"
        for p in points
    )
    bands = incidents(result, text)
    worst = max(points, key=lambda p: p.offered - p.good)
    gap = text.say("not good, or not judged") if _not_judged(good) else text.say("not good")
    fill = "incident" if _not_judged(good) else "bad"
    says = text.say("The filled gap is what was {gap}.", gap=gap)
    if worst.offered > 0 and worst.good < worst.offered:
        says += " " + text.say(
            "Widest on {when}: {good} good of {offered} req/s.",
            when=text.moment(worst.at), good=words.number(worst.good), offered=words.number(worst.offered),
        )  # fmt: skip
    if len(good.series) > theme.POINT_CAP:
        says += " " + text.say(
            "Thinned from {n} to {kept} points.", n=words.count(len(good.series)), kept=words.count(len(points))
        )
    return Figure(
        title=text.say("Offered and good, requests per second"),
        says=says,
        charts=(
            Chart(
                text.say("Offered and good requests per second over time"),
                Lines(
                    (
                        Line(text.say("good"), "series-1", "solid", 1.8, times, tuple(p.good for p in points), hovers),
                        Line(text.say("offered"), "series-2", "solid", 1.2, times, tuple(p.offered for p in points), (), fill_to_previous=fill),
                    ),
                    "time",
                    "req/s",
                    bands=bands,
                    ticks=ticks([point.at for point in points], text),
                ),
                230,
            ),
        ),
        legend=(
            Swatch("series-2", text.say("offered"), "line"),
            Swatch("series-1", text.say("good"), "line"),
            Swatch(fill, gap),
            *((Swatch("incident", text.say("incident")),) if bands and fill != "incident" else ()),
        ),
        table=Table(
            name=text.say("Offered and good, by day"),
            columns=(Column(text.say("Day")), Column(text.say("Offered, req/s"), number=True), Column(text.say("Good, req/s"), number=True), Column("n", number=True)),
            rows=_days(good, text),
            caption=text.say("Mean of the day's points"),
        ),
    )  # fmt: skip


def with_silence(series: list[TimePoint], text: Text) -> list[TimePoint]:
    """The series with zeros at both ends of every stretch without requests, so that no line crosses it."""
    if len(series) < 3:
        return series
    places = [text.local(point.at) for point in series]
    step = min(after - before for before, after in pairwise(places))
    filled = [series[0]]
    for (before, after), point in zip(pairwise(places), series[1:], strict=True):
        if after - before > step * 3 / 2:
            edges = dict.fromkeys((before + step, after - step))
            filled += [TimePoint(edge.isoformat(), 0.0, 0.0, 0) for edge in edges]
        filled.append(point)
    return filled


def _days(good: Goodput, text: Text) -> tuple[Row, ...]:
    days: dict[date, list[tuple[float, float, int]]] = {}
    for point in good.series:
        days.setdefault(text.local(point.at).date(), []).append((point.offered, point.good, point.n))
    return tuple(
        row(
            text.day(day),
            number_cell(words.number(sum(offered for offered, _, _ in found) / len(found))),
            number_cell(words.number(sum(kept for _, kept, _ in found) / len(found))),
            number_cell(words.count(sum(n for _, _, n in found))),
        )
        for day, found in days.items()
    )
