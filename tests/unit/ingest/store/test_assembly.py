"""From spans to one request: trees, calls, stages and outcomes, one situation each, with figures worked out by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ingest.schema import STAGES
from tests.support.otlp import NS, Json, load, one_row, only_row, request, rows, span, store_for, write_lines
from tests.support.otlp import attributes as spelled

CHAT: Json = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
}
AGENT: Json = {"gen_ai.operation.name": "invoke_agent"}


def stages(row: Json) -> dict[str, float]:
    """Stages in seconds, those of no length left out."""
    return {stage: row[f"{stage}_ns"] / NS for stage in STAGES if row.get(f"{stage}_ns")}


def engine(
    queue: float, prefill: float, decode: float, first: float, *, total: float, output: int = 5, prompt: int = 10
) -> Json:
    """Attributes of an engine's own span, in seconds."""
    return {
        "gen_ai.latency.e2e": total,
        "gen_ai.latency.time_in_queue": queue,
        "gen_ai.latency.time_in_model_prefill": prefill,
        "gen_ai.latency.time_in_model_decode": decode,
        "gen_ai.latency.time_to_first_token": first,
        "gen_ai.usage.prompt_tokens": prompt,
        "gen_ai.usage.completion_tokens": output,
    }


def test_parallel_calls_count_by_wall_clock(tmp_path: Path) -> None:
    row = one_row(
        tmp_path,
        [
            span("agent", 0, 10, span_id="r", attributes=AGENT),
            span("chat", 1, 5, span_id="a", parent="r", attributes=CHAT),
            span("chat", 2, 6, span_id="b", parent="r", attributes=CHAT),
        ],
    )
    assert (stages(row), row["llm_calls"], row["input_tokens"]) == ({"model": 5.0, "unattributed": 5.0}, 2, 20)


def test_the_deepest_step_wins_and_nothing_counts_twice(tmp_path: Path) -> None:
    row = one_row(
        tmp_path,
        [
            span("agent", 0, 10, span_id="r", attributes=AGENT),
            span("execute_tool search", 1, 7, span_id="t", parent="r"),
            span("agent", 2, 6, span_id="s", parent="t", attributes=AGENT),
            span("chat", 3, 5, span_id="c", parent="s", attributes=CHAT),
        ],
    )
    assert stages(row) == {"tool": 2.0, "model": 2.0, "unattributed": 6.0}


def test_a_client_and_a_gateway_around_an_engine_share_the_time(tmp_path: Path) -> None:
    inside = engine(0.5, 1.0, 4.0, 1.6, total=6.0)
    row = only_row(
        tmp_path,
        [
            request([span("chat", 0, 10, span_id="c", kind=3, attributes=CHAT)], "client"),
            request([span("route", 1, 9, span_id="g", parent="c", kind=2)], "litellm"),
            request([span("litellm_request", 2, 8.5, span_id="l", parent="g", attributes=CHAT)], "litellm"),
            request([span("llm_request", 2.2, 8.3, span_id="e", parent="l", kind=2, attributes=inside)], "vllm"),
        ],
    )
    # the client's own 2 s and what the gateway's call has beyond the engine's 6 s are network
    assert stages(row) == {
        "network": 2.5,
        "gateway": 1.5,
        "queue": 0.5,
        "prefill": 1.0,
        "decode": 4.0,
        "unattributed": 0.5,
    }
    assert (row["llm_calls"], row["input_tokens"], row["generation_basis"]) == (1, 10, "engine")


def test_queue_prefill_and_decode_told_as_siblings_are_one_call(tmp_path: Path) -> None:
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}
    row = one_row(
        tmp_path,
        [
            span("POST", 0, 5, kind=2, span_id="r"),
            span("queue", 0, 1, span_id="q", parent="r"),
            span("prefill", 1, 2, span_id="p", parent="r", attributes=usage),
            span("decode", 2, 4, span_id="d", parent="r", attributes=usage, events=[("gen_ai.first_token", 2.1)]),
        ],
    )
    assert stages(row) == {"queue": 1.0, "prefill": 1.0, "decode": 2.0, "unattributed": 1.0}
    assert (row["llm_calls"], row["output_tokens"], row["ttft_ns"]) == (1, 5, 2.1 * NS)


