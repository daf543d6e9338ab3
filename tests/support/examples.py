"""How many examples a property tries: those it names, times TAILWISE_EXAMPLES (20 for the long form before a release)."""

from __future__ import annotations

import os

from hypothesis import settings

DEFAULT = 100


def tried(examples: int = DEFAULT) -> settings:
    """Settings of a property without a deadline: machines that share their cores are slow now and then."""
    return settings(max_examples=examples * int(os.environ.get("TAILWISE_EXAMPLES", "1")), deadline=None)
