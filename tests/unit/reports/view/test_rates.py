"""Failures, cache, load, batch."""

from __future__ import annotations

from dataclasses import replace

from analysis.result import AnalysisResult
from reports.text import NBSP, Text
from reports.view.blocks import Cell, Columns, Figure, Message, Panel, Table
from reports.view.rates import rates_part
from tests.support.results import empty, week

EN = Text.of("en", "UTC")


def words(cell: Cell) -> str:
    return " / ".join("".join(piece.text for piece in line).replace(NBSP, " ") for line in cell.lines)


def tables(result: AnalysisResult) -> dict[str, dict[str, list[str]]]:
    """Cells by title of the panel and head of the row."""
    found = {}
    for block in rates_part(result, EN).blocks:
        for panel in block.blocks if isinstance(block, Columns) else (block,):
            if isinstance(panel, Panel) and isinstance(panel.blocks[0], Table):
                found[panel.title] = {
                    words(row.head): [words(cell) for cell in row.cells] for row in panel.blocks[0].rows
                }
    return found


def test_rates_carry_counts_and_intervals_and_what_nobody_reports_is_a_dash() -> None:
    rates = tables(week())["Failures and retries"]
    assert rates["errors"] == ["0.0308 % / 0.0208–0.0408", "35 of 113,527"]
    assert rates["degraded"] == ["0 % / 0–0.01", "0 of 113,527"]
    assert rates["cold starts"] == ["–", "not reported"]
    assert rates["attempts per request"] == ["1.00×", "113,645 attempts"]


def test_the_cache_shows_what_it_saved() -> None:
    assert tables(week())["Cache"]["cached share of input"] == ["41.5 %", "3,608,000,000 of 8,696,000,000"]
    assert tables(week())["Cache"]["saved, USD"] == ["2,105.11", ""]


def test_load_figures_name_their_meaning_and_unknown_ones_say_so() -> None:
    load = tables(week())["Load"]
    assert load["mean concurrency"] == ["24.1", "24.4 by arrival rate × mean E2E"]
    assert load["MFU"] == ["–", "not known"]


def test_errors_by_type_are_sorted_by_count() -> None:
    assert list(tables(week())["Errors by type"]) == ["upstream_reset", "<img src=x onerror=alert(1)>"]


def test_batch_sizes_are_shares_of_requests() -> None:
    figure = next(b for b in rates_part(week(), EN).blocks if isinstance(b, Figure) and b.title == "Batch size")
    assert figure.says.replace(NBSP, " ").endswith("Most often 2-4: 54.1 %.")


def test_without_batch_sizes_or_cache_counts_the_part_says_what_to_log() -> None:
    result = week()
    bare = replace(result, load=replace(result.load, batch_sizes=[]), cache=replace(result.cache, hit_ratio=None))
    blocks = rates_part(bare, EN).blocks
    told = [b.sentences[0].text for b in blocks if isinstance(b, Message)]
    assert told == ["No request has a batch size: log the number of sequences that decode together."]
    assert isinstance(blocks[0], Columns)
    cache = blocks[0].blocks[1]
    assert isinstance(cache, Panel)
    assert isinstance(cache.blocks[0], Message)


def test_an_empty_selection_is_one_sentence() -> None:
    assert [type(block) for block in rates_part(empty(), EN).blocks] == [Message]
