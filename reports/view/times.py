"""Places on an axis of time: wall-clock text of the page's zone, ticks with words, spans of incidents.

Input: ISO instants of the result; Text. Output: records of charts/data.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta

from analysis.result import AnalysisResult, Finding
from reports.charts.data import Band, Tick
from reports.text import DAYS, Text

MAX_TICKS = 8
WHOLE = 0.98  # of a selection: what is there all the time
MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)


def wall_clock(instant: str, text: Text) -> str:
    """An instant as a clock in the page's zone shows it: the axis has no zone of its own."""
    return _axis(text.local(instant))


def spans_of(finding: Finding) -> list[tuple[str, str]]:
    """When the cause was there; results of earlier versions know one time alone."""
    return finding.windows or ([finding.window] if finding.window is not None else [])


def incidents(result: AnalysisResult, text: Text, *, of: str | None = None, named: bool = True) -> tuple[Band, ...]:
    """Spans of the findings, each once; one that fills the whole selection sets nothing apart and is left out.

    Args:
        result: whose findings.
        text: zone and language.
        of: an objective, for its findings alone.
        named: False where the chart above names them.
    """
    found = [finding for finding in result.findings if of is None or finding.objective == of]
    spans = sorted({span for finding in found for span in spans_of(finding) if not _is_all(span, result)})
    return tuple(
        Band(wall_clock(start, text), wall_clock(end, text), text.say("incident") if named else "")
        for start, end in spans
    )


def _is_all(span: tuple[str, str], result: AnalysisResult) -> bool:
    seconds = result.selection.seconds
    start, end = (datetime.fromisoformat(instant) for instant in span)
    return seconds is not None and (end - start).total_seconds() >= WHOLE * seconds


def ticks(instants: Sequence[str], text: Text) -> tuple[Tick, ...]:
    """At most about eight ticks: full minutes or hours within two days, else local midnights."""
    if not instants:
        return ()
    first, last = text.local(instants[0]), text.local(instants[-1])
    minutes = (last - first).total_seconds() / 60
    if minutes <= 48 * 60:
        step = next((step for step in MINUTES if minutes / step <= MAX_TICKS), MINUTES[-1])
        begin = datetime.combine(first.date(), time())
        since = int((first.replace(tzinfo=None) - begin).total_seconds() / 60) // step * step
        places = [begin + timedelta(minutes=since + step * index) for index in range(int(minutes / step) + 2)]
        return tuple(Tick(_axis(place), f"{place:%H:%M}") for place in places if first <= _zoned(place, first) <= last)
    days = (last.date() - first.date()).days + 1
    step = -(-days // MAX_TICKS)
    dates = [first.date() + timedelta(days=index) for index in range(0, days, step)]
    return tuple(
        Tick(
            f"{date:%Y-%m-%d} 00:00:00",
            f"{text.say(DAYS[date.weekday()][:3])} {date.day}" if days <= 14 else text.day(date),
        )
        for date in dates
    )


def _axis(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"


def _zoned(place: datetime, like: datetime) -> datetime:
    return place.replace(tzinfo=like.tzinfo)
