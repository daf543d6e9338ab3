"""The whole report as a page model: thirteen parts, in one language.

Input: AnalysisResult and nothing else. Output: Page.
"""

from __future__ import annotations

from analysis.result import AnalysisResult
from reports.text import Text
from reports.told import spoken
from reports.view import actions, verdict
from reports.view.blocks import Page
from reports.view.comparison import comparison_part
from reports.view.costs import costs_part
from reports.view.definitions import definitions_part
from reports.view.distributions import distributions_part
from reports.view.goodput import goodput_part
from reports.view.labels import text_for
from reports.view.lengths import lengths_part
from reports.view.objectives import budget_part, objectives_part
from reports.view.quality import quality_part
from reports.view.rates import rates_part
from reports.view.stages import stages_part


def page_of(result: AnalysisResult, lang: str, *, embedded: bool = True) -> Page:
    """The report in a language; `embedded` says whether the page carries the machine-readable result."""
    result = spoken(result, lang)
    text = text_for(result, lang)
    exact = (
        text.say("Every figure of this page is in the embedded result, exact: the button JSON saves it.")
        if embedded
        else text.say(
            "The exact figures are too many to embed: write them with --json, or read them at the address of the report, ending in .json."
        )
    )
    return Page(
        lang=lang,
        title=verdict.title(result, text),
        under_title=verdict.under_title(result, text),
        lead=verdict.lead(result, text),
        simulated=result.provenance.simulated,
        verdict_head=text.say("Share of requests within the limit (95 % interval) in the worst window"),
        verdict_aside=text.say("budget spent"),
        verdicts=verdict.verdict_lines(result, text),
        heads=verdict.heads(result, text),
        actions=actions.cards(result, text),
        no_action=actions.nothing_to_do(result, text),
        action_blocks=actions.blocks(result, text),
        parts=(
            objectives_part(result, text),
            budget_part(result, text),
            stages_part(result, text),
            lengths_part(result, text),
            distributions_part(result, text),
            goodput_part(result, text),
            comparison_part(result, text),
            costs_part(result, text),
            rates_part(result, text),
            quality_part(result, text),
            definitions_part(result, text, exact),
        ),
        footer=_footer(result, text),
    )


def _footer(result: AnalysisResult, text: Text) -> str:
    zone = text.say("Times in {zone}.", zone=result.selection.timezone)
    if result.provenance.simulated:
        return text.say("Simulated data: made by a simulator, not by a service in use.") + " " + zone
    return zone
