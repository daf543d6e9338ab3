"""Answers about objectives: all of a selection, or one, with their findings.

Output: records; the objective of an id, or the message that none has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from analysis.objectives import Objective
from analysis.result import Finding, ObjectiveResult, SelectionRecord
from ingest.errors import NotFound

N = TypeVar("N", Objective, ObjectiveResult)


@dataclass(frozen=True)
class Judgement:
    """All objectives of a selection with their verdicts, and why they broke."""

    selection: SelectionRecord
    objectives: tuple[ObjectiveResult, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # what the verdicts lack, and what they are a sample of


@dataclass(frozen=True)
class Diagnosis:
    """One objective of a selection: its verdict, and why it broke."""

    selection: SelectionRecord
    objective: ObjectiveResult
    findings: list[Finding]
    notes: list[str] = field(default_factory=list)


def find_objective(objectives: Sequence[N], objective_id: str) -> N:
    """The objective of that id.

    Raises:
        NotFound: there is none; the message lists those that are.
    """
    found = next((row for row in objectives if row.id == objective_id), None)
    if found is None:
        known = ", ".join(row.id for row in objectives)
        raise NotFound(f'no objective has the id "{objective_id}". Known: {known}')
    return found
