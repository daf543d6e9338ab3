"""Errors as their two readers see them: an exit code at the prompt, an RFC 9457 problem over HTTP.

Input: ServiceError of any room. Output: status and exit codes, codes of google.rpc, and the JSON of a problem.
Source: RFC 9457 (problem details), with the members `code` (stable, for programs) and `hint` (what to do) added.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from ingest.errors import (
    ConfigError,
    InputError,
    NotFound,
    SchemaMismatch,
    ServiceError,
    StateError,
    StoreError,
    StoreHeld,
    UnknownFormat,
    UnusableFormat,
)

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BREACHED = 3  # --fail-on-breach, also where no objective could be judged; a bill that fails, or says nothing
EXIT_REJECTED = 4  # with --strict

TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # RFC 9110; older libraries have other words
LONGEST_DETAIL, LONGEST_PLACE = 4000, 200  # characters of a sentence, and of the address or the id that it is about
MEDIA_TYPE = "application/problem+json"


class Refused(ServiceError):
    """A request over HTTP that is refused by its form or by the state of the server, not by its content.

    Args:
        status: status code of the answer.
        retry_after: seconds after which the same request may go through; None: it never will.
    """

    def __init__(
        self, message: str, *, status: int, code: str, hint: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status
        self.retry_after = retry_after


STATUSES: tuple[tuple[type[ServiceError], int], ...] = (  # the first that fits
    (NotFound, 404),
    (StateError, 409),
    (UnknownFormat, 415),
    (UnusableFormat, 422),
    (InputError, 422),
    (ConfigError, 422),
    (StoreHeld, 503),
    (SchemaMismatch, 500),
    (StoreError, 503),
)


def status_of(error: ServiceError) -> int:
    """HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


RPC_CODES = {  # status over HTTP: google.rpc.Code of the same refusal
    401: 16,  # UNAUTHENTICATED
    403: 7,  # PERMISSION_DENIED
    413: 8,  # RESOURCE_EXHAUSTED, which without a time to come back means never
    429: 8,
    503: 14,  # UNAVAILABLE
}
RPC_INVALID, RPC_INTERNAL = 3, 13  # of other refusals; of faults of the server


def rpc_code_of(error: ServiceError) -> int:
    """google.rpc.Code of an error."""
    return rpc_code(status_of(error))


def rpc_code(status: int) -> int:
    """google.rpc.Code of a status over HTTP."""
    return RPC_CODES.get(status, RPC_INVALID if status < HTTPStatus.INTERNAL_SERVER_ERROR else RPC_INTERNAL)


def exit_code_of(error: ServiceError) -> int:
    """Exit code of an error: a setting or a file of settings that breaks a rule is wrong usage."""
    return EXIT_USAGE if isinstance(error, ConfigError) else EXIT_FAILED


def problem(
    status: int, code: str, detail: str, *, hint: str | None = None, instance: str | None = None
) -> dict[str, Any]:
    """The JSON of a problem; members without a value are left out."""
    members = {
        "type": f"urn:tailwise:problem:{code}",
        "title": TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": _short(detail, LONGEST_DETAIL if status != HTTPStatus.NOT_FOUND else LONGEST_PLACE + 100),
        "code": code,
        "hint": hint,
        "instance": _short(instance, LONGEST_PLACE) if instance is not None else None,
    }
    return {key: value for key, value in members.items() if value is not None}


def _short(text: str, longest: int) -> str:
    """Text of a client is not repeated without end."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def problem_of(error: ServiceError, instance: str | None = None) -> dict[str, Any]:
    """The JSON of a problem for an error."""
    return problem(status_of(error), error.code, error.message, hint=error.hint, instance=instance)