def test_two_engines_of_one_request_are_one_call_with_summed_parts(tmp_path: Path) -> None:
    first = engine(0.1, 0.7, 0.0, 0.85, total=0.9, output=1, prompt=100)
    second = engine(0.2, 0.1, 3.3, 0.35, total=3.7, output=50, prompt=100)
    row = only_row(
        tmp_path,
        [
            request([span("llm_d.pd_proxy.request", 0, 5, span_id="m")], "llm-d"),
            request(
                [
                    span("llm_request", 0.1, 1, kind=2, span_id="p", parent="m", attributes=first),
                    span("llm_request", 1.2, 4.9, kind=2, span_id="d", parent="p", attributes=second),
                ],
                "vllm.tracing.otel",
            ),
        ],
    )
    assert (row["llm_calls"], row["input_tokens"], row["output_tokens"]) == (1, 100, 50)
    assert stages(row) == {"queue": 0.3, "prefill": 0.8, "decode": 3.3, "network": 0.4, "unattributed": 0.2}
    assert "prefill_decode_split" in row["flags"]


def test_an_engine_whose_clock_is_behind_still_gives_its_durations(tmp_path: Path) -> None:
    row = only_row(
        tmp_path,
        [
            request([span("chat", 0, 3, span_id="c", kind=3, attributes=CHAT)], "client"),
            request(
                [
                    span(
                        "llm_request",
                        -1,
                        1.5,
                        span_id="e",
                        parent="c",
                        kind=2,
                        attributes=engine(0.5, 0.5, 1.4, 1.0, total=2.4),
                    )
                ],
                "vllm",
            ),
        ],
    )
    assert stages(row) == {"network": 0.6, "queue": 0.5, "prefill": 0.5, "decode": 1.4}
    assert (row["ttft_ns"], row["flags"]) == (NS, ["clock_skew"])


def test_a_parent_that_never_came_lasts_as_long_as_its_children(tmp_path: Path) -> None:
    row = one_row(
        tmp_path,
        [
            span("retrieval", 0, 1, span_id="a", parent="z", attributes={"gen_ai.operation.name": "retrieval"}),
            span("chat", 1, 3, span_id="b", parent="z", attributes=CHAT),
        ],
    )
    assert (row["e2e_ns"], stages(row)) == (3 * NS, {"retrieval": 1.0, "model": 2.0})
    assert row["flags"] == ["orphan_parent"]


def test_a_circle_of_parents_is_no_trap(tmp_path: Path) -> None:
    row = one_row(
        tmp_path,
        [
            span("a", 0, 3, span_id="a", parent="b", attributes=AGENT),
            span("b", 1, 2, span_id="b", parent="a", attributes=CHAT),
        ],
    )
    assert (row["root"], row["e2e_ns"], row["llm_calls"]) == ("a", 3 * NS, 1)


def test_a_span_that_is_its_own_parent_is_a_root(tmp_path: Path) -> None:
    assert one_row(tmp_path, [span("chat", span_id="a", parent="a", attributes=CHAT)])["llm_calls"] == 1


def test_a_deep_tree_is_walked_to_its_end(tmp_path: Path) -> None:
    chain = [span("step", i / 100, 3, span_id=f"s{i}", parent=f"s{i - 1}", attributes=AGENT) for i in range(1, 80)]
    row = one_row(
        tmp_path,
        [
            span("step", 0, 3, span_id="s0", attributes=AGENT | {"user.id": "u-1"}),
            *chain,
            span("chat", 1, 2, span_id="c", parent="s79", attributes=CHAT),
        ],
    )
    assert (stages(row), row["user"]) == ({"model": 1.0, "unattributed": 2.0}, "u-1")


def test_no_tree_is_too_deep_for_its_figures(tmp_path: Path) -> None:
    tool: Json = {"gen_ai.operation.name": "execute_tool"}
    chain = [
        span("execute_tool", i / 1000, 10 - i / 1000, span_id=f"s{i}", parent=f"s{i - 1}", attributes=tool)
        for i in range(1, 1500)
    ]
    root = span("agent", 0, 10, span_id="s0", attributes=AGENT | {"user.id": "u-1"})
    row = one_row(tmp_path, [root, *chain, span("chat", 3, 4, span_id="c", parent="s1499", attributes=CHAT)])
    assert stages(row) == {"tool": 8.998, "model": 1.0, "unattributed": 0.002}
    assert (row["llm_calls"], row["tool_calls"], row["user"]) == (1, 1, "u-1")


def test_spans_in_each_other_cost_a_few_times_what_spans_beside_each_other_do(tmp_path: Path) -> None:
    n, tool = 20_000, spelled({"gen_ai.operation.name": "execute_tool"})
    chat = span("chat", 30, 31, span_id=f"s{n}", parent="s0", attributes=CHAT)
    beside = [span("step", i / 1000, i / 1000 + 0.0005, span_id=f"s{i}", parent="s0") for i in range(1, n)]
    inside = [span("step", i / 1000, 100 - i / 1000, span_id=f"s{i}", parent=f"s{i - 1}") for i in range(1, n)]
    seconds: list[float] = []
    for steps in (beside, inside):
        told = [step | {"attributes": tool} for step in steps]
        spans = [span("agent", 0, 100, span_id="s0", attributes=AGENT), *told, chat]
        path = write_lines(tmp_path / "t.jsonl", [request(spans[i : i + 500]) for i in range(0, n + 1, 500)])
        with store_for(tmp_path) as store:
            before = time.process_time()
            load(store, path)
            seconds.append(time.process_time() - before)
            assert [row["llm_calls"] for row in rows(store).values()] == [1]
    # measured: 1.5 times; 17 with a walk level by level, 20 with a comparison of each with each
    assert seconds[1] <= 4 * seconds[0], seconds


