"""Numbers, instants and labels to words."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path

import pytest

from reports import text
from reports.text import NBSP, Text

ROOM = Path(text.__file__).parent
DYNAMIC = {  # said by a variable: ids of the vocabulary, names of days and months, states, dimensions
    *text.MONTHS,
    *text.DAYS,
    *(day[:3] for day in text.DAYS),
    *[
        "gateway",
        "network",
        "guardrail",
        "retrieval",
        "rerank",
        "queue",
        "prefill",
        "decode",
        "tool",
        "postprocess",
        "model",
    ],
    *["before_first_token", "after_first_token", "unattributed", "error", "client"],
    *["cost_input", "cost_output", "cost_cache", "cost_model", "cost_capacity"],
    *["performance", "load", "mix_shift", "config", "dependency", "failure", "cost"],
    *["waiting", "reading", "done", "failed", "cancelled"],
    *["Scenario", "Model", "Tenant", "User"],
    *["mean", "sum", "rate", "ratio", "share", "attainment", "compute", "bandwidth"],
}


def said() -> set[str]:
    """Every sentence that a page can say, read from the sources."""
    found = set(DYNAMIC)
    for path in ROOM.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("say", "many")
            ):
                arguments = node.args[1:] if node.func.attr == "many" else node.args[:1]
                for argument in arguments:
                    options = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
                    found |= {o.value for o in options if isinstance(o, ast.Constant) and isinstance(o.value, str)}
    for path in (ROOM / "templates").glob("*.jinja"):
        found |= set(re.findall(r'say\("([^"]+)"', path.read_text()))
    return found


def chinese() -> dict[str, str]:
    words: dict[str, str] = json.loads((ROOM / "assets" / "words" / "zh.json").read_text())
    return words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (9.999, "10.0"),
        (0.00123, "0.00123"),
        (4078.789, "4,079"),
        (1_212_200, "1,212,200"),
        (-0.0004, "−0.000400"),
        (0.0, "0"),
        (-0.0, "0"),
        (float("nan"), "–"),
    ],
)
def test_a_figure_has_three_significant_digits_and_keeps_its_whole_ones(value: float, shown: str) -> None:
    assert text.significant(value) == shown


@pytest.mark.parametrize(
    ("value", "target", "shown"),
    [
        (0.883, None, "88.3 %"),
        (0.9498, None, "95.0 %"),
        (0.9498, 0.95, "94.98 %"),
        (0.99969, None, "99.97 %"),
        (0.000308, None, "0.0308 %"),
        (0.0004, None, "0.04 %"),
        (1.0, 0.95, "100 %"),
        (0.0, None, "0 %"),
        (1.38, None, "138 %"),
        (None, None, "–"),
    ],
)
def test_a_share_gains_digits_only_where_rounding_would_hide_the_verdict(
    value: float | None, target: float | None, shown: str
) -> None:
    assert text.share(value, target).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(27.853, "27.9 s"), (0.421, "0.421 s"), (0.0689, "68.9 ms"), (0.0, "0 s"), (None, "–")]
)
def test_a_duration_is_in_seconds_or_below_a_tenth_in_milliseconds(value: float | None, shown: str) -> None:
    assert text.seconds(value).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0512, "s/token", "51.2 ms"),
        (0.285, "ratio", "28.5 %"),
        (3.0, "count", "3"),
        ("0.0067505", "USD", "0.00675 USD"),
        (0.0039, "USD", "0.00390 USD"),
        ("2026.03.0", "", "2026.03.0"),
        (797.4, "token/s", "797 tok/s"),
        (None, "s", "–"),
    ],
)
def test_a_figure_is_printed_in_its_unit(value: float | str | None, unit: str, shown: str) -> None:
    assert text.figure(value, unit).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("usd", "headline", "total"),
    [
        ("4078.789412365", "4,079", "4,078.79"),
        ("1.05", "1.05", "1.05"),
        ("0.0067505", "0.00675", "0.01"),
        ("0", "0.00", "0.00"),
        ("-2.5", "−2.50", "−2.50"),
        (None, "–", "–"),
    ],
)
def test_money_is_exact_to_the_cent_in_totals(usd: str | None, headline: str, total: str) -> None:
    assert (text.money(usd), text.cents(usd)) == (headline, total)


def test_money_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="money 'a lot' is no decimal text"):
        text.decimal("a lot")


@pytest.mark.parametrize(
    ("value", "shown"), [(0.008, "+0.8 %"), (-0.029, "−2.9 %"), (0.0, "0.00 %"), (-0.0004, "−0.04 %"), (None, "–")]
)
def test_a_change_carries_its_sign(value: float | None, shown: str) -> None:
    assert text.change(value).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (2.1, "s", "2.1 s"),
        (0.06, "s", "60 ms"),
        (90.0, "s", "90 s"),
        (0.0039, "USD", "0.0039 USD"),
        (0.95, "ratio", "95 %"),
        ("500ms + 0.4ms/token", "s", "500ms + 0.4ms/token"),
        (None, "s", "–"),
    ],
)
def test_a_limit_is_printed_as_its_owner_wrote_it(value: float | str | None, unit: str, shown: str) -> None:
    assert text.limit(value, unit).replace(NBSP, " ") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (2.76, "s", "+2.76 s"),
        (-0.0042, "s/token", "−4.20 ms"),
        (-0.029, "ratio", "−2.9 pp"),
        (0.0, "s", "0 s"),
        (None, "s", "–"),
    ],
)
def test_a_change_stands_in_the_unit_of_its_figure(value: float | None, unit: str, shown: str) -> None:
    assert text.move(value, unit).replace(NBSP, " ") == shown


def test_an_interval_names_its_unit_once() -> None:
    assert text.interval_of((3.4, 3.71), "s").replace(NBSP, " ") == "3.40–3.71 s"
    assert text.interval_of((0.0951, 0.131), "s").replace(NBSP, " ") == "95.1 ms–0.131 s"
    assert text.interval_of((0.856, 0.905), "ratio").replace(NBSP, " ") == "85.6–90.5 %"


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2026-03-07T12:00:00Z", "2026-03-07T16:00:00Z", "Sat 13:00–17:00"),
        ("2026-03-07T20:00:00Z", "2026-03-07T23:00:00Z", "Sat 21:00–24:00"),
        ("2026-03-07T20:00:00Z", "2026-03-08T23:00:00Z", "Sat 7 March 21:00 – Mon 9 March 00:00"),
        (None, None, "–"),
    ],
)
def test_a_span_of_time_stands_in_the_zone_of_the_page(start: str | None, end: str | None, shown: str) -> None:
    assert Text.of("en", "Europe/Berlin").span(start, end) == shown


def test_the_days_of_a_range_leave_out_its_end() -> None:
    berlin = Text.of("en", "Europe/Berlin")
    assert berlin.days("2026-03-01T23:00:00Z", "2026-03-08T23:00:00Z") == "Mon 2 – Sun 8 March 2026"
    assert berlin.days("2026-03-01T23:00:00Z", "2026-03-02T23:00:00Z") == "Mon 2 March 2026"
    assert berlin.days("2026-03-07T12:00:00Z", "2026-03-07T16:00:00Z") == "Sat 7 March 2026 13:00–17:00"
    assert berlin.days("2025-12-28T23:00:00Z", "2026-01-04T23:00:00Z") == "Mon 29 December 2025 – Sun 4 January 2026"


def test_an_unknown_zone_reads_as_utc_and_an_unknown_language_is_refused() -> None:
    assert Text.of("en", "Mars/Olympus").moment("2026-03-07T12:45:00Z") == "Sat 7 March 12:45"
    with pytest.raises(ValueError, match=r"language 'tlh' is not known\. Known: en, zh"):
        Text.of("tlh", "UTC")


def test_counts_are_words_in_english_and_figures_in_chinese() -> None:
    one, more = "one objective breached", "{n} objectives breached"
    english, chinese_text = Text.of("en", "UTC"), Text.of("zh", "UTC")
    assert [english.many(n, one, more) for n in (1, 4, 12)] == [
        one,
        "four objectives breached",
        "12 objectives breached",
    ]
    assert chinese_text.many(4, one, more) == "4 个目标未达标"
    assert english.short_count(2_270_540) == f"2.27{NBSP}million"
    assert chinese_text.short_count(2_270_540) == f"227{NBSP}万"


def test_every_sentence_of_the_pages_has_a_chinese_one_and_none_is_left_over() -> None:
    assert sorted(said() - set(chinese()) - {"unattributed"}) == []
    assert sorted(set(chinese()) - said()) == []


def test_chinese_sentences_keep_the_places_of_the_english_ones() -> None:
    def places(sentence: str) -> list[str]:
        return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name)

    assert [english for english, words in chinese().items() if places(english) != places(words)] == []


def test_beyond_a_week_a_weekday_stands_with_its_date() -> None:
    dated = Text.of("en", "UTC", dated=True)
    assert dated.span("2026-03-07T12:00:00Z", "2026-03-07T16:00:00Z") == "Sat 7 March 12:00–16:00"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.0, "replicas", "1 replica"),
        (0.0, "requests", "0 requests"),
        (1.0, "token", "1 token"),
        (1.0, "req/s", "1 req/s"),
    ],
)
def test_one_of_a_thing_is_no_plural(value: float, unit: str, shown: str) -> None:
    assert text.figure(value, unit).replace(NBSP, " ") == shown
