"""What was spent, on what, by whom."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from analysis.result import AnalysisResult, BudgetLine, DayCost, OtherCostLine
from reports.charts.data import StackedBars, StackedColumns
from reports.text import NBSP, Text
from reports.view.blocks import Block, Cell, Figure, Heads, Message, Panel, Table
from reports.view.costs import costs_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def test_a_row_whose_requests_mostly_have_no_price_costs_an_unknown_sum_and_not_zero() -> None:
    result = week()
    row = replace(result.costs.cubes["scenario"][0], requests=40, unpriced_requests=30, cost_usd="0")
    costs = replace(result.costs, cubes={"scenario": [row]})
    shown = table(replace(result, costs=costs), "By scenario")
    assert words(shown.rows[0].cells[4]) == "– / 30 unpriced"


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def titled(result: AnalysisResult, title: str) -> Block:
    for block in costs_part(result, EN).blocks:
        if isinstance(block, Panel | Figure) and block.title == title:
            return block
    raise AssertionError(f"no block {title!r}")


def table(result: AnalysisResult, title: str) -> Table:
    panel = titled(result, title)
    assert isinstance(panel, Panel)
    assert isinstance(panel.blocks[0], Table)
    return panel.blocks[0]


def test_totals_are_printed_to_the_cent() -> None:
    heads = costs_part(week(), EN).blocks[0]
    assert isinstance(heads, Heads)
    assert [(head.label, head.value) for head in heads.heads] == [
        ("Total", "4,078.79"), ("Saved by the cache", "2,105.11"), ("Wasted", "1.05"), ("Idle replicas", "1,391.17"),
    ]  # fmt: skip


def test_the_lines_of_a_table_add_up_to_its_total() -> None:
    users = table(week(), "By user")
    shown = [Decimal(words(row.cells[4]).replace(",", "")) for row in users.rows]
    assert len(users.rows) == 21
    assert words(users.rows[-1].head) == "other (10)"
    assert words(users.foot[0].cells[4]) == "568.19"
    assert sum(shown) == Decimal("568.19")


def test_requests_without_a_tenant_are_a_line_of_their_own() -> None:
    tenants = table(week(), "By tenant")
    assert [words(row.head) for row in tenants.rows] == [
        "unattributed",
        "tenant-00",
        "tenant-01",
        "<script>alert('tenant')</script>",
    ]
    assert [words(cell) for cell in tenants.rows[0].cells] == [
        "1,272,260", "4,873 M", "42 %", "270 M", "2,457.10", "1.97", "0.10",
    ]  # fmt: skip


def test_drivers_are_one_bar_with_the_largest_named() -> None:
    figure = titled(week(), "Cost by driver")
    assert isinstance(figure, Figure)
    assert figure.says.replace(NBSP, " ") == "Uncached input is 65 % of the spend."
    data = figure.charts[0].data
    assert isinstance(data, StackedBars)
    assert [(s.name, s.values) for s in data.segments] == [
        ("uncached_input", (2651.21,)), ("cached_input", (541.2,)), ("output", (886.379412365,)),
    ]  # fmt: skip


def test_days_stack_the_largest_scenario_at_the_bottom() -> None:
    figure = titled(week(), "Cost per day")
    assert isinstance(figure, Figure)
    data = figure.charts[0].data
    assert isinstance(data, StackedColumns)
    assert [segment.name for segment in data.segments] == ["rag", "agent", "chat", "code", "summarise"]
    assert data.groups == ("Mon 2", "Tue 3", "Wed 4", "Thu 5", "Fri 6", "Sat 7", "Sun 8")


def test_requests_without_a_clock_are_no_day_of_the_chart() -> None:
    result = week()
    undated = DayCost("unknown", "rag", "5.00")
    figure = titled(replace(result, costs=replace(result.costs, days=[*result.costs.days, undated])), "Cost per day")
    assert figure == titled(result, "Cost per day")


def test_what_has_no_price_is_told_with_its_reason() -> None:
    panel = next(b for b in costs_part(week(), EN).blocks if isinstance(b, Panel) and b.title.startswith("Unpriced"))
    assert panel.title == "Unpriced: 812 requests, left empty and not counted as zero"


def test_budgets_and_lines_beside_the_total_are_shown_where_they_are() -> None:
    result = week()
    costs = replace(
        result.costs,
        budgets=[BudgetLine("2026-03", {"tenant": "tenant-00"}, "800.00", "812.23", 1.0153, "3400.00", "exceeded")],
        other=[OtherCostLine("network", "210.00", "output_tokens", [])],
    )
    budget = table(replace(result, costs=costs), "Budgets").rows[0]
    assert budget.cells[1].badge is not None
    assert (words(budget.head), budget.cells[1].badge.word, [words(cell) for cell in budget.cells[2:]]) == (
        "tenant tenant-00", "Exceeded", ["812.23 / 102 %", "800.00", "3,400.00"],
    )  # fmt: skip
    assert words(table(replace(result, costs=costs), "Other lines").rows[0].cells[1]) == "210.00"


def test_without_a_price_the_part_says_what_to_give() -> None:
    part = costs_part(empty(), EN)
    assert isinstance(part.blocks[0], Message)
    assert "--prices prices.yaml" in part.blocks[0].sentences[0].text


def test_a_row_that_sums_up_the_end_of_a_long_table_counts_its_values() -> None:
    result = week()
    users = [
        *result.costs.cubes["user"][:2],
        replace(result.costs.cubes["user"][2], by={"user": "other"}, cost_usd="900.00", others=1_309),
    ]
    costs = replace(result.costs, cubes=result.costs.cubes | {"user": users})
    found = table(replace(result, costs=costs), "By user")
    assert [words(row.head) for row in found.rows] == ["user-0000", "user-0001", "other (1,309)"]
    assert found.caption == "Top 2 of 1,311"
    assert words(found.foot[0].cells[4]) == "1,113.34"


def test_the_end_of_the_part_says_how_to_hold_a_bill_against_it() -> None:
    message = costs_part(week(), EN).blocks[-1]
    assert isinstance(message, Message)
    assert "".join(piece.text for piece in message.sentences) == (
        "No bill stands against these figures. Compare one: tailwise reconcile BILL --period 2026-03"
    )


def test_where_nothing_has_a_price_money_is_unknown_and_tokens_are_still_shown() -> None:
    result = week()
    rows = [replace(cost, cost_usd="0", unpriced_requests=cost.requests) for cost in result.costs.cubes["model"]]
    costs = replace(result.costs, total_usd="0", priced_share=0.0, cubes={"model": rows})
    part = costs_part(replace(result, costs=costs), EN)
    assert [type(block) for block in part.blocks] == [Message, Panel, Panel]
    models = table(replace(result, costs=costs), "By model")
    assert [words(cell) for cell in models.rows[0].cells[:5]] == [
        "1,212,200", "4,643 M", "42 %", "257 M", "– / 1,212,200 unpriced",
    ]  # fmt: skip


def test_drivers_without_money_are_no_chart() -> None:
    result = week()
    free = [replace(driver, cost_usd="0") for driver in result.costs.drivers]
    part = costs_part(replace(result, costs=replace(result.costs, drivers=free)), EN)
    assert [block.title for block in part.blocks if isinstance(block, Figure)] == ["Cost per day"]


def test_usd_per_1000_good_is_of_the_traffic_that_the_objectives_cover() -> None:
    result = week()
    first = result.costs.cubes["scenario"][0]
    rows = [
        replace(first, by={"scenario": "chat"}, cost_usd="30", covered_usd="30", good_requests=10_000),
        replace(first, by={"scenario": "batch"}, cost_usd="900", covered_usd=None, good_requests=0),
    ]
    shown = table(replace(result, costs=replace(result.costs, cubes={"scenario": rows})), "By scenario")
    assert [words(row.cells[5]) for row in (*shown.rows, *shown.foot)] == ["–", "3.00", "3.00"]  # the dearest first
