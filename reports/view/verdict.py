"""Part 1: title, lead, one line per verdict, four headline figures.

Input: AnalysisResult; Text. Output: the first screen of the report.
"""

from __future__ import annotations

from decimal import Decimal

from analysis.result import AnalysisResult, Finding, ObjectiveResult, RolledFigures, WindowVerdict
from reports import text as words
from reports.text import Text
from reports.view.blocks import Head, Heads, Piece, Rich, VerdictLine, plain
from reports.view.evidence import evidence_words
from reports.view.labels import (
    badge,
    baseline_name,
    change_words,
    day_of,
    find_change,
    has_price,
    limit_words,
    objective_label,
    of_count,
    period_name,
    segment_short,
    statistic_words,
)

MAX_LINES = 7  # verdict lines that leave room for figures and actions on a screen of 1440 x 900


def title(result: AnalysisResult, text: Text) -> str:
    """The finding: "Week 10: four objectives breached on Saturday"."""
    period = period_name(text, result)
    by_verdict = {
        verdict: [o for o in result.objectives if o.verdict == verdict] for verdict in ("breached", "endangered", "met")
    }
    if result.summary.requests == 0:
        rolled = result.rolled
        if rolled is None or rolled.requests == 0:
            return text.say("{period}: no requests", period=period)
        n = words.count(_n_rolled(rolled))
        return text.say("{period}: {n} requests, rows dropped by retention", period=period, n=n)
    if breached := by_verdict["breached"]:
        finding = text.many(len(breached), "one objective breached", "{n} objectives breached")
        day = _common_day(breached, result, text)
        if day is not None:
            finding = text.say("{finding} on {day}", finding=finding, day=day)
        return text.say("{period}: {finding}", period=period, finding=finding)
    if endangered := by_verdict["endangered"]:
        finding = text.many(len(endangered), "one objective endangered", "{n} objectives endangered")
    elif met := by_verdict["met"]:
        unjudged = len(result.objectives) - len(met)
        if unjudged:
            finding = text.say("no objective breached, {n} not judged", n=str(unjudged))
        elif len(met) == 2:
            finding = text.say("both objectives met")
        else:
            finding = text.many(len(met), "the objective is met", "all {n} objectives met")
    else:
        finding = text.say("no objective could be judged")
    return text.say("{period}: {finding}", period=period, finding=finding)


def _n_rolled(rolled: RolledFigures) -> int:
    """Requests of a selection without rows; where its filter was not kept, all requests of its days."""
    return rolled.requests_dropped if rolled.requests is None else rolled.requests


def _share_read(result: AnalysisResult) -> float | None:
    """Share of all traffic that was read, whatever the rates of single requests."""
    summary = result.summary
    return summary.requests / summary.requests_estimated if summary.requests_estimated else None


def under_title(result: AnalysisResult, text: Text) -> str:
    """Days, zone, requests, sample, tenants and users, filter."""
    selection, summary = result.selection, result.summary
    standing = summary.requests_estimated or summary.requests
    kept = _n_rolled(result.rolled) if result.rolled is not None and not standing else 0
    requests = text.say("{n} requests", n=text.short_count(standing or kept))
    sampling = result.data_quality.sampling_rate
    if sampling is not None and sampling < 1:
        requests = text.say(
            "{requests} ({n} read, {rate} sample)",
            requests=requests,
            n=words.count(summary.requests),
            rate=words.whole_share(_share_read(result) or sampling),
        )
    zone = selection.timezone
    if selection.week is not None and selection.start is not None and selection.end is not None:
        zone = f"{text.days(selection.start, selection.end)}, {zone}"  # without a week the title names the days
    parts = [zone, requests]
    people = [
        text.say("{n} tenants", n=words.count(summary.tenants)) if summary.tenants else "",
        text.say("{n} users", n=words.count(summary.users)) if summary.users else "",
    ]
    if any(people):
        parts.append(", ".join(filter(None, people)))
    parts += [f"{dimension} = {', '.join(values)}" for dimension, values in sorted(selection.where.items())]
    return " · ".join(parts)


def _gone(rolled: RolledFigures, text: Text) -> str:
    """What is left of a selection whose rows were dropped; loading its traces again would be refused."""
    if rolled.requests == 0:
        return text.say(
            "No request lies in this selection, and rows of its days were dropped by retention: take another range or filter."
        )
    return text.say(
        "The rows of these days were dropped by retention: {n} requests are told by roll-ups. Counts, attainment and costs remain; findings need rows.",
        n=words.count(_n_rolled(rolled)),
    )


