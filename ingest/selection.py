"""Which requests an analysis is about: a half-open time range and dimension filters.

Source: attribution by arrival, weeks half-open in an IANA time zone (definition of windows and week edges).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from ingest.errors import ConfigError
from ingest.schema import NS_PER_S

COLUMN_DIMENSIONS: tuple[str, ...] = (  # dimensions that are a column of requests
    "model",
    "requested_model",
    "provider",
    "scenario",
    "tenant",
    "user",
    "session",
    "route",
    "region",
    "replica",
    "deployment_version",
    "streaming",
    "degraded",
    "cold_start",
    "llm_calls",
    "status_class",
    "source",
)
DERIVED_DIMENSIONS: tuple[str, ...] = ("cache_state", "input_bucket", "output_bucket", "hour", "weekday")
DIMENSIONS: tuple[str, ...] = COLUMN_DIMENSIONS + DERIVED_DIMENSIONS

FIRST_YEAR, LAST_YEAR = 1971, 2200  # what nanoseconds in 64 bits hold, with room for zones and ranges before

_WEEK = re.compile(r"^(\d{4})-W(\d{2})$")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Selection:
    """Requests that arrived in [start_ns, end_ns) and match every filter.

    `start_ns` or `end_ns` null: open on that side (a request without a wall clock is in only if both are null).
    `where`: (dimension, value) pairs, several values of one dimension mean "one of these".
    """

    start_ns: int | None = None
    end_ns: int | None = None
    where: tuple[tuple[str, str], ...] = ()
    timezone: str = "UTC"

    def within(self, start_ns: int, end_ns: int) -> Selection:
        """The same filters over another time range."""
        return replace(self, start_ns=start_ns, end_ns=end_ns)


def week_selection(week: str, timezone: str, where: tuple[tuple[str, str], ...] = ()) -> Selection:
    """Selection of an ISO week such as 2026-W48: Monday 00:00 to the next Monday 00:00, local time.

    Raises:
        ConfigError: the week is not of that form or does not exist, or the zone is unknown.
    """
    found = _WEEK.match(week)
    if not found:
        raise ConfigError(f'week "{week}" is not of the form 2026-W48')
    if not FIRST_YEAR <= int(found[1]) <= LAST_YEAR:
        raise ConfigError(f'week "{week}" lies outside {FIRST_YEAR} to {LAST_YEAR}')
    try:
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
    except ValueError:
        raise ConfigError(f'week "{week}" does not exist; {found[1]} has no week {int(found[2])}') from None
    zone = zone_of(timezone)
    start = datetime(monday.year, monday.month, monday.day, tzinfo=zone)
    after = monday + timedelta(days=7)
    end = datetime(after.year, after.month, after.day, tzinfo=zone)
    return Selection(to_ns(start), to_ns(end), where, timezone)


def zone_of(name: str) -> ZoneInfo:
    """The IANA time zone of that name.

    Raises:
        ConfigError: no such zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(f'time zone "{name}" is not known. Write an IANA name such as Europe/Berlin or UTC') from None


def parse_instant(text: str, timezone: str) -> int:
    """Nanoseconds since 1970 of an ISO 8601 date or time; without an offset it is local to `timezone`.

    Raises:
        ConfigError: not ISO 8601.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ConfigError(f'time "{text}" is not ISO 8601; write 2026-03-02 or 2026-03-02T10:45:00Z') from None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ConfigError(f'time "{text}" lies outside {FIRST_YEAR} to {LAST_YEAR}')
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone_of(timezone))
    return to_ns(moment)


def to_ns(moment: datetime) -> int:
    """Integer nanoseconds since 1970 UTC of an aware datetime."""
    delta = moment.astimezone(UTC) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * NS_PER_S + delta.microseconds * 1000


def to_datetime(ns: int) -> datetime:
    """Aware UTC datetime of nanoseconds since 1970, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=ns // 1000)


def to_iso(ns: int) -> str:
    """ISO 8601 text in UTC with Z: whole seconds where possible, else microseconds."""
    moment = to_datetime(ns)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment.microsecond else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
