"""Facts of the Mooncake trace, as its page states them, from the reader alone."""

from __future__ import annotations

import json

from tests.support.readers import nearest_rank, numbers, requests, told_format
from tests.support.shared import shared

PATH = "data/mooncake-conversation/conversation_first20min.jsonl.gz"


def spread(values: list[int]) -> tuple[float, ...]:
    return (len(values), min(values), *(nearest_rank(values, share) for share in (0.5, 0.95, 0.99)), max(values))


def test_rows_and_tokens_are_those_of_the_page() -> None:
    path = shared(PATH)
    found = requests(path)
    tokens_in, tokens_out = numbers(found, "input_tokens"), numbers(found, "output_tokens")
    assert told_format(path) == "mooncake"
    assert (sum(tokens_in), sum(tokens_out)) == (49028610, 1274811)
    assert spread(tokens_in) == (3658, 891, 7888, 44083, 94991, 123192)
    assert spread(tokens_out) == (3658, 1, 358, 702, 1166, 2000)


def test_relative_times_stay_relative_and_blocks_are_counted() -> None:
    found = requests(shared(PATH))
    beside = [json.loads(str(row["attributes"])) for row in found]
    offsets = [one.get("trace_offset_ns", 0) // 1_000_000 for one in beside]
    assert (min(offsets), max(offsets), len(set(offsets))) == (0, 1_199_999, 401)
    assert offsets == sorted(offsets)
    assert sum(one["prefix_blocks"] for one in beside) == 97495
    assert sum(one["prefix_blocks_seen_before"] for one in beside) == 30998
    assert {"started_ns", "e2e_ns", "cached_input_tokens"} & {name for row in found for name in row} == set()