def lead(result: AnalysisResult, text: Text) -> Rich:
    """The first finding in one sentence, or that nothing broke."""
    if result.summary.requests == 0:
        if result.rolled is not None:
            return plain(_gone(result.rolled, text))
        return plain(
            text.say("No request lies in this selection: load traces of these days, or take another range or filter.")
        )
    if result.findings:
        first = result.findings[0]
        pieces = [Piece(first.title, "strong")]
        if first.window is not None:
            pieces.append(Piece(f", {text.span(*first.window)}"))
        pieces.append(Piece(f". {_told(first, text)}"))
        others = {_incident(finding) for finding in result.findings} - {_incident(first)}
        if others:
            pieces.append(
                Piece(
                    " "
                    + text.many(len(others), "One further incident stands below.", "{n} further incidents stand below.")
                )
            )
        return tuple(pieces)
    if any(objective.verdict == "breached" for objective in result.objectives):
        return plain(text.say("No cause explains the breach: part 2 says what was tested and what would tell more."))
    judged = sum(1 for objective in result.objectives if objective.verdict == "met")
    if judged:
        return plain(text.say("Every objective that could be judged was kept. There is nothing to do."))
    return plain(text.say("No objective could be judged: part 12 says what to log."))


def _told(finding: Finding, text: Text) -> str:
    """What the stage did, from the evidence; the finding's own words where none tells it."""
    names = (finding.stage, text.say(finding.stage))
    grown = next(
        (
            e
            for e in finding.evidence
            if any(name in e.figure for name in names) and e.baseline is not None and e.unit == "s"
        ),
        None,
    )
    if grown is None:
        return finding.says
    return text.say("Stage {stage}: {evidence}.", stage=text.say(finding.stage), evidence=evidence_words(grown))


def verdict_lines(result: AnalysisResult, text: Text) -> tuple[VerdictLine, ...]:
    """One line per breached or endangered objective, one per further verdict; at most MAX_LINES."""
    loud = [o for verdict in ("breached", "endangered") for o in result.objectives if o.verdict == verdict]
    quiet = {
        verdict: [o for o in result.objectives if o.verdict == verdict] for verdict in ("met", "too_few", "unknown")
    }
    tail = [_together(verdict, found, text) for verdict, found in quiet.items() if found]
    room = max(1, MAX_LINES - len(tail))
    shown = loud if len(loud) <= room else loud[: room - 1]
    lines, told = [], set[str]()
    for objective in shown:
        finding = next((found for found in result.findings if found.objective == objective.id), None)
        lines.append(_loud_line(objective, finding, text, told=finding is not None and _incident(finding) in told))
        told |= {_incident(finding)} if finding is not None else set()
    if rest := loud[len(shown) :]:
        names = ", ".join(objective_label(text, objective) for objective in rest)
        more = text.many(len(rest), "one more:", "{n} more:")
        lines.append(VerdictLine(badge(text, rest[0].verdict), (Piece(more, "strong"), Piece(f" {_cut(names)} ", "sub"), Piece(text.say("all objectives"), "", "#p3")), ""))  # fmt: skip
    return tuple(lines + tail)


def heads(result: AnalysisResult, text: Text) -> Heads:
    """Goodput, availability, spend, data quality."""
    return Heads((_goodput(result, text), _availability(result, text), _spend(result, text), _quality(result, text)))


def _incident(finding: Finding) -> str:
    """What findings of one incident share."""
    return finding.incident or f"{finding.stage} {finding.segment} {finding.window}"


def _loud_line(objective: ObjectiveResult, finding: Finding | None, text: Text, *, told: bool) -> VerdictLine:
    sentence: list[Piece] = [Piece(objective_label(text, objective), "strong", f"#{_anchor(finding)}")]
    sentence.append(Piece(" – " + " · ".join(_clauses(objective, finding, text, told=told)), "sub"))
    return VerdictLine(
        badge(text, objective.verdict),
        tuple(sentence),
        words.whole_share(objective.budget_spent) if objective.budget_spent is not None else "",
    )


def _anchor(finding: Finding | None) -> str:
    return "p2" if finding is not None and finding.recommendations else "p3"


