"""Errors of the service and reasons for which a row is refused.

Tree:

    ServiceError                  base: message, code, hint
      InputError                  a file or body that cannot be used as a whole
        UnknownFormat             no format recognizes the bytes
        UnusableFormat            recognized, and refused with the file that would work
        UnreadableInput           missing, not permitted, damaged container, wrong encoding
      ConfigError                 a YAML file or option that breaks a rule (place, value, rule, remedy)
      StoreError
        StoreHeld                 another process owns the file
        StoreTooNew               schema newer than this version reads
        SchemaMismatch            a frame lacks a column or has another dtype
      NotFound                    an id that does not stand in the store
      StateError                  the thing exists, and its state does not allow the action
        Cancelled                 the caller ended the work before it was done

Bad ROWS are data (`Reject`), not exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD_CHARACTERS = 200  # of a rejected line, as the store's contract says


class ServiceError(Exception):
    """Base of all errors a caller is meant to see.

    Args:
        message: one sentence: place, value, rule, remedy.
        code: stable and short, for programs.
        hint: what to do, where the message does not say so.
    """

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.hint = hint


class InputError(ServiceError):
    code = "input"


class UnknownFormat(InputError):
    code = "unknown_format"


class UnusableFormat(InputError):
    code = "unusable_format"


class UnreadableInput(InputError):
    code = "unreadable_input"


class ConfigError(ServiceError):
    code = "config"


class StoreError(ServiceError):
    code = "store"


class StoreHeld(StoreError):
    code = "store_held"


class StoreTooNew(StoreError):
    code = "store_too_new"


class SchemaMismatch(StoreError):
    code = "schema_mismatch"


class NotFound(ServiceError):
    code = "not_found"


class StateError(ServiceError):
    code = "state"


class Cancelled(StateError):
    code = "cancelled"


@dataclass(frozen=True)
class Reject:
    """One refused row or span.

    `line` counts from 1, blank lines included; it is null where the source has no lines.
    `offset` is the byte offset of the row's start in the unpacked source, or null.
    `reason` is a stable id (`torn_line`, `end_before_start`, ...); `head` the first 200 characters without prompts,
    answers and credentials (formats/heads). `detail`: column, value and rule, as far as there is more to say than the
    reason does (`output_tokens: "abc" is no whole number`).
    """

    line: int | None
    offset: int | None
    reason: str
    head: str
    detail: str = ""


REJECT_REASONS: dict[str, str] = {
    "invalid_json": "the line is not one JSON value",
    "torn_line": "the last line ends in the middle; the writer was stopped or the file was copied while open",
    "trailing_text": "text follows the value on the line",
    "not_an_object": "the line is JSON but no object",
    "invalid_utf8": "the line holds bytes that are not UTF-8",
    "zero_bytes": "the line holds zero bytes, the mark of a page that was never written",
    "line_too_long": "the line or object is longer than 64 MiB",
    "wrong_columns": "the row has another number of columns than the header",
    "unclosed_quote": "a quoted value of the row does not end",
    "no_trace_id": "the span has no trace id",
    "zero_trace_id": "the trace id is all zeros, which the specification calls invalid",
    "bad_trace_id": "the trace id is neither 16 bytes of hex nor of base64",
    "no_span_id": "the span has no valid span id",
    "start_unset": "the span's or row's start time is missing or 0",
    "end_before_start": "it ends before it starts",
    "duration_too_long": "it lasts longer than 24 hours, the mark of an unset start",
    "time_out_of_range": "its time lies before 2015 or more than a day in the future",
    "day_rolled_up": "its day was rolled up by retention, and nothing is left to tell it from what was counted",
    "no_time": "the row has neither a time nor a duration nor tokens",
    "not_a_request": "the line belongs to the format but holds no request",
    "bad_value": "a value has the wrong type and the row cannot be used without it",
    "negative_duration": "a duration is negative",
    "negative_tokens": "a token count is negative",
    "set_aside": "the received body could not be stored; it lies beside the spool of the server, and nothing of it is counted",
    "missing_value": "a value that the row cannot do without is missing",
}
