"""Part 2: what to do. Cards, each action in full, what was rejected and what could not be tested.

Input: findings of the result, the best first; Text. Output: at most three cards and the blocks beneath.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.result import AnalysisResult, CostEffect, Evidence, Finding, ObjectiveResult, Prediction, Recommendation
from reports import text as words
from reports.text import Text
from reports.view.blocks import (
    Action,
    Block,
    Columns,
    Fact,
    Facts,
    Fold,
    Message,
    Panel,
    Piece,
    Rich,
    plain,
)
from reports.view.evidence import evidence_words
from reports.view.labels import segment_full
from reports.view.times import spans_of

MAX_CARDS = 3
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM", "any": "Any engine"}
EVIDENCE_ON_CARD = 2


@dataclass(frozen=True)
class Advice:
    """One recommendation with the findings of its incident that ask for it, the first of them in front."""

    recommendation: Recommendation
    findings: tuple[Finding, ...]
    predictions: tuple[tuple[str, Prediction], ...]  # objective id


def advice_of(result: AnalysisResult) -> tuple[Advice, ...]:
    """All recommendations in order of rank; the same advice for the same incident or place is one."""
    found: dict[tuple[str, str], list[tuple[Finding, Recommendation]]] = {}
    places: dict[tuple[str, ...], str] = {}
    for finding in result.findings:
        marks: list[tuple[str, ...]] = [("incident", finding.incident)] if finding.incident is not None else []
        marks.append(("place", finding.stage, segment_full(finding.segment), str(finding.window)))
        place = next((places[mark] for mark in marks if mark in places), finding.objective)
        places |= dict.fromkeys(marks, place)
        for recommendation in finding.recommendations:
            found.setdefault((recommendation.id, place), []).append((finding, recommendation))
    return tuple(
        Advice(
            group[0][1],
            tuple(finding for finding, _ in group),
            tuple((f.objective, r.predicted) for f, r in group if r.predicted is not None),
        )
        for group in found.values()
    )


def cards(result: AnalysisResult, text: Text) -> tuple[Action, ...]:
    """The first three pieces of advice."""
    return tuple(
        Action(
            title=f"{index}. {advice.recommendation.title}",
            says=advice.recommendation.why or _evidence_line(advice.findings[0].evidence, text),
            lift=_lift(advice, result, text),
            id=advice.recommendation.id,
            confidence=confidence(advice.findings[0].confidence, text),
            anchor=f"a{index}",
        )
        for index, advice in enumerate(advice_of(result)[:MAX_CARDS], 1)
    )


def nothing_to_do(result: AnalysisResult, text: Text) -> str | None:
    """What stands in the place of the cards, or None where there are cards."""
    if any(finding.recommendations for finding in result.findings):
        return None
    if result.findings:
        return text.say("A stage is found, and no rule of the knowledge base fits it. The evidence stands below.")
    if any(objective.verdict in ("breached", "endangered") for objective in result.objectives):
        return text.say(
            "No cause explains the breach. Load the traces of the engine, or a week before to compare with, to find out more."
        )
    if not any(objective.verdict == "met" for objective in result.objectives):
        return text.say("Nothing can be advised: no objective could be judged. Part 12 says what to log.")
    return text.say("Nothing: no objective is breached or endangered.")


def blocks(result: AnalysisResult, text: Text) -> tuple[Block, ...]:
    """Each action in full, the first open; then findings without advice, rejected and untested ones."""
    found: list[Block] = []
    told: set[str] = set()
    for index, advice in enumerate(advice_of(result), 1):
        title = text.say("Action {n} in full: {title}", n=str(index), title=advice.recommendation.title)
        facts = (action_facts(advice, result, text, told),)
        found.append(Panel(title, facts, f"a{index}") if index == 1 else Fold(title, facts, f"a{index}"))
    for finding in result.findings:
        if not finding.recommendations:
            title = text.say("Finding for {objective}: {title}", objective=finding.objective, title=finding.title)
            facts = (Facts(tuple(_finding_facts(finding, text))),)
            found.append(Fold(title, facts) if found else Panel(title, facts))
    sides = tuple(filter(None, (rejected(result.findings, text), untested(result.findings, text))))
    if sides:
        found.append(Columns(sides))
    return tuple(found)


def action_facts(
    advice: Advice, result: AnalysisResult, text: Text, told: set[str], *, shown: frozenset[str] = frozenset()
) -> Facts:
    """Finding, evidence, what to do per engine, prediction, risk, check, exemplars.

    Args:
        told: findings that an action before this one has told in full; this one's is added.
        shown: findings whose evidence and exemplars stand beside it on the page.
    """
    recommendation, first = advice.recommendation, advice.findings[0]
    name = name_of(first)
    again = name in told
    told.add(name)
    facts = [Fact(text.say("Why"), (plain(recommendation.why),))] if recommendation.why else []
    if name not in shown:
        facts += (
            [Fact(text.say("Finding"), (plain(text.say("as above: {title}", title=first.title)),))]
            if again
            else _finding_facts(first, text)
        )
    for engine, action in recommendation.actions.items():
        facts.append(Fact(text.say("Do, {engine}", engine=ENGINES.get(engine, engine)), (plain(action),)))
    facts.append(Fact(text.say("Predicted"), _predicted(advice, result, text)))
    if recommendation.cost is not None:
        facts.append(Fact(text.say("Effect on cost"), (plain(cost_words(recommendation.cost, text)),)))
    for label, says in (
        (text.say("Reported elsewhere"), recommendation.reported_effect),
        (text.say("Holds if"), recommendation.precondition),
        (text.say("Risk"), recommendation.risk),
        (text.say("Check next week"), recommendation.verify),
    ):
        if says:
            entry = (
                f" ({recommendation.entry})" if recommendation.entry and label == text.say("Reported elsewhere") else ""
            )
            facts.append(Fact(label, (plain(says + entry),)))
    if first.exemplars and not again and name not in shown:
        facts.append(Fact(text.say("Exemplars"), (_codes(first.exemplars, "request"),)))
    return Facts(tuple(facts))


def rejected(findings: list[Finding], text: Text) -> Panel | None:
    """Remedies that were tested and do not fit, each with its reason."""
    reasons = {item.id: item for finding in reversed(findings) for item in finding.contraindicated}
    facts = tuple(_titled(name, item.title, plain(item.why)) for name, item in sorted(reasons.items()))
    return Panel(text.say("Tested and rejected"), (Facts(facts),)) if facts else None


def untested(findings: list[Finding], text: Text) -> Panel | None:
    """Remedies that the data cannot judge, each with what to log."""
    rules = {item.id: item for finding in reversed(findings) for item in finding.untested}
    facts = tuple(
        _titled(name, item.title, (Piece(text.say("log") + " "), *_codes(item.missing)))
        for name, item in sorted(rules.items())
    )
    return Panel(text.say("Could not test"), (Facts(facts),)) if facts else None


def _titled(identity: str, title: str, says: Rich) -> Fact:
    """Under what it is called, its id behind the words; under its id where no title is known."""
    return Fact(title, ((*says, Piece(f" ({identity})", "hint")),)) if title else Fact(identity, (says,), code=True)


def confidence(level: str, text: Text) -> str:
    words_of = {
        "high": text.say("Confidence high"),
        "medium": text.say("Confidence medium"),
        "low": text.say("Confidence low"),
    }
    return words_of.get(level, level)


def prediction_words(objective: ObjectiveResult | None, prediction: Prediction, name: str) -> str:
    """code.ttft 88.3 % → 99.5 %."""
    worst = objective.worst if objective is not None else None
    target = objective.target if objective is not None else None
    if prediction.attainment is not None:
        before = worst.attainment if worst is not None else (objective.attainment if objective is not None else None)
        return f"{name} {words.share(before, target)} → {words.share(prediction.attainment, target)}"
    unit = objective.unit if objective is not None else ""
    before_value = worst.value if worst is not None else (objective.value if objective is not None else None)
    return f"{name} {words.figure(before_value, unit)} → {words.figure(prediction.value, unit)}"


def cost_words(cost: CostEffect, text: Text) -> str:
    """What a remedy would have done to the spend of the incident, or why that is not known."""
    if cost.change_usd is None:
        return text.say("Not known: {why}", why=cost.says)
    return text.say("{usd} over the incident: {says}", usd=words.dollars(cost.change_usd), says=cost.says)


def name_of(finding: Finding) -> str:
    """What tells a finding from the others of a result."""
    return f"{finding.objective} {finding.rank}"


def _finding_facts(finding: Finding, text: Text) -> tuple[Fact, ...]:
    where = [text.say("stage {stage}", stage=text.say(finding.stage))]
    if finding.cause:
        where.append(text.say("cause {cause}", cause=text.say(finding.cause)))
    if finding.segment:
        where.append(segment_full(finding.segment))
    where += [f"{text.moment(start)} – {text.moment(end)}" for start, end in spans_of(finding)]
    facts = [Fact(text.say("Finding"), (plain(f"{finding.title}: {', '.join(where)}"),))]
    shares = []
    if finding.share_of_bad is not None:
        n = text.say(" of {n}", n=words.count(finding.n_over)) if finding.n_over is not None else ""
        shares.append(
            text.say(
                "{share}{n} bad requests over the limit explained by it",
                share=words.whole_share(finding.share_of_bad),
                n=n,
            )
        )
    if finding.structural_share is not None:
        shares.append(
            text.say("{share} would be bad on a normal day too", share=words.whole_share(finding.structural_share))
        )
    lines: list[Rich] = [plain(evidence_words(evidence)) for evidence in finding.evidence]
    if shares:
        lines.append(plain("; ".join(shares)))
    if lines:
        facts.append(Fact(text.say("Evidence"), tuple(lines)))
    for dimension, values in finding.moves_together.items():
        facts.append(Fact(text.say("Moves together with"), (plain(f"{dimension} {', '.join(values)}"),)))
    return tuple(facts)


def _predicted(advice: Advice, result: AnalysisResult, text: Text) -> tuple[Rich, ...]:
    """One line per objective with its interval, then the basis and what it leaves out."""
    if not advice.predictions:
        return (
            plain(
                text.say(
                    "Not predicted: {why}",
                    why=advice.recommendation.not_predicted or text.say("no basis in these data"),
                )
            ),
        )
    lines: list[Rich] = []
    for name, prediction in advice.predictions:
        objective = _objective(result, name)
        pieces = [Piece(prediction_words(objective, prediction, name))]
        if prediction.low is not None and prediction.high is not None:
            pieces.append(Piece(f" ({words.share_interval((prediction.low, prediction.high))})", "hint"))
        elif prediction.value_low is not None and prediction.value_high is not None:
            unit = objective.unit if objective is not None else ""
            pieces.append(Piece(f" ({words.interval_of((prediction.value_low, prediction.value_high), unit)})", "hint"))
        lines.append(tuple(pieces))
    first = advice.predictions[0][1]
    basis = {
        "back_to_normal": text.say("Basis: the stage set back to its normal of the same hour and kind of request."),
        "remedy": text.say("Basis: the effect of the remedy applied to the requests of this selection."),
    }.get(first.basis, text.say("Basis: {basis}", basis=first.basis))
    lines.append(
        (
            Piece(basis, "note"),
            Piece(f" {text.say('Left out: {what}.', what=first.ignores.rstrip('.'))}" if first.ignores else "", "note"),
        )
    )
    return tuple(lines)


def _lift(advice: Advice, result: AnalysisResult, text: Text) -> str:
    """Predicted: code.ttft 88.3 % → 99.5 %; all four met."""
    if not advice.predictions:
        return text.say(
            "Not predicted: {why}", why=advice.recommendation.not_predicted or text.say("no basis in these data")
        )
    name, prediction = advice.predictions[0]
    lift = text.say("Predicted: {lift}", lift=prediction_words(_objective(result, name), prediction, name))
    n = len(advice.predictions)
    if n == 1:
        return lift
    kept = sum(1 for objective, predicted in advice.predictions if _keeps(_objective(result, objective), predicted))
    if kept == n:
        return f"{lift}; {text.many(n, 'met', 'all {n} met')}"
    return f"{lift}; {text.say('{n} of {of} met', n=words.count(kept), of=words.count(n))}"


def _keeps(objective: ObjectiveResult | None, prediction: Prediction) -> bool:
    """Whether the predicted figure keeps the objective."""
    if objective is None:
        return False
    if prediction.attainment is not None and objective.target is not None:
        return prediction.attainment >= objective.target
    limit = objective.threshold
    return prediction.value is not None and isinstance(limit, int | float) and prediction.value <= limit


def _objective(result: AnalysisResult, name: str) -> ObjectiveResult | None:
    return next((objective for objective in result.objectives if objective.id == name), None)


def _evidence_line(evidence: list[Evidence], text: Text) -> str:
    if not evidence:
        return text.say("No figure stands behind it.")
    return "; ".join(evidence_words(item) for item in evidence[:EVIDENCE_ON_CARD]) + "."


def _codes(items: list[str], style: str = "code") -> Rich:
    """Ids in code type, a dot between them."""
    pieces: list[Piece] = []
    for item in items:
        pieces += [Piece(" · "), Piece(item, style)] if pieces else [Piece(item, style)]
    return tuple(pieces)


def message_of_none(text: Text) -> Message:
    """What the breach page says where no cause was found."""
    return Message(
        plain(
            text.say(
                "No cause explains the breach. Load the traces of the engine, or a week before to compare with, to find out more."
            )
        ),
        "warn",
    )