def _clauses(objective: ObjectiveResult, finding: Finding | None, text: Text, *, told: bool) -> list[str]:
    """Figure with interval, n and target; since when; where."""
    worst = objective.worst
    clauses = [_judged(objective, worst, text)]
    if worst is not None and worst.of is not None:
        clauses.append(worst.of)
    if finding is not None:
        mostly = text.say("same incident") if told else _mostly(finding, text)
        if worst is not None and objective.window is not None:
            mostly = f"{text.span(worst.start, worst.end)}, {mostly}"
        clauses.append(mostly)
    elif worst is not None and objective.window is not None:
        clauses.append(text.span(worst.start, worst.end))
    if objective.verdict == "endangered":
        firing = [burn for burn in objective.burn_rates if burn.firing and burn.long is not None]
        clauses += [
            text.say("burns {rate} over {window}, alert at {factor}", rate=words.times(burn.long), window=burn.window, factor=words.times(burn.factor))
            for burn in firing[:1]
        ]  # fmt: skip
    return clauses


def _mostly(finding: Finding, text: Text) -> str:
    """mostly queue on lm-large us-east."""
    where = segment_short(finding.segment)
    stage = text.say(finding.stage)
    return (
        text.say("mostly {stage} on {where}", stage=stage, where=where)
        if where
        else text.say("mostly {stage}", stage=stage)
    )


def _judged(objective: ObjectiveResult, worst: WindowVerdict | None, text: Text) -> str:
    """88.3 % (85.6–90.5) of 640 vs 95 %, sure."""
    source = worst if worst is not None else objective
    sure = worst.sure if worst is not None else objective.sure
    n = worst.n if worst is not None else objective.good + objective.bad
    surety = {True: text.say("sure"), False: text.say("within noise"), None: ""}[sure]
    if objective.target is not None:
        interval = f" ({words.share_interval(source.interval)})" if source.interval is not None else ""
        figure = text.say(
            "{share}{interval} of {n} vs {target}",
            share=words.share(source.attainment, objective.target),
            interval=interval,
            n=words.count(n),
            target=words.target_share(objective.target),
        )
    else:
        figure = text.say(
            "{value} vs {limit}, n {n}",
            value=" ".join(
                (statistic_words(objective.statistic or ""), words.figure(source.value, objective.unit))
            ).strip(),
            limit=limit_words(objective),
            n=words.count(n),
        )
    return f"{figure}, {surety}" if surety else figure


def _together(verdict: str, found: list[ObjectiveResult], text: Text) -> VerdictLine:
    """All objectives of one quiet verdict in one line."""
    names = ", ".join(objective_label(text, objective) for objective in found)
    pieces: list[Piece]
    if verdict == "met":
        pieces = [
            Piece(text.many(len(found), "one objective:", "{n} objectives:"), "strong"),
            Piece(f" {_cut(names)}", "sub"),
        ]
    elif verdict == "too_few":
        need = next((o.needed for o in found if o.needed is not None), None)
        had = f" {text.say('{n} needed.', n=words.count(need))}" if need is not None and len(found) == 1 else ""
        says = (
            f": {text.say('{n} requests.', n=words.count(found[0].good + found[0].bad))}{had}"
            if len(found) == 1
            else ""
        )
        pieces = [Piece(_cut(names), "strong"), Piece(says, "sub")]
    else:
        pieces = [
            Piece(_cut(names), "strong"),
            Piece(f": {text.say('no request has the figure.')} ", "sub"),
            Piece(text.say("What to log"), "", "#p12"),
        ]
    return VerdictLine(badge(text, verdict), tuple(pieces), "")


def _cut(names: str, room: int = 118) -> str:
    """A list of names that fits one line of the strip."""
    if len(names) <= room:
        return names
    return names[:room].rsplit(", ", 1)[0] + ", …"


def _common_day(breached: list[ObjectiveResult], result: AnalysisResult, text: Text) -> str | None:
    """The one day on which all breaches lie, where the selection is longer than a day."""
    days = {
        day_of(text, window.start)
        for objective in breached
        for window in objective.windows
        if window.verdict == "breached" and window.start is not None and objective.window is not None
    }
    too_short = result.selection.seconds is None or result.selection.seconds <= 86_400
    whole = any(objective.window is None for objective in breached)
    if len(days) != 1 or too_short or whole:
        return None
    day = days.pop()
    return text.weekday(day) if (result.selection.seconds or 0) <= 7 * 86_400 else text.day(day)


