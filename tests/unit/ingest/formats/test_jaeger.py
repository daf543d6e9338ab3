"""Jaeger: layouts, short ids, processes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ingest.formats.contract import RawSpan
from tests.support.readers import DATA, rejects, spans, told_format


def test_short_ids_are_padded_and_processes_are_resources() -> None:
    path = DATA / "jaeger" / "good.json"
    assert told_format(path) == "jaeger"
    assert spans(path) == [
        RawSpan(
            trace_id="000000000000000084b3fad94c6112ed",
            span_id="487f03177ef9cf89",
            parent_span_id=None,
            name="POST /chat",
            kind=2,
            start_ns=1771434740123456000,
            end_ns=1771434741623456000,
            status_code=0,
            attributes={"span.kind": "server", "otel.scope.name": "web"},
            resource={"service.name": "shop", "cloud.region": "eu"},
            scope="web",
            line=6,
        ),
        RawSpan(
            trace_id="000000000000000084b3fad94c6112ed",
            span_id="000000003ef9cf89",
            parent_span_id="487f03177ef9cf89",
            name="chat m-9b",
            kind=3,
            start_ns=1771434740223456000,
            end_ns=1771434741523456000,
            status_code=2,
            attributes={
                "span.kind": "client",
                "gen_ai.operation.name": "chat",
                "gen_ai.usage.input_tokens": "57",
                "gen_ai.request.stream": "true",
                "error": "true",
            },
            resource={"service.name": "shop", "cloud.region": "eu"},
            events=(("gen_ai.first_token", 1771434740323456000, {}),),
            line=28,
        ),
    ]
    assert rejects(path) == []


def test_a_torn_trace_keeps_its_whole_spans() -> None:
    path = DATA / "jaeger" / "torn.json"
    assert rejects(path) == [("torn_line", 28)]
    assert len(spans(path)) == 1


def test_a_bare_trace_tells_what_the_answer_of_the_api_tells() -> None:
    whole, bare = (spans(DATA / "jaeger" / f"{name}.json") for name in ("good", "bare"))
    assert [replace(span, line=None) for span in bare] == [replace(span, line=None) for span in whole]


def test_each_of_several_documents_has_the_processes_of_its_own(tmp_path: Path) -> None:
    def answer(trace: str, service: str) -> str:
        told = {"traceID": trace, "spanID": trace[:16], "operationName": "turn", "processID": "p1"}
        spans = [told | {"startTime": 1_770_000_000_000_000, "duration": 1000}]
        return json.dumps(
            {"data": [{"traceID": trace, "spans": spans, "processes": {"p1": {"serviceName": service}}}]}, indent=1
        )

    path = tmp_path / "two.json"
    path.write_text(answer("a" * 32, "gateway") + "\n" + answer("b" * 32, "engine"))
    assert [span.resource for span in spans(path)] == [{"service.name": "gateway"}, {"service.name": "engine"}]
