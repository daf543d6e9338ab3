"""Services for tests: an app with its client, a server that listens, a command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi.testclient import TestClient

from api.app import create_app
from api.cli import run
from api.settings import Settings

BASE = "http://127.0.0.1:4318"
WAIT_S = 60.0


def settings(folder: Path, **more: Any) -> Settings:
    """Settings of a service whose store lies in a folder of the test."""
    return Settings(**{"store": folder / "store.duckdb", "batch_seconds": 0.05, "grpc_port": "off"} | more)


@contextmanager
def client(folder: Path, **more: Any) -> Iterator[TestClient]:
    """A service in this process, asked without a socket."""
    with TestClient(create_app(settings(folder, **more)), base_url=BASE) as opened:
        yield opened


@contextmanager
def listening(folder: Path, **more: Any) -> Iterator[str]:
    """The URL of a service in this process that listens on a free port."""
    with listening_twice(folder, **more) as (url, _):
        yield url


@contextmanager
def listening_twice(folder: Path, **more: Any) -> Iterator[tuple[str, str | None]]:
    """The URL of such a service, and the address where it takes OTLP over gRPC."""
    app = create_app(settings(folder, **more))
    config = uvicorn.Config(app, port=0, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + WAIT_S
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", app.state.grpc
    finally:
        server.should_exit = True
        thread.join(WAIT_S)


def put(service: TestClient, name: str, content: bytes, **parameters: Any) -> dict[str, Any]:
    """The receipt of an upload that was sent and read."""
    said = service.put(f"/api/v1/uploads/{name}", content=content, params=parameters)
    assert said.status_code == 202, said.text
    return receipt(service, said.json()["id"])


def receipt(service: TestClient | httpx2.Client, upload_id: str) -> dict[str, Any]:
    """The upload once it is read."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        said: dict[str, Any] = service.get(f"/api/v1/uploads/{upload_id}").json()
        if said["state"] not in ("waiting", "reading"):
            return said
        time.sleep(0.02)
    raise AssertionError(f"upload {upload_id} was not read within {WAIT_S} s")


def tailwise(
    *words: str | Path, folder: Path, stdin: bytes | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command that ran in a folder, as a user runs it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAILWISE_")}
    ran = subprocess.run(
        [sys.executable, "-m", "api.cli", *map(str, words)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=kept | dict(environment or {}),
        check=False,
        timeout=240,
    )
    return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def here(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> subprocess.CompletedProcess[str]:
    """A command that ran in this process, where the test stands: quicker by the imports."""
    capsys.readouterr()
    code = run(list(words))
    told = capsys.readouterr()
    return subprocess.CompletedProcess(list(words), code, told.out, told.err)


def request_rows(n: int, **more: Any) -> bytes:
    """JSON lines of n good chat requests, one a second from 2026-03-02T10:00:00Z."""
    rows = []
    for i in range(n):
        minute, second = divmod(i, 60)
        rows.append(
            {
                "request_id": f"r-{i}",
                "start_time": f"2026-03-02T10:{minute:02d}:{second:02d}Z",
                "end_time": f"2026-03-02T10:{minute:02d}:{second:02d}.900Z",
                "model": "m",
                "user_id": f"u-{i % 3}",
                "scenario": "chat",
                "input_tokens": 100,
                "output_tokens": 11,
                "ttft_ms": 400,
                "e2e_ms": 900,
                "status_code": 200,
            }
            | more
        )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
