"""Errors as exit codes and as problems: each kind has its own, and nothing is lost on the way."""

from __future__ import annotations

import pytest

from api.problems import Refused, exit_code_of, problem_of, status_of
from ingest.errors import (
    ConfigError,
    NotFound,
    SchemaMismatch,
    ServiceError,
    StateError,
    StoreHeld,
    UnknownFormat,
    UnreadableInput,
    UnusableFormat,
)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        (NotFound, 404, 1),
        (StateError, 409, 1),
        (UnknownFormat, 415, 1),
        (UnusableFormat, 422, 1),
        (UnreadableInput, 422, 1),
        (ConfigError, 422, 2),
        (StoreHeld, 503, 1),
        (SchemaMismatch, 500, 1),
        (ServiceError, 500, 1),
    ],
)
def test_every_kind_of_error_has_a_status_and_an_exit_code(kind: type[ServiceError], status: int, code: int) -> None:
    error = kind("why")
    assert (status_of(error), exit_code_of(error)) == (status, code)


def test_a_problem_carries_what_the_standard_asks_for_and_our_code_and_hint() -> None:
    refused = Refused("too many spans wait", status=503, code="backlog_full", hint="come back", retry_after=5)
    assert problem_of(refused, "/v1/traces") == {
        "type": "urn:tailwise:problem:backlog_full",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "too many spans wait",
        "code": "backlog_full",
        "hint": "come back",
        "instance": "/v1/traces",
    }


def test_members_without_a_value_are_left_out() -> None:
    assert set(problem_of(NotFound("no such thing"))) == {"type", "title", "status", "detail", "code"}


def test_an_address_that_goes_on_and_on_is_cut() -> None:
    told = problem_of(NotFound(f'no upload has the id "{"x" * 9000}"'), "/" + "x" * 9000)
    assert (told["instance"], len(told["detail"])) == ("/" + "x" * 199 + "...", 303)
    assert len(problem_of(ConfigError("x" * 9000))["detail"]) == 4003
