"""Facts of the response bodies, as their page states them, from the reader alone."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.readers import nearest_rank, numbers, requests, told_format
from tests.support.shared import shared

GROQ = "data/provider-stage-timings/groq_cerebras_responses.jsonl"
OLLAMA = "data/provider-stage-timings/ollama_responses.jsonl"


def spread(values: list[int]) -> tuple[int, ...]:
    return (len(values), sum(values), min(values), *(int(nearest_rank(values, share)) for share in (0.5, 0.95, 0.99)))


def test_groq_and_cerebras_counts_are_those_of_the_page() -> None:
    path = shared(GROQ)
    found = requests(path)
    assert told_format(path) == "response_bodies"
    assert dict(Counter(row["provider"] for row in found)) == {"groq": 78, "cerebras": 12}
    assert len({row["request_id"] for row in found if "request_id" in row}) == 86  # the id stub is none
    assert sum("request_id" not in row for row in found) == 3
    sums = [sum(numbers(found, name)) for name in ("input_tokens", "output_tokens", "cached_input_tokens")]
    assert sums == [70993, 12844, 256]
    assert sum(row["streaming"] is True for row in found) == 6
    assert len({row["model"] for row in found}) == 12


def test_groq_and_cerebras_stages_are_those_of_the_page() -> None:
    found = requests(shared(GROQ))
    facts = {  # ns: n, sum, min, nr50, nr95, nr99
        "queue_ns": (90, 33_683_381_172, 87_720, 127_498_153, 1_426_007_102, 5_611_126_774),
        "prefill_ns": (90, 7_688_468_086, 419_446, 17_648_485, 491_441_369, 1_556_115_344),
        "decode_ns": (90, 36_131_914_699, 3_633_212, 139_900_713, 1_967_841_000, 5_781_818_182),
    }
    assert facts == {name: spread(numbers(found, name)) for name in facts}


def test_total_of_groq_is_without_and_of_cerebras_with_the_queue() -> None:
    found = requests(shared(GROQ))
    for row in found:
        parts = sum(int(str(row[name])) for name in ("queue_ns", "prefill_ns", "decode_ns"))
        rest = int(str(row["e2e_ns"])) - parts
        assert abs(rest) <= 3_000 if row["provider"] == "groq" else rest > 0
    # 45.014586728 s of totals, to which Groq's queue (all but 1.096525 s) is added
    assert sum(numbers(found, "e2e_ns")) == pytest.approx(45_014_586_728 + 33_683_381_172 - 1_096_525_000, abs=20_000)


def test_an_answer_of_several_inner_calls_tells_each() -> None:
    several = [row for row in requests(shared(GROQ)) if row["llm_calls"] != 1]
    told = [(row["model"], row["llm_calls"], row.get("ttft_ns")) for row in several]
    assert told == [("groq/compound", 4, None), ("groq/compound", 5, None)]


def test_ollama_counts_and_stages_are_those_of_the_page() -> None:
    path = shared(OLLAMA)
    found = requests(path)
    assert told_format(path) == "response_bodies"
    assert dict(Counter(row["model"] for row in found)) == {"llama3": 24, "llama3.1": 3, "gemma3:1b": 3}
    assert sum(row["streaming"] is True for row in found) == 14
    assert (len(numbers(found, "input_tokens")), sum(numbers(found, "input_tokens"))) == (21, 438)
    assert sum(numbers(found, "output_tokens")) == 2009
    facts = {
        "e2e_ns": (30, 110_891_499_298, 482_007_750, 2_685_412_125, 10_386_172_208, 10_386_172_208),
        "queue_ns": (30, 40_664_723_836, 988_875, 28_126_292, 8_078_850_750, 8_078_850_750),
        "prefill_ns": (30, 4_485_441_166, 33_781_000, 167_135_000, 313_560_000, 313_560_000),
        "decode_ns": (30, 65_678_121_084, 384_438_167, 2_006_086_000, 5_825_102_000, 5_825_102_000),
    }
    assert facts == {name: spread(numbers(found, name)) for name in facts}
    assert len({(row["ended_ns"], row["e2e_ns"]) for row in found}) == 11
