"""Settings: which source goes before which, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.settings import Settings, read_settings
from ingest.errors import ConfigError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_flag_goes_before_the_environment_and_that_before_the_file() -> None:
    Path("tailwise.yaml").write_text("port: 1\nhost: file\ntimezone: Asia/Kolkata\n")
    environment = {"TAILWISE_PORT": "2", "TAILWISE_HOST": "environment", "PORT": "9"}
    settings = read_settings({"port": 3, "host": None}, environment=environment)
    assert settings == Settings(port=3, host="environment", timezone="Asia/Kolkata")


def test_without_any_source_the_service_listens_here_alone() -> None:
    settings = read_settings(environment={})
    assert (settings.host, settings.port, settings.store) == ("127.0.0.1", 4318, Path("tailwise.duckdb"))
    assert settings.spool_folder == Path("tailwise.duckdb.spool")


def test_sizes_carry_their_unit() -> None:
    assert read_settings({"max_body_bytes": "3MiB"}, environment={}).max_body_bytes == 3_145_728


@pytest.mark.parametrize(
    ("environment", "file", "says"),
    [
        (
            {"TAILWISE_STORRE": "x"},
            "",
            'environment variable TAILWISE_STORRE is not known. Did you mean "TAILWISE_STORE"?',
        ),
        ({}, "prot: 1\n", 'tailwise.yaml: setting "prot" is not known. Did you mean "port"?'),
        (
            {"TAILWISE_PORT": "many"},
            "",
            'TAILWISE_PORT: "many" is not a valid port: input should be a valid integer, unable to parse string as an'
            " integer",
        ),
        ({}, "port: " + "[" * 3000, "tailwise.yaml, line 1: nested deeper than 40 levels"),
        ({}, "- a\n", "tailwise.yaml must hold names and values, such as port: 4318"),
    ],
)
def test_what_is_not_known_or_not_valid_is_refused(environment: dict[str, str], file: str, says: str) -> None:
    if file:
        Path("tailwise.yaml").write_text(file)
    with pytest.raises(ConfigError) as caught:
        read_settings(environment=environment)
    assert caught.value.message == says
