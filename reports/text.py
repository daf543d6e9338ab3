"""Numbers, instants and labels to words: the only rounding in the project.

Input: unrounded figures of the result (seconds, ratios, decimal text in USD, ISO instants in UTC).
Output: text as a page prints it: three significant digits, commas for thousands, − for minus, – for unknown.
Source: house rules for figures; Chinese words in assets/words/zh.json, keyed by the English sentence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from reports.told import told

UNKNOWN = "–"
MINUS = "−"
NBSP = "\u00a0"
LANGUAGES = ("en", "zh")
WORDS = Path(__file__).parent / "assets" / "words"
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
DIGITS = 3  # significant digits of a figure
SHARE_DIGITS = 4  # most decimals of a percentage, spent only where rounding would hide the verdict
SMALL_NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ABBREVIATIONS = {
    "ttft": "TTFT",
    "ttfa": "TTFA",
    "tpot": "TPOT",
    "itl_max": "longest ITL",
    "e2e": "E2E",
    "mfu": "MFU",
}
UNITS = {
    "requests_per_second": "req/s",
    "tokens_per_second": "tok/s",
    "per_s": "per s",
    "request/s": "req/s",
    "token/s": "tok/s",
    "token": "tokens",
}
ONE = {"replicas": "replica", "requests": "request", "sequences": "sequence", "tokens": "token"}


def significant(value: float | Decimal, digits: int = DIGITS) -> str:
    """A figure with `digits` significant digits; whole digits are never cut (4,079 stays 4,079)."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if not exact.is_finite():
        return UNKNOWN
    if exact == 0:
        return "0"
    for _ in range(2):  # rounding may carry into a further digit: 9.999 is 10.0, not 10.00
        places = max(0, digits - 1 - exact.adjusted())
        exact = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN) if places < 12 else exact
    return signed(f"{exact:,f}")


def fixed(value: float | Decimal, places: int) -> str:
    """A figure with so many decimals."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return signed(f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN):,f}")


def signed(text: str) -> str:
    """Text of a number with a true minus; a rounded zero has none."""
    if text.startswith("-"):
        return MINUS + text[1:] if text.strip("-0.,") else text[1:]
    return text


def number(value: float | Decimal | None) -> str:
    return UNKNOWN if value is None else significant(value)


def count(value: float | None) -> str:
    """A count in full: 113,527."""
    return UNKNOWN if value is None else fixed(value, 0)


def short_count(value: float | None) -> str:
    """A count in a sentence: 812, 113,527, 2.27 million."""
    if value is None:
        return UNKNOWN
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{significant(value / size)}{NBSP}{word}"
    return count(value)


def compact(value: float | None) -> str:
    """A count in a narrow column: 454,740 and 2,185 M."""
    if value is None:
        return UNKNOWN
    return f"{significant(value / 1e6)}{NBSP}M" if value >= 1e6 else count(value)


def seconds(value: float | None) -> str:
    """A duration: 27.9 s, 0.421 s, 68.9 ms."""
    if value is None:
        return UNKNOWN
    if 1e-12 < abs(value) < 0.1:
        return f"{significant(value * 1e3)}{NBSP}ms"
    return f"{significant(value)}{NBSP}s"


def percent_number(value: float, against: float | None = None) -> str:
    """A ratio in percent without its sign: 88.3, 99.97, 0.031.

    Near 100 the digits count from the other end (99.97, not 100), and beside a target that it
    differs from it never reads like the target (94.98 against 95).
    """
    exact = Decimal(repr(float(value))) * 100
    places = max(1 if exact < 100 else 0, DIGITS - 1 - exact.adjusted()) if exact != 0 else 0
    if exact == 100:
        places = 0
    elif 99 < exact < 100:
        places = max(1, -(100 - exact).adjusted())
    places = min(places, SHARE_DIGITS)
    text = fixed(exact, places)
    while places > 1 and text.endswith("0"):  # 2.1, not 2.10
        places, text = places - 1, text[:-1]
    if against is not None and value != against:
        target = Decimal(repr(float(against))) * 100
        while Decimal(text.replace(MINUS, "-").replace(",", "")) == target and places < SHARE_DIGITS:
            places += 1
            text = fixed(exact, places)
    return text


def times(value: float | None) -> str:
    """A burn rate or factor: 13.4×, 0.9×, 0.04×."""
    if value is None:
        return UNKNOWN
    return f"{fixed(value, 1) if abs(value) >= 0.1 or value == 0 else significant(value, 1)}×"


def share(value: float | None, against: float | None = None) -> str:
    """A ratio as a percentage: 88.3 %."""
    return UNKNOWN if value is None else f"{percent_number(value, against)}{NBSP}%"


def whole_share(value: float | None) -> str:
    """A ratio as a percentage for a budget or a bar: 25 %, 138 %, below one 0.4 %."""
    if value is None:
        return UNKNOWN
    exact = Decimal(repr(float(value))) * 100
    return f"{fixed(exact, 0) if abs(exact) >= 1 or exact == 0 else significant(exact, 1)}{NBSP}%"


def target_share(value: float | None) -> str:
    """A target as its owner wrote it: 95 %, 99.9 %."""
    if value is None:
        return UNKNOWN
    return f"{(Decimal(repr(float(value))) * 100).normalize():f}{NBSP}%"


def change(value: float | None) -> str:
    """A relative change: +0.8 %, −2.9 %, 0 %."""
    if value is None:
        return UNKNOWN
    exact = Decimal(repr(float(value))) * 100
    text = fixed(exact, 1 if abs(exact) >= Decimal("0.1") else 2)
    plus = "+" if value > 0 and text.strip("0.,") else ""
    return f"{plus}{text}{NBSP}%"


def share_interval(interval: tuple[float, float] | None) -> str:
    """An interval of a share, in percent without its sign: 85.6–90.5."""
    if interval is None:
        return UNKNOWN
    return "–".join(percent_number(bound) for bound in interval)


def interval_of(interval: tuple[float, float] | None, unit: str) -> str:
    """An interval of any figure: 3.40–3.71 s."""
    if interval is None:
        return UNKNOWN
    if unit == "ratio":
        return share_interval(interval) + f"{NBSP}%"
    low, high = (figure(bound, unit) for bound in interval)
    number_low, _, unit_low = low.partition(NBSP)
    _, _, unit_high = high.partition(NBSP)
    return f"{number_low if unit_low == unit_high else low}–{high}"


def figure(value: float | str | None, unit: str) -> str:
    """A figure in its unit; text is taken as it stands."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return dollars(value) if unit.upper() == "USD" else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit in ("s", "s/token"):  # the metric's name says what one token has to do with it
        return seconds(value)
    if unit == "ratio":
        return share(value)
    if unit.upper() == "USD":
        return f"{significant(value)}{NBSP}USD"
    if unit in ("", "count", "1", "number"):
        return count(value) if float(value).is_integer() else significant(value)
    text = count(value) if float(value).is_integer() else significant(value)
    noun = UNITS.get(unit, unit)
    return f"{text}{NBSP}{ONE.get(noun, noun) if value == 1 else noun}"


