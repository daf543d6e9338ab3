"""The first page of the service: what is loaded, what holds, which reports stand.

Input: HomeView; Text. Output: the page model.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.result import AnalysisResult, ObjectiveResult
from reports import text as words
from reports.text import Text
from reports.view import verdict
from reports.view.blocks import Badge, Cell, Column, Piece, Rich, Row, Table, number_cell, row, text_cell
from reports.view.labels import badge, objective_address, objective_rule, worst_verdict
from reports.view.objectives import attained_words, budget_cell, burn_cell, ordered
from reports.view.service import HomeView, ReportItem, UploadItem
from reports.view.times import spans_of


@dataclass(frozen=True)
class Running:
    """An upload that is still being read: the script follows its events."""

    id: str
    name: str
    state: str


@dataclass(frozen=True)
class HomePage:
    simulated: bool
    now: Badge | None
    now_says: Rich
    now_note: str
    report: str | None  # address of the latest report
    report_label: str
    running: tuple[Running, ...]
    uploads: Table | None
    rejects: Table | None
    objectives: Table | None
    objectives_note: str
    reports: Table | None
    empty: bool
    kept: str
    links: tuple[tuple[str, str], ...]


def home_of(view: HomeView, text: Text) -> HomePage:
    latest = view.latest
    done = [upload for upload in view.uploads if upload.state not in ("waiting", "reading")]
    return HomePage(
        simulated=view.simulated,
        now=badge(text, worst_verdict(latest.objectives)) if latest is not None else None,
        now_says=_now(latest, text),
        now_note=_latest_request(latest, text),
        report=f"/reports/{view.latest_report}" if view.latest_report is not None else None,
        report_label=text.say("Open the latest report"),
        running=tuple(
            Running(u.id, u.name, text.say(u.state)) for u in view.uploads if u.state in ("waiting", "reading")
        ),
        uploads=_uploads(done, text) if done else None,
        rejects=_rejects(done, text),
        objectives=_objectives(latest, text) if latest is not None and latest.objectives else None,
        objectives_note=verdict.under_title(latest, text) if latest is not None else "",
        reports=_reports(view.reports, text) if view.reports else None,
        empty=not view.uploads and not view.reports,
        kept=_kept(view, text),
        links=tuple(view.extra_links),
    )


def _now(latest: AnalysisResult | None, text: Text) -> Rich:
    if latest is None:
        return (Piece(text.say("Nothing to show yet. Drop traces on the left.")),)
    breached = [objective for objective in latest.objectives if objective.verdict == "breached"]
    if not breached:
        return (Piece(verdict.title(latest, text), "strong"),)
    first = latest.findings[0] if latest.findings else None
    pieces = [
        Piece(
            text.say("{n} of {of} objectives", n=str(len(breached)), of=str(len(latest.objectives))),
            "strong",
            objective_address(breached[0].id, latest.selection),
        )
    ]
    if first is not None:
        window = f", {text.span(*first.window)}" if first.window is not None else ""
        pieces.append(Piece(f"{window}: {first.title}"))
    return tuple(pieces)


def _latest_request(latest: AnalysisResult | None, text: Text) -> str:
    if latest is None or latest.summary.last is None:
        return ""
    return text.say(
        "Latest request {when} · {n} requests",
        when=f"{text.moment(latest.summary.last)} {text.zone.key}", n=text.short_count(latest.summary.requests_estimated),
    )  # fmt: skip


def _upload_badge(upload: UploadItem, text: Text) -> Badge:
    if upload.state == "done":
        if upload.rejected:
            return Badge("endangered", text.say("Done, {n} rejected", n=words.count(upload.rejected)))
        return Badge("met", text.say("Done"))
    if upload.state == "failed":
        return Badge("breached", text.say("Not read"))
    return Badge("unknown", text.say(upload.state))


def _upload_says(upload: UploadItem, text: Text) -> tuple[Rich, ...]:
    told = [upload.message] if upload.message else []
    if upload.rolled_up:
        told.append(text.say("{n} rows rolled up and dropped", n=words.count(upload.rolled_up)))
    return tuple((Piece(line, "hint"),) for line in told)


def _kept(view: HomeView, text: Text) -> str:
    """How long rows are kept, and up to when only roll-ups are; empty where nothing was ever dropped."""
    says = [] if view.retention is None else [text.say("Rows are kept for {keep}.", keep=view.retention)]
    if view.rolled_until is not None:
        says.append(text.say("Of the time before {when}, dropped days are told by their roll-ups.", when=text.moment(view.rolled_until)))  # fmt: skip
    return " ".join(says)


def _uploads(uploads: list[UploadItem], text: Text) -> Table:
    rows = tuple(
        row(
            upload.name,
            Cell(_upload_says(upload, text), badge=_upload_badge(upload, text)),
            text_cell(upload.format or words.UNKNOWN),
            number_cell(words.count(upload.read)),
            number_cell(words.count(upload.accepted)),
            number_cell(words.count(upload.duplicate)),
            number_cell(words.count(upload.rejected)),
            text_cell(text.moment(upload.received)),
        )
        for upload in uploads
    )
    columns = (
        Column(text.say("File")), Column(text.say("State")), Column(text.say("Format")), Column(text.say("Read"), number=True), Column(text.say("Accepted"), number=True),
        Column(text.say("Duplicate"), number=True), Column(text.say("Rejected"), number=True), Column(text.say("Loaded")),
    )  # fmt: skip
    caption = text.say("Read = accepted + duplicate + rejected, for every file. Times in {zone}.", zone=text.zone.key)
    return Table(text.say("Uploads"), columns, rows, caption=caption, cards=True)


def _rejects(uploads: list[UploadItem], text: Text) -> Table | None:
    """Rejected rows by file and reason, with the address of the rows themselves."""
    rows: list[Row] = [
        row(
            upload.name,
            text_cell(reason, style="code"),
            number_cell(words.count(n)),
            text_cell(text.say("the rows"), href=f"/api/v1/uploads/{upload.id}/rejects"),
        )
        for upload in uploads
        for reason, n in sorted(upload.reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    if not rows:
        return None
    columns = (
        Column(text.say("File")),
        Column(text.say("Reason")),
        Column(text.say("Rows"), number=True),
        Column(text.say("Where")),
    )
    return Table(text.say("Rejected rows"), columns, tuple(rows), cards=True)


def _objectives(latest: AnalysisResult, text: Text) -> Table:
    rows = []
    for objective in ordered(latest.objectives):
        head = Cell(
            (
                (Piece(objective.id, "code", objective_address(objective.id, latest.selection)),),
                (Piece(objective_rule(text, objective), "note"),),
            )
        )
        figure, under = attained_words(objective)
        last = _last_breach(objective, latest)
        rows.append(
            row(
                head,
                Cell(badge=badge(text, objective.verdict)),
                number_cell(figure, under),
                budget_cell(objective),
                burn_cell(objective),
                text_cell(words.UNKNOWN if last is None else text.moment(last)),
            )
        )
    columns = (
        Column(text.say("Objective")), Column(text.say("Verdict")), Column(text.say("Measured"), number=True), Column(text.say("Budget spent")),
        Column(text.say("Fastest burn"), number=True), Column(text.say("Last breach")),
    )  # fmt: skip
    return Table(text.say("Objectives"), columns, tuple(rows), cards=True)


def _last_breach(objective: ObjectiveResult, latest: AnalysisResult) -> str | None:
    """Since when the last breached window was broken: its finding's latest time in it, else its first data."""
    breached = [(w.start, w.end or w.start) for w in objective.windows if w.verdict == "breached" and w.start]
    if not breached:
        return None
    start, end = max(breached)
    found = [when[0] for one in latest.findings if one.objective == objective.id for when in spans_of(one)]
    inside = [since for since in found if start <= since < end]
    return max(max(inside, default=start), latest.summary.first or start)


