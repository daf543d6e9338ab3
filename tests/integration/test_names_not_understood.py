"""Names that no column holds: kept as attributes and listed with their number, by file, upload and live spans."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.formats.catalog import FORMATS
from ingest.formats.contract import RowReader
from tests.support.loads import load_bytes
from tests.support.otlp import request, span
from tests.support.readers import DATA
from tests.support.server import client, put

TOLD = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "x.shard": "s-1", "gen_ai.prompt": "private"}
SPANS = request([span("chat", span_id=str(n), trace=str(n), attributes=TOLD) for n in range(3)])
LINE = json.dumps(SPANS).encode() + b"\n"
ROWS = [
    {"request_id": f"r-{n}", "start_time": "2026-03-02T10:00:00Z", "e2e_ms": 5, "shard": "s-1", "prompt": "private"}
    for n in range(3)
]
TABLES = {
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.json": json.dumps(ROWS).encode(),
    "a.csv": "\n".join([",".join(ROWS[0]), *(",".join(map(str, row.values())) for row in ROWS)]).encode() + b"\n",
}

WITHOUT_NAMES = {"apisix"}  # values of a line have places there
READERS = sorted({form.name for form in FORMATS if isinstance(form.reader, RowReader)} - WITHOUT_NAMES)
ROWS_AT = {  # where rows stand in the sample of a format, if not at its top
    "genai_perf": ("experiments", "requests"),
    "guidellm": ("benchmarks", "requests", "successful"),
    "jaeger": ("data", "spans"),
    "langfuse": ("observations",),
    "langsmith": ("patch",),
    "cloudflare": ("result",),
    "tempo": ("batches",),
}
OBJECT_AT = {  # an object within a row of which a part is read
    "aiperf": "metadata",
    "dynamo": "event",
    "envoy_ai_gateway": "",
    "kong": "latencies",
    "litellm": "metadata",
    "response_bodies": "usage",
}


def test_spans_of_a_file_and_of_an_upload_list_their_names(tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, LINE, "t.jsonl")
    assert receipt.not_understood == {"x.shard": 3}
    assert [json.loads(told) for told in requests["attributes"]] == [{"x.shard": "s-1"}] * 3
    with client(tmp_path) as service:
        assert put(service, "t.jsonl", LINE)["not_understood"] == {"x.shard": 3}


@pytest.mark.parametrize(("name", "content"), TABLES.items())
def test_unknown_columns_are_listed_and_kept_but_for_content(name: str, content: bytes, tmp_path: Path) -> None:
    receipt, requests = load_bytes(tmp_path, content, name)
    assert receipt.not_understood == {"shard": 3}
    assert [json.loads(told) for told in requests["attributes"]] == [{"shard": "s-1"}] * 3
    assert any(note == "not kept, for it may be content or credentials: prompt" for note in receipt.notes)


SECRETS = (
    *("AKIAIOSFODNN7EXAMPLE", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.SECRET", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    *("mail.alice@example.com", "https://user:SECRETpw@host/x", "x" * 100_000),
)
MASKED = {f"text of {len(name)} characters": 1 for name in SECRETS} | {"x.shard": 1}
START_NS = 1_772_445_600_000_000_000
SECRET_SPANS = request([span("chat", attributes=TOLD | dict.fromkeys(SECRETS, "v"))])


def test_secrets_in_the_names_of_attributes_reach_no_receipt(tmp_path: Path) -> None:
    line = json.dumps(SECRET_SPANS).encode() + b"\n"
    message = ExportTraceServiceRequest()
    one = message.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, name="chat")
    one.start_time_unix_nano, one.end_time_unix_nano = START_NS, START_NS + 10**9
    for key, value in (TOLD | dict.fromkeys(SECRETS, "v")).items():
        one.attributes.add(key=key).value.string_value = value
    data = message.SerializeToString()
    for name, content in {"t.jsonl": line, "t.binpb": data}.items():
        assert load_bytes(tmp_path, content, name)[0].not_understood == MASKED
    with client(tmp_path) as service:
        service.post("/v1/traces", content=data, headers={"content-type": "application/x-protobuf"})
        until = time.monotonic() + 60
        while time.monotonic() < until:
            uploads = service.get("/api/v1/uploads").json()["uploads"]
            if uploads and uploads[0]["read"] == 1:
                break
            time.sleep(0.05)
    assert [upload["not_understood"] for upload in uploads] == [MASKED]


def test_a_column_of_content_with_a_key_for_a_name_is_noted_by_its_shape(tmp_path: Path) -> None:
    key = "api_key_sk-proj-ABCDEFGH12345678SECRET"
    rows = "".join(json.dumps({**row, key: "v"}) + "\n" for row in ROWS).encode()
    receipt, _ = load_bytes(tmp_path, rows, "a.jsonl")
    (note,) = (note for note in receipt.notes if note.startswith("not kept, for it may be content or credentials"))
    assert f"text of {len(key)} characters" in note
    assert "SECRET" not in str(receipt)


def test_live_spans_add_their_names_to_the_upload_of_the_hour(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        for number in range(2):
            body = json.dumps(request([span("chat", span_id=f"l{number}", trace=f"l{number}", attributes=TOLD)]))
            service.post("/v1/traces", content=body, headers={"content-type": "application/json"})
        until = time.monotonic() + 60
        while time.monotonic() < until:
            uploads = service.get("/api/v1/uploads").json()["uploads"]
            if uploads and sum(upload["read"] or 0 for upload in uploads) == 2:
                break
            time.sleep(0.05)
    assert sum(upload["not_understood"].get("x.shard", 0) for upload in uploads) == 2


def with_news(data: bytes, name: str) -> tuple[bytes, str]:
    """The sample of a format with a name of a later version of its emitter in each row, and what the receipt calls it."""
    inner = OBJECT_AT.get(name, "")
    told = f"{inner}.later_figure" if inner else "later_figure"

    def marked(row: object) -> None:
        if isinstance(row, dict):
            place = row.get(inner, {}) if inner else row
            if isinstance(place, dict):
                place["later_figure"] = 1

    text = data.decode()
    if not text.lstrip().startswith(("{", "[")):
        if name == "nginx":
            return data.replace(b"\n", b" later_figure=1\n"), told
        header, *lines = text.splitlines()
        return "\n".join([f"{header},later_figure", *(f"{line},1" for line in lines if line)]).encode(), told
    if name in ROWS_AT or text.lstrip().startswith("["):
        document = json.loads(text)
        rows = document if isinstance(document, list) else [document]
        for key in ROWS_AT.get(name, ()):
            inner_rows = [row.get(key, row) for row in rows]
            rows = [one for row in inner_rows for one in (row if isinstance(row, list) else [row])]
        for row in rows:
            marked(row)
        return json.dumps(document).encode(), told
    try:
        values = [json.loads(text)]
    except ValueError:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    for value in values:
        marked(value)
    return b"".join(json.dumps(value).encode() + b"\n" for value in values), told


@pytest.mark.parametrize("name", READERS)
def test_every_format_tells_a_name_that_its_reader_does_not_look_at(name: str, tmp_path: Path) -> None:
    sample = next(path for path in sorted((DATA / name).iterdir()) if "torn" not in path.name and path.suffix != ".txt")
    plain, _ = load_bytes(tmp_path, sample.read_bytes(), sample.name)
    content, told = with_news(sample.read_bytes(), name)
    receipt, _ = load_bytes(tmp_path, content, sample.name)
    found = {key: n for key, n in receipt.not_understood.items() if key not in plain.not_understood}
    assert list(found) == [next((key for key in found if key.endswith(told)), told)]
    assert 1 <= next(iter(found.values())) <= receipt.read
    assert (receipt.read, receipt.accepted, receipt.rejected) == (plain.read, plain.accepted, plain.rejected)


def test_a_table_tells_names_within_objects_of_which_it_reads_a_part(tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "later_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
    rows = [{"id": f"r-{n}", "start_time": "2026-03-02T10:00:00Z", "e2e_ms": 5, "usage": usage} for n in range(3)]
    rows[0]["usage"] = {**usage, "prompt_tokens_details": {"cached_tokens": 1, "later": {"deep": 1}}}
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    receipt, requests = load_bytes(tmp_path, lines, "a.jsonl")
    assert receipt.not_understood == {"usage.later_tokens": 3, "usage.prompt_tokens_details.later": 1}
    assert requests["cached_input_tokens"].to_list() == [1, 1, 1]
