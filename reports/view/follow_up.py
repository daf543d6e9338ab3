"""What became of the recommendations of the selection before: the short section of part 9.

Input: follow_up of the result; Text. Output: a panel with one row per recommendation and objective, or None.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, FollowUp, ObjectiveResult, RecommendationCheck
from reports import text as words
from reports.text import Text
from reports.view.blocks import Block, Column, Fold, Message, Panel, Row, Table, number_cell, plain, row, text_cell
from reports.view.labels import segment_full

MOST_ROWS = 8  # in front; the others stand in the fold


def follow_up_blocks(result: AnalysisResult, text: Text) -> list[Block]:
    """The panel, what stands in its place where nothing had been advised; nothing without an earlier selection."""
    told = result.follow_up
    if told is None:
        return []
    if not told.checks:
        return [
            Message(plain(text.say("{title} advised nothing, so there is nothing to follow up.", title=told.title)))
        ]
    rows = [_row(check, result, text) for check in told.checks]
    blocks: list[Block] = [Panel(heading(told, text), (_table(told, rows[:MOST_ROWS], text),))]
    if len(rows) > MOST_ROWS:
        title = text.say("All {n} recommendations that were followed up", n=words.count(len(rows)))
        blocks.append(Fold(title, (_table(told, rows, text),)))
    return blocks


def heading(told: FollowUp, text: Text) -> str:
    return text.say("What the recommendations of {title} did", title=told.title)


def check_words(check: RecommendationCheck, result: AnalysisResult, text: Text) -> str:
    """One recommendation in a sentence, for the Markdown report and the prompt."""
    then, predicted, now = figures(check, result)
    where = f" ({segment_full(check.segment)})" if check.segment else ""
    return text.say(
        "{objective}{where}: {then} then, {predicted} predicted, {now} now: {outcome}; {followed}. {says}",
        objective=check.objective,
        where=where,
        then=then,
        predicted=predicted,
        now=now,
        outcome=outcome_word(check, text),
        followed=followed_word(check, text),
        says=check.says,
    )


def figures(check: RecommendationCheck, result: AnalysisResult) -> tuple[str, str, str]:
    """The figure then, as predicted with its interval, and now; attainment where both have it, else the value."""
    objective = next((found for found in result.objectives if found.id == check.objective), None)
    predicted = check.predicted
    if _by_share(check):
        target = objective.target if objective is not None else None
        low, high = (predicted.low, predicted.high) if predicted is not None else (None, None)
        between = f" ({words.share_interval((low, high))})" if low is not None and high is not None else ""
        told = predicted.attainment if predicted is not None else None
        shares = [words.share(share, target) for share in (check.then_attainment, told, check.now_attainment)]
        return shares[0], f"{shares[1]}{between}", shares[2]
    return _values(check, objective)


def _by_share(check: RecommendationCheck) -> bool:
    if check.predicted is not None:
        return check.predicted.attainment is not None and check.now_attainment is not None
    return check.now_attainment is not None


def _values(check: RecommendationCheck, objective: ObjectiveResult | None) -> tuple[str, str, str]:
    unit, predicted = (objective.unit if objective is not None else ""), check.predicted
    between = ""
    if predicted is not None and predicted.value_low is not None and predicted.value_high is not None:
        between = f" ({words.interval_of((predicted.value_low, predicted.value_high), unit)})"
    told = predicted.value if predicted is not None else None
    return (
        words.figure(check.then_value, unit),
        f"{words.figure(told, unit)}{between}",
        words.figure(check.now_value, unit),
    )


def outcome_word(check: RecommendationCheck, text: Text) -> str:
    known = {
        "inside": text.say("as predicted"),
        "better": text.say("better than predicted"),
        "worse": text.say("worse than predicted"),
        "unknown": text.say("not comparable"),
    }
    return known.get(check.outcome, check.outcome)


def followed_word(check: RecommendationCheck, text: Text) -> str:
    known = {
        "followed": text.say("followed"),
        "not_followed": text.say("not followed"),
        "unknown": text.say("whether followed cannot be told"),
    }
    return known.get(check.followed, check.followed)


def _table(told: FollowUp, rows: list[Row], text: Text) -> Table:
    return Table(
        name=heading(told, text),
        caption=text.say(
            "Now: the worst window where the objective is broken again, else the one at the same place in the week. Findings from: {source}.",
            source=told.source,
        ),
        columns=(
            Column(text.say("Recommendation")),
            Column(text.say("Objective")),
            Column(text.say("Then"), number=True),
            Column(text.say("Predicted"), number=True),
            Column(text.say("Now"), number=True),
            Column(text.say("Reading")),
            Column(text.say("Followed")),
        ),
        rows=tuple(rows),
        cards=True,
    )


def _row(check: RecommendationCheck, result: AnalysisResult, text: Text) -> Row:
    then, predicted, now = figures(check, result)
    where = f" · {segment_full(check.segment)}" if check.segment else ""
    return row(
        f"{check.title}{where}",
        text_cell(check.objective),
        number_cell(then),
        number_cell(predicted),
        number_cell(now),
        text_cell(outcome_word(check, text)),
        text_cell(f"{followed_word(check, text)}. {check.says}"),
    )
