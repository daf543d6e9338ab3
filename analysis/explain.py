"""How an objective is judged, in sentences: what counts as good, what is left out, when there is no verdict.

Input: one objective, the settings. Output: lines of text, the same for the same objective.
"""

from __future__ import annotations

from analysis.aggregates.error_budget import burn_windows
from analysis.aggregates.objective_words import needed_requests, threshold_text_of
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Kind
from analysis.objectives import Objective
from analysis.settings import Settings

_POLICY_WORDS: tuple[tuple[str, str], ...] = (
    ("on_client_cancel", "given up by the caller"),
    ("on_open", "still open"),
    ("on_shed", "refused for load (429, 503)"),
    ("on_caller_fault", "refused for a fault of the caller (other 4xx)"),
    ("on_truncated", "broken off by the server"),
    ("on_degraded", "answered by a fallback"),
    ("on_response_cached", "answered from a response cache"),
)
_CHOICE_WORDS = {
    "bad": "bad",
    "excluded": "left out, counted",
    "judged": "judged like any other",
    "bad_if_late": "bad if the limit had already passed, else left out, counted",
}


def explain_objective(item: Objective, settings: Settings) -> list[str]:
    """The lines, from what it asks to when it alarms."""
    lines = [f"{item.id}: {item.title}" if item.title != item.id else item.id, *_asks(item)]
    for name, values in item.where:
        lines.append(f"Only requests with {name} {' or '.join(values)}.")
    if item.target is not None:
        lines.append("Errors and time limits are bad. By policy, requests are")
        policy = settings.policy
        lines += [f"  {words}: {_CHOICE_WORDS[getattr(policy, key)]}" for key, words in _POLICY_WORDS]
        lines.append("A request whose figure is missing although it applies is unknown: counted apart, never good.")
    lines += _judged(item, settings)
    lines += _burns(item)
    return lines


def _asks(item: Objective) -> list[str]:
    if item.target is not None:
        asked = f"At least {item.target * 100:g} % of the judged requests must be good."
        if not item.conditions:
            return [asked, "A request is good if it did not fail."]
        keeps = [_keeps(c.metric.title, c.threshold.text, c.metric.better) for c in item.conditions]
        meanings = [f"  {c.metric.id}: {c.metric.says}" for c in item.conditions]
        return [asked, f"A request is good if it did not fail and {' and '.join(keeps)}.", *meanings]
    metric = BY_ID[item.metric]
    kept = _keeps(_statistic(item), threshold_text_of(item), metric.better)
    over = "requests with status ok that have the figure"
    if item.statistic in ("sum", "rate") or not metric.per_request:
        over = "replica hours and the tokens beside them" if metric.kind is Kind.FLEET else "all requests"
    return [f"Kept if {kept}, over {over}.", f"  {metric.id}: {metric.says}"]


def _keeps(what: str, limit: str, better: Better) -> str:
    return f"{what} is {'at most' if better is Better.LOWER else 'at least'} {limit}"


def _statistic(item: Objective) -> str:
    title = BY_ID[item.metric].title
    if item.percentile is not None:
        return f"{(item.statistic or '').upper()} of {title}"
    return {"mean": f"the mean of {title}", "sum": f"the sum of {title}"}.get(item.statistic or "", title)


def _judged(item: Objective, settings: Settings) -> list[str]:
    lines: list[str] = []
    if item.per is not None:
        lines.append(f"Each value of {item.per} has a verdict of its own; it is breached if one is.")
    if item.window is not None:
        lines.append(
            f"Judged in windows of {item.window}, counted from Monday midnight in {settings.timezone}; "
            "it is breached if one window is."
        )
    lines.append(f"Fewer than {needed_requests(item):,} judged requests give no verdict: too few.")
    return lines


def _burns(item: Objective) -> list[str]:
    if item.period_s is None or item.period is None or item.target is None:
        return []
    lines = [
        f"Error budget: {(1 - item.target) * 100:.6g} % of the requests of {item.period}. Endangered if it burns faster than"
    ]
    for pair in burn_windows(item.period_s):
        lines.append(f"  {pair.factor(item.period_s):g} times its pace over {pair.long} and over {pair.short}")
    return lines
