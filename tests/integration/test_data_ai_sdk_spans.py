"""Facts of the AI SDK spans, told as span objects and in every framing of OTLP protobuf; from the readers alone."""

from __future__ import annotations

import pytest

from ingest.formats.contract import RawSpan
from tests.support.readers import rejects, spans, told_format
from tests.support.shared import shared

FILES = {
    "data/ai-sdk-spans/all-spans.json": "span_objects",
    "data/otlp-json/ai_sdk_file_exporter.binpb": "otlp_protobuf",
    "data/otlp-json/ai_sdk_file_exporter_legacy_zstd.bin": "otlp_protobuf",
}
DURATIONS_NS = {
    "ai.generateText.doGenerate": {1_779_415_667, 3_034_285_833},
    "ai.generateText": {1_781_541_000, 3_034_733_667},
    "ai.generateObject.doGenerate": {3_519_812_667},
    "ai.generateObject": {3_523_601_792},
    "ai.streamText.doStream": {5_386_307_375},
    "ai.streamText": {5_392_741_708},
    "ai.embed.doEmbed": {253_719_584},
    "ai.embed": {254_932_417},
}


@pytest.mark.parametrize("file", FILES)
def test_spans_and_tokens_are_those_of_the_page(file: str) -> None:
    path = shared(file)
    found = spans(path)
    assert told_format(path) == FILES[file]
    assert rejects(path) == []
    assert (len(found), len({span.trace_id for span in found})) == (10, 10)
    assert {span.parent_span_id for span in found} == {None}
    durations: dict[str, set[int]] = {}
    for span in found:
        durations.setdefault(span.name, set()).add(span.end_ns - span.start_ns)
    assert durations == DURATIONS_NS
    assert (tokens(found, "input"), tokens(found, "output")) == ([14, 15, 50, 63], [9, 20, 112, 156])
    first = {
        span.name: span.attributes["ai.response.msToFirstChunk"]
        for span in found
        if "ai.response.msToFirstChunk" in span.attributes
    }
    assert float(first["ai.streamText.doStream"]) == pytest.approx(426.8535, abs=1e-9)


def tokens(found: list[RawSpan], side: str) -> list[int]:
    name = f"gen_ai.usage.{side}_tokens"
    return sorted(int(span.attributes[name]) for span in found if name in span.attributes)


def test_both_framings_of_protobuf_tell_the_same_spans() -> None:
    plain, packed = (spans(shared(file)) for file in FILES if file.startswith("data/otlp-json"))
    assert plain == packed
