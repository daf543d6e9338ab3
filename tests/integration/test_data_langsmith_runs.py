"""The two LangSmith bodies, halves merged, from the reader alone."""

from __future__ import annotations

import pytest

from tests.support.readers import rejects, spans, told_format
from tests.support.shared import shared

FOLDER = "data/langsmith-runs"
COMMON = {
    "langsmith.span.kind": "llm",
    "langsmith.trace.name": "ChatOpenAI",
    "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.provider.name": "openai",
    "gen_ai.usage.input_tokens": "9",
    "gen_ai.usage.output_tokens": "9",
    "gen_ai.usage.cache_read.input_tokens": "0",
    "gen_ai.usage.reasoning.output_tokens": "0",
    "gen_ai.response.finish_reasons": "stop",
}
FACTS = {  # trace id, start, end, attributes beside the common ones
    "py_wrap_openai": (
        *("d0d84d31923d4cb594a840a0a0087578", 1_728_680_303_298_773_000, 1_728_680_304_417_106_000),
        {"gen_ai.response.id": "chatcmpl-AHH0KBvLG7Wq3wfSEGQuxh0xE07Fl", "gen_ai.request.stream": "false"},
    ),
    "py_wrap_openai_stream": (
        *("fe8ffecb72ce4cd2bdb701f34654c391", 1_728_680_300_695_375_000, 1_728_680_302_023_816_000),
        {
            "gen_ai.response.id": "chatcmpl-AHH0HKxF2K5Rnu1DJ51k9CPTcerd1",
            "gen_ai.request.stream": "true",
            # the first event carries only the role; "Howdy" comes 0.4 ms later
            "gen_ai.response.time_to_first_chunk": "1.238811000",
        },
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_the_halves_of_a_run_are_one_span(name: str) -> None:
    path = shared(f"{FOLDER}/{name}.json")
    (span,) = spans(path)
    trace, start, end, own = FACTS[name]
    assert told_format(path) == "langsmith"
    assert rejects(path) == []
    assert (span.trace_id, span.parent_span_id, span.name, span.start_ns, span.end_ns) == (
        trace,
        None,
        "ChatOpenAI",
        start,
        end,
    )
    assert span.attributes == COMMON | own
