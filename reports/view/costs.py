"""Part 10: what was spent, on what, by whom; what was wasted, idle and unpriced.

Input: costs of the result; Text. Output: blocks. Money is summed as Decimal and printed to the cent in totals.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from analysis.result import AnalysisResult, CostRow, Costs
from reports import text as words
from reports.charts.data import Segment, StackedBars, StackedColumns
from reports.text import Text
from reports.view.blocks import (
    Badge,
    Block,
    Cell,
    Chart,
    Column,
    Fact,
    Facts,
    Figure,
    Head,
    Heads,
    Message,
    Panel,
    Part,
    Piece,
    Row,
    Swatch,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.labels import has_price, is_spent, value_cell

TOP = 20  # rows of one table; the rest is one line, so that the table adds up
CUBES = ("scenario", "model", "tenant", "user")
DRIVER_TOKENS = {
    "uncached_input": "series-1",
    "cached_input": "heat-2",
    "cache_write": "stage-rerank",
    "output": "stage-model",
    "reasoning": "stage-guardrail",
}
DAY_TOKENS = ("heat-5", "heat-4", "heat-3", "heat-2", "heat-1")
MAX_DAYS = 31


def costs_part(result: AnalysisResult, text: Text) -> Part:
    title = text.say("10. Cost")
    costs = result.costs
    if not has_price(costs):
        says = (
            text.say(
                "Most requests have no price, and nothing is told as spent: give prices with --prices prices.yaml."
            )
            if costs.priced_share
            else text.say(
                "No request has a price: log tokens and the model, and give prices with --prices prices.yaml."
            )
        )
        return Part(
            "p10",
            title,
            title,
            "",
            (Message(plain(says)), *_unpriced(costs, text), *_cubes(costs, result.goodput.objective, text)),
        )
    lead = text.say("Prices: {book}. Retries count; sums are divided by the sampling rate.", book=costs.price_book)
    blocks: list[Block] = [_heads(result, text)]
    blocks += _unpriced(costs, text)
    if any(words.decimal(driver.cost_usd) for driver in costs.drivers):
        blocks.append(_drivers(costs, text))
    if len({day.day for day in costs.days if day.day != "unknown"}) > 1:
        blocks.append(_days(costs, text))
    blocks += _cubes(costs, result.goodput.objective, text)
    blocks += _gpu_models(costs, text) + _budgets(costs, text) + _other(costs, text)
    blocks += [Message(plain(note)) for note in costs.notes]
    blocks.append(_bill(result, text))
    return Part("p10", title, title, lead, tuple(blocks))


def _cubes(costs: Costs, objective: str | None, text: Text) -> list[Block]:
    """Requests, tokens and money by each dimension that has any."""
    tables = ((dimension, [cost for cost in costs.cubes.get(dimension, []) if cost.requests]) for dimension in CUBES)
    return [_cube(dimension, found, objective, text) for dimension, found in tables if found]


def _heads(result: AnalysisResult, text: Text) -> Heads:
    costs, cache = result.costs, result.cache
    under = [
        plain(
            text.say("{usd} USD per million output tokens", usd=words.money(costs.cost_per_million_output_tokens_usd))
        )
    ]
    if costs.forecast_month_usd is not None:
        month = costs.forecast_month or text.say("the month")
        under.append(
            plain(text.say("forecast for {month}: {usd} USD", month=month, usd=words.money(costs.forecast_month_usd)))
        )
    heads = [Head(text.say("Total"), words.cents(costs.total_usd), costs.currency, tuple(under))]
    saved = costs.saved_usd if costs.saved_usd is not None else cache.saved_usd
    if cache.hit_ratio is not None:
        cached = text.say(
            "{share} of input tokens cached, n {n}", share=words.share(cache.hit_ratio), n=words.count(cache.n_known)
        )
        heads.append(_money_head(text.say("Saved by the cache"), saved, costs, cached))
    kinds = ", ".join(f"{_waste_word(kind, text)} {words.cents(usd)}" for kind, usd in costs.wasted.items())
    heads.append(_money_head(text.say("Wasted"), costs.wasted_usd, costs, kinds))
    if costs.gpu_usd is not None or costs.idle_usd is not None:
        gpu = text.say("of {usd} USD for replica hours", usd=words.money(costs.gpu_usd))
        heads.append(_money_head(text.say("Idle replicas"), costs.idle_usd, costs, gpu))
    if costs.unattributed_usd is not None and words.decimal(costs.unattributed_usd):
        heads.append(
            _money_head(text.say("Unattributed"), costs.unattributed_usd, costs, text.say("requests without a user"))
        )
    return Heads(tuple(heads))


def _money_head(label: str, usd: str | None, costs: Costs, under: str) -> Head:
    return Head(label, words.cents(usd), costs.currency if usd is not None else "", (plain(under),) if under else ())


def _waste_word(kind: str, text: Text) -> str:
    known = {
        "failed": text.say("failed"),
        "timed_out": text.say("timed out"),
        "retried": text.say("retried"),
        "abandoned": text.say("abandoned"),
    }
    return known.get(kind, kind)


def driver_word(driver: str, text: Text) -> str:
    known = {
        "uncached_input": text.say("uncached input"),
        "cached_input": text.say("cached input"),
        "cache_write": text.say("cache write"),
        "output": text.say("output"),
        "reasoning": text.say("reasoning"),
    }
    return known.get(driver, driver.replace("_", " "))


def _drivers(costs: Costs, text: Text) -> Figure:
    drawn = [(driver, words.decimal(driver.cost_usd) or Decimal(0)) for driver in costs.drivers]
    total = sum((cost for _, cost in drawn), Decimal(0))
    segments = tuple(
        Segment(
            name=driver.driver,
            token=DRIVER_TOKENS.get(driver.driver, "series-2"),
            hatched=False,
            values=(float(cost),),
            labels=(driver_word(driver.driver, text) if total and cost / total > Decimal("0.1") else "",),
            hovers=(
                f"{driver_word(driver.driver, text)}\n{driver.cost_usd} USD\n{text.say('{n} tokens', n=words.count(driver.tokens))}",
            ),
            deep=driver.driver not in ("cached_input", "cache_write"),
        )
        for driver, cost in drawn
    )
    largest = max(drawn, key=lambda item: item[1])
    says = text.say(
        "{driver} is {share} of the spend.",
        driver=driver_word(largest[0].driver, text).capitalize(),
        share=words.whole_share(float(largest[1] / total) if total else None),
    )
    return Figure(
        title=text.say("Cost by driver"),
        says=says,
        charts=(Chart(text.say("Cost by driver in USD"), StackedBars((text.say("all"),), segments, (words.dollars(costs.total_usd),), "USD"), 92),),
        legend=tuple(Swatch(DRIVER_TOKENS.get(driver.driver, "series-2"), driver_word(driver.driver, text)) for driver, _ in drawn),
        table=Table(
            name=text.say("Cost by driver"),
            columns=(Column(text.say("Driver")), Column(text.say("Tokens"), number=True), Column("USD", number=True), Column(text.say("Share"), number=True)),
            rows=tuple(row(driver_word(d.driver, text), number_cell(words.compact(d.tokens)), number_cell(words.cents(d.cost_usd)), number_cell(words.share(float(cost / total)) if total else words.UNKNOWN)) for d, cost in drawn),
        ),
    )  # fmt: skip


def _days(costs: Costs, text: Text) -> Figure:
    days = sorted({day.day for day in costs.days if day.day != "unknown"})[-MAX_DAYS:]  # of requests without a clock
    sums: dict[str, Decimal] = {}
    amounts: dict[tuple[str, str], Decimal] = {}
    for entry in costs.days:
        amount = words.decimal(entry.cost_usd) or Decimal(0)
        sums[entry.by] = sums.get(entry.by, Decimal(0)) + amount
        amounts[entry.day, entry.by] = amounts.get((entry.day, entry.by), Decimal(0)) + amount
    ranked = sorted(sums, key=lambda name: (-sums[name], name))
    names = ranked[: len(DAY_TOKENS)] if len(ranked) <= len(DAY_TOKENS) else ranked[: len(DAY_TOKENS) - 1]
    others = [name for name in ranked if name not in names]
    groups = [(name, [name]) for name in names] + ([(text.say("other"), others)] if others else [])
    series = [
        (label, [sum((amounts.get((day, name), Decimal(0)) for name in members), Decimal(0)) for day in days])
        for label, members in groups
    ]
    shown = tuple(text.short_day(date.fromisoformat(day)) for day in days)
    totals = [sum((values[index] for _, values in series), Decimal(0)) for index in range(len(days))]
    segments = tuple(
        Segment(label, DAY_TOKENS[index], hatched=False, values=tuple(float(v) for v in values), labels=("",) * len(days),
                hovers=tuple(f"{label}\n{day}\n{words.cents(str(v))} USD" for day, v in zip(shown, values, strict=True)))
        for index, (label, values) in enumerate(series)
    )  # fmt: skip
    top = max(range(len(days)), key=lambda index: totals[index])
    return Figure(
        title=text.say("Cost per day"),
        says=text.say("Most on {day}: {usd} USD.", day=text.day(date.fromisoformat(days[top])), usd=words.cents(str(totals[top]))),
        charts=(Chart(text.say("Cost per day in USD, by scenario"), StackedColumns(shown, segments, tuple(words.money(str(total)) for total in totals), "USD"), 250),),
        legend=tuple(Swatch(DAY_TOKENS[index], label) for index, (label, _) in enumerate(series)),
        table=Table(
            name=text.say("Cost per day"),
            columns=(Column(text.say("Day")), *(Column(label, number=True) for label, _ in series), Column(text.say("Total"), number=True)),
            rows=tuple(row(day, *(number_cell(words.cents(str(values[index]))) for _, values in series), number_cell(words.cents(str(totals[index])), style="strong")) for index, day in enumerate(shown)),
        ),
    )  # fmt: skip


def _cube(dimension: str, found: list[CostRow], objective: str | None, text: Text) -> Panel:
    """The largest values, the rest in one line, the total: the lines add up to it."""
    ranked = sorted(
        (cost for cost in found if not cost.others),
        key=lambda cost: (-(words.decimal(cost.cost_usd) or Decimal(0)), -cost.requests, str(cost.by.get(dimension))),
    )
    ends = [cost for cost in found if cost.others]  # rows that already sum up the end of a long table
    shown = ranked[:TOP] if ends or len(ranked) > TOP + 1 else ranked
    rest = ranked[len(shown) :] + ends
    values = sum(cost.others or 1 for cost in found)
    rows = [_cost_row(cost, dimension, text) for cost in shown]
    if rest:
        n = sum(cost.others or 1 for cost in rest)
        rows.append(_figures(text_cell(text.say("other ({n})", n=words.count(n))), rest, text))
    titles = {
        "scenario": text.say("By scenario"),
        "model": text.say("By model"),
        "tenant": text.say("By tenant"),
        "user": text.say("By user"),
    }
    table = Table(
        name=titles[dimension],
        caption=text.say("Top {n} of {of}", n=words.count(len(shown)), of=words.count(values)) if rest else None,
        columns=(
            Column(text.say(dimension.capitalize())),
            Column(text.say("Requests"), number=True),
            Column(text.say("Input"), number=True),
            Column(text.say("cached"), number=True),
            Column(text.say("Output"), number=True),
            Column("USD", number=True),
            Column(text.say("USD per 1,000 good"), number=True),
            Column(text.say("Wasted"), number=True),
        ),
        rows=tuple(rows),
        foot=(_figures(text_cell(text.say("Total")), found, text),),
        note=text.say("Per 1,000 good: of the requests and the spend that {objective} is about.", objective=objective)
        if objective
        else None,
    )
    return Panel(titles[dimension], (table,))


def _cost_row(cost: CostRow, dimension: str, text: Text) -> Row:
    return _figures(value_cell(cost.by.get(dimension), text), [cost], text)


def _figures(head: Cell, group: list[CostRow], text: Text) -> Row:
    """Sums of a group of rows; a figure that none of them has stays unknown."""
    requests = sum(cost.requests for cost in group)
    inputs = _total([cost.input_tokens for cost in group])
    cached = _total([cost.cached_input_tokens for cost in group])
    unpriced = sum(cost.unpriced_requests for cost in group)
    usd = _money([cost.cost_usd for cost in group]) if unpriced < requests else None
    usd = usd if is_spent(None if usd is None else str(usd), unpriced, requests) else None  # not known is not zero
    good = _total([cost.good_requests for cost in group])
    covered = _money([cost.covered_usd for cost in group])  # of the traffic that the good ones are of
    per_thousand = (
        words.number(covered / good * 1000) if usd is not None and covered is not None and good else words.UNKNOWN
    )
    return Row(
        head,
        (
            number_cell(words.count(requests)),
            number_cell(words.compact(inputs)),
            number_cell(words.whole_share(cached / inputs) if cached is not None and inputs else words.UNKNOWN),
            number_cell(words.compact(_total([cost.output_tokens for cost in group]))),
            number_cell(
                words.cents(str(usd)) if usd is not None else words.UNKNOWN,
                text.say("{n} unpriced", n=words.count(unpriced)) if unpriced else None,
            ),
            number_cell(per_thousand),
            number_cell(
                words.cents(str(wasted))
                if (wasted := _money([cost.wasted_usd for cost in group])) is not None
                else words.UNKNOWN
            ),
        ),
    )


def _total(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _money(values: list[str | None]) -> Decimal | None:
    known = [amount for amount in map(words.decimal, values) if amount is not None]
    return sum(known, Decimal(0)) if known else None


def _unpriced(costs: Costs, text: Text) -> list[Block]:
    """What no price is known for, each line with its reason."""
    if not costs.unpriced:
        return []
    facts = tuple(
        Fact(" / ".join(filter(None, (line.provider, line.model))) or "–", (plain(text.say("{n} requests, {input} input and {output} output tokens: {says}", n=words.count(line.requests), input=words.compact(line.input_tokens), output=words.compact(line.output_tokens), says=line.says)),), code=True)
        for line in costs.unpriced
    )  # fmt: skip
    title = text.say(
        "Unpriced: {n} requests, left empty and not counted as zero", n=words.count(costs.unpriced_requests)
    )
    return [Panel(title, (Facts(facts),))]


def _bill(result: AnalysisResult, text: Text) -> Message:
    """A report knows no bill: how to hold one against these figures."""
    last = result.summary.last or result.selection.start
    period = f"{text.local(last):%Y-%m}" if last is not None else "YYYY-MM"
    says = text.say("No bill stands against these figures. Compare one:")
    return Message((Piece(f"{says} "), Piece(f"tailwise reconcile BILL --period {period}", "code")))


def _gpu_models(costs: Costs, text: Text) -> list[Block]:
    """What a million output tokens costs on own hardware, idle time included."""
    if not costs.gpu_cost_per_million_output_tokens_usd:
        return []
    rows = tuple(
        row(model, number_cell(words.money(usd)))
        for model, usd in sorted(costs.gpu_cost_per_million_output_tokens_usd.items())
    )
    name = text.say("Replica hours per million output tokens")
    columns = (Column(text.say("Model")), Column("USD", number=True))
    return [Panel(name, (Table(name, columns, rows, caption=text.say("Idle time included")),))]


def _budgets(costs: Costs, text: Text) -> list[Block]:
    """Budgets of the price file, month by month."""
    if not costs.budgets:
        return []
    verdicts = {
        "kept": Badge("met", text.say("Kept")),
        "endangered": Badge("endangered", text.say("Endangered")),
        "exceeded": Badge("breached", text.say("Exceeded")),
    }
    rows = tuple(
        row(
            ", ".join(f"{dimension} {value or text.say('unattributed')}" for dimension, value in line.of.items())
            or text.say("all"),
            text_cell(line.month),
            Cell(badge=verdicts.get(line.verdict, Badge("unknown", line.verdict))),
            number_cell(words.cents(line.spent_usd), words.whole_share(line.share)),
            number_cell(words.cents(line.budget_usd)),
            number_cell(words.cents(line.forecast_usd)),
        )
        for line in costs.budgets
    )
    columns = (
        Column(text.say("Of")), Column(text.say("Month")), Column(text.say("Verdict")), Column(text.say("Spent, USD"), number=True),
        Column(text.say("Budget, USD"), number=True), Column(text.say("Forecast, USD"), number=True),
    )  # fmt: skip
    return [Panel(text.say("Budgets"), (Table(text.say("Budgets"), columns, rows, cards=True),))]


def _other(costs: Costs, text: Text) -> list[Block]:
    """Monthly amounts of the fleet file; beside the total, not in it."""
    if not costs.other:
        return []
    rows = tuple(
        row(line.name, text_cell(line.split_by), number_cell(words.cents(line.cost_usd))) for line in costs.other
    )
    columns = (Column(text.say("Line")), Column(text.say("Split by")), Column("USD", number=True))
    caption = text.say("Monthly amounts of the fleet file for the length of the selection; not part of the total")
    return [Panel(text.say("Other lines"), (Table(text.say("Other lines"), columns, rows, caption=caption),))]