def _before(result: AnalysisResult, metric: str, text: Text) -> str | None:
    """How a figure stands against the baseline, in words."""
    change = find_change(result, metric)
    if change is None or change.change is None:
        return None
    name = baseline_name(text, result)
    moved = change_words(change)
    if change.verdict == "unchanged":
        return text.say("within noise of {name} ({change})", name=name, change=moved)
    return text.say("{name} {change}", name=name, change=moved)


def _goodput(result: AnalysisResult, text: Text) -> Head:
    good = result.goodput
    if good.requests_per_second is None or good.valid == 0:
        return Head(
            text.say("Goodput"), words.UNKNOWN, "", (plain(good.note or text.say("No request could be judged.")),)
        )
    rate = text.say("{n} output tok/s", n=words.number(good.output_tokens_per_second))
    before = _before(result, "goodput", text)
    said = words.count(good.valid - good.unknown)  # those of which it could be said
    of_valid = text.say("{share} of {n} valid requests good", share=words.share(good.ratio), n=said)
    if good.interval is not None:
        of_valid = text.say(
            "{share} ({interval}) of {n} valid requests good",
            share=words.share(good.ratio), interval=words.share_interval(good.interval), n=said,
        )  # fmt: skip
    first = f"{rate} · {before}" if before else rate
    return Head(
        text.say("Goodput"),
        words.number(good.requests_per_second),
        text.say("good req/s"),
        (plain(first), plain(of_valid)),
    )


def _availability(result: AnalysisResult, text: Text) -> Head:
    rate = result.availability.availability
    if rate.rate is None:
        return Head(text.say("Availability"), words.UNKNOWN, "", (plain(text.say("No valid request.")),))
    failed = text.say("{failed} failed", failed=of_count(text, rate.of - rate.n, rate.of))
    excluded = result.summary.requests - rate.of
    parts = [words.share_interval(rate.interval), failed] if rate.interval is not None else [failed]
    if excluded > 0:
        parts.append(text.say("{n} excluded", n=words.count(excluded)))
    if before := _before(result, "availability", text):
        parts.append(before)
    return Head(text.say("Availability"), words.share(rate.rate), "", (plain(" · ".join(parts)),))


def _spend(result: AnalysisResult, text: Text) -> Head:
    costs = result.costs
    if not has_price(costs):
        missing = costs.unpriced_requests or result.summary.unpriced_requests
        priced = round((costs.priced_share or 0) * result.summary.requests)
        says = (
            text.say("{n} of {of} requests priced", n=words.count(priced), of=words.count(result.summary.requests))
            if missing and priced
            else text.say("No price is known for {n} requests.", n=words.count(missing))
            if missing
            else text.say("No request has tokens and a price.")
        )
        return Head(text.say("Spend at token prices"), words.UNKNOWN, "", (plain(says),))
    parts = []
    per_good = words.decimal(result.goodput.cost_per_good_request_usd)
    if per_good is not None:
        parts.append(
            text.say(
                "{usd} USD per 1,000 good of {objective}",
                usd=words.number(per_good * Decimal(1000)), objective=result.goodput.objective,
            )
            if result.goodput.objective
            else text.say("{usd} USD per 1,000 good", usd=words.number(per_good * Decimal(1000)))
        )  # fmt: skip
    if before := _before(result, "cost", text):
        parts.append(before)
    if costs.priced_share is not None:
        parts.append(text.say("{share} of requests priced", share=words.share(costs.priced_share)))
    return Head(
        text.say("Spend at token prices"), words.money(costs.total_usd), costs.currency, (plain(" · ".join(parts)),)
    )


def _quality(result: AnalysisResult, text: Text) -> Head:
    quality = result.data_quality
    grades = {
        "A": text.say("complete"),
        "B": text.say("good"),
        "C": text.say("use with care"),
        "D": text.say("verdicts are withheld"),
    }
    grade = grades[quality.grade] if quality.grade in grades else text.say("no requests")
    parts = []
    if quality.sampling_rate is not None and quality.sampling_rate < 1:
        grade = f"{grade}, {text.say('sampled')}"
        rate = words.whole_share(_share_read(result) or quality.sampling_rate)
        parts.append(text.say("{rate} of traces read; sums are divided by it", rate=rate))
    parts.append(
        text.say(
            "{rejected} rows rejected of {read}", rejected=words.count(quality.rejected), read=words.count(quality.read)
        )
    )
    line = (Piece(" · ".join(parts) + " · "), Piece(text.say("details"), "", "#p12"))
    return Head(text.say("Data quality"), quality.grade or words.UNKNOWN, grade, (line,))
