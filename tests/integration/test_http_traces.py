"""The OTLP receiver: answers as the specification says, durable before 200, the same requests as from files."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from api.keys import KeyRing, keys_file
from api.routes import traces
from tests.support.otlp_rows import as_protobuf
from tests.support.server import client, put
from tests.support.shared import shared

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

START = 1_772_445_600_000_000_000  # 2026-03-02T10:00:00Z
PROTOBUF, JSON = "application/x-protobuf", "application/json"
GOOD_SPAN = {
    "traceId": "0102030405060708090a0b0c0d0e0f10",
    "spanId": "1112131415161718",
    "name": "chat m",
    "kind": 3,
    "startTimeUnixNano": str(START),
    "endTimeUnixNano": str(START + 900_000_000),
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "100"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "11"}},
    ],
}
BAD_SPAN = GOOD_SPAN | {"spanId": "2122232425262728", "endTimeUnixNano": str(START - 1)}


def json_body(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def protobuf_body(*spans: dict[str, Any]) -> bytes:
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    for told in spans:
        span = scope.spans.add()
        span.trace_id, span.span_id = bytes.fromhex(told["traceId"]), bytes.fromhex(told["spanId"])
        span.name, span.kind = told["name"], told["kind"]
        span.start_time_unix_nano, span.end_time_unix_nano = (
            int(told["startTimeUnixNano"]),
            int(told["endTimeUnixNano"]),
        )
        for pair in told["attributes"]:
            text, whole = pair["value"].get("stringValue"), pair["value"].get("intValue")
            value = AnyValue(string_value=text) if text is not None else AnyValue(int_value=int(whole))
            span.attributes.append(KeyValue(key=pair["key"], value=value))
    return bytes(message.SerializeToString())


def summary_of(service: TestClient, requests: int) -> dict[str, Any]:
    """The summary once so many requests are in, or as it is after ten seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        said: dict[str, Any] = service.get("/readyz").json()["rows"]
        if said["requests"] >= requests:
            break
        time.sleep(0.05)
    found: dict[str, Any] = service.get("/api/v1/summary").json()["summary"]
    return found


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
@pytest.mark.parametrize(("media", "body"), [(JSON, json_body(GOOD_SPAN)), (PROTOBUF, protobuf_body(GOOD_SPAN))])
def test_spans_become_a_request(tmp_path: Path, media: str, body: bytes, encoding: str) -> None:
    packed = {"": body, "gzip": gzip.compress(body), "zstd": zstd.compress(body)}[encoding]
    headers = {"content-type": media} | ({"content-encoding": encoding} if encoding else {})
    with client(tmp_path) as service:
        said = service.post("/v1/traces", content=packed, headers=headers)
        summary = summary_of(service, 1)
    assert (said.status_code, said.headers["content-type"], said.content) == (
        200,
        media,
        b"{}" if media == JSON else b"",
    )
    assert (summary["requests"], summary["input_tokens"], summary["output_tokens"]) == (1, 100, 11)


