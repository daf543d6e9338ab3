"""The span door: what is read, refused, repeated, kept, and taken out again."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest import assemble as assemble_module
from ingest.assemble import SpanOptions, assemble, forget_spans, load_spans, stage_spans
from ingest.errors import Cancelled, UnreadableInput
from ingest.formats.contract import RawSpan
from ingest.mapping import Mapping
from ingest.unpack import open_source
from tests.support.otlp import (
    NS,
    START_NS,
    Json,
    hex_id,
    load,
    one_row,
    only_row,
    request,
    rows,
    span,
    store_for,
    write_lines,
)

CHAT: Json = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
}


def chat(trace: str = "t", **more: Any) -> Json:
    """An export request of one model call in a trace of its own."""
    return request([span("chat m", trace=trace, kind=3, **({"attributes": CHAT} | more))])


def places(path: Path, tmp_path: Path) -> list[tuple[int | None, int | None, str]]:
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert counts.read == counts.accepted + counts.duplicate + counts.rejected
        assert counts.rejected == len(counts.rejects)
        return [(reject.line, reject.offset, reject.reason) for reject in counts.rejects]


def test_a_bad_line_never_costs_its_neighbours(tmp_path: Path) -> None:
    good = [json.dumps(chat(f"t{i}")) for i in range(3)]
    path = tmp_path / "bad.jsonl"
    lines = [good[0], "", '{"resourceSpans": nonsense}', good[1] + "TRAILER", "[1, 2]", '{"other": 1}', good[1]]
    data = (
        "\n".join(lines).encode() + b'\n{"resourceSpans": "\xff"}\n' + good[2].encode() + b"\n" + good[0].encode()[:80]
    )
    path.write_bytes(data)
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted, counts.rejected) == (9, 3, 6)
        assert [(reject.line, reject.reason) for reject in counts.rejects] == [
            (3, "invalid_json"),
            (4, "trailing_text"),
            (5, "not_an_object"),
            (6, "not_a_request"),
            (8, "invalid_utf8"),
            (10, "torn_line"),
        ]
        assert [data[reject.offset or 0 :].startswith(reject.head.encode()[:9]) for reject in counts.rejects] == [
            True
        ] * 6
        assert len(rows(store)) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"traceId": ""}, "no_trace_id"),
        ({"traceId": "0" * 32}, "zero_trace_id"),
        ({"traceId": "xyz"}, "bad_trace_id"),
        ({"spanId": "0" * 16}, "no_span_id"),
        ({"spanId": None}, "no_span_id"),
        ({"startTimeUnixNano": "0"}, "start_unset"),
        ({"startTimeUnixNano": None}, "start_unset"),
        ({"endTimeUnixNano": str(START_NS - 5)}, "end_before_start"),
        ({"endTimeUnixNano": "0"}, "end_before_start"),
        ({"startTimeUnixNano": "soon"}, "start_unset"),
        ({"startTimeUnixNano": "5"}, "time_out_of_range"),
        ({"endTimeUnixNano": "soon"}, "bad_value"),
        ({"endTimeUnixNano": str(START_NS + 25 * 3600 * NS)}, "duration_too_long"),
        ({"startTimeUnixNano": "1000", "endTimeUnixNano": "2000"}, "time_out_of_range"),
    ],
)
def test_a_span_that_cannot_be_is_refused_on_its_line_with_its_reason(
    change: Json, reason: str, tmp_path: Path
) -> None:
    spans = [span("a", span_id="a"), span("b", span_id="b") | change, span("c", span_id="c")]
    path = write_lines(tmp_path / "t.jsonl", [chat("other"), request(spans)])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted) == (4, 3)
        assert [(reject.line, reject.reason) for reject in counts.rejects] == [(2, reason)]
        assert counts.rejects[0].head.startswith('{"traceId"')


def test_metrics_and_logs_are_skipped_with_a_count(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [{"resourceMetrics": [{}]}, chat(), {"resourceLogs": [{}]}, "{}"])
    with store_for(tmp_path) as store:
        counts = load(store, path)
    assert (counts.read, counts.accepted, counts.rejected) == (1, 1, 0)
    assert counts.notes == (
        "1 entry of metrics skipped: only spans are read",
        "1 entry of logs skipped: only spans are read",
    )


def test_documents_are_read_however_laid_out(tmp_path: Path) -> None:
    pretty = json.dumps(chat("t1"), indent=2)
    path = tmp_path / "documents.json"
    path.write_text(pretty + json.dumps(chat("t2")) + "\n" + json.dumps([chat("t3"), chat("t4")], indent=1))
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted, counts.rejected) == (4, 4, 0)
        assert len(rows(store)) == 4


def test_a_torn_document_gives_every_whole_span_and_one_reject(tmp_path: Path) -> None:
    spans = [span("chat", span_id=f"s{i}", trace=f"t{i}", attributes=CHAT) for i in range(3)]
    text = json.dumps(request(spans), indent=2)
    path = tmp_path / "torn.json"
    path.write_text(text[: text.rindex('"name"')])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted, counts.rejected) == (3, 2, 1)
        assert [reject.reason for reject in counts.rejects] == ["torn_line"]
        assert len(rows(store)) == 2


def test_spans_of_a_document_are_refused_on_the_line_where_their_entry_begins(tmp_path: Path) -> None:
    document = chat("t1")
    document["resourceSpans"] += request([span("b", trace="") | {"traceId": ""}])["resourceSpans"]
    path = tmp_path / "document.json"
    text = json.dumps(document, indent=1)
    path.write_text(text)
    ((line, offset, reason),) = places(path, tmp_path)
    assert reason == "no_trace_id"
    assert line is not None
    assert text.splitlines()[line - 1].strip() == "{"
    assert text.encode()[offset or 0 :].startswith(b'{\n   "resource"')


def test_packed_lines_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(
        gzip.compress(json.dumps(chat("t1")).encode() + b"\n") + gzip.compress(json.dumps(chat("t2")).encode())
    )
    with store_for(tmp_path) as store:
        assert load(store, path).accepted == 2


def test_a_torn_archive_is_an_error_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    lines = "".join(json.dumps(chat(f"t{i}")) + "\n" for i in range(300))
    path.write_bytes(gzip.compress(lines.encode())[:-600])
    with store_for(tmp_path) as store, pytest.raises(UnreadableInput, match="cannot be read to its end"):
        load(store, path)


def test_every_spelling_of_one_span_is_the_same_span(tmp_path: Path) -> None:
    plain = chat("t1")
    text = json.dumps(plain)
    snake = text
    for camel, word in {
        "resourceSpans": "resource_spans",
        "scopeSpans": "scope_spans",
        "traceId": "trace_id",
        "spanId": "span_id",
        "parentSpanId": "parent_span_id",
        "startTimeUnixNano": "start_time_unix_nano",
        "endTimeUnixNano": "end_time_unix_nano",
        "stringValue": "string_value",
        "intValue": "int_value",
    }.items():
        snake = snake.replace(f'"{camel}"', f'"{word}"')
    upper = text.replace(hex_id("t1", 32), hex_id("t1", 32).upper())
    numbers = text.replace(f'"{START_NS}"', str(START_NS)).replace('{"intValue": "10"}', '{"intValue": 10}')
    high, low = divmod(START_NS, 1 << 32)
    halves = text.replace(f'"{START_NS}"', json.dumps({"low": low - (1 << 32) * (low >> 31), "high": high}))
    legacy = text.replace("scopeSpans", "instrumentationLibrarySpans").replace('"scope"', '"instrumentationLibrary"')
    path = write_lines(tmp_path / "t.jsonl", [text, snake, upper, numbers, halves, legacy])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted, counts.duplicate, counts.replaced) == (6, 1, 5, 0)


def test_a_list_of_names_that_comes_after_the_learning_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.assemble.SAMPLE_BYTES", 400)
    late = chat("t2", attributes={"late.name": "x", "llm.request.type": "chat", "llm.usage.prompt_tokens": 7})
    path = write_lines(tmp_path / "t.jsonl", [chat("t1"), late])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert dict(counts.not_understood) == {"late.name": 1}
        found = rows(store)
        assert [row["input_tokens"] for row in found.values()] == [10, 7]
        assert json.loads(found[hex_id("t2", 32)]["attributes"]) == {"late.name": "x"}


def test_of_two_tellings_the_one_with_an_end_wins_then_the_fuller_then_the_later(tmp_path: Path) -> None:
    whole = span("chat", attributes=CHAT | {"gen_ai.usage.output_tokens": 1})
    open_span = {key: value for key, value in whole.items() if key != "endTimeUnixNano"} | {"attributes": []}
    fuller = span("chat", attributes=CHAT | {"gen_ai.usage.output_tokens": 2, "x": "y"})
    later = span("chat", attributes=CHAT | {"gen_ai.usage.output_tokens": 3, "x": "y"})
    output: list[tuple[int, ...]] = []
    with store_for(tmp_path) as store:
        for number, telling in enumerate([open_span, whole, open_span, fuller, whole, later, later]):
            counts = load(store, write_lines(tmp_path / f"{number}.jsonl", [request([telling])]), f"u{number}")
            told = [row["output_tokens"] for row in rows(store).values()]
            output.append((counts.duplicate, counts.replaced, *told))
    assert output == [(0, 0), (1, 1, 1), (1, 0, 1), (1, 1, 2), (1, 0, 2), (1, 1, 3), (1, 0, 3)]


def test_repeats_within_one_file_are_settled_by_the_same_rule(tmp_path: Path) -> None:
    poor, rich = span("chat", attributes={"gen_ai.operation.name": "chat"}), span("chat", attributes=CHAT)
    path = write_lines(tmp_path / "t.jsonl", [request([rich]), request([poor]), request([poor])])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted, counts.duplicate, counts.replaced) == (3, 1, 2, 1)
        assert [row["input_tokens"] for row in rows(store).values()] == [10]


def test_spans_of_a_python_reader_make_the_same_row_as_their_otlp_form(tmp_path: Path) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": "5"}
    raw = RawSpan(
        trace_id=hex_id("t", 32),
        span_id=hex_id("a", 16),
        parent_span_id=None,
        name="chat m",
        kind=3,
        start_ns=START_NS,
        end_ns=START_NS + NS,
        status_code=0,
        attributes=attributes,
        resource={"service.name": "svc"},
        scope="app",
        events=(("gen_ai.first_token", START_NS + NS // 4, {}),),
        line=7,
    )
    bad = replace(raw, end_ns=START_NS - 1, line=9)
    told = span("chat m", kind=3, attributes=attributes, events=[("gen_ai.first_token", 0.25)])
    with store_for(tmp_path) as store:
        with store.writing() as cursor:
            counts = stage_spans(cursor, [raw, bad], "u", SpanOptions(source="otlp_json"))
            assemble(cursor)
        assert [(reject.line, reject.reason) for reject in counts.rejects] == [(9, "end_before_start")]
        assert (counts.read, counts.accepted, counts.rejected) == (2, 1, 1)
        staged = rows(store)
        again = load(store, write_lines(tmp_path / "t.jsonl", [request([told])]), "again")
        assert (again.accepted, again.duplicate, again.replaced) == (0, 1, 0)
        assert rows(store) == staged
        assert [row["ttft_ns"] for row in staged.values()] == [NS // 4]


def test_taking_an_upload_out_leaves_what_other_uploads_told(tmp_path: Path) -> None:
    root = span("agent", 0, 3, span_id="r", attributes={"gen_ai.operation.name": "invoke_agent"})
    call = span("chat", 1, 2, span_id="c", parent="r", attributes=CHAT)
    with store_for(tmp_path) as store:
        load(store, write_lines(tmp_path / "a.jsonl", [request([root]), chat("alone")]), "a")
        load(store, write_lines(tmp_path / "b.jsonl", [request([call])]), "b")
        assert rows(store)[hex_id("t", 32)]["llm_calls"] == 1
        with store.writing() as cursor:
            assert forget_spans(cursor, "a") == 2
            assemble(cursor)
        assert [(row["root"], row["e2e_ns"]) for row in rows(store).values()] == [("chat", NS)]


def test_a_cancelled_load_says_so(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.jsonl", [chat(f"t{i}") for i in range(20)])
    with store_for(tmp_path) as store, pytest.raises(Cancelled), store.writing() as cursor:
        load_spans(store, cursor, open_source(path), "lines", "u", SpanOptions(), cancelled=lambda: True)


def test_a_house_names_its_own_attributes_stages_and_dimensions(tmp_path: Path) -> None:
    own = Mapping(
        attributes={"tenant": ("x.org",)},
        stages=(("vector.*", "retrieval"),),
        dimensions={"team": "x.team", "service": "service.name"},
        sampling_rate=0.25,
    )
    spans = [
        span("handle", 0, 3, span_id="r", attributes={"x.org": "acme", "x.team": "blue", "tenant.id": "other"}),
        span("vector.find", 0.5, 1, span_id="v", parent="r"),
        span("chat", 1, 2, span_id="c", parent="r", attributes=CHAT),
    ]
    row = one_row(tmp_path, spans, options=SpanOptions(mapping=own))
    assert (row["tenant"], row["retrieval_ns"], row["sampling_rate"]) == ("acme", NS // 2, 0.25)
    assert json.loads(row["dimensions"]) == {"team": "blue", "service": "svc"}


def test_a_name_of_the_house_may_stand_on_the_resource(tmp_path: Path) -> None:
    own = SpanOptions(mapping=Mapping(attributes={"tenant": ("k8s.namespace.name",)}))
    told = request([span("chat", attributes=CHAT)], resource={"service.name": "svc", "k8s.namespace.name": "acme"})
    assert only_row(tmp_path, [told], own)["tenant"] == "acme"


def test_unmapped_attributes_are_kept_and_content_is_not(tmp_path: Path) -> None:
    told = CHAT | {
        "custom.flag": "x",
        "list": ["a", "b"],
        "gen_ai.prompt": "SECRET",
        "my_api_key": "SECRET",
        "input.value": "SECRET",
    }
    row = one_row(tmp_path, [span("chat", attributes=told)])
    assert json.loads(row["attributes"]) == {"custom.flag": "x", "list": ["a", "b"]}
    with store_for(tmp_path) as store:
        load(store, tmp_path / "traces.jsonl")
        assert "SECRET" not in str(store.read("spans").to_dicts())
    assert "attributes" not in one_row(
        tmp_path, [span("chat", attributes=told)], options=SpanOptions(attributes="mapped")
    )


def test_a_span_says_how_many_of_its_kind_were_kept(tmp_path: Path) -> None:
    spans = [span("chat", attributes=CHAT, traceState="vendor=1,ot=rv:0f;th:c")]
    assert only_row(tmp_path, [request(spans)])["sampling_rate"] == 0.25


@pytest.mark.parametrize(
    ("state", "rate"),
    [
        ("ot=th:c", 0.25),
        ("ot=rv:0f;th:c,vendor=1", 0.25),
        ("ot=th:0", 1.0),
        ("ot=th:ffffffffffffff", 1.0),  # kept one in 2^56: a weight that nobody can believe is none
        ("ot=th:fffffffffffff", 1.0),
        ("ot=th:fffffffffffffff", 1.0),  # fifteen digits are no threshold
        ("ot=th:c0g", 1.0),
        ("not=th:c", 1.0),
        ("ot=path:c", 1.0),
    ],
)
def test_a_threshold_that_is_none_or_beyond_belief_leaves_a_span_as_one(
    tmp_path: Path, state: str, rate: float
) -> None:
    spans = [span("chat", attributes=CHAT, traceState=state)]
    assert only_row(tmp_path, [request(spans)])["sampling_rate"] == rate


def test_names_that_are_not_understood_are_counted_by_spans(tmp_path: Path) -> None:
    lines = [
        chat("t1", attributes=CHAT | {"new.name": 1, "gen_ai.request.top_p": 0.5}),
        chat("t2", attributes=CHAT | {"new.name": 2}),
    ]
    with store_for(tmp_path) as store:
        assert load(store, write_lines(tmp_path / "t.jsonl", lines)).not_understood == (("new.name", 2),)


def test_lines_too_long_for_the_reader_are_cut_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.formats.otlp_json.LONG_LINE_BYTES", 2000)
    many = request([span("chat", span_id=f"s{i}", trace=f"t{i}", attributes=CHAT) for i in range(9)])
    bad = request([span("chat", span_id="x", trace="x") | {"traceId": "nonsense"}])
    path = write_lines(tmp_path / "t.jsonl", [chat("first"), many, bad, chat("last")])
    with store_for(tmp_path) as store:
        counts = load(store, path)
        assert (counts.read, counts.accepted) == (12, 11)
        assert [(reject.line, reject.reason) for reject in counts.rejects] == [(3, "bad_trace_id")]
        assert len(rows(store)) == 11


def test_steps_without_attributes_behind_what_was_learned_are_stages_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 20}
    first = request([span("chat", trace="first", attributes=chat)])
    steps = [("queue", 0, 3, "q"), ("prefill", 3, 3.5, "p"), ("decode", 3.5, 5, "d")]
    late = request(
        [
            span("POST /v1/chat/completions", 0, 5, attributes=chat),
            *(span(name, start, end, span_id=own, parent="a") for name, start, end, own in steps),
        ],
        resource={"service.name": "engine-b"},
    )
    told = []
    for sample in (assemble_module.SAMPLE_BYTES, len(json.dumps(first)) + 1):
        monkeypatch.setattr(assemble_module, "SAMPLE_BYTES", sample)
        with store_for(tmp_path) as store:
            load(store, write_lines(tmp_path / f"{sample}.jsonl", [first, late]))
            told.append(store.read("requests").select("queue_ns", "prefill_ns", "decode_ns").sort("queue_ns").rows())
    assert told[0] == told[1]
    assert (3_000_000_000, 500_000_000, 1_500_000_000) in told[1]


def test_text_that_was_cut_in_the_middle_costs_no_request(tmp_path: Path) -> None:
    names = (
        *("llm.invocation_parameters", "langfuse.observation.usage_details", "langfuse.observation.cost_details"),
        *("gen_ai.response.finish_reasons", "llm.finish_reason", "ai.response.finishReason", "mlflow.llm.cost"),
        *("langfuse.observation.metadata", "langfuse.observation.metadata.finish_reason", "mlflow.chat.tokenUsage"),
    )
    texts = ('{"temperature": 0.', "[1", "+5", "nul", '"', "\0", '{"values":[', '{"low":')
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 7}
    told = [chat | {name: text} for name in names for text in texts]
    spans = [span("chat", trace=f"t{i}", attributes=attributes) for i, attributes in enumerate(told)]
    with store_for(tmp_path) as store:
        counts = load(store, write_lines(tmp_path / "a.jsonl", [request(spans)]))
        found = store.read("requests")["output_tokens"].to_list()
    assert (counts.accepted, found) == (len(spans), [7] * len(spans))


@pytest.mark.parametrize("kind", ["x", "é", "-", "SPAN_KIND_FOO", "3x", None])
def test_a_kind_that_is_none_costs_no_span(kind: str | None, tmp_path: Path) -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    spans = [span("chat", trace="a", attributes=chat) | {"kind": kind}, span("chat", trace="b", attributes=chat)]
    with store_for(tmp_path) as store:
        assert load(store, write_lines(tmp_path / "a.jsonl", [request(spans)])).accepted == 2
        assert store.read("requests").height == 2
