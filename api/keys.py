"""API keys: who may read, who may send, who may change.

Input: a file beside the store, keys as a client sends them. Output: the role of a key.
Only a keyed hash of a key is stored; the key itself is shown once, when it is made. The file is read again when it
changed, so a key can be made or revoked while the server holds the store.
Source: 256 random bits need no slow hash; BLAKE2b with a salt of the file, compared in constant time.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from ingest.errors import ConfigError, NotFound

Role = Literal["read", "ingest", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
PREFIX = "tw_"
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
SENDING = ("/v1/traces", "/api/v1/uploads")
ASKING = (("POST", "/api/v1/result"), ("POST", "/mcp"))  # questions that have a body
READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Key:
    """One key; `hash` is all that is known of it."""

    id: str
    name: str
    role: Role
    hash: str
    created: str


def keys_file(store: Path) -> Path:
    """Where the keys of a store stand."""
    return store.with_name(store.name + ".keys.json")


class KeyRing:
    """The keys of a file; without a file, or with none in it, there are none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._read: tuple[int, str, tuple[Key, ...]] | None = None  # mtime, salt, keys

    def listed(self) -> tuple[Key, ...]:
        """All keys, in the order they were made.

        Raises:
            ConfigError: the file is there and is none of ours.
        """
        return self._load()[2]

    def add(self, name: str, role: Role) -> tuple[Key, str]:
        """A new key, and its text, which is stored nowhere."""
        _, salt, keys = self._load()
        text = PREFIX + secrets.token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        key = Key(f"k-{secrets.token_hex(4)}", name, role, _hash(text, salt), created)
        self._save(salt, (*keys, key))
        return key, text

    def revoke(self, key_id: str) -> Key:
        """The key that is gone now.

        Raises:
            NotFound: no key has that id.
        """
        _, salt, keys = self._load()
        gone = next((key for key in keys if key.id == key_id), None)
        if gone is None:
            raise NotFound(f'no key has the id "{key_id}". Known: {", ".join(key.id for key in keys) or "none"}')
        self._save(salt, tuple(key for key in keys if key.id != key_id))
        return gone

    def role_of(self, text: str) -> Role | None:
        """The role of a key, or None if it is none of these; every key is compared, whichever fits."""
        _, salt, keys = self._load()
        hashed = _hash(text, salt)
        fits = [key.role for key in keys if hmac.compare_digest(key.hash, hashed)]
        return fits[0] if fits else None

    def _load(self) -> tuple[int, str, tuple[Key, ...]]:
        with self._lock:
            try:
                changed = self._path.stat().st_mtime_ns
            except FileNotFoundError:
                return 0, secrets.token_hex(32), ()
            if self._read is None or self._read[0] != changed:
                try:
                    told = json.loads(self._path.read_text(encoding="utf-8"))
                    keys = tuple(Key(**key) for key in told["keys"])
                    self._read = (changed, str(told["salt"]), keys)
                except (ValueError, KeyError, TypeError) as error:
                    raise ConfigError(f"{self._path} is no file of keys: {error}") from error
            return self._read

    def _save(self, salt: str, keys: tuple[Key, ...]) -> None:
        content = json.dumps({"salt": salt, "keys": [asdict(key) for key in keys]}, indent=1)
        fresh = self._path.with_name(f".{self._path.name}.part")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        fresh.replace(self._path)


def key_in(headers: Mapping[str, str]) -> str | None:
    """The key of a request: a bearer token, the password of HTTP Basic (browsers), or X-API-Key."""
    kind, _, said = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and said:
        return said.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(said.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return None
    return headers.get("x-api-key")


def may(role: Role, method: str, path: str) -> bool:
    """Whether a role may do this: read asks, ingest sends and watches what it sent, admin does everything."""
    if role == "admin":
        return True
    if role == "ingest":
        return method != "DELETE" and any(path == place or path.startswith(f"{place}/") for place in SENDING)
    if path == "/api/v1/backup":  # holds everything, whatever a reader was meant to see
        return False
    return method in READING_METHODS or (method, path) in ASKING


def _hash(text: str, salt: str) -> str:
    return hashlib.blake2b(text.encode(), key=bytes.fromhex(salt), digest_size=32).hexdigest()
