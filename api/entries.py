"""What an id means: of a metric, a format, a rule, a recommendation or an objective.

Input: the id, the objectives and rules that hold. Output: lines of text.
"""

from __future__ import annotations

import difflib

from analysis.aggregates.fluidity import FLUIDITY_INDEX
from analysis.explain import explain_objective
from analysis.metrics.catalog import METRICS
from analysis.metrics.metric import Metric
from analysis.objectives import Objectives
from analysis.result import Definition
from analysis.rules.catalog import Catalog
from analysis.rules.explain import explain as explain_rule
from api.words import entry_lines, prose_lines
from ingest.errors import NotFound
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Format, Refusal


def explain(entry_id: str, objectives: Objectives, catalog: Catalog) -> list[str]:
    """What the id means, where it comes from, and what it needs.

    Raises:
        NotFound: nothing has that id; the message has the nearest one.
    """
    named = next((item for item in objectives.items if item.id == entry_id), None)
    if named is not None:
        return explain_objective(named, objectives.settings)
    if told := explain_rule(entry_id, catalog):
        return prose_lines(told)
    entries = {item.id: _metric(item) for item in METRICS} | {item.name: _format(item) for item in FORMATS}
    entries[FLUIDITY_INDEX.id] = _definition(FLUIDITY_INDEX)
    if entry_id not in entries:
        known = [
            *entries,
            *(item.id for item in objectives.items),
            *(rule.id for rule in catalog.rules),
            *catalog.advice,
        ]
        near = difflib.get_close_matches(entry_id, known, 1)
        hint = f'Did you mean "{near[0]}"?' if near else "tailwise metrics, formats and rules list what there is"
        raise NotFound(f'nothing is called "{entry_id}". {hint}')
    return entry_lines(*entries[entry_id])


def _metric(metric: Metric) -> tuple[str, dict[str, str]]:
    return f"{metric.id}: {metric.title}", {
        "means": metric.says,
        "unit": metric.unit.value,
        "better": metric.better.value,
        "needs": ", ".join(metric.needs),
        "source": metric.source,
    }


def _definition(item: Definition) -> tuple[str, dict[str, str]]:
    return f"{item.id}: {item.title}", {"means": item.says, "unit": item.unit, "source": item.source}


def _format(item: Format) -> tuple[str, dict[str, str]]:
    refused = isinstance(item.reader, Refusal)
    return f"{item.name}: {item.title}", {"says": item.says, "read": "no" if refused else "yes"}
