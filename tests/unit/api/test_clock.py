"""The instant that results bear."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.clock import stamp
from ingest.errors import ConfigError


def test_results_bear_the_clock_or_the_instant_that_the_environment_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert abs((datetime.now(UTC) - stamp()).total_seconds()) < 60
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1772700000")
    assert stamp() == datetime(2026, 3, 5, 8, 40, tzinfo=UTC)


@pytest.mark.parametrize("told", ["yesterday", "1e99", "9" * 30])
def test_what_is_no_number_of_seconds_is_refused(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", told)
    with pytest.raises(ConfigError, match="is no number of seconds since 1970"):
        stamp()
