"""Times to stages, checked rows, usage bodies."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.contract import RawReject, RawRequest
from ingest.formats.request_rows import Times, checked, extra, gap_columns, timed, usage, with_cached

MS = 1_000_000
START = 1_771_434_740_000_000_000
STREAMED = Times(started_ns=START, e2e_ns=1000 * MS, ttft_ns=200 * MS, output_tokens=9)


def test_a_streamed_call_is_split_at_the_clients_first_token() -> None:
    assert timed(STREAMED, "ok") == {
        "started_ns": START,
        "ended_ns": START + 1000 * MS,
        "e2e_ns": 1000 * MS,
        "ttft_ns": 200 * MS,
        "call_ttft_ns": 200 * MS,
        "streaming": True,
        "before_first_token_ns": 200 * MS,
        "after_first_token_ns": 800 * MS,
        "generation_ns": 800 * MS,
        "generation_basis": "response_end",
        "flags": ["ttft_split"],
    }


@pytest.mark.parametrize("output_tokens", [0, 1, None])
def test_fewer_than_two_tokens_have_no_time_per_token(output_tokens: int | None) -> None:
    assert "generation_ns" not in timed(replace(STREAMED, output_tokens=output_tokens), "ok")


def test_a_first_token_at_the_end_is_none() -> None:
    found = timed(replace(STREAMED, ttft_ns=1000 * MS), "ok")
    assert (found["ttft_ns"], found["streaming"], found["model_ns"], found["flags"]) == (None, False, 1000 * MS, [])
    found = timed(replace(STREAMED, ttft_ns=1000 * MS, streaming=True), "ok")
    assert (found["ttft_ns"], found["streaming"], found["flags"]) == (None, True, ["ttft_missing"])


def test_a_first_token_at_the_end_stands_for_a_stream_of_one_token() -> None:
    found = timed(replace(STREAMED, ttft_ns=1000 * MS, streaming=True, output_tokens=1), "ok")
    assert (found["ttft_ns"], found["flags"]) == (1000 * MS, ["ttft_split"])


def test_a_first_token_after_the_end_is_unknown_and_flagged() -> None:
    found = timed(replace(STREAMED, ttft_ns=1001 * MS), "ok")
    assert (found["ttft_ns"], found["flags"]) == (None, ["timing_invalid"])


def test_a_failure_without_duration_has_none() -> None:
    found = timed(Times(started_ns=START, ended_ns=START, ttft_ns=0), "error")
    assert found == {
        "started_ns": START,
        "ended_ns": None,
        "e2e_ns": None,
        "ttft_ns": None,
        "call_ttft_ns": None,
        "streaming": None,
        "flags": [],
    }


def test_engine_stages_leave_a_rest_and_a_small_excess_is_none() -> None:
    stages = {"queue_ns": 100 * MS, "prefill_ns": 50 * MS, "decode_ns": 800 * MS}
    found = timed(replace(STREAMED, stages=stages, is_served=True), "ok")
    assert (found["unattributed_ns"], found["generation_ns"], found["generation_basis"]) == (
        50 * MS,
        800 * MS,
        "engine",
    )
    found = timed(replace(STREAMED, stages=stages | {"decode_ns": 850 * MS + 3}, is_served=True), "ok")
    assert (found["unattributed_ns"], found["flags"]) == (0, ["residual_negative"])


@pytest.mark.parametrize("queue", [-1, 5_000_000 * MS])
def test_engine_figures_that_cannot_be_are_dropped(queue: int) -> None:
    found = timed(replace(STREAMED, stages={"queue_ns": queue, "prefill_ns": 50 * MS}, is_served=True), "ok")
    assert "queue_ns" not in found
    assert "prefill_ns" not in found
    assert "timing_invalid" in found["flags"]


DURATIONS = st.none() | st.integers(0, 2000 * MS)


@given(
    st.builds(
        Times,
        started_ns=st.just(START),
        e2e_ns=DURATIONS,
        ttft_ns=DURATIONS,
        last_token_ns=DURATIONS,
        streaming=st.none() | st.booleans(),
        output_tokens=st.none() | st.integers(0, 5),
        is_served=st.booleans(),
        stages=st.dictionaries(
            st.sampled_from(["gateway_ns", "network_ns", "queue_ns", "prefill_ns", "decode_ns", "postprocess_ns"]),
            DURATIONS,
        ),
    )
)
def test_stages_sum_to_the_whole_and_none_is_negative(times: Times) -> None:
    found = timed(times, "ok")
    stages = [value for name, value in found.items() if name.endswith("_ns") and name.split("_ns")[0] in STAGE_NAMES]
    assert all(stage >= 0 for stage in stages)
    if found["e2e_ns"] is not None and "residual_negative" not in found["flags"]:
        assert sum(stages) == found["e2e_ns"]


STAGE_NAMES = {
    *("gateway", "network", "queue", "prefill", "decode", "postprocess", "model"),
    *("before_first_token", "after_first_token", "unattributed"),
}


@pytest.mark.parametrize(
    ("columns", "reason", "detail"),
    [
        ({"started_ns": 2, "ended_ns": 1}, "end_before_start", "ended_ns: 1 lies 1 ns before started_ns"),
        ({"e2e_ns": -1}, "negative_duration", "e2e_ns: -1 is below 0"),
        ({"e2e_ns": 86_400_000 * MS + 1}, "duration_too_long", "e2e_ns: 86400000000001 is longer than 24 hours"),
        ({"input_tokens": -1}, "negative_tokens", "input_tokens: -1 is below 0"),
        ({"model": "m"}, "no_time", ""),
    ],
)
def test_rows_that_cannot_be_are_rejects_with_their_head(columns: dict[str, object], reason: str, detail: str) -> None:
    found = checked(columns | {"status_class": "ok"}, line=3, offset=9, raw=b'{"x": 1}')
    assert found == RawReject(3, 9, reason, '{"x": 1}', detail)


def test_a_row_leaves_out_what_is_unknown() -> None:
    found = checked({"input_tokens": 0, "model": None, "status_class": "ok"}, line=3, offset=9, raw="")
    assert found == RawRequest({"input_tokens": 0, "status_class": "ok", "llm_calls": 1, "attempts": 1}, 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
            (20, 8, None, 5, None),
        ),
        (
            {"input_tokens": 20, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}},
            (20, None, None, 5, 2),
        ),
        (  # Anthropic keeps the cached parts outside
            {"input_tokens": 4, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 6, "output_tokens": 5},
            (20, 10, 6, 5, None),
        ),
        (  # Gemini keeps the thoughts outside
            {"promptTokenCount": 20, "cachedContentTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 2},
            (20, 8, None, 5, 2),
        ),
        (None, (None, None, None, None, None)),
    ],
)
def test_usage_of_every_kind_is_the_grand_total(body: object, expected: tuple[int | None, ...]) -> None:
    names = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    assert tuple(usage(body).get(name) for name in names) == expected


def test_an_input_below_its_cached_part_was_stated_without_it() -> None:
    stated = {"input_tokens": 400, "cached_input_tokens": 16000, "cache_write_tokens": 2000}
    assert with_cached(stated) == stated | {"input_tokens": 18400, "flags": ["input_below_cached"]}
    assert with_cached({"input_tokens": 5}) == {"input_tokens": 5, "flags": []}


def test_gaps_and_extras_that_are_unknown_leave_nothing() -> None:
    assert gap_columns([None, -5], "chunk") == {}
    assert gap_columns([3, 9, None], "token") == {"itl_max_ns": 9, "itl_basis": "token"}
    assert gap_columns([86_401 * 10**9, 2**80], "token") == {"itl_max_ns": 2**80, "itl_basis": "token"}
    assert gap_columns(iter([3, 0, 9]), "token") == {
        "itl_max_ns": 9,
        "itl_basis": "token",
        "token_gaps_ns": array("q", [3, 0, 9]),
    }
    assert extra(a=None, b="", c=[]) is None
    assert extra(b=0, a="x") == '{"a": "x", "b": 0}'


def test_a_replay_from_a_cache_made_no_tokens_and_the_stored_ones_stand_beside() -> None:
    columns = {
        "response_cached": True,
        "input_tokens": 900,
        "output_tokens": 81,
        "generation_ns": 5,
        "status_class": "ok",
    }
    found = checked(columns | {"source_cost_usd": 7, "attributes": '{"a": 1}'}, line=1, offset=0, raw="")
    assert found == RawRequest(
        {
            "response_cached": True,
            "input_tokens": 0,
            "output_tokens": 0,
            "status_class": "ok",
            "attributes": '{"a": 1, "stored_input_tokens": 900, "stored_output_tokens": 81}',
            "llm_calls": 1,
            "attempts": 1,
        },
        1,
    )
