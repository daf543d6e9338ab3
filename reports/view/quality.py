"""Part 12: what was read and refused, what each field covers, the grade by check, what to log.

Input: data quality of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, DataQuality
from reports import text as words
from reports.text import Text
from reports.view.blocks import (
    Block,
    Cell,
    Column,
    Columns,
    Fact,
    Facts,
    Message,
    Panel,
    Part,
    Piece,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)

MAX_REJECTS = 20
MAX_NAMES = 20
MAX_RATES = 6
DERIVED = frozenset(
    {"before_first_token", "after_first_token", "unattributed", "cost", "quality"}
)  # not for a source to log


def quality_part(result: AnalysisResult, text: Text) -> Part:
    quality = result.data_quality
    title = text.say("12. Data quality: {grade}", grade=quality.grade or words.UNKNOWN)
    lead = text.say(
        "Read {read} = accepted {accepted} + duplicate {duplicate} + rejected {rejected}.",
        read=words.count(quality.read), accepted=words.count(quality.accepted),
        duplicate=words.count(quality.duplicate), rejected=words.count(quality.rejected),
    )  # fmt: skip
    blocks: list[Block] = [
        Message(plain(note), "warn" if quality.grade == "D" else "note") for note in (*quality.notes, *result.notes)
    ]
    pairs = [found for found in (_checks(quality, text), _coverage(quality, text)) if found is not None]
    if pairs:
        blocks.append(Columns(tuple(pairs)))
    if quality.uploads:
        blocks.append(_uploads(quality, text))
    blocks.append(_rejects(quality, text))
    if sampled := _sampled(quality, text):
        blocks.append(sampled)
    if quality.not_understood or quality.flags:
        blocks.append(_names(quality, text))
    return Part("p12", title, text.say("12. Data quality"), lead, tuple(blocks))


def _checks(quality: DataQuality, text: Text) -> Panel | None:
    if not quality.checks:
        return None
    rows = tuple(
        row(
            Cell(((Piece(check.title),), (Piece(check.says, "hint"),))),
            number_cell(words.share(check.value)),
            text_cell(check.grade, style="strong"),
        )
        for check in quality.checks
    )
    table = Table(
        name=text.say("Checks of the grade"),
        caption=text.say("The grade of the report is the lowest; D withholds verdicts"),
        columns=(Column(text.say("Check")), Column(text.say("Found"), number=True), Column(text.say("Grade"))),
        rows=rows,
    )
    return Panel(text.say("Grade by check"), (table,))


def _coverage(quality: DataQuality, text: Text) -> Panel | None:
    """Fields that some requests lack; those that all have are named in one line, those that none has as advice."""
    known = {
        field.field: field
        for field in sorted(quality.coverage, key=lambda found: found.n)
        if field.field not in DERIVED
    }
    if not known:
        return None
    in_order = [known[name] for name in dict.fromkeys(field.field for field in quality.coverage) if name in known]
    partial = [field for field in in_order if field.n and field.share is not None and field.share < 1]
    whole = [field.field for field in in_order if field.share == 1]
    missing = [field.field for field in in_order if field.n == 0]
    blocks: list[Block] = []
    if missing:
        pieces = [Piece(text.say("To learn more, log:"), "strong")]
        for name in missing:
            pieces += [Piece(" "), Piece(name, "code")]
        blocks.append(Message(tuple(pieces)))
    if partial:
        rows = tuple(
            row(text_cell(c.field, style="code"), number_cell(words.share(c.share)), number_cell(words.count(c.n)))
            for c in partial
        )
        columns = (Column(text.say("Field")), Column(text.say("Share"), number=True), Column("n", number=True))
        blocks.append(Table(text.say("Share of requests that have a field"), columns, rows))
    if whole:
        blocks.append(Message(plain(text.say("Known for every request: {names}.", names=", ".join(whole)))))
    return Panel(text.say("Share of requests that have a field"), tuple(blocks))


def _uploads(quality: DataQuality, text: Text) -> Panel:
    rows = tuple(
        row(
            upload.name,
            text_cell(upload.format or words.UNKNOWN),
            text_cell(text.say(upload.state)),
            number_cell(words.count(upload.read)),
            number_cell(words.count(upload.accepted)),
            number_cell(words.count(upload.duplicate)),
            number_cell(words.count(upload.rejected)),
            text_cell(upload.message or "", style="note"),
        )
        for upload in quality.uploads
    )
    columns = (
        Column(text.say("File")), Column(text.say("Format")), Column(text.say("State")), Column(text.say("Read"), number=True),
        Column(text.say("Accepted"), number=True), Column(text.say("Duplicate"), number=True), Column(text.say("Rejected"), number=True), Column(text.say("Note")),
    )  # fmt: skip
    return Panel(text.say("Files"), (Table(text.say("Files"), columns, rows, cards=True),))


def _rejects(quality: DataQuality, text: Text) -> Panel:
    title = text.say("Rejected rows")
    if not quality.rejected:
        return Panel(title, (Message(plain(text.say("No row was rejected."))),))
    reasons = ", ".join(
        f"{reason} {words.count(n)}"
        for reason, n in sorted(quality.reasons.items(), key=lambda item: (-item[1], item[0]))
    )
    shown = quality.rejects[:MAX_REJECTS]
    rows = tuple(
        row(
            reject.upload,
            number_cell(words.count(reject.line) if reject.line is not None else text.say("byte {n}", n=words.count(reject.offset)) if reject.offset is not None else words.UNKNOWN),
            text_cell(reject.reason, style="code"),
            text_cell(reject.says),
            text_cell(reject.head[:60], style="code"),
        )
        for reject in shown
    )  # fmt: skip
    table = Table(
        name=title,
        caption=text.say("The first {n} of {of}: {reasons}", n=words.count(len(shown)), of=words.count(quality.rejected), reasons=reasons),
        columns=(Column(text.say("File")), Column(text.say("Line"), number=True), Column(text.say("Reason")), Column(text.say("Meaning")), Column(text.say("Begins with"))),
        rows=rows,
        cards=True,
    )  # fmt: skip
    return Panel(title, (table,))


def _sampled(quality: DataQuality, text: Text) -> Panel | None:
    facts = []
    if quality.sampling_rate is not None and quality.sampling_rate < 1:
        says = text.say(
            "{rate} of requests were kept; counts, sums and rates are divided by it, percentiles are not",
            rate=words.share(quality.sampling_rate),
        )
        if len(quality.sampling) > 1:
            says = text.say(
                "Rates differ: {mix}. Sums and rates are divided by the rate of each request, and percentiles, means and shares weigh each by its inverse",
                mix=_mix(quality.sampling, text),
            )
        facts.append(Fact(text.say("Sampling"), (plain(says),)))
    if quality.n_effective is not None:
        told = words.count(quality.n_effective)
        if len(quality.sampling) > 1:
            told = text.say(
                "{n}: as many requests of one rate would tell as much as the {of} that were read",
                n=told,
                of=words.count(sum(quality.sampling.values())),
            )
        facts.append(Fact(text.say("Effective n"), (plain(told),)))
    if quality.straddlers:
        says = text.say(
            "{n} requests began inside the selection and ended after it; {tokens} tokens",
            n=words.count(quality.straddlers),
            tokens=words.count(quality.straddler_tokens),
        )
        if quality.straddler_cost_usd is not None:
            says += text.say(
                ", {cost}: a bill by end of work differs by them", cost=words.dollars(quality.straddler_cost_usd)
            )
        facts.append(Fact(text.say("Across the end"), (plain(says),)))
    if quality.n_without_time:
        facts.append(
            Fact(
                text.say("Without a time"),
                (plain(text.say("{n} requests, in no range", n=words.count(quality.n_without_time))),),
            )
        )
    if quality.unattributed_share is not None:
        facts.append(Fact(text.say("Unattributed time"), (plain(words.share(quality.unattributed_share)),)))
    return Panel(text.say("How the figures are to be read"), (Facts(tuple(facts)),)) if facts else None


def _mix(sampling: dict[str, int], text: Text) -> str:
    """Every rate with the requests read at it, the most frequent first."""
    ranked = sorted(sampling.items(), key=lambda item: (-item[1], -float(item[0])))
    told = [
        text.say("{rate} of {n} requests", rate=words.share(float(rate)), n=words.count(n))
        for rate, n in ranked[:MAX_RATES]
    ]
    if len(ranked) > MAX_RATES:
        told.append(text.say("{n} further rates", n=words.count(len(ranked) - MAX_RATES)))
    return ", ".join(told)


def _names(quality: DataQuality, text: Text) -> Panel:
    facts = []
    flags = ", ".join(
        f"{name} {words.count(n)}" for name, n in sorted(quality.flags.items(), key=lambda item: (-item[1], item[0]))
    )
    if flags:
        facts.append(Fact(text.say("Marks on requests"), (plain(flags),)))
    ranked = sorted(quality.not_understood.items(), key=lambda item: (-item[1], item[0]))
    if ranked:
        names = ", ".join(f"{name} ({words.count(n)})" for name, n in ranked[:MAX_NAMES])
        more = text.say(" and {n} more", n=words.count(len(ranked) - MAX_NAMES)) if len(ranked) > MAX_NAMES else ""
        facts.append(Fact(text.say("Attributes without a meaning here"), (plain(names + more),)))
    return Panel(text.say("What a mapping could add"), (Facts(tuple(facts)),))
