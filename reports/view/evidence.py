"""A figure of evidence in one line.

Input: Evidence of a finding. Output: words, the baseline first.
"""

from __future__ import annotations

from analysis.result import Evidence
from reports import text as words


def evidence_words(evidence: Evidence) -> str:
    """mean queue 0.12 s → 1.19 s: the baseline first, where there is one."""
    value = words.figure(evidence.value, evidence.unit)
    if evidence.baseline is None:
        return f"{evidence.figure} {value}"
    return f"{evidence.figure} {words.figure(evidence.baseline, evidence.unit)} → {value}"
