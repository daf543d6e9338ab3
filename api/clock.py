"""The instant that results bear: the clock's, or one that is told, for the same bytes twice.

Input: the environment. Output: an aware instant.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from ingest.errors import ConfigError

STAMP = "SOURCE_DATE_EPOCH"  # seconds since 1970


def stamp() -> datetime:
    """The instant that a result bears: the clock's, or that of SOURCE_DATE_EPOCH.

    Raises:
        ConfigError: the variable is there and is no number of seconds.
    """
    told = os.environ.get(STAMP)
    if not told:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(told), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigError(f"{STAMP}: {told!r} is no number of seconds since 1970", hint="unset it") from error