def limit(value: float | str | None, unit: str) -> str:
    """A limit as its owner wrote it, every digit and none more: 2.1 s, 60 ms, 263.74 USD."""
    if isinstance(value, str) or value is None:
        return figure(value, unit)
    exact = Decimal(repr(float(value)))
    if unit == "ratio":
        return target_share(value)
    if unit in ("s", "s/token"):
        return f"{_plain(exact * 1000)}{NBSP}ms" if 0 < exact < 1 else f"{_plain(exact)}{NBSP}s"
    return f"{_plain(exact)}{NBSP}{UNITS.get(unit, unit)}" if unit not in ("", "count") else _plain(exact)


def _plain(exact: Decimal) -> str:
    text = f"{exact:,f}"
    return signed(text.rstrip("0").rstrip(".") if "." in text else text)


def move(value: float | None, unit: str) -> str:
    """A change in the unit of its figure, with its sign: +0.2 s, −2.9 pp, percentage points, for a ratio."""
    if value is None:
        return UNKNOWN
    if unit == "ratio":
        text = percent_number(value) + f"{NBSP}pp"
    else:
        text = figure(value, unit)
    return f"+{text}" if value > 0 and any(digit in text for digit in "123456789") else text


def move_between(interval: tuple[float, float] | None, unit: str) -> str:
    """An interval of a change, its unit once: +1.54 – +4.44 s."""
    if interval is None:
        return UNKNOWN
    low, high = (move(bound, unit) for bound in interval)
    number_low, _, unit_low = low.partition(NBSP)
    return f"{number_low if unit_low == high.partition(NBSP)[2] else low} – {high}"


def decimal(text: str | None) -> Decimal | None:
    """Decimal text of the result as a number for sorting and shares; null stays null."""
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"money {text!r} is no decimal text") from error


def cents(text: str | None) -> str:
    """Money of a total, to the cent: 4,078.79."""
    exact = decimal(text)
    return UNKNOWN if exact is None else fixed(exact, 2)


def money(text: str | None) -> str:
    """Money of a headline: whole dollars from a thousand on, cents below, three digits below a cent."""
    exact = decimal(text)
    if exact is None:
        return UNKNOWN
    if abs(exact) >= 1000:
        return fixed(exact, 0)
    return fixed(exact, 2) if abs(exact) >= Decimal("0.1") or exact == 0 else significant(exact)


def dollars(text: str | None) -> str:
    """Money with its unit: 4,079 USD."""
    return UNKNOWN if text is None else f"{money(text)}{NBSP}USD"


