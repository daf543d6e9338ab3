"""Extras: what is missing says how to get it, and nothing else misses it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from api.doctor import examine
from api.extras import demand, grpc_port, installed
from api.settings import GRPC_PORT, Settings
from ingest.errors import ConfigError
from tests.support.server import client

SAYS = 'the extra "grpc" is not installed; pip install "tailwise[grpc]"'


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the extra."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.delitem(sys.modules, "api.grpc_receiver", raising=False)


def test_the_port_is_that_of_otlp_where_the_extra_is_there() -> None:
    assert installed("grpc")
    demand("grpc", "grpc_port 1")
    given = [grpc_port(Settings(grpc_port=port)) for port in (None, "off", 0, 5000)]
    assert given == [GRPC_PORT, None, 0, 5000] == [4317, None, 0, 5000]


@pytest.mark.usefixtures("bare")
def test_a_missing_extra_is_off_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert [grpc_port(Settings(grpc_port=port)) for port in (None, "off")] == [None, None]
    with client(tmp_path, grpc_port=None) as service:
        assert service.get("/healthz").status_code == 200
    with pytest.raises(ConfigError) as caught, client(tmp_path, grpc_port=4317):
        pass
    assert caught.value.message == f"grpc_port 4317: {SAYS}"


@pytest.mark.usefixtures("bare")
def test_the_doctor_says_that_an_extra_is_missing(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    (asked,) = [check for check in examine(Settings(store=store, grpc_port=4317)) if check.name == "gRPC"]
    (left,) = [check for check in examine(Settings(store=store)) if check.name == "gRPC"]
    assert (asked.state, asked.says) == ("bad", f"grpc_port 4317: {SAYS}")
    assert (left.state, left.says) == ("note", f"OTLP over gRPC is off: {SAYS}")


def test_the_doctor_says_where_exports_will_be_taken_and_why_not(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    told = [
        next(
            (check.state, check.says)
            for check in examine(Settings(store=store, grpc_port=port))
            if check.name == "gRPC"
        )
        for port in (0, "off")
    ]
    assert told[0][0] == "good"
    assert told[0][1].startswith("OTLP over gRPC will be taken at 127.0.0.1:0; grpcio ")
    assert told[1] == ("note", "OTLP over gRPC is off: the setting grpc_port says so")
