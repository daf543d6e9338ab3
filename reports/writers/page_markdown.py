"""The report as short Markdown: verdicts, headline figures, what to do, tables of objectives, latency and cost.

Input: AnalysisResult. Output: UTF-8 Markdown that reads well in a chat or a mail. Names from traces are
escaped, so none of them makes a link, an image or a heading.
"""

from __future__ import annotations

import re
from decimal import Decimal

from analysis.result import AnalysisResult, Distribution
from reports import text as words
from reports.names import printable
from reports.text import Text
from reports.told import spoken
from reports.view import actions, verdict
from reports.view.blocks import Message, Panel, Rich
from reports.view.distributions import streaming_word
from reports.view.follow_up import check_words, heading
from reports.view.labels import badge, has_price, objective_label, text_for
from reports.view.objectives import attained_words, ordered
from reports.view.rolled import rolled_blocks

SIGNS = {"breached": "✕", "endangered": "▲", "met": "✓", "too_few": "◌", "unknown": "?"}
SPECIAL = re.compile(r"([\\`*_\[\]<>#|~!])")
TOP = 5


def page_markdown(result: AnalysisResult, lang: str = "en") -> bytes:
    """The report in a language, at most a few screens long."""
    result = spoken(result, lang)
    text = text_for(result, lang)
    lines = [f"# {_safe(verdict.title(result, text))}", "", _safe(verdict.under_title(result, text)), ""]
    if result.provenance.simulated:
        lines += [f"*{_safe(text.say('Simulated data'))}*", ""]
    lines += [_sentence(verdict.lead(result, text)), ""]
    lines += [
        f"- {SIGNS[line.badge.verdict]} **{_safe(line.badge.word)}** {_sentence(line.sentence)}"
        for line in verdict.verdict_lines(result, text)
    ]
    lines += [
        "",
        *_dropped(result, text),
        *_heads(result, text),
        "",
        *_actions(result, text),
        "",
        *_follow_up(result, text),
        *_objectives(result, text),
        *_latency(result, text),
        *_costs(result, text),
    ]
    lines += [
        _safe(f"{text.say('Data quality')} {result.data_quality.grade or words.UNKNOWN}: {_counts(result, text)}"),
        "",
    ]
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8")


def _dropped(result: AnalysisResult, text: Text) -> list[str]:
    """What is told of days whose rows were dropped, each sentence a paragraph."""
    panels = [block for block in rolled_blocks(result, text) if isinstance(block, Panel)]
    said = [block for panel in panels for block in panel.blocks if isinstance(block, Message)]
    return [line for block in said for line in (_sentence(block.sentences), "")]


