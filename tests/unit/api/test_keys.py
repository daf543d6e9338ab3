"""Keys: stored as hashes, told once, allowed what their role allows."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from api.keys import KeyRing, key_in, keys_file, may
from ingest.errors import ConfigError, NotFound
from tests.support.server import client, here


def test_the_text_of_a_key_is_stored_nowhere_and_the_file_is_private(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    key, text = ring.add("collector", "ingest")
    assert ring.role_of(text) == "ingest"
    assert ring.role_of(text + "x") is None
    assert text not in (tmp_path / "keys.json").read_text()
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert (key.name, text[:3], len(text)) == ("collector", "tw_", 46)


def test_a_revoked_key_is_refused_by_a_ring_that_is_already_open(tmp_path: Path) -> None:
    here_, there = KeyRing(tmp_path / "keys.json"), KeyRing(tmp_path / "keys.json")
    key, text = here_.add("a", "admin")
    before = there.role_of(text)
    here_.revoke(key.id)
    assert (before, there.role_of(text)) == ("admin", None)
    with pytest.raises(NotFound, match=f'no key has the id "{key.id}". Known: none'):
        here_.revoke(key.id)


def test_a_file_that_is_none_of_keys_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{}")
    with pytest.raises(ConfigError, match="is no file of keys"):
        KeyRing(tmp_path / "keys.json").role_of("tw_x")


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"authorization": "Bearer tw_a"}, "tw_a"),
        ({"authorization": "Basic " + base64.b64encode(b"anyone:tw_a").decode()}, "tw_a"),
        ({"authorization": "Basic ???"}, None),
        ({"x-api-key": "tw_a"}, "tw_a"),
        ({}, None),
    ],
)
def test_a_key_may_come_in_three_ways(headers: dict[str, str], key: str | None) -> None:
    assert key_in(headers) == key


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("GET", "/api/v1/summary", {"read", "admin"}),
        ("GET", "/reports/latest", {"read", "admin"}),
        ("POST", "/api/v1/result", {"read", "admin"}),
        ("POST", "/v1/traces", {"ingest", "admin"}),
        ("PUT", "/api/v1/uploads/a.jsonl", {"ingest", "admin"}),
        ("GET", "/api/v1/uploads/u-1/events", {"read", "ingest", "admin"}),
        ("DELETE", "/api/v1/uploads/u-1", {"admin"}),
        ("PUT", "/api/v1/objectives", {"admin"}),
        ("POST", "/api/v1/reports", {"admin"}),
        ("POST", "/v1/tracesX", {"admin"}),
    ],
)
def test_a_role_may_what_it_says(method: str, path: str, roles: set[str]) -> None:
    assert {role for role in ("read", "ingest", "admin") if may(role, method, path)} == roles


def test_a_server_with_keys_asks_for_one(tmp_path: Path) -> None:
    ring = KeyRing(keys_file(tmp_path / "store.duckdb"))
    with client(tmp_path) as service:
        open_before = service.get("/api/v1/uploads").status_code
        _, reader = ring.add("a reader", "read")
        without = service.get("/api/v1/uploads")
        wrong = service.get("/api/v1/uploads", headers={"authorization": "Bearer tw_wrong"})
        right = service.get("/api/v1/uploads", headers={"authorization": f"Bearer {reader}"})
        beyond = service.delete("/api/v1/uploads/u-1", headers={"authorization": f"Bearer {reader}"})
        probe = service.get("/healthz")
    assert (open_before, right.status_code, probe.status_code) == (200, 200, 200)
    assert (without.status_code, without.headers["www-authenticate"]) == (
        401,
        'Basic realm="tailwise", charset="UTF-8"',
    )
    assert (wrong.status_code, beyond.status_code, beyond.json()["code"]) == (401, 403, "role")


def test_keys_are_made_listed_and_revoked_at_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = here(["keys", "add", "collector", "--role", "ingest", "--store", "s.duckdb"], capsys)
    listed = here(["keys", "list", "--store", "s.duckdb"], capsys)
    key_id = json.loads((tmp_path / "s.duckdb.keys.json").read_text())["keys"][0]["id"]
    gone = here(["keys", "revoke", key_id, "--store", "s.duckdb"], capsys)
    again = here(["keys", "revoke", key_id, "--store", "s.duckdb"], capsys)
    assert made.stdout.startswith("tw_")
    assert listed.stdout.splitlines()[1].split()[:3] == [key_id, "collector", "ingest"]
    assert (gone.returncode, again.returncode) == (0, 1)