def test_refused_spans_are_a_partial_success_with_their_reason(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        as_json = service.post("/v1/traces", content=json_body(GOOD_SPAN, BAD_SPAN), headers={"content-type": JSON})
        body = protobuf_body(GOOD_SPAN, BAD_SPAN)
        as_protobuf = service.post("/v1/traces", content=body, headers={"content-type": PROTOBUF})
        summary = summary_of(service, 1)
    partial = ExportTraceServiceResponse.FromString(as_protobuf.content).partial_success
    assert as_json.json() == {"partialSuccess": {"rejectedSpans": "1", "errorMessage": "1 x end_before_start"}}
    assert (partial.rejected_spans, partial.error_message) == (1, "1 x end_before_start")
    assert summary["requests"] == 1


def test_live_spans_are_an_upload_whose_counts_add_up(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        for _ in range(2):
            service.post("/v1/traces", content=json_body(GOOD_SPAN, BAD_SPAN), headers={"content-type": JSON})
            summary_of(service, 1)
        until = time.monotonic() + 10
        while (upload := service.get("/api/v1/uploads").json()["uploads"][0])["read"] < 4 and time.monotonic() < until:
            time.sleep(0.05)
        rejects = service.get(f"/api/v1/uploads/{upload['id']}/rejects").json()["rejects"]
    assert {key: upload[key] for key in ("read", "accepted", "duplicate", "rejected", "reasons")} == {
        "read": 4,
        "accepted": 1,
        "duplicate": 1,
        "rejected": 2,
        "reasons": {"end_before_start": 2},
    }
    assert [row["reason"] for row in rejects] == ["end_before_start"] * 2
    assert all("lies before start: " in row["detail"] for row in rejects)


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({"content-type": JSON}, b"{", 400),
        ({"content-type": JSON}, b"[]", 400),
        ({"content-type": PROTOBUF}, b"\xff\xff", 400),
        ({"content-type": JSON, "content-encoding": "gzip"}, b"no gzip", 400),
        ({"content-type": JSON, "content-encoding": "br"}, b"{}", 415),
        ({"content-type": "text/plain"}, b"{}", 415),
        ({"content-type": JSON}, b" " * 2000, 413),
        ({"content-type": JSON, "content-encoding": "gzip"}, gzip.compress(b" " * 90_000), 413),
    ],
)
def test_what_will_never_go_through_is_refused(
    tmp_path: Path, headers: dict[str, str], content: bytes, status: int
) -> None:
    with client(tmp_path, max_body_bytes=1000, max_unpacked_bytes=50_000) as service:
        said = service.post("/v1/traces", content=content, headers=headers)
    assert (said.status_code, "retry-after" in said.headers) == (status, False)


def status_in(said: httpx2.Response) -> tuple[int, int, str]:
    """Status code of an answer, code and words of the google.rpc.Status in it."""
    if said.headers["content-type"] == PROTOBUF:
        told = Status.FromString(said.content)
        return said.status_code, told.code, told.message
    assert said.headers["content-type"] == JSON
    assert set(said.json()) == {"code", "message"}
    return said.status_code, said.json()["code"], said.json()["message"]


@pytest.mark.parametrize("media", [JSON, PROTOBUF])
def test_every_refusal_is_a_status_in_the_encoding_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, media: str
) -> None:
    def said(content: bytes | Iterator[bytes], more: Mapping[str, str] = {}, **settings: Any) -> tuple[int, int, str]:
        with client(tmp_path, **settings) as service:
            service._transport.raise_server_exceptions = False  # type: ignore[attr-defined]  # a fault is answered
            for _ in range(settings.get("requests_per_second", 0) * 2):
                service.post("/v1/traces", content=b"", headers={"content-type": media})
            answer = service.post("/v1/traces", content=content, headers={"content-type": media} | dict(more))
        assert answer.headers["content-type"] == media
        return status_in(answer)

    assert said(b"\xff")[:2] == (400, 3)
    assert said(b" " * 2000, max_body_bytes=1000)[:2] == (413, 8)
    assert said(iter([b" " * 600] * 4), max_body_bytes=1000)[:2] == (413, 8)
    assert said(b"", {"content-encoding": "br"})[:2] == (415, 3)
    assert said(b"", {"sec-fetch-site": "cross-site"})[:2] == (403, 7)
    assert said(b"", {"host": "elsewhere"})[:2] == (421, 3)
    assert said(b"", requests_per_second=1)[:2] == (429, 8)
    KeyRing(keys_file(tmp_path / "store.duckdb")).add("reader", "read")
    key = "this server wants a key. tailwise keys add makes one; send it as Authorization: Bearer KEY"
    assert said(b"") == (401, 16, key)
    keys_file(tmp_path / "store.duckdb").unlink()
    monkeypatch.setattr(traces, "unpack", lambda *_: 1 / 0)
    says = "the server met an error that it does not know (ZeroDivisionError); its log has more"
    assert said(b"") == (500, 13, says)


