"""OTLP over gRPC: a real SDK exporter, answers as the specification says, durable before OK, one request with HTTP."""

from __future__ import annotations

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind

from api.grpc_receiver import METHOD
from api.keys import KeyRing, keys_file
from ingest.store import lists
from ingest.store.database import Store
from tests.integration.test_http_traces import BAD_SPAN, GOOD_SPAN, protobuf_body
from tests.support.server import listening_twice, settings, tailwise

TRACES = 20


@contextmanager
def served(folder: Path, **more: Any) -> Iterator[tuple[httpx2.Client, str]]:
    """A client over HTTP of a service that listens, and the address where it takes gRPC."""
    with listening_twice(folder, grpc_port=0, **more) as (url, address):
        assert address is not None
        with httpx2.Client(base_url=url) as service:
            yield service, address


@contextmanager
def channel(address: str) -> Iterator[grpc.Channel]:
    opened = grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)])
    try:
        yield opened
    finally:
        opened.close()


def export(
    address: str,
    body: bytes,
    packing: grpc.Compression = grpc.Compression.NoCompression,
    metadata: Sequence[tuple[str, str]] = (),
    method: str = METHOD,
) -> ExportTraceServiceResponse:
    """The answer to one export.

    Raises:
        grpc.RpcError: it was refused.
    """
    with channel(address) as opened:
        call = opened.unary_unary(method, response_deserializer=ExportTraceServiceResponse.FromString)
        answer: ExportTraceServiceResponse = call(body, compression=packing, metadata=metadata, timeout=30)
        return answer


