"""Settings of an analysis: time zone, length buckets, and the policy of what counts as valid, good and bad.

Input: keys `timezone`, `buckets` and the policy keys of objectives.yaml. Output: one frozen Settings.
Source: status policy of the metric definitions, section 3; buckets of the design, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

KIBI = 1024  # the k of a length bucket: 2k is 2048 tokens, as context lengths are counted

POLICY_CHOICES: dict[str, tuple[str, ...]] = {  # the first choice is the default
    "on_client_cancel": ("bad_if_late", "excluded", "bad"),
    "on_open": ("bad_if_late", "excluded", "bad"),
    "on_shed": ("bad", "excluded"),
    "on_caller_fault": ("excluded", "bad"),
    "on_truncated": ("bad", "excluded"),
    "on_degraded": ("judged", "bad"),
    "on_response_cached": ("judged", "excluded"),
}
POLICY_SYNONYMS = {"good": "judged", "judge": "judged", "exclude": "excluded"}


@dataclass(frozen=True)
class Policy:
    """What a status class means for an objective; the choices stand in POLICY_CHOICES.

    `bad_if_late`: a cancelled or still open request is bad for an objective whose limit had already passed, else it
    is censored and left out. `judged`: like any other request.
    """

    on_client_cancel: str = "bad_if_late"
    on_open: str = "bad_if_late"
    on_shed: str = "bad"
    on_caller_fault: str = "excluded"
    on_truncated: str = "bad"
    on_degraded: str = "judged"
    on_response_cached: str = "judged"


@dataclass(frozen=True)
class Buckets:
    """Edges of the length buckets in tokens; a bucket holds its lower edge and not its upper."""

    input: tuple[int, ...] = (512, 2 * KIBI, 8 * KIBI, 32 * KIBI)
    output: tuple[int, ...] = (64, 256, 1 * KIBI, 4 * KIBI)


@dataclass(frozen=True)
class Settings:
    timezone: str = "UTC"
    buckets: Buckets = field(default_factory=Buckets)
    policy: Policy = field(default_factory=Policy)


def length_text(tokens: int) -> str:
    """512, 2k: a length as bucket labels write it."""
    return f"{tokens // KIBI}k" if tokens >= KIBI and tokens % KIBI == 0 else str(tokens)


def bucket_labels(edges: tuple[int, ...]) -> tuple[str, ...]:
    """<512, 512-2k, ..., >=32k: one label more than there are edges."""
    texts = [length_text(edge) for edge in edges]
    middle = [f"{low}-{high}" for low, high in pairwise(texts)]
    return (f"<{texts[0]}", *middle, f">={texts[-1]}")
