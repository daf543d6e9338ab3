"""Objectives written out as OpenSLO v1 documents, and read back without loss (analysis/openslo).

Output: YAML text, one document per objective with a target. OpenSLO has no other kind, and no policy or buckets: what
it cannot say is named in comments on top.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from io import StringIO
from typing import Any

from ruamel.yaml import YAML

from analysis.metrics.metric import Better
from analysis.objectives import MIN_REQUESTS, Condition, Objective, Objectives
from analysis.openslo import ID, TIMEZONE, VERSION
from analysis.settings import Settings
from analysis.thresholds import Threshold

SERVICE = "llm-inference"
NAME_CHARACTERS = 63  # that every implementation must take; an id that is no such name is kept as an annotation


def write_openslo(objectives: Objectives) -> str:
    """The documents, in the order of the objectives."""
    writer = YAML()
    writer.default_flow_style = False
    writer.width = 120
    out = StringIO()
    for told in left_out(objectives):
        out.write(f"# not in OpenSLO: {told}\n")
    documents = [_document(item, objectives.settings.timezone) for item in objectives.items if item.target is not None]
    writer.dump_all(documents, out)
    return out.getvalue()


def left_out(objectives: Objectives) -> list[str]:
    """What OpenSLO has no words for, one line each."""
    told = [
        f"{item.id}, whose goal is a {item.statistic or 'limit on ' + item.metric}; there are targets alone"
        for item in objectives.items
        if item.target is None
    ]
    ours, default = objectives.settings, Settings()
    told += [
        f"{name}: {choice}" for name, choice in asdict(ours.policy).items() if choice != getattr(default.policy, name)
    ]
    told += [
        f"buckets of {side} at {', '.join(map(str, edges))} tokens"
        for side, edges in asdict(ours.buckets).items()
        if edges != getattr(default.buckets, side)
    ]
    return told


def _document(item: Objective, timezone: str) -> dict[str, Any]:
    name = re.sub(r"[^a-z0-9.-]", "-", item.id.lower())[:NAME_CHARACTERS]
    metadata: dict[str, Any] = {"name": name}
    if item.title != item.id:
        metadata["displayName"] = item.title
    kept = {ID: item.id} if name != item.id else {}
    kept |= {TIMEZONE: timezone} if timezone != "UTC" else {}
    if kept:
        metadata["annotations"] = kept
    goal: dict[str, Any] = {"target": item.target}
    threshold = item.threshold
    constant = None if threshold is None else threshold.constant
    if constant is not None:
        goal = {"op": "lte" if item.conditions[0].metric.better is Better.LOWER else "gte", "value": constant} | goal
    window = {} if item.period is None else {"timeWindow": [{"duration": item.period, "isRolling": True}]}
    return {
        "apiVersion": VERSION,
        "kind": "SLO",
        "metadata": metadata,
        "spec": {
            "service": SERVICE,
            "indicator": {"metadata": {"name": f"{name}-sli"}, "spec": _indicator(item, constant)},
            **window,
            "budgetingMethod": "Occurrences",
            "objectives": [goal],
        },
    }


def _indicator(item: Objective, constant: float | None) -> dict[str, Any]:
    spec = _spec(item)
    source = {"metricSource": {"type": "tailwise", "spec": spec}}
    if constant is not None:
        return {"thresholdMetric": source}
    total = {key: spec[key] for key in ("where",) if key in spec}
    return {
        "ratioMetric": {
            "counter": True,
            "good": source,
            "total": {"metricSource": {"type": "tailwise", "spec": {"metric": "requests_per_second"} | total}},
        }
    }


def _spec(item: Objective) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if item.joint:
        spec["all_of"] = [_condition(condition) for condition in item.conditions]
    else:
        spec["metric"] = item.metric
        if item.threshold is not None and item.threshold.constant is None:
            spec["threshold"] = _threshold(item.threshold)
    if item.where:
        spec["where"] = {name: values[0] if len(values) == 1 else list(values) for name, values in item.where}
    for key, value in (("per", item.per), ("window", item.window)):
        if value is not None:
            spec[key] = value
    if item.min_requests != MIN_REQUESTS:
        spec["min_requests"] = item.min_requests
    return spec


def _condition(condition: Condition) -> dict[str, Any]:
    return {"metric": condition.metric.id, "threshold": _threshold(condition.threshold)}


def _threshold(threshold: Threshold) -> str | dict[str, str]:
    """As the user wrote it: a text, or the table of which the text was made."""
    if not threshold.bands:
        return threshold.text
    table: dict[str, str] = {}
    for part in threshold.text.split("; "):
        key, value = part.split(": ", 1)
        table[key] = value
    return table
