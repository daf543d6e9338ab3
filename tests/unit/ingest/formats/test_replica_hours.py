"""Hours of replicas: read with their cost, never sampled, each told once."""

from __future__ import annotations

from pathlib import Path

from ingest.load import LoadOptions, load_paths
from ingest.store.database import Store
from tests.support.loads import counts, places, write
from tests.support.shared import shared


def test_the_hours_of_a_run_are_read_once() -> None:
    path = shared("incidents/sample/healthy/replica_hours.jsonl")
    with Store.open() as store:
        (receipt,) = load_paths([path], store, LoadOptions(sampling_rate=0.1))
        hours = store.read("replica_hours", order="replica, hour_ns")
    assert (receipt.format, counts(receipt), receipt.notes) == ("replica_hours", (11, 11, 0, 0), ())
    assert hours.row(0, named=True) == {
        "replica": "lm-large-eu-west-0",
        "hour_ns": 1772449200_000000000,
        "upload_id": receipt.upload_id,
        "model": "lm-large",
        "region": "eu-west",
        "deployment_version": "2026.02.1",
        "up_s": 3600.0,
        "busy_s": hours["busy_s"][0],
        "mean_batch_size": hours["mean_batch_size"][0],
        "preemptions": 0.0,
        "cost_usd": 5_000_000_000_000,
    }


def test_an_hour_told_again_is_a_duplicate_and_one_without_a_replica_is_refused(tmp_path: Path) -> None:
    first = b'{"replica": "a", "hour_start": "2026-03-02T11:00:00Z", "up_seconds": 3600.0}\n'
    nameless = b'{"replica": null, "hour_start": "2026-03-02T11:00:00Z", "up_seconds": 3600.0}\n'
    later = first.replace(b"T11", b"T12")
    paths = write(tmp_path, {"a.jsonl": first + first + b"\n" + nameless, "b.jsonl": first + later})
    with Store.open() as store:
        receipts = load_paths(paths, store, LoadOptions())
        assert store.read("replica_hours").height == 2
    assert [counts(receipt) for receipt in receipts] == [(3, 1, 1, 1), (2, 1, 1, 0)]
    assert [place[::2] for place in places(receipts[0])] == [(4, "missing_value")]
