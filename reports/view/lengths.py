"""Part 6: input length by output length: P95, attainment, share of cost.

Input: strata of the result; Text. Output: tables whose cells carry a step of one hue.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

from analysis.result import AnalysisResult, Stratum
from reports import text as words
from reports.charts import theme
from reports.text import Text
from reports.view.blocks import Cell, Column, Message, Panel, Part, Piece, Tab, Table, Tabs, plain, row
from reports.view.labels import MIN_CELL, bucket_key

ATTAINMENT_STEPS = (0.99, 0.98, 0.95, 0.9, 0.8)  # lower edges of steps 0 to 4; the worst share is the deepest
PREFERRED = ("ttft", "perceived", "e2e")


def lengths_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("6. By length"), text.say("6. By length")
    metrics = sorted(
        {s.metric for s in result.strata if s.n},
        key=lambda m: (PREFERRED.index(m) if m in PREFERRED else len(PREFERRED), m),
    )
    if not metrics:
        says = text.say(
            "No request has input and output tokens: log gen_ai.usage.input_tokens and gen_ai.usage.output_tokens to compare like with like."
        )
        return Part("p6", title, rail, "", (Message(plain(says)),))
    lead = text.say(
        "Long requests are slow by nature: compare within a cell. Rows and columns are fixed between weeks."
    )
    tabs = [
        _tab(result, metric, text.say("P95 of {metric}", metric=text.metric(metric)), text, _p95(metric, result))
        for metric in metrics[:2]
    ]
    first = metrics[0]
    if any(stratum.attainment is not None for stratum in result.strata):
        judged = next(m for m in metrics if any(s.attainment is not None for s in result.strata if s.metric == m))
        tabs.append(_tab(result, judged, text.say("Attainment"), text, _attainment))
    if any(stratum.cost_share is not None for stratum in result.strata):
        tabs.append(_tab(result, first, text.say("Share of cost"), text, _cost(first, result)))
    note = text.say("Hatched: fewer than {n} requests, not coloured.", n=str(MIN_CELL))
    worst = _worst(result, text)
    return Part(
        "p6", title, rail, f"{worst} {lead}" if worst else lead, (Panel("", (Tabs("lengths", tuple(tabs), note),)),)
    )


Show = Callable[[Stratum], tuple[str, int | None]]


def _tab(result: AnalysisResult, metric: str, label: str, text: Text, show: Show) -> Tab:
    cells = {(s.input_bucket, s.output_bucket): s for s in result.strata if s.metric == metric}
    inputs = sorted({key[0] for key in cells}, key=bucket_key)
    outputs = sorted({key[1] for key in cells}, key=bucket_key)
    rows = tuple(
        row(bucket, *(_cell(cells.get((bucket, output)), show, text) for output in outputs)) for bucket in inputs
    )
    columns = (Column(text.say("input ↓ output →")), *(Column(output) for output in outputs))
    return Tab(
        label, Table(label, columns, rows, caption=text.say("{label}; requests beneath", label=label), grid=True)
    )


def _cell(stratum: Stratum | None, show: Show, text: Text) -> Cell:
    if stratum is None or stratum.n == 0:
        return Cell(((Piece(text.say("none"), "note"),),))
    n = (Piece(f"n {words.count(stratum.n)}", "small"),)
    figure, step = show(stratum)
    if stratum.n < MIN_CELL or figure == words.UNKNOWN:
        return Cell(((Piece(text.say("too few") if stratum.n < MIN_CELL else words.UNKNOWN),), n), heat="thin")
    return Cell(((Piece(figure, "strong"),), n), heat=f"h{step}" if step is not None else None)


def _p95(metric: str, result: AnalysisResult) -> Show:
    known = [s.p95 for s in result.strata if s.metric == metric and s.p95 and s.n >= MIN_CELL]
    low, high = min(known, default=1.0), max(known, default=1.0)

    def show(stratum: Stratum) -> tuple[str, int | None]:
        if not stratum.p95:
            return (words.UNKNOWN if stratum.p95 is None else words.seconds(0.0)), 0
        return words.seconds(stratum.p95), _log_step(stratum.p95, low, high)

    return show


def _attainment(stratum: Stratum) -> tuple[str, int | None]:
    share = stratum.attainment
    if share is None:
        return words.UNKNOWN, None
    return words.share(share), sum(1 for edge in ATTAINMENT_STEPS if share < edge)


def _cost(metric: str, result: AnalysisResult) -> Show:
    top = max((s.cost_share or 0.0 for s in result.strata if s.metric == metric), default=0.0)

    def show(stratum: Stratum) -> tuple[str, int | None]:
        if stratum.cost_share is None:
            return words.UNKNOWN, None
        step = min(len(theme.HEAT) - 1, int(stratum.cost_share / top * len(theme.HEAT))) if top else 0
        return words.share(stratum.cost_share), step

    return show


def _log_step(value: float, low: float, high: float) -> int:
    """Step of a value between the lowest and the highest on a logarithmic scale; equal ones are in the middle."""
    if high <= low:
        return 1
    place = log(value / low) / log(high / low)
    return min(len(theme.HEAT) - 1, max(0, int(place * len(theme.HEAT))))


def _worst(result: AnalysisResult, text: Text) -> str | None:
    """The cell with the lowest attainment, where it is below nine in ten."""
    judged = [s for s in result.strata if s.attainment is not None and s.n >= MIN_CELL]
    worst = min(judged, key=lambda s: (s.attainment or 0.0, s.input_bucket, s.output_bucket), default=None)
    if worst is None or worst.attainment is None or worst.attainment >= 0.9:
        return None
    return text.say(
        "Lowest: inputs of {input} with outputs of {output} are good in {share} of {n} requests.",
        input=worst.input_bucket, output=worst.output_bucket, share=words.share(worst.attainment), n=words.count(worst.n),
    )  # fmt: skip
