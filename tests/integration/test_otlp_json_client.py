"""A real exporter of OTLP/JSON against a running server; in an environment of its own, for it holds the others back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.support.server import listening

PACKAGES = ("opentelemetry-exporter-otlp-json-http", "opentelemetry-sdk")
TRACES = 20
EMITTER = f"""
import sys
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind
exporter = OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces")
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
tracer = provider.get_tracer("test")
for number in range({TRACES}):
    with tracer.start_as_current_span("POST /chat", kind=SpanKind.SERVER):
        with tracer.start_as_current_span("chat m", kind=SpanKind.CLIENT) as call:
            call.set_attribute("gen_ai.operation.name", "chat")
            call.set_attribute("gen_ai.request.model", "m")
            call.set_attribute("gen_ai.usage.input_tokens", 100 + number)
            call.set_attribute("gen_ai.usage.output_tokens", 10)
            call.set_attribute("gen_ai.response.finish_reasons", ["stop"])
provider.shutdown()
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which this Python finds the exporter before anything else."""
    folder = tmp_path_factory.mktemp("json-exporter")
    quick = ("--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "10")
    command = [sys.executable, "-m", "pip", "install", *quick, "--target", str(folder), *PACKAGES]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"the exporter of OTLP/JSON could not be installed: {installed.stderr.strip()[-200:]}")
    return os.environ | {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_every_span_of_an_sdk_arrives(tmp_path: Path, environment: dict[str, str], compression: str) -> None:
    with listening(tmp_path) as url, httpx2.Client(base_url=url) as service:
        sent = subprocess.run(
            [sys.executable, "-c", EMITTER, url],
            cwd=tmp_path,
            env=environment | {"OTEL_EXPORTER_OTLP_COMPRESSION": compression},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (sent.returncode, sent.stderr) == (0, "")
        until = time.monotonic() + 15
        while service.get("/readyz").json()["rows"]["requests"] < TRACES and time.monotonic() < until:
            time.sleep(0.05)
        summary = service.get("/api/v1/summary").json()["summary"]
        rows = service.get("/api/v1/requests").json()["requests"]
        (upload,) = service.get("/api/v1/uploads").json()["uploads"]
    assert (summary["requests"], summary["calls"]) == (TRACES, TRACES)
    assert (summary["input_tokens"], summary["output_tokens"]) == (2190, 200)
    assert {(row["root"], row["model"], row["finish_reason"]) for row in rows} == {("POST /chat", "m", "stop")}
    assert (upload["accepted"], upload["rejected"]) == (2 * TRACES, 0)
