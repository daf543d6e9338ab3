"""Facts of the Zipkin samples, as their page states them, from the reader alone."""

from __future__ import annotations

import pytest

from tests.support.readers import rejects, spans, told_format
from tests.support.shared import shared

# file: spans, trace ids, spans without duration, sum of durations us, longest us, halves that share an id
FACTS = {
    "yelp": (16, 1, 0, 471102, 131848, 3),
    "messaging-kafka": (28, 1, 0, 763953, 252090, 0),
    "skew": (4, 1, 0, 352527, 99411, 1),
}


@pytest.mark.parametrize("name", FACTS)
def test_spans_and_durations_are_those_of_the_page(name: str) -> None:
    path = shared(f"data/zipkin-json/{name}.json")
    found = spans(path)
    lasting = [(span.end_ns - span.start_ns) // 1000 for span in found if span.end_ns]
    n_spans, n_traces, n_open, total, longest, n_halves = FACTS[name]
    assert told_format(path) == "zipkin"
    assert rejects(path) == []
    told = (len(found), len({span.trace_id for span in found}), len(found) - len(lasting), sum(lasting), max(lasting))
    assert told == (n_spans, n_traces, n_open, total, longest)
    # a shared server half has an id of its own, so that no half is taken for a repeat of the other
    assert len({span.span_id for span in found}) == n_spans
    ids = {span.span_id for span in found}
    halves = [
        span
        for span in found
        if span.kind == 2 and span.parent_span_id in ids and _is_client(span.parent_span_id, name)
    ]
    assert len(halves) >= n_halves


def _is_client(span_id: str | None, name: str) -> bool:
    return any(span.span_id == span_id and span.kind == 3 for span in spans(shared(f"data/zipkin-json/{name}.json")))


def test_a_child_of_the_server_half_moves_below_it() -> None:
    found = {span.name + str(span.kind): span for span in spans(shared("data/zipkin-json/skew.json"))}
    client, server, child = found["post3"], found["post2"], found["async1"]
    assert client.span_id == "74280ae0c10d8062"
    assert server.parent_span_id == client.span_id
    assert child.parent_span_id == server.span_id
