"""Answers as text for a terminal of 80 columns.

Input: receipts, results. Output: lines without color; every figure is rounded by reports/text.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from analysis.result import AnalysisResult, Costs, Finding, ObjectiveResult, Prediction, Recommendation
from api.doctor import Check
from ingest.errors import REJECT_REASONS, Reject
from ingest.receipts import Inspection, Receipt
from reports import text
from reports.text import Text
from reports.view.follow_up import check_words, heading
from reports.view.labels import has_price, is_spent, objective_rule, text_for
from reports.view.shift import shift_line
from reports.view.times import spans_of

WIDTH = 80
LABEL = 12
SHOWN_REJECTS = 3
SHOWN_NAMES = 6
HEAD = 60
CENTS_FROM_USD = 100  # a total of this much is read in cents
VERDICT_ORDER = ("breached", "endangered", "unknown", "too_few", "met")
VERDICT_WORDS = {
    "breached": "BREACHED",
    "endangered": "ENDANGERED",
    "unknown": "unknown",
    "too_few": "too few",
    "met": "met",
}
WANTED = (  # what an answer needs most; named where a source lacks it
    "started_ns",
    "e2e_ns",
    "ttft_ns",
    "generation_ns",
    "queue_ns",
    "prefill_ns",
    "decode_ns",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "model",
    "scenario",
    "tenant",
    "user",
    "replica",
)
BASES = {
    "back_to_normal": "if the figures go back to what is normal",
    "remedy": "worked out for this remedy on this traffic",
}
BOOKKEEPING = frozenset({"request_key", "upload_id", "source", "sampling_rate", "n_call_rows", "flags", "attributes"})
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM"}


def receipt_lines(receipt: Receipt) -> list[str]:
    """What became of a source, to the line."""
    if receipt.state != "done" or receipt.format is None:
        told = receipt.message or "no reason was told"
        return [told if told.startswith(receipt.name) else f"{receipt.name}: {receipt.state}: {told}"]
    lines = [
        f"{receipt.name}: {receipt.format}, read {receipt.read:,} = accepted {receipt.accepted:,} "
        f"+ duplicate {receipt.duplicate:,} + rejected {receipt.rejected:,}"
    ]
    for reject in receipt.rejects[:SHOWN_REJECTS]:
        place = _place(reject)
        why = REJECT_REASONS.get(reject.reason, reject.reason)
        head = reject.head if len(reject.head) <= HEAD else reject.head[:HEAD] + "…"
        told = "".join(f": {_printable(part)}" for part in (reject.detail, head) if part)  # protobuf has no head
        lines.append(f"  {place}: {why} ({reject.reason}){told}")
    if receipt.rejected > len(receipt.rejects[:SHOWN_REJECTS]):
        counts = ", ".join(f"{n:,} x {reason}" for reason, n in sorted(receipt.reasons.items()))
        lines.append(f"  rejected in all: {counts}")
    if receipt.not_understood:
        names = [f"{_printable(name)} on {n:,}" for name, n in list(receipt.not_understood.items())[:SHOWN_NAMES]]
        more = len(receipt.not_understood) - SHOWN_NAMES
        rest = f" and {more} more" if more > 0 else ""
        lines.extend(_wrapped(f"not understood, kept as attributes: {', '.join(names)}{rest}", "  "))
    for note in (*receipt.notes, *((receipt.message,) if receipt.message else ())):
        lines.extend(_wrapped(note, "  "))
    return lines


def _place(reject: Reject) -> str:
    """Where a refused row stands: its line, or the byte at which it begins in a source without lines."""
    if reject.line is not None:
        return f"line {reject.line}"
    return f"byte {reject.offset:,}" if reject.offset is not None else "a row"


def head_lines(result: AnalysisResult) -> list[str]:
    """What was analyzed, and its size."""
    summary = result.summary
    sampled = summary.requests_estimated > summary.requests
    of = f" (a sample of {text.short_count(summary.requests_estimated)})" if sampled else ""
    if not summary.requests:
        return _nothing_lines(result)
    said = [f"{text.count(summary.requests)} requests{of}"]
    if summary.output_tokens is not None:
        said.append(
            f"{text.compact(summary.input_tokens)} input and {text.compact(summary.output_tokens)} output tokens"
        )
    if is_spent(summary.cost_usd, summary.unpriced_requests, summary.requests):
        said.append(f"{text.dollars(summary.cost_usd)}")
    if summary.unpriced_requests:
        said.append(f"{text.count(summary.unpriced_requests)} unpriced")
    if result.goodput.ratio is not None:
        judged = result.goodput.valid - result.goodput.unknown
        of_judged = f" of the {text.count(judged)} judged" if result.goodput.unknown else ""
        said.append(f"{text.share(result.goodput.ratio)}{of_judged} good")
    said.append(f"data quality {result.data_quality.grade or text.UNKNOWN}")
    return [*_wrapped(result.selection.title, ""), *_wrapped(", ".join(said), "")]


def _nothing_lines(result: AnalysisResult) -> list[str]:
    """The head of a result without requests: no figure, and no grade."""
    quality, rolled = result.data_quality, result.rolled
    said = ["no requests: every row was rejected"] if quality.read and quality.read == quality.rejected else []
    if rolled is not None and rolled.requests:
        cost = f", {text.dollars(rolled.cost_usd)}" if rolled.cost_usd is not None else ""
        said = [f"{text.count(rolled.requests)} requests{cost}; their rows were dropped by retention"]
    return [line for told in (result.selection.title, *said, *result.notes) for line in _wrapped(told, "")]


def verdict_lines(result: AnalysisResult) -> list[str]:
    """One line per objective, broken ones first, each with the first finding about it."""
    said = Text.of("en", result.selection.timezone)
    told: set[str] = set()
    ordered = sorted(result.objectives, key=lambda row: VERDICT_ORDER.index(row.verdict))
    lines: list[str] = []
    for row in ordered:
        word = VERDICT_WORDS[row.verdict]
        lines.extend(_labeled(f"{word:<{LABEL - 2}}", f"{row.id}: {_promised(row, said)}"))
        found = next((f for f in result.findings if f.objective == row.id), None)
        if found is not None:
            again = found.incident is not None and found.incident in told
            lines.extend(_labeled("", "the same incident" if again else found.title))
            told.add(found.incident or "")
    return lines


def _promised(row: ObjectiveResult, said: Text) -> str:
    """What the objective asks, how it stands, and whether more requests may turn that."""
    surety = {True: " The verdict is sure.", False: " The verdict is within noise.", None: ""}[row.sure]
    told = surety if row.verdict in ("breached", "met") else ""
    return f"{objective_rule(said, row)}. {row.says}{told}"


def diagnosis_lines(
    result: AnalysisResult, objective: ObjectiveResult, told: dict[str, str] | None = None
) -> list[str]:
    """One objective with its findings in full; of an incident in `told`, only where its advice stands.

    Args:
        told: incident to the objective under which it was told; grows.
    """
    told = {} if told is None else told
    said = Text.of("en", result.selection.timezone)
    lines = [f"{objective.id}: {VERDICT_WORDS[objective.verdict]}", *_wrapped(_promised(objective, said), "  ")]
    findings = [finding for finding in result.findings if finding.objective == objective.id]
    for number, finding in enumerate(findings, 1):
        lines += ["", *_wrapped(f"{number}. {finding.title}", "  ", "     "), *_finding_lines(finding, objective, said)]
        before = told.get(finding.incident or "")
        lines += (
            _fact("do", f"as under {before}: it is one incident") if before else _counsel_lines(finding, objective.unit)
        )
        if finding.incident and not before:
            told[finding.incident] = objective.id
    if objective.verdict in ("breached", "endangered") and not findings:
        lines.extend(_wrapped("No cause was found that the figures bear out.", "  "))
    return lines


def quiet_lines(objectives: Sequence[ObjectiveResult]) -> list[str]:
    """The objectives that need nothing, in one line per verdict."""
    lines: list[str] = []
    for verdict in VERDICT_ORDER:
        ids = [row.id for row in objectives if row.verdict == verdict]
        if ids:
            lines.extend(_labeled(f"{VERDICT_WORDS[verdict]:<{LABEL - 2}}", ", ".join(ids)))
    return lines


def cost_lines(costs: Costs) -> list[str]:
    """The cost cube as a table with its total, and what stands beside it."""
    total = text.decimal(costs.total_usd)
    to_the_cent = total is not None and total >= CENTS_FROM_USD
    header = [*costs.by, "requests", "input", "cached", "output", "USD"]
    rows = [
        [
            *(row.by.get(name) or "(unattributed)" for name in costs.by),
            text.count(row.requests),
            text.count(row.input_tokens),
            text.count(row.cached_input_tokens),
            text.count(row.output_tokens),
            _amount(
                row.cost_usd if is_spent(row.cost_usd, row.unpriced_requests, row.requests) else None,
                to_the_cent=to_the_cent,
            ),
        ]
        for row in costs.rows
    ]
    lines = [*table_lines(header, rows, figures=5), ""]
    whole = _amount(costs.total_usd if has_price(costs) else None, to_the_cent=to_the_cent)
    lines.extend(_wrapped(f"total {whole} USD", ""))
    for name, amount in (("wasted", costs.wasted_usd), ("idle", costs.idle_usd), ("self-hosted", costs.gpu_usd)):
        if amount is not None:
            lines.append(f"{name} {_amount(amount, to_the_cent=to_the_cent)} USD")
    lines.extend(_wrapped(costs.price_book, "price book: ", "  "))
    for unpriced in costs.unpriced:
        lines.extend(_wrapped(unpriced.says, "unpriced: ", "  "))
    for note in costs.notes:
        lines.extend(_wrapped(note, "note: ", "  "))
    return lines


def _amount(usd: str | None, *, to_the_cent: bool) -> str:
    """Money at the prompt; the exact amounts of a large bill are those of --format csv."""
    if usd is None:
        return text.UNKNOWN
    return text.cents(usd) if to_the_cent else usd


def inspection_lines(inspection: Inspection) -> list[str]:
    """What a file is, and which columns its rows fill."""
    receipt = inspection.receipt
    titled = f" ({inspection.title})" if inspection.title else ""
    lines = receipt_lines(receipt)
    lines[0] += titled
    if receipt.state == "done" and receipt.accepted and not inspection.requests and receipt.format != "replica_hours":
        lines.append("  makes 0 requests: none of its spans is a call of a model")
    if receipt.state == "done" and inspection.requests:
        lines.append(f"  makes {inspection.requests:,} request{'s' if inspection.requests != 1 else ''}")
        filled = {name: n for name, n in inspection.filled.items() if name not in BOOKKEEPING}
        whole = [name for name, n in filled.items() if n == inspection.requests]
        part = [f"{name} {n / inspection.requests:.0%}" for name, n in filled.items() if name not in whole]
        lines.extend(_wrapped(", ".join(whole), "  in every row: ", "    "))
        lines.extend(_wrapped(", ".join(part), "  in some rows: ", "    ") if part else [])
        absent = [name for name in WANTED if name not in inspection.filled]
        lines.extend(_wrapped(", ".join(absent), "  lacks: ", "    ") if absent else [])
    return lines


def follow_up_lines(result: AnalysisResult, objective: str | None = None) -> list[str]:
    """What became of earlier recommendations, of one objective or all; none where nothing had been advised."""
    told, said = result.follow_up, text_for(result, "en")
    checks = [c for c in told.checks if objective in (None, c.objective)] if told is not None else []
    if told is None or not checks:
        return []
    lines = ["", heading(told, said)]
    for check in checks:
        lines += _wrapped(f"{check.title}: {check_words(check, result, said)}", "  ", "    ")
    return lines


def _finding_lines(finding: Finding, objective: ObjectiveResult, said: Text) -> list[str]:
    segment = ", ".join(f"{name} = {value}" for name, value in finding.segment.items()) or "everywhere"
    lines = [
        *_wrapped(finding.says.removeprefix(objective.says).strip(), "     "),  # told above already
        *_fact("stage", finding.stage),
        *_fact("segment", segment),
        *_fact("together", "; ".join(f"{k} = {', '.join(v)}" for k, v in finding.moves_together.items())),
        *_fact("when", _when(finding, said)),
        *_fact("cause", f"{finding.cause or 'not known'}, confidence {finding.confidence}"),
        *_fact("explains", _explained(finding)),
        *_fact("shift", shift_line(finding.shift, said) if finding.shift is not None else ""),
    ]
    for evidence in finding.evidence:
        before = f" (before: {text.figure(evidence.baseline, evidence.unit)})" if evidence.baseline is not None else ""
        n = f", n = {evidence.n:,}" if evidence.n is not None else ""
        lines.extend(_fact("evidence", f"{evidence.figure}: {text.figure(evidence.value, evidence.unit)}{before}{n}"))
    return [*lines, *_fact("look at", ", ".join(finding.exemplars[:3]))]


def _counsel_lines(finding: Finding, unit: str) -> list[str]:
    """What to do, what not to do, and what could not be judged."""
    lines: list[str] = []
    before: Recommendation | None = None
    for recommendation in finding.recommendations:
        lines.extend(_advice_lines(recommendation, before, unit))
        before = recommendation
    for item in finding.contraindicated:
        lines.extend(_fact("do not", f"{item.id}: {item.why}"))
    for untested in finding.untested:
        lines.extend(_fact("untested", f"{untested.id}: needs {', '.join(untested.missing)}"))
    return lines


def _when(finding: Finding, said: Text) -> str:
    times = [f"{said.moment(start)} to {said.moment(end)}" for start, end in spans_of(finding)]
    return f"{', '.join(times)} ({said.zone.key})" if times else ""


def _advice_lines(recommendation: Recommendation, before: Recommendation | None, unit: str) -> list[str]:
    """One recommendation; what it shares with the one before is not told again."""
    entry = f", {recommendation.entry}" if recommendation.entry else ""
    lines = _fact("do", f"{recommendation.title} ({recommendation.id}{entry})")
    if before and recommendation.entry and before.entry == recommendation.entry:
        return [*lines, *_inner("how", f"as for {before.id}, of the same rule")]
    lines += _inner("why", recommendation.why)
    for engine, action in recommendation.actions.items():
        lines += _inner(ENGINES.get(engine, engine), action)
    if recommendation.predicted is not None:
        lines += _inner("predicted", _predicted(recommendation.predicted, unit))
    else:
        lines += _inner("not predicted", recommendation.not_predicted or "")
    if (cost := recommendation.cost) is not None:
        change = (
            f"{text.dollars(cost.change_usd)} over the incident: " if cost.change_usd is not None else "not known: "
        )
        lines += _inner("cost", f"{change}{cost.says}")
    return [*lines, *_inner("risk", recommendation.risk), *_inner("verify", recommendation.verify)]


def _predicted(prediction: Prediction, unit: str) -> str:
    said = []
    if prediction.attainment is not None:
        between = ""
        if prediction.low is not None and prediction.high is not None:
            between = f" ({text.share_interval((prediction.low, prediction.high))})"
        said.append(f"{text.share(prediction.attainment)} within the limit{between}")
    if prediction.value is not None:
        said.append(f"value {text.figure(prediction.value, unit)}")
    said.append(BASES.get(prediction.basis, prediction.basis))
    return "; ".join([*said, f"leaves out: {prediction.ignores}"] if prediction.ignores else said)


def _explained(finding: Finding) -> str:
    if finding.share_of_bad is None:
        return ""
    structural = finding.structural_share
    always = f"; {text.share(structural)} are bad at any time" if structural is not None else ""
    n = f"{finding.n_over:,} " if finding.n_over is not None else ""
    return f"{text.share(finding.share_of_bad)} of the {n}bad requests over the limit{always}"


def _fact(label: str, value: str) -> list[str]:
    """A label and its value, wrapped under it; nothing without a value."""
    return _wrapped(value, f"     {label:<{LABEL - 2}}", " " * (LABEL + 3)) if value else []


def _inner(label: str, value: str) -> list[str]:
    return _wrapped(f"{label}: {value}", " " * (LABEL + 3), " " * (LABEL + 5)) if value else []


def _labeled(label: str, value: str) -> list[str]:
    return _wrapped(value, f"{label:<{LABEL - 2}} ", " " * (LABEL - 1))


def _wrapped(value: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        _printable(value),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _printable(value: str) -> str:
    """Names come from traces: what would move the cursor or color the terminal is shown as a dot."""
    return "".join(c if c.isprintable() or c == text.NBSP else "·" for c in value)


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], *, figures: int) -> list[str]:
    """A table; the last `figures` columns stand right."""
    whole = [list(header), *([_printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in whole) for i in range(len(header))]
    first_figure = len(header) - figures
    return [
        "  ".join(
            cell.rjust(width) if i >= first_figure else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in whole
    ]


def entry_lines(title: str, facts: dict[str, str]) -> list[str]:
    """One entry of a catalog."""
    lines = _wrapped(title, "")
    for label, value in facts.items():
        lines.extend(_labeled(f"  {label:<{LABEL - 4}}", value) if value else [])
    return lines


def prose_lines(told: str) -> list[str]:
    """Text whose lines begin with a label of one column, wrapped beneath it."""
    lines: list[str] = []
    for line in told.splitlines():
        lines.extend(_wrapped(line, "", " " * LABEL) or [""])
    return lines


def check_lines(checks: Sequence[Check]) -> list[str]:
    """What was examined: a word, the thing, what there is to say."""
    words = {"good": "ok", "note": "note", "bad": "BAD"}
    return [
        line
        for check in checks
        for line in _wrapped(check.says, f"{words[check.state]:<5}{check.name:<{LABEL}}", " " * (LABEL + 5))
    ]
