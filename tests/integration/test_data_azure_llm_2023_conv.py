"""Facts of the Azure trace, as its page states them, from the reader alone."""

from __future__ import annotations

from itertools import pairwise

from ingest.formats import values as v
from tests.support.readers import nearest_rank, notes, numbers, rejects, requests, told_format
from tests.support.shared import shared

PATH = "data/azure-llm-2023-conv/AzureLLMInferenceTrace_conv.csv.gz"


def spread(values: list[int]) -> tuple[float, ...]:
    return (len(values), min(values), *(nearest_rank(values, share) for share in (0.5, 0.95, 0.99)), max(values))


def test_rows_tokens_and_arrivals_are_those_of_the_page() -> None:
    path = shared(PATH)
    found = requests(path)
    tokens_in, tokens_out = numbers(found, "input_tokens"), numbers(found, "output_tokens")
    starts = numbers(found, "started_ns")
    assert told_format(path) == "azure_trace"
    assert rejects(path) == []
    assert (sum(tokens_in), sum(tokens_out)) == (22361870, 4088665)
    assert spread(tokens_in) == (19366, 2, 1020, 4083, 4142, 14050)
    assert spread(tokens_out) == (19366, 7, 129, 451, 601, 1000)
    # seven digits of a second survive
    assert starts[0] == v.instant_ns("2023-11-16T18:15:46.680590Z") == 1_700_158_546_680_590_000
    assert starts[-1] == 1_700_162_048_402_527_000
    assert starts == sorted(starts)
    gaps = [after - before for before, after in pairwise(starts)]
    told = [round(value / 1000) for value in spread(gaps)[1:]]
    assert told == [2, 118_424, 565_234, 890_868, 4_314_579]


def test_latencies_are_unknown_and_the_missing_zone_is_said() -> None:
    path = shared(PATH)
    assert {name for row in requests(path) for name in row} == {
        *("started_ns", "input_tokens", "output_tokens", "status_class", "llm_calls", "attempts")
    }
    assert notes(path) == ["times without zone were read as UTC; timezone in the mapping file sets another"]
