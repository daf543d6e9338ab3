"""Where the shared samples and real slices lie, for tests that need them."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"


def shared(path: str) -> Path:
    """A file or folder of the shared data; the test is skipped with a sentence where it is absent."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"shared data {path} is not beside the project; lay the folder shared next to it to run this test")
    return found
