"""A real OpenTelemetry SDK exporter against a running server, protobuf, packed and not."""

from __future__ import annotations

import time
from pathlib import Path

import httpx2
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind

from tests.support.server import listening

TRACES = 40


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_every_span_of_an_sdk_arrives(tmp_path: Path, compression: Compression) -> None:
    with listening(tmp_path) as url:
        exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", compression=compression)
        provider = TracerProvider(resource=Resource.create({"service.name": "assistant"}))
        provider.add_span_processor(BatchSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        for number in range(TRACES):
            with (
                tracer.start_as_current_span("POST /chat", kind=SpanKind.SERVER),
                tracer.start_as_current_span("chat m", kind=SpanKind.CLIENT) as call,
            ):
                call.set_attribute("gen_ai.operation.name", "chat")
                call.set_attribute("gen_ai.request.model", "m")
                call.set_attribute("gen_ai.usage.input_tokens", 100 + number)
                call.set_attribute("gen_ai.usage.output_tokens", 10)
                call.set_attribute("gen_ai.response.finish_reasons", ["stop"])
        provider.shutdown()
        with httpx2.Client(base_url=url) as service:
            until = time.monotonic() + 15
            while service.get("/readyz").json()["rows"]["requests"] < TRACES and time.monotonic() < until:
                time.sleep(0.05)
            summary = service.get("/api/v1/summary").json()["summary"]
            rows = service.get("/api/v1/requests").json()["requests"]
            (upload,) = service.get("/api/v1/uploads").json()["uploads"]
    assert (summary["requests"], summary["calls"]) == (TRACES, TRACES)
    assert (summary["input_tokens"], summary["output_tokens"]) == (4780, 400)
    assert {(row["root"], row["model"], row["finish_reason"]) for row in rows} == {("POST /chat", "m", "stop")}
    assert (upload["accepted"], upload["rejected"]) == (2 * TRACES, 0)
