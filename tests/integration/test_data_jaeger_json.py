"""The two Jaeger samples: a bare trace with repeated ids, and `data` as one object; from the reader alone."""

from __future__ import annotations

from collections import Counter

from tests.support.readers import rejects, spans, told_format
from tests.support.shared import shared

FOLDER = "data/jaeger-json"


def test_a_bare_trace_is_read_and_its_repeated_ids_stay_for_the_store_to_judge() -> None:
    path = shared(f"{FOLDER}/ui_01.json")
    found = spans(path)
    assert told_format(path) == "jaeger"
    assert rejects(path) == []
    assert {span.trace_id for span in found} == {"0" * 31 + "1"}
    assert Counter(span.span_id for span in found) == {
        "0" * 15 + "2": 2,
        "0" * 15 + "3": 1,
        "0" * 15 + "4": 1,
        "0" * 15 + "5": 1,
    }
    assert {span.resource["service.name"] for span in found} == {"service-x", "service-y"}
    assert {(span.start_ns, span.end_ns - span.start_ns) for span in found} == {
        (1_485_467_191_639_875_000, 5_000),
        (1_485_467_191_639_875_000, 4_000),
    }


def test_data_as_one_object_is_read() -> None:
    path = shared(f"{FOLDER}/ui_flamegraph_trace.json")
    found = spans(path)
    assert told_format(path) == "jaeger"
    assert [(span.name, span.parent_span_id, span.end_ns - span.start_ns) for span in found] == [
        ("OrderVehicle", None, 1_181_596_000),
        ("HTTP GET", "487f03177ef9cf89", 968_334_000),
        ("BikeHandler", "d81ccf159d71bc66", 967_066_000),
        ("FindNearestVehicle", "3d4670fa91902216", 966_333_000),
    ]
    assert {span.trace_id for span in found} == {"84b3fad94c6112edd6af3347d06f6f1d"}