def test_a_trace_without_a_model_in_sight_is_no_request(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [request([span("GET /healthz", kind=2)])])
    with store_for(tmp_path) as store:
        assert load(store, path).accepted == 1
        assert rows(store) == {}


def test_usage_of_an_agent_counts_only_where_no_call_has_any(tmp_path: Path) -> None:
    total = AGENT | {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50}
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told = [span("agent", 0, 3, span_id="r", attributes=total)]
    row = one_row(tmp_path, [*told, span("chat", 1, 2, span_id="c", parent="r", attributes=bare)])
    assert (row["input_tokens"], row["output_tokens"], row["n_call_rows"]) == (100, 50, 0)
    row = one_row(tmp_path, [*told, span("chat", 1, 2, span_id="c", parent="r", attributes=CHAT)])
    assert (row["input_tokens"], row["output_tokens"]) == (10, 5)


def test_calls_of_a_request_with_several_are_rows_of_their_own(tmp_path: Path) -> None:
    spans = [
        span("agent", 0, 9, span_id="r", attributes=AGENT),
        span("chat", 1, 2, span_id="a", parent="r", attributes=CHAT | {"gen_ai.response.model": "m-1"}),
        span("chat", 3, 5, span_id="b", parent="r", attributes=CHAT | {"gen_ai.response.model": "m-2"}),
    ]
    with store_for(tmp_path) as store:
        load(store, write_lines(tmp_path / "t.jsonl", [request(spans)]))
        calls = store.read("calls", order="call_index").select("call_index", "model", "input_tokens", "status_class")
        assert calls.rows() == [(0, "m-1", 10, "ok"), (1, "m-2", 10, "ok")]
        assert [(row["model"], row["n_call_rows"]) for row in rows(store).values()] == [("m-2", 2)]


def test_a_failed_call_before_another_is_an_attempt(tmp_path: Path) -> None:
    bare = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    row = one_row(
        tmp_path,
        [
            span("agent", 0, 9, span_id="r", attributes=AGENT),
            span("chat", 0, 1, span_id="a", parent="r", attributes=bare, status={"code": 2}),
            span("chat", 2, 3, span_id="b", parent="r", attributes=CHAT),
        ],
    )
    assert (row["attempts"], row["status_class"]) == (2, "ok")


@pytest.mark.parametrize(
    ("attributes", "status", "expected"),
    [
        ({}, {}, "ok"),
        ({}, {"code": 2}, "error"),
        ({"http.response.status_code": 429}, {}, "shed"),
        ({"http.response.status_code": 503}, {"code": 2}, "shed"),
        ({"http.response.status_code": 504}, {}, "timeout"),
        ({"http.response.status_code": 499}, {}, "cancelled"),
        ({"http.response.status_code": 404}, {}, "rejected"),
        ({"http.response.status_code": 500, "error.type": "TimeoutError"}, {"code": 2}, "error"),
        ({"error.type": "openai.APITimeoutError"}, {"code": 2}, "timeout"),
        ({"error.type": "RateLimitError"}, {"code": 2}, "shed"),
        ({"error.type": "asyncio.CancelledError"}, {"code": 2}, "cancelled"),
        ({"error.type": "BadRequestError"}, {"code": 2}, "rejected"),
        ({"gen_ai.response.finish_reasons": ["abort"]}, {}, "error"),
        ({"gen_ai.response.finish_reasons": ["error"]}, {}, "truncated"),
        ({"llm.status": "timeout"}, {}, "timeout"),
        ({"langfuse.observation.level": "ERROR"}, {}, "error"),
    ],
)
def test_the_class_of_an_outcome(attributes: Json, status: Json, expected: str, tmp_path: Path) -> None:
    row = one_row(tmp_path, [span("chat", kind=2, attributes=CHAT | attributes, status=status)])
    assert row["status_class"] == expected