def metric_name(metric: str) -> str:
    """A metric's id as a reader says it: TTFT, output tokens per usd."""
    return ABBREVIATIONS.get(metric, metric.replace("_", " "))


def instant(text: str) -> datetime:
    """An ISO instant of the result, aware."""
    parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


@cache
def _words(lang: str) -> dict[str, str]:
    if lang not in LANGUAGES:
        raise ValueError(f"language {lang!r} is not known. Known: {', '.join(LANGUAGES)}")
    if lang == "en":
        return {}
    loaded: dict[str, str] = json.loads((WORDS / f"{lang}.json").read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class Text:
    """How one page speaks: its language and its zone."""

    lang: str
    zone: ZoneInfo
    dated: bool = False  # whether a weekday alone would not say which day is meant

    @classmethod
    def of(cls, lang: str, timezone: str, *, dated: bool = False) -> Text:
        """Text in a language, with times in a zone; a zone the machine does not know reads as UTC.

        Raises:
            ValueError: the language is not one of LANGUAGES.
        """
        _words(lang)
        try:
            return cls(lang, ZoneInfo(timezone), dated)
        except (ZoneInfoNotFoundError, ValueError):
            return cls(lang, ZoneInfo("UTC"), dated)

    def say(self, sentence: str, **values: str) -> str:
        """A sentence in the language of the page, its places filled; a sentence without a translation stays English."""
        found = _words(self.lang).get(sentence, sentence)
        return found.format(**values) if values else found

    def metric(self, metric: str) -> str:
        """A metric's id as a reader says it, in the language of the page."""
        return told(metric_name(metric), self.lang)

    def many(self, n: int, one: str, more: str) -> str:
        """`one` or `more`, whose place {n} takes the number in words up to nine."""
        word = SMALL_NUMBERS[n] if self.lang == "en" and 0 <= n < len(SMALL_NUMBERS) else count(n)
        return self.say(one if n == 1 else more, n=word)

    def local(self, text: str) -> datetime:
        return instant(text).astimezone(self.zone)

    def short_count(self, value: float | None) -> str:
        """A count in a sentence: 812, 113,527, 2.27 million; in Chinese 227 万."""
        if self.lang == "zh" and value is not None and value >= 1e6:
            return f"{significant(value / 1e4)}{NBSP}万"
        return short_count(value)

    def day(self, when: date, *, year: bool = False) -> str:
        """Sat 7 March, or with the year."""
        name, month = self.say(DAYS[when.weekday()][:3]), self.say(MONTHS[when.month - 1])
        shown = self.say("{weekday} {day} {month}", weekday=name, day=str(when.day), month=month)
        return self.say("{date} {year}", date=shown, year=str(when.year)) if year else shown

    def short_day(self, when: date) -> str:
        """Sat 7: for an axis."""
        return f"{self.say(DAYS[when.weekday()][:3])} {when.day}"

    def weekday(self, when: date) -> str:
        return self.say(DAYS[when.weekday()])

    def moment(self, text: str | None) -> str:
        """Sat 7 March 12:45."""
        if text is None:
            return UNKNOWN
        when = self.local(text)
        return f"{self.day(when)} {when:%H:%M}"

    def span(self, start: str | None, end: str | None) -> str:
        """Sat 12:00–16:00, or dated; over several days Sat 7 March 22:00 – Sun 8 March 02:00."""
        if start is None or end is None:
            return UNKNOWN
        first, last = self.local(start), self.local(end)
        if last - first <= timedelta(days=1) and (last - timedelta(seconds=1)).date() == first.date():
            close = "24:00" if last.date() != first.date() else f"{last:%H:%M}"
            day = self.day(first) if self.dated else self.say(DAYS[first.weekday()][:3])
            return f"{day} {first:%H:%M}–{close}"
        return f"{self.moment(start)} – {self.moment(end)}"

    def stretch(self, first: str, last: str) -> str:
        """From the first to the last request: Mon 2 March 2026 11:00–12:00, or the days."""
        begin, end = self.local(first), self.local(last)
        if begin.date() == end.date():
            return f"{self.day(begin, year=True)} {begin:%H:%M}–{end:%H:%M}"
        return self.days(first, last)

    def days(self, start: str, end: str) -> str:
        """Mon 2 – Sun 8 March 2026: the days of a half-open range, with hours where it is no whole day."""
        first, last = self.local(start), self.local(end) - timedelta(seconds=1)
        if first.date() == last.date():
            whole = first.time() == time() and self.local(end).time() == time()
            return self.day(first, year=True) + ("" if whole else f" {first:%H:%M}–{self.local(end):%H:%M}")
        if (first.year, first.month) == (last.year, last.month):
            begin = self.short_day(first) if self.lang == "en" else self.day(first)
            return f"{begin} – {self.day(last, year=True)}"
        return f"{self.day(first, year=first.year != last.year)} – {self.day(last, year=True)}"
