"""Answers of the receiver: the hand-made message is the one that the published definitions read."""

from __future__ import annotations

import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from api.export_answer import rpc_status


@pytest.mark.parametrize("length", [0, 1, 127, 128, 300, 20_000, 3_000_000])
def test_a_status_of_any_length_is_read_as_it_was_told(length: int) -> None:
    status = Status.FromString(rpc_status(3, "é" * length))
    assert (status.code, status.message, len(status.details)) == (3, "é" * length, 0)


def test_a_time_to_come_back_is_a_retry_info() -> None:
    status = Status.FromString(rpc_status(14, "full", 5))
    told = RetryInfo()
    assert status.details[0].Unpack(told)
    assert (status.code, told.retry_delay.seconds, told.retry_delay.nanos) == (14, 5, 0)
