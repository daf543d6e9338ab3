"""Reports by themselves: when, for which requests, to whom.

Input: schedules, as they are put over HTTP; the clock. Output: jobs that make the report of the week (or day) before,
and tell those who want to know. Times are wall-clock times of a zone: an hour that a clock skips is made up for by the
next one, an hour that comes twice counts once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from api.jobs import Jobs
from api.question import Question, parse_where
from ingest.errors import ConfigError
from ingest.selection import zone_of

KIND = "scheduled_report"
LOOK_S = 15.0
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LONGEST_LATE = timedelta(days=6)  # a report that is later than this is no news any more

Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "daily"]


class Schedule(BaseModel):
    """One schedule. `on` a weekday: the report of the ISO week before; `daily`: of the day before."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    on: Day = "monday"
    at: str = Field("06:00", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    timezone: str = "UTC"
    where: list[str] = []
    to: list[str] = Field([], description="addresses: https://... is sent a summary, mailto:... the report")

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        return _valid(lambda: zone_of(value), value)

    @field_validator("where")
    @classmethod
    def _filters(cls, value: list[str]) -> list[str]:
        return _valid(lambda: parse_where(value), value)

    @field_validator("to")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        wrong = next((one for one in value if not one.startswith(("https://", "http://", "mailto:"))), None)
        if wrong is not None:
            raise ValueError(f'"{wrong}" is no address; write https://... or mailto:...')
        return value

    def due(self, before: datetime) -> datetime:
        """The latest instant at or before `before` at which it is due."""
        zone = ZoneInfo(self.timezone)
        local = before.astimezone(zone)
        hour, minute = map(int, self.at.split(":"))
        for back in range(9):
            day = (local - timedelta(days=back)).date()
            instant = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).astimezone(UTC)
            if instant <= before and self.on in ("daily", DAYS[day.weekday()]):
                return instant
        raise ValueError("a week has no such day")  # eight days hold every weekday twice or once

    def upcoming(self, after: datetime) -> datetime:
        """The first instant after `after` at which it is due."""
        step = timedelta(hours=1)
        instant = after
        while (found := self.due(instant)) <= after:
            instant += step
        return found

    def question(self, due: datetime) -> Question:
        """What the report due then is about."""
        local = due.astimezone(ZoneInfo(self.timezone))
        where = parse_where(self.where)
        if self.on == "daily":
            day, before = local.date(), local.date() - timedelta(days=1)
            return Question(start=before.isoformat(), end=day.isoformat(), timezone=self.timezone, where=where)
        week = (local.date() - timedelta(days=7)).isocalendar()
        return Question(week=f"{week.year}-W{week.week:02d}", timezone=self.timezone, where=where)


class State(BaseModel):
    """What the file of schedules holds: each, and up to when its reports were made."""

    schedules: list[Schedule] = []
    done: dict[str, datetime] = {}


T = TypeVar("T")
_LIST = TypeAdapter(list[Schedule])


class Schedules:
    """The schedules of a service, in a file beside what it receives.

    Args:
        now: the clock, aware.
    """

    def __init__(self, path: Path, jobs: Jobs, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._jobs = jobs
        self._now = now
        self._lock = threading.Lock()
        self._state = State.model_validate_json(path.read_bytes()) if path.is_file() else State()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedules", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def listed(self) -> list[tuple[Schedule, datetime | None, datetime]]:
        """Every schedule, the instant of its last report, and the next."""
        now = self._now()
        with self._lock:
            done = self._state.done
            return [(one, done.get(one.id), one.upcoming(now)) for one in self._state.schedules]

    def get(self, schedule_id: str) -> Schedule | None:
        """The schedule of that id, if it still stands."""
        with self._lock:
            return next((one for one in self._state.schedules if one.id == schedule_id), None)

    def put(self, said: bytes) -> None:
        """These schedules from now on; a new one begins with the next time it is due.

        Raises:
            ConfigError: the JSON is no list of schedules, or two have one id.
        """
        try:
            read = _LIST.validate_json(said)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ConfigError(f"schedules, {place or 'the list'}: {first['msg']}") from error
        ids = [one.id for one in read]
        if twice := next((one for one in ids if ids.count(one) > 1), None):
            raise ConfigError(f'schedules: the id "{twice}" stands twice')
        now = self._now()
        with self._lock:
            done = {one.id: self._state.done.get(one.id, now) for one in read}
            self._save(State(schedules=read, done=done))

    def look(self) -> None:
        """Put a job for everything that is due; what fell due while nobody looked is made up for once."""
        now = self._now()
        with self._lock:
            done = dict(self._state.done)
            for one in self._state.schedules:
                due = one.due(now)
                if due <= done.get(one.id, now):
                    continue
                done[one.id] = due
                if now - due <= LONGEST_LATE:
                    self._jobs.put(KIND, f"schedule {one.id}", {"schedule": one.id, "due": due.isoformat()})
            if done != self._state.done:
                self._save(State(schedules=self._state.schedules, done=done))

    def _run(self) -> None:
        while not self._ending.wait(LOOK_S):
            self.look()

    def _save(self, state: State) -> None:
        fresh = self._path.with_name(f".{self._path.name}.part")
        fresh.write_text(state.model_dump_json(indent=1), encoding="utf-8")
        fresh.replace(self._path)
        self._state = state


def _valid(check: Callable[[], object], value: T) -> T:
    try:
        check()
    except ConfigError as error:
        raise ValueError(error.message) from error
    return value