def _safe(text: str) -> str:
    """Text without meaning to Markdown, and without control characters; line breaks become spaces."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(text.replace(words.NBSP, " ")).split()))


def _sentence(pieces: Rich) -> str:
    """A sentence with its bold runs; links of the page lead nowhere here and are left out."""
    shown = [piece for piece in pieces if not (piece.href and piece.style != "strong")]
    return "".join(f"**{_safe(p.text)}**" if p.style == "strong" else _keep_edges(p.text) for p in shown).strip()


def _keep_edges(text: str) -> str:
    start = " " if text[:1].isspace() else ""
    end = " " if text[-1:].isspace() and text.strip() else ""
    return f"{start}{_safe(text)}{end}"


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table; figures stand right, the first column left."""
    ruler = ["---", *("---:" for _ in columns[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (map(_safe, columns), ruler, *(map(_safe, row) for row in rows))]


def _heads(result: AnalysisResult, text: Text) -> list[str]:
    rows = []
    for head in verdict.heads(result, text).heads:
        figure = " ".join(filter(None, (head.value, head.unit)))
        says = " · ".join("".join(piece.text for piece in line if piece.href is None) for line in head.lines).rstrip(
            " ·"
        )
        rows.append([head.label, figure, says])
    ruler = ["---", "---:", "---"]
    cells = [["", text.say("Figure"), text.say("Counts")], ruler, *([_safe(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in cells]


def _actions(result: AnalysisResult, text: Text) -> list[str]:
    lines = [f"## {_safe(text.say('What to do'))}", ""]
    none = actions.nothing_to_do(result, text)
    if none is not None:
        return [*lines, _safe(none)]
    for card in actions.cards(result, text):
        number, _, title = card.title.partition(". ")
        lines.append(
            f"{number}. **{_safe(title)}** ({_safe(card.id)}, {_safe(card.confidence)}). {_safe(card.says)} {_safe(card.lift)}"
        )
    return lines


def _follow_up(result: AnalysisResult, text: Text) -> list[str]:
    """What the recommendations of the selection before did, one line each."""
    told = result.follow_up
    if told is None or not told.checks:
        return []
    lines = [
        f"- **{_safe(check.title)}** ({_safe(check.recommendation)}). {_safe(check_words(check, result, text))}"
        for check in told.checks[:TOP]
    ]
    if len(told.checks) > TOP:
        lines.append(f"- {_safe(text.say('{n} more', n=words.count(len(told.checks) - TOP)))}")
    return [f"## {_safe(heading(told, text))}", "", *lines, ""]


def _objectives(result: AnalysisResult, text: Text) -> list[str]:
    if not result.objectives:
        return []
    columns = [
        text.say("Objective"),
        text.say("Verdict"),
        text.say("Measured"),
        text.say("95 % interval"),
        text.say("Valid"),
        text.say("Budget spent"),
    ]
    rows = []
    for objective in ordered(result.objectives):
        figure, interval = attained_words(objective)
        rows.append(
            [
                objective_label(text, objective),
                f"{SIGNS[objective.verdict]} {badge(text, objective.verdict).word}",
                figure,
                interval or words.UNKNOWN,
                words.count(objective.good + objective.bad),
                words.whole_share(objective.budget_spent),
            ]
        )
    return [f"## {_safe(text.say('Objectives'))}", "", *_table(columns, rows), ""]


def _latency(result: AnalysisResult, text: Text) -> list[str]:
    known = [distribution for distribution in result.latency if distribution.n]
    if not known:
        return []
    columns = [text.say("Metric"), text.say("Streamed"), "n", "P50", "P95", "P99"]
    rows = [
        [
            text.metric(d.metric),
            streaming_word(d.streaming, text),
            words.count(d.n),
            *(_percentile(d, name, text) for name in ("p50", "p95", "p99")),
        ]
        for d in known
    ]
    return [f"## {_safe(text.say('Latency'))}", "", *_table(columns, rows), ""]


def _percentile(distribution: Distribution, name: str, text: Text) -> str:
    value: float | None = getattr(distribution, name)
    figure = words.figure(value, distribution.unit)
    return f"{figure} ({text.say('too few')})" if name in distribution.too_few else figure


def _costs(result: AnalysisResult, text: Text) -> list[str]:
    """The largest values of one dimension, the rest in one line, the total."""
    cube = next((dimension for dimension in ("scenario", "tenant", "model") if result.costs.cubes.get(dimension)), None)
    if cube is None or not has_price(result.costs):
        return []
    ranked = sorted(result.costs.cubes[cube], key=lambda row: -(words.decimal(row.cost_usd) or Decimal(0)))
    rows = [
        [row.by.get(cube) or text.say("unattributed"), words.count(row.requests), words.cents(row.cost_usd)]
        for row in ranked[:TOP]
    ]
    if rest := ranked[TOP:]:
        left = sum((words.decimal(row.cost_usd) or Decimal(0) for row in rest), Decimal(0))
        rows.append(
            [
                text.say("other ({n})", n=words.count(len(rest))),
                words.count(sum(row.requests for row in rest)),
                words.cents(str(left)),
            ]
        )
    rows.append(
        [text.say("Total"), words.count(sum(row.requests for row in ranked)), words.cents(result.costs.total_usd)]
    )
    return [
        f"## {_safe(text.say('Cost'))}",
        "",
        *_table([text.say(cube.capitalize()), text.say("Requests"), "USD"], rows),
        "",
    ]


def _counts(result: AnalysisResult, text: Text) -> str:
    quality = result.data_quality
    return text.say(
        "Read {read} = accepted {accepted} + duplicate {duplicate} + rejected {rejected}.",
        read=words.count(quality.read), accepted=words.count(quality.accepted),
        duplicate=words.count(quality.duplicate), rejected=words.count(quality.rejected),
    )  # fmt: skip
