"""The report as Markdown."""

from __future__ import annotations

from dataclasses import replace

from reports.writers.page_markdown import page_markdown
from tests.support.results import HOSTILE, empty, quiet_week, week


def lines(content: bytes) -> list[str]:
    return content.decode().splitlines()


def test_the_title_says_the_finding_and_the_verdicts_follow() -> None:
    found = lines(page_markdown(week()))
    assert found[0] == "# Week 10: four objectives breached on Saturday"
    assert (
        "- ✕ **Breached** **TTFT ≤ 2.45 s for code** – 88.3 % (85.9–90.1) of 640 vs 95 %, sure · Sat 12:00–16:00, "
        "mostly queue on lm-large us-east"
    ) in found
    assert "- ? **Unknown** **TTFA for chat**: no request has the figure." in found


def test_actions_say_what_to_do_and_what_it_would_change() -> None:
    assert (
        "1. **Bring back the two missing replicas** (scale\\_out, Confidence high). lm-large-us-east-0 and -1 served 0 "
        "requests from 12:45 to 16:15; about 689 were expected. Predicted: code.ttft 88.3 % → 99.5 %; all four met"
    ) in lines(page_markdown(week()))


def test_costs_add_up_to_the_total() -> None:
    found = lines(page_markdown(week()))
    assert found[found.index("| Scenario | Requests | USD |") + 2 :][:6] == [
        "| rag | 454,740 | 1,378.74 |",
        "| agent | 137,520 | 921.52 |",
        "| chat | 1,001,020 | 791.86 |",
        "| code | 496,480 | 787.54 |",
        "| summarise | 180,780 | 199.13 |",
        "| Total | 2,270,540 | 4,078.79 |",
    ]


def test_names_from_traces_make_no_markup() -> None:
    hostile = week()
    title = "[a](javascript:alert(1)) ![x](http://outside.example/) `code` | cell\n# heading"
    objectives = [replace(hostile.objectives[0], title=title), *hostile.objectives[1:]]
    found = page_markdown(replace(hostile, objectives=objectives)).decode()
    assert "](http" not in found.replace("\\](", "")
    assert "\n# heading" not in found
    assert "\\[a\\](javascript:alert(1)) \\!\\[x\\](http://outside.example/) \\`code\\` \\| cell \\# heading" in found
    assert HOSTILE not in found


def test_a_quiet_week_says_that_nothing_is_to_be_done() -> None:
    found = lines(page_markdown(quiet_week()))
    assert found[0] == "# Week 10: all three objectives met"
    assert "Nothing: no objective is breached or endangered." in found


def test_an_empty_selection_says_so_and_shows_no_table_of_figures() -> None:
    found = page_markdown(empty()).decode()
    assert "No request lies in this selection" in found
    assert "## Latency" not in found
    assert "## Cost" not in found


def test_it_stays_short() -> None:
    assert len(lines(page_markdown(week()))) < 80


def test_control_characters_of_names_are_dots() -> None:
    told = week()
    line = replace(told.costs.unpriced[0], model="m\x1b[31m\x07x")
    result = replace(
        told, costs=replace(told.costs, unpriced=[line]), selection=replace(told.selection, title="w\x07x")
    )
    assert not {"\x07", "\x1b"} & set(page_markdown(result).decode())