def _reports(reports: list[ReportItem], text: Text) -> Table:
    rows = []
    for report in reports:
        address = f"/reports/{report.id}"
        head = Cell(((Piece(report.title, "", address),),))
        of = (
            text.say("{n} of {of} breached", n=words.count(report.breached), of=words.count(report.objectives))
            if report.breached
            else ""
        )
        found = Cell(
            ((Piece(of, "hint"),),) if of else (),
            badge=badge(text, report.verdict) if report.verdict is not None else None,
        )
        links: Rich = (
            Piece("HTML", "", address), Piece(" "), Piece("PDF", "", f"{address}.pdf"), Piece(" "), Piece("CSV", "", f"{address}.csv"), Piece(" "),
            Piece("Markdown", "", f"{address}.md"), Piece(" "), Piece("JSON", "", f"{address}.json"),
        )  # fmt: skip
        rows.append(
            row(
                head,
                found,
                number_cell(words.number(report.goodput_per_second)),
                number_cell(words.money(report.cost_usd)),
                text_cell(report.grade or words.UNKNOWN),
                text_cell(text.moment(report.made)),
                Cell((links,)),
            )
        )
    columns = (
        Column(text.say("Report")), Column(text.say("Verdict")), Column(text.say("Goodput, req/s"), number=True), Column(text.say("Spend, USD"), number=True),
        Column(text.say("Data quality")), Column(text.say("Made")), Column(text.say("Download")),
    )  # fmt: skip
    return Table(text.say("Reports"), columns, tuple(rows), cards=True)
