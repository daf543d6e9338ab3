"""Uploads over HTTP: sent, watched, accounted for to the line, taken out again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from api import uploads
from tests.support.server import client, put, receipt, request_rows

GOOD = request_rows(50)
TORN = GOOD + b'{"request_id": "bad", \n' + b'{"request_id": "torn", "start_ti'


def test_a_file_is_read_in_the_background_and_its_receipt_adds_up(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        said = service.put("/api/v1/uploads/requests.jsonl", content=TORN)
        assert (said.status_code, said.headers["location"]) == (202, f"/api/v1/uploads/{said.json()['id']}")
        done = receipt(service, said.json()["id"])
        summary = service.get("/api/v1/summary").json()["summary"]
    counts = {key: done[key] for key in ("state", "name", "read", "accepted", "duplicate", "rejected", "reasons")}
    assert counts == {
        "state": "done",
        "name": "requests.jsonl",
        "read": 52,
        "accepted": 50,
        "duplicate": 0,
        "rejected": 2,
        "reasons": {"invalid_json": 1, "torn_line": 1},
    }
    assert (summary["requests"], summary["input_tokens"], summary["output_tokens"]) == (50, 5000, 550)


def test_rejected_rows_are_paged_with_line_and_reason(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        done = put(service, "requests.jsonl", TORN)
        first = service.get(f"/api/v1/uploads/{done['id']}/rejects", params={"limit": 1}).json()
        after = {"limit": 1, "after": first["next"]}
        second = service.get(f"/api/v1/uploads/{done['id']}/rejects", params=after).json()
        last = service.get(f"/api/v1/uploads/{done['id']}/rejects", params={"after": second["next"]}).json()
    rows = [(row["line"], row["reason"]) for page in (first, second) for row in page["rejects"]]
    assert (rows, last) == ([(51, "invalid_json"), (52, "torn_line")], {"rejects": [], "next": None})
    assert first["rejects"][0]["detail"].startswith("character ")


def test_progress_is_told_until_the_receipt(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        said = service.put("/api/v1/uploads/requests.jsonl", content=GOOD).json()
        with service.stream("GET", f"/api/v1/uploads/{said['id']}/events") as stream:
            kind = stream.headers["content-type"]
            lines = [line for line in stream.iter_lines() if line]
    told = dict(zip(lines[-2::2], lines[-1::2], strict=True))
    assert kind.startswith("text/event-stream")
    assert [json.loads(data.removeprefix("data: "))["accepted"] for data in told.values()] == [50]
    assert next(iter(told)) == "event: receipt"


def test_a_file_sent_twice_changes_nothing(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        put(service, "a.jsonl", GOOD)
        again = put(service, "b.jsonl.gz", gzip.compress(GOOD))
        requests = service.get("/api/v1/summary").json()["summary"]["requests"]
    assert (again["accepted"], again["duplicate"], requests) == (0, 50, 50)


def test_a_deleted_upload_takes_its_rows_along(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        keep = put(service, "keep.jsonl", request_rows(10, user_id="kept"))
        gone = put(service, "gone.jsonl", GOOD.replace(b'"r-', b'"x-'))
        deleted = service.delete(f"/api/v1/uploads/{gone['id']}").status_code
        summary = service.get("/api/v1/summary").json()["summary"]
        listed = [upload["id"] for upload in service.get("/api/v1/uploads").json()["uploads"]]
        missing = service.get(f"/api/v1/uploads/{gone['id']}")
    assert (deleted, summary["requests"], listed) == (204, 10, [keep["id"]])
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_rows_sent_twice_outlive_the_deletion_of_the_first_and_come_back_after_the_last(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        first, second = put(service, "a.jsonl", GOOD), put(service, "a.jsonl", GOOD)
        seen = []
        for upload in (first, second):
            service.delete(f"/api/v1/uploads/{upload['id']}")
            seen.append(service.get("/api/v1/summary").json()["summary"]["requests"])
        again = put(service, "a.jsonl", GOOD)
    assert (seen, again["accepted"]) == ([50, 0], 50)


def test_uploads_are_listed_newest_first_by_key(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        ids = [put(service, f"{n}.jsonl", request_rows(1, request_id=f"q-{n}"))["id"] for n in range(5)]
        seen: list[str] = []
        after: str | None = None
        while True:
            page = service.get("/api/v1/uploads", params={"limit": 2} | ({"after": after} if after else {})).json()
            seen += [upload["id"] for upload in page["uploads"]]
            after = page["next"]
            if after is None:
                break
    assert seen == ids[::-1]


def test_a_form_sends_several_files(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        files = [("file", ("a.jsonl", GOOD)), ("file", ("b.jsonl", request_rows(3, request_id="z")))]
        said = service.post("/api/v1/uploads", files=files)
        states = [receipt(service, upload["id"])["state"] for upload in said.json()["uploads"]]
    assert (said.status_code, states) == (202, ["done", "done"])


@pytest.mark.parametrize(
    "name", ["..%2F..%2Fetc%2Fpasswd", "%2e%2e/%2e%2e/passwd", "a%5C..%5Cpasswd", "passwd%0d%0a", "x/../passwd"]
)
def test_a_hostile_name_writes_nothing_outside_the_spool(tmp_path: Path, name: str) -> None:
    with client(tmp_path) as service:
        before = {path for path in tmp_path.rglob("*") if path.is_dir()}
        done = put(service, name, GOOD)
        after = {path for path in tmp_path.rglob("*") if path.is_dir()}
    assert (done["name"], after - before) == ("passwd", set())
    assert not list(tmp_path.rglob("passwd*"))


def test_a_file_that_is_no_trace_fails_with_a_reason_and_leaves_nothing(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        done = put(service, "photo.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
        rows = service.get("/readyz").json()["rows"]
        left = list((tmp_path / "store.duckdb.spool" / "uploads").iterdir())
    assert left == []
    assert done["state"] in ("failed", "skipped")
    assert done["message"]
    assert rows["requests"] == 0


def test_a_file_whose_reading_breaks_off_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault of the store")

    monkeypatch.setattr(uploads, "load", breaks)
    with client(tmp_path) as service:
        done = put(service, "a.jsonl", GOOD)
        left = list((tmp_path / "store.duckdb.spool" / "uploads").iterdir())
    assert (done["state"], left) == ("failed", [])


def test_a_file_above_the_limit_is_refused_with_and_without_a_length(tmp_path: Path) -> None:
    with client(tmp_path, max_upload_bytes=1000) as service:
        known = service.put("/api/v1/uploads/a.jsonl", content=GOOD)
        streamed = service.put("/api/v1/uploads/a.jsonl", content=iter([GOOD[:900], GOOD[900:]]))
        left = list((tmp_path / "store.duckdb.spool" / "uploads").iterdir())
    assert [(said.status_code, said.json()["code"]) for said in (known, streamed)] == [(413, "too_large")] * 2
    assert left == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/uploads/u-none", 404, "not_found"),
        ("GET", "/api/v1/uploads/u-none/events", 404, "not_found"),
        ("GET", "/api/v1/uploads/u-none/rejects", 404, "not_found"),
        ("DELETE", "/api/v1/uploads/u-none", 404, "not_found"),
        ("GET", "/api/v1/uploads?after=nonsense", 422, "invalid_key"),
        ("GET", "/api/v1/uploads?limit=0", 422, "invalid_parameter"),
        ("PUT", "/api/v1/uploads/a.jsonl?sampling_rate=2", 422, "invalid_parameter"),
        ("PUT", "/api/v1/uploads/a.jsonl?sampling_rate=1e-300", 422, "invalid_parameter"),
        ("PUT", "/api/v1/uploads/a.jsonl?format=nonsense", 422, "config"),
        ("PATCH", "/api/v1/uploads/a.jsonl", 405, "wrong_method"),
        ("GET", "/api/v1/nothing", 404, "no_such_route"),
    ],
)
def test_errors_are_problems_with_a_code(tmp_path: Path, method: str, path: str, status: int, code: str) -> None:
    with client(tmp_path) as service:
        said = service.request(method, path)
    assert (said.status_code, said.headers["content-type"], said.json()["code"]) == (
        status,
        "application/problem+json",
        code,
    )


def test_an_upload_under_way_when_the_server_stops_is_read_by_the_next(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        ids = [
            service.put(f"/api/v1/uploads/{n}.jsonl", content=request_rows(200, user_id=str(n))).json()["id"]
            for n in range(4)
        ]
    with client(tmp_path) as service:
        states = [receipt(service, upload_id)["state"] for upload_id in ids]
        requests = service.get("/api/v1/summary").json()["summary"]["requests"]
    assert (states, requests) == (["done"] * 4, 200)