def refusal(address: str, body: bytes, **more: Any) -> tuple[str, str, int | None]:
    """Code, sentence and seconds to wait (None: it will never go through) of an export that is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        export(address, body, **more)
    error: Any = caught.value
    waits = None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = Status.FromString(value)
            assert (status.code, status.message) == (error.code().value[0], error.details())
            for detail in status.details:
                info = RetryInfo()
                assert detail.Unpack(info)
                waits = info.retry_delay.seconds
    return error.code().name, error.details(), waits


def rows(service: httpx2.Client, requests: int) -> list[dict[str, Any]]:
    """All requests, once there are so many, or as they are after 15 seconds."""
    until = time.monotonic() + 15
    while service.get("/readyz").json()["rows"]["requests"] < requests and time.monotonic() < until:
        time.sleep(0.05)
    found: list[dict[str, Any]] = service.get("/api/v1/requests", params={"limit": 1000}).json()["requests"]
    return found


def emit(root_to: SpanExporter, call_to: SpanExporter) -> None:
    """Traces of two spans each: the root goes to the one exporter, the model call to the other."""
    sides = []
    for exporter in (root_to, call_to):
        provider = TracerProvider(resource=Resource.create({"service.name": "assistant"}))
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        sides.append(provider)
    outer, inner = (side.get_tracer("test") for side in sides)
    for number in range(TRACES):
        with (
            outer.start_as_current_span("POST /chat", kind=SpanKind.SERVER),
            inner.start_as_current_span("chat m", kind=SpanKind.CLIENT) as call,
        ):
            call.set_attribute("gen_ai.operation.name", "chat")
            call.set_attribute("gen_ai.request.model", "m")
            call.set_attribute("gen_ai.usage.input_tokens", 100 + number)
            call.set_attribute("gen_ai.usage.output_tokens", 10)
    for side in sides:
        side.shutdown()


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_every_span_of_an_sdk_arrives(tmp_path: Path, compression: grpc.Compression) -> None:
    with served(tmp_path) as (service, address):
        exporter = OTLPSpanExporter(endpoint=address, insecure=True, compression=compression)
        emit(exporter, exporter)
        found = rows(service, TRACES)
        summary = service.get("/api/v1/summary").json()["summary"]
        (upload,) = service.get("/api/v1/uploads").json()["uploads"]
        figures = service.get("/metrics").text
    assert (summary["requests"], summary["calls"]) == (TRACES, TRACES)
    assert (summary["input_tokens"], summary["output_tokens"]) == (2190, 200)
    assert {(row["root"], row["model"]) for row in found} == {("POST /chat", "m")}
    assert (upload["accepted"], upload["rejected"], upload["name"][:6]) == (2 * TRACES, 0, "OTLP, ")
    assert f'tailwise_grpc_requests_total{{code="OK",method="{METHOD}"}} 40.0' in figures
    assert f'tailwise_spans_received_total{{outcome="accepted"}} {2 * TRACES}.0' in figures


def test_spans_half_over_grpc_and_half_over_http_make_one_request(tmp_path: Path) -> None:
    with served(tmp_path) as (service, address):
        over_http = HttpExporter(endpoint=str(service.base_url.join("/v1/traces")))
        emit(over_http, OTLPSpanExporter(endpoint=address, insecure=True))
        found = rows(service, TRACES)
        summary = service.get("/api/v1/summary").json()["summary"]
    assert (len(found), summary["calls"], summary["input_tokens"]) == (TRACES, TRACES, 2190)
    assert {(row["root"], row["model"]) for row in found} == {("POST /chat", "m")}


@pytest.mark.parametrize("packing", list(grpc.Compression))
def test_refused_spans_are_a_partial_success_with_their_reason(tmp_path: Path, packing: grpc.Compression) -> None:
    with served(tmp_path) as (service, address):
        partial = export(address, protobuf_body(GOOD_SPAN, BAD_SPAN), packing).partial_success
        whole = export(address, protobuf_body(GOOD_SPAN), packing)
        nothing = export(address, b"", packing)
        found = rows(service, 1)
    assert (partial.rejected_spans, partial.error_message) == (1, "1 x end_before_start")
    assert (whole.HasField("partial_success"), nothing.HasField("partial_success"), len(found)) == (False, False, 1)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\xff\xff", ("INVALID_ARGUMENT", "", None)),
        (b"\x1f\x8bno gzip", ("INVALID_ARGUMENT", "the body is not valid gzip", None)),
        (bytes(2000), ("RESOURCE_EXHAUSTED", "SERVER: Received message larger than max", None)),
        (gzip.compress(bytes(90_000)), ("RESOURCE_EXHAUSTED", "the unpacked body is longer than 50000 bytes", None)),
        (zlib.compress(bytes(90_000)), ("RESOURCE_EXHAUSTED", "the unpacked body is longer than 50000 bytes", None)),
    ],
)
def test_what_will_never_go_through_is_refused(tmp_path: Path, body: bytes, says: tuple[str, str, int | None]) -> None:
    with served(tmp_path, max_body_bytes=1000, max_unpacked_bytes=50_000) as (service, address):
        code, sentence, waits = refusal(address, body)
        export(address, protobuf_body(GOOD_SPAN))
        assert len(rows(service, 1)) == 1  # the server goes on
    assert (code, sentence.startswith(says[1]), waits) == (says[0], True, says[2])


def test_other_signals_are_unknown(tmp_path: Path) -> None:
    with served(tmp_path) as (_, address):
        other = METHOD.replace("trace.v1.TraceService", "metrics.v1.MetricsService")
        assert refusal(address, b"", method=other)[0] == "UNIMPLEMENTED"


def test_a_full_backlog_and_a_hurried_client_are_told_when_to_come_back(tmp_path: Path) -> None:
    body = protobuf_body(GOOD_SPAN)
    with served(tmp_path / "full", max_backlog_bytes=10) as (service, address):
        full = refusal(address, body)
        figures = service.get("/metrics").text
    with served(tmp_path / "hurried", requests_per_second=1) as (service, address):
        export(address, b"")
        over_http = service.post("/v1/traces", content=b"", headers={"content-type": "application/x-protobuf"})
        hurried = refusal(address, b"")  # the allowance of an address is one, whatever the door
    assert full == ("UNAVAILABLE", "0 bytes of received spans wait for the store, the limit is 10", 5)
    assert f'tailwise_grpc_requests_total{{code="UNAVAILABLE",method="{METHOD}"}} 1.0' in figures
    assert (over_http.status_code, hurried) == (
        200,
        ("RESOURCE_EXHAUSTED", "more than 1 requests a second from one address", 1),
    )


def test_an_sdk_comes_back_with_what_was_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(tmp_path, requests_per_second=1) as (service, address):
        exporter = OTLPSpanExporter(endpoint=address, insecure=True, timeout=30)
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        while service.get("/healthz").status_code != 429:
            pass  # the allowance of this address is spent
        with provider.get_tracer("test").start_as_current_span("chat m") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
        provider.shutdown()
    told = [record.getMessage() for record in caplog.records if "RESOURCE_EXHAUSTED" in record.getMessage()]
    assert ["retrying in" in message for message in told[:1]] == [True]
    with Store.open(settings(tmp_path).store) as store:
        assert lists.counts(store)["requests"] == 1


def test_keys_hold_for_both_doors(tmp_path: Path) -> None:
    ring = KeyRing(keys_file(settings(tmp_path).store))
    sending, reading = (ring.add(role, role)[1] for role in ("ingest", "read"))
    body = protobuf_body(GOOD_SPAN)
    with served(tmp_path) as (service, address):
        without = refusal(address, bytes(5_000_000))
        wrong = refusal(address, body, metadata=[("authorization", "Bearer tw_no")])
        may_not = refusal(address, body, metadata=[("authorization", f"Bearer {reading}")])
        export(address, body, metadata=[("authorization", f"Bearer {sending}")])
        export(address, body, metadata=[("x-api-key", sending)])
        service.headers["authorization"] = f"Bearer {reading}"
        found = rows(service, 1)
    assert without == ("UNAUTHENTICATED", "this server wants a key", None)
    assert wrong == ("UNAUTHENTICATED", "the key is none of this server", None)
    assert may_not == ("PERMISSION_DENIED", "a key of role read may not do this", None)
    assert len(found) == 1


def test_a_client_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    body = protobuf_body(GOOD_SPAN)
    with served(tmp_path) as (service, address), channel(address) as opened:
        for _ in range(50):
            opened.unary_unary(METHOD).future(body).cancel()
        for delay in range(20):
            call = opened.unary_unary(METHOD).future(body)
            time.sleep(delay / 5000)
            call.cancel()
        assert export(address, body) == ExportTraceServiceResponse()
        assert len(rows(service, 1)) == 1


@contextmanager
def process(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """A server of its own: the process, its URL, where it takes gRPC."""
    log = folder / "log"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAILWISE_")}
    command = [sys.executable, "-m", "api.cli", "serve", "--store", "s.duckdb", "--port", "0", *words]
    with log.open("wb") as told:
        started = subprocess.Popen(command, cwd=folder, stderr=told, stdout=told, env=kept)
    try:
        pattern = re.compile(r"answers at (http://127\.0\.0\.1:\d+)/, OTLP over gRPC at (127\.0\.0\.1:\d+)")
        until = time.monotonic() + 90
        while (found := pattern.search(log.read_text())) is None and started.poll() is None:
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        assert found is not None, log.read_text()
        yield started, found[1], found[2]
    finally:
        if started.poll() is None:
            started.send_signal(signal.SIGTERM)
        assert started.wait(60) in (0, -signal.SIGKILL)


def test_what_was_answered_with_ok_survives_a_kill(tmp_path: Path) -> None:
    (tmp_path / "tailwise.yaml").write_text("grpc_port: 0\nbatch_seconds: 60\n")  # nothing is stored before the kill
    spans = [GOOD_SPAN | {"traceId": f"{number:032x}"} for number in range(1, TRACES + 1)]
    with process(tmp_path) as (started, _, address):
        for span in spans:
            export(address, protobuf_body(span))
        started.kill()
        started.wait(30)
    (tmp_path / "tailwise.yaml").write_text("grpc_port: 0\n")
    with process(tmp_path) as (_, url, _), httpx2.Client(base_url=url) as service:
        assert len(rows(service, TRACES)) == TRACES


def test_a_server_that_is_told_to_stop_finishes_what_it_took(tmp_path: Path) -> None:
    with process(tmp_path, "--grpc-port", "0") as (started, _, address), channel(address) as opened:
        opened.unary_unary(METHOD)(protobuf_body(GOOD_SPAN), timeout=30)
        started.send_signal(signal.SIGTERM)
        assert started.wait(30) == 0
    with process(tmp_path, "--grpc-port", "0") as (_, url, _), httpx2.Client(base_url=url) as service:
        assert len(rows(service, 1)) == 1
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_a_taken_port_is_told_where_it_was_asked_for_and_left_where_it_was_not(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = str(held.getsockname()[1])
        asked = tailwise("serve", "--port", "0", folder=tmp_path, environment={"TAILWISE_GRPC_PORT": port})
        doctor = tailwise("doctor", folder=tmp_path, environment={"TAILWISE_GRPC_PORT": port})
    assert (asked.returncode, asked.stdout) == (1, "")
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use" in asked.stderr
    assert "give another --grpc-port; 0 takes a free one" in " ".join(asked.stderr.split())
    assert "Traceback" not in asked.stderr
    assert f"127.0.0.1:{port} is taken" in " ".join(doctor.stdout.split())


def test_a_default_port_that_is_taken_keeps_no_server_from_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        monkeypatch.setattr("api.extras.GRPC_PORT", held.getsockname()[1])
        with listening_twice(tmp_path, grpc_port=None) as (url, address):
            assert (address, httpx2.get(f"{url}/healthz").status_code) == (None, 200)
