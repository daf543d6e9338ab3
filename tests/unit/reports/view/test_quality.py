"""What was read, and how far to trust it."""

from __future__ import annotations

from dataclasses import replace

from reports.text import NBSP, Text
from reports.view.blocks import Cell, Columns, Facts, Message, Panel, Table
from reports.view.quality import quality_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def test_the_lead_adds_up_to_the_line() -> None:
    part = quality_part(week(), EN)
    assert part.title == "12. Data quality: B"
    assert part.lead == "Read 113,577 = accepted 113,527 + duplicate 38 + rejected 12."


def test_fields_are_told_apart_by_whether_some_all_or_no_requests_have_them() -> None:
    columns = next(block for block in quality_part(week(), EN).blocks if isinstance(block, Columns))
    panel = columns.blocks[1]
    assert isinstance(panel, Panel)
    missing, table, whole = panel.blocks
    assert isinstance(missing, Message)
    assert isinstance(table, Table)
    assert isinstance(whole, Message)
    assert "".join(piece.text for piece in missing.sentences) == "To learn more, log: cold_start ttfa"
    assert [[words(row.head), *map(words, row.cells)] for row in table.rows] == [
        ["ttft", "99.97 %", "113,491"], ["batch_size", "99.96 %", "113,480"],
    ]  # fmt: skip
    assert whole.sentences[0].text == "Known for every request: user."


def test_rejected_rows_name_file_line_reason_and_beginning() -> None:
    panel = next(b for b in quality_part(week(), EN).blocks if isinstance(b, Panel) and b.title == "Rejected rows")
    table = panel.blocks[0]
    assert isinstance(table, Table)
    assert table.caption == "The first 2 of 12: end_before_start 7, torn_line 4, no_trace_id 1"
    assert [words(table.rows[0].head), *map(words, table.rows[0].cells)] == [
        "traces-sat.jsonl.gz", "1,041", "end_before_start", "it ends before it starts", '{"traceId": "<b>"',
    ]  # fmt: skip


def test_nothing_rejected_is_said_and_grade_d_warns() -> None:
    withheld = replace(empty(), data_quality=replace(empty().data_quality, grade="D"))
    part = quality_part(withheld, EN)
    messages = [block for block in part.blocks if isinstance(block, Message)]
    assert [(message.tone, message.sentences[0].text) for message in messages] == [
        ("warn", "No request in this selection.")
    ]
    panel = next(b for b in part.blocks if isinstance(b, Panel) and b.title == "Rejected rows")
    assert isinstance(panel.blocks[0], Message)
    assert panel.blocks[0].sentences[0].text == "No row was rejected."


def test_requests_across_the_end_are_told_with_what_they_cost() -> None:
    result = week()
    late = replace(result, data_quality=replace(result.data_quality, straddler_cost_usd="0.1742"))
    told = repr(quality_part(late, EN)).replace(NBSP, " ").replace("\\xa0", " ")
    assert (
        "4 requests began inside the selection and ended after it; 2,210 tokens, 0.17 USD: a bill by end of work"
        in told
    )


def sampled(**columns: object) -> list[str]:
    quality = replace(week().data_quality, sampling_rate=0.05, **columns)  # type: ignore[arg-type]
    part = quality_part(replace(week(), data_quality=quality), EN)
    panel = next(b for b in part.blocks if isinstance(b, Panel) and b.title == "How the figures are to be read")
    facts = panel.blocks[0]
    assert isinstance(facts, Facts)
    return ["".join(piece.text for piece in fact.lines[0]).replace(NBSP, " ") for fact in facts.facts[:2]]


def test_one_sampling_rate_is_told_and_of_several_the_mix() -> None:
    assert sampled(sampling={"0.05": 900}, n_effective=900.0) == [
        "5.0 % of requests were kept; counts, sums and rates are divided by it, percentiles are not",
        "900",
    ]
    assert sampled(sampling={"1": 100, "0.05": 900}, n_effective=909.6) == [
        "Rates differ: 5.0 % of 900 requests, 100 % of 100 requests. Sums and rates are divided by the rate of each "
        "request, and percentiles, means and shares weigh each by its inverse",
        "910: as many requests of one rate would tell as much as the 1,000 that were read",
    ]
    many = {f"{rate / 100}": 1 for rate in range(99, 89, -1)}
    assert sampled(sampling=many, n_effective=9.9)[0].count("4 further rates") == 1