def test_a_span_without_an_end_is_an_open_request(tmp_path: Path) -> None:
    told = {key: value for key, value in span("chat", attributes=CHAT).items() if key != "endTimeUnixNano"}
    row = one_row(tmp_path, [told])
    assert (row["status_class"], "e2e_ns" in row) == ("open", False)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.system": "strands-agents", "gen_ai.server.time_to_first_token": 250}, 0.25),
        ({"gen_ai.system": "openai", "gen_ai.server.time_to_first_token": 0.25}, 0.25),
        ({"ai.response.msToFirstChunk": 250}, 0.25),
        ({"gen_ai.response.time_to_first_token": 250000}, 0.25),
        ({"langfuse.observation.completion_start_time": '"2026-11-18T11:06:40.250000Z"'}, 0.25),
    ],
)
def test_the_first_token_in_the_unit_of_its_emitter(attributes: Json, expected: float, tmp_path: Path) -> None:
    row: dict[str, Any] = one_row(tmp_path, [span("chat", kind=3, attributes=CHAT | attributes)])
    assert row.get("ttft_ns") == round(expected * NS)


def test_a_first_token_of_an_unstreamed_call_is_ignored_and_said_so(tmp_path: Path) -> None:
    told = CHAT | {"gen_ai.request.stream": False, "gen_ai.response.time_to_first_chunk": 0.9}
    row = one_row(tmp_path, [span("chat", kind=3, attributes=told)])
    assert ("ttft_ns" in row, row["flags"]) == (False, ["ttft_ignored_not_streaming"])


def test_input_below_its_cached_part_is_mended_and_said_so(tmp_path: Path) -> None:
    told = CHAT | {"gen_ai.usage.cache_read.input_tokens": 100, "gen_ai.usage.cache_write.input_tokens": 20}
    row = one_row(tmp_path, [span("chat", attributes=told)])
    assert (row["input_tokens"], row["flags"]) == (130, ["input_below_cached"])


def test_text_generation_inference_tells_its_times_as_text(tmp_path: Path) -> None:
    told = {"total_time": "1.9s", "queue_time": "100ms", "inference_time": "1.5s", "time_per_token": "30ms"}
    row = one_row(tmp_path, [span("generate_stream", 0, 2, attributes=told)], scope="opentelemetry-otlp")
    assert stages(row) == {"queue": 0.1, "model": 1.5, "unattributed": 0.3}
    assert (row["output_tokens"], row["e2e_ns"]) == (50, 1.9 * NS)


def test_one_constant_id_for_every_answer_does_not_join_calls(tmp_path: Path) -> None:
    spans = [
        span("agent", 0, 9, span_id="r", attributes=AGENT),
        span("chat", 1, 2, span_id="a", parent="r", attributes=CHAT | {"gen_ai.response.id": "stub"}),
        span("chat", 3, 5, span_id="b", parent="r", attributes=CHAT | {"gen_ai.response.id": "stub"}),
    ]
    assert one_row(tmp_path, spans)["llm_calls"] == 2


def test_ids_that_count_never_make_one_request_of_strangers(tmp_path: Path) -> None:
    spans = [
        span("chat", attributes=CHAT)
        | {"traceId": f"{'0' * 8}{i % 20:08x}{i // 20:08x}{i % 20:08x}", "spanId": f"{i:016x}"}
        for i in range(1, 401)
    ]
    with store_for(tmp_path) as store:
        load(store, write_lines(tmp_path / "t.jsonl", [request(spans)]))
        assert len(rows(store)) == 400


def test_a_span_that_lasts_until_the_first_token_gives_it_to_the_call_beside_it(tmp_path: Path) -> None:
    spans = [
        span("POST /v1/chat/completions", 0, 4, span_id="r", kind=2),
        span("llm.inference", 1, 3, span_id="c", parent="r", attributes={"model": "m", "stream": True}),
        span("llm.time_to_first_response_chunk", 1, 1.5, span_id="f", parent="r"),
    ]
    row = one_row(tmp_path, spans)
    assert (row["call_ttft_ns"], row["ttft_ns"], row["model"]) == (NS // 2, 1.5 * NS, "m")


def test_quoted_names_of_models_lose_their_quotes(tmp_path: Path) -> None:
    told = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.llm.model": '"gpt-4o"'}
    usage = {"mlflow.chat.tokenUsage": '{"input_tokens": 12, "output_tokens": 3, "total_tokens": 15}'}
    row = one_row(tmp_path, [span("chat", attributes=told | usage)])
    assert (row["model"], row["input_tokens"], row["output_tokens"]) == ("gpt-4o", 12, 3)


@pytest.mark.parametrize("uptime", [90_000.0, 3e6, 1e9])
def test_engine_times_as_long_as_the_hosts_uptime_drop_all_figures_of_their_span(uptime: float, tmp_path: Path) -> None:
    told = engine(-uptime, uptime + 0.5, 0.4, 0.6, total=1.0)
    row = one_row(tmp_path, [span("llm_request", kind=2, attributes=told)])
    assert (stages(row), "ttft_ns" in row) == ({"unattributed": 1.0}, False)
    assert "timing_invalid" in row["flags"]