def test_a_refusal_of_no_encoding_of_otlp_is_a_status_in_json(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        told = service.post("/v1/traces", content=b"{}", headers={"content-type": "text/plain"})
        read = service.get("/v1/traces", headers={"accept": "text/html"})
    assert status_in(told)[:2] == (415, 3)
    assert status_in(read)[:2] == (405, 3)


def test_a_full_backlog_and_a_hurried_client_are_told_when_to_come_back(tmp_path: Path) -> None:
    headers = {"content-type": JSON}
    with client(tmp_path / "full", max_backlog_bytes=10) as service:
        full = service.post("/v1/traces", content=json_body(GOOD_SPAN), headers=headers)
    with client(tmp_path / "hurried", requests_per_second=1) as service:
        hurried = [service.post("/v1/traces", content=b"{}", headers=headers) for _ in range(3)][-1]
    assert (full.status_code, full.headers["retry-after"], full.json()["code"]) == (503, "5", 14)
    assert (hurried.status_code, hurried.headers["retry-after"]) == (429, "1")


def test_what_was_acknowledged_survives_a_stop_before_the_batch(tmp_path: Path) -> None:
    spool = tmp_path / "store.duckdb.spool" / "spans"
    with client(tmp_path) as service:
        service.post("/v1/traces", content=b"{}", headers={"content-type": JSON})
    from api.spool import Spool

    left = Spool(spool, 10_000)  # a process that died between the acknowledgement and the store
    left.start()
    left.offer(b"j", json_body(GOOD_SPAN)).result(10)
    left.close()
    with client(tmp_path) as service:
        assert summary_of(service, 1)["requests"] == 1


def wait_for_spans(service: TestClient, accepted: int) -> None:
    """Until the live upload says that so many spans are in the store."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        uploads = service.get("/api/v1/uploads").json()["uploads"]
        if sum(upload["read"] or 0 for upload in uploads) >= accepted:
            return
        time.sleep(0.05)


def rows_of(service: TestClient) -> list[dict[str, Any]]:
    """All requests, without what tells how they came in."""
    rows = service.get("/api/v1/requests", params={"limit": 1000}).json()["requests"]
    told = [{k: v for k, v in row.items() if k not in ("upload_id", "source")} for row in rows]
    return sorted(told, key=lambda row: str(row["request_key"]))


def test_live_spans_in_any_order_make_the_same_request_as_the_file(tmp_path: Path) -> None:
    child = GOOD_SPAN | {"spanId": "3132333435363738", "parentSpanId": GOOD_SPAN["spanId"], "name": "tool"}
    with client(tmp_path / "file") as service:
        put(service, "trace.json", json_body(GOOD_SPAN, child))
        of_file = rows_of(service)
    with client(tmp_path / "live") as service:
        for number, span in enumerate((child, GOOD_SPAN), 1):
            service.post("/v1/traces", content=json_body(span), headers={"content-type": JSON})
            wait_for_spans(service, number)
        live = rows_of(service)
    assert (len(of_file), live) == (1, of_file)


def test_samples_sent_live_give_the_rows_of_their_files(tmp_path: Path) -> None:
    folder = shared("samples/otlp")
    bodies = [path.read_bytes() for path in sorted(folder.glob("*.json")) if path.name != "expected.json"]
    with client(tmp_path / "file") as service:
        spans = sum(put(service, f"{number}.json", body)["read"] for number, body in enumerate(bodies))
        of_files = rows_of(service)
    seen = {}
    for media, sent in ((JSON, bodies), (PROTOBUF, [as_protobuf(json.loads(body)) for body in bodies])):
        with client(tmp_path / media.replace("/", "-")) as service:
            for body in sent:
                assert service.post("/v1/traces", content=body, headers={"content-type": media}).status_code == 200
            wait_for_spans(service, spans)
            seen[media] = rows_of(service)
    assert len(of_files) > 40
    assert seen == {JSON: of_files, PROTOBUF: of_files}


def test_spans_that_wait_on_disk_are_deleted_with_the_upload_of_their_hour(tmp_path: Path) -> None:
    with client(tmp_path, batch_seconds=60) as service:
        assert (
            service.post("/v1/traces", content=json_body(GOOD_SPAN), headers={"content-type": JSON}).status_code == 200
        )
        hour = f"otlp-{time.strftime('%Y%m%dT%H', time.gmtime())}"
        assert service.delete(f"/api/v1/uploads/{hour}").status_code == 204
        house = service.app.state.house  # type: ignore[attr-defined]
        house.receiver.flush()
        assert service.get("/readyz").json()["rows"]["requests"] == 0
        assert service.delete(f"/api/v1/uploads/{hour}").status_code == 404
