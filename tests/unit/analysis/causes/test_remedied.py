"""Whether traces show that a recommendation was followed."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from analysis.causes.remedied import SIGNS, UNSEEN, sign_of

EAST = (("region", "east"),)


def rows(n: int = 60, **columns: object) -> pl.DataFrame:
    """Answered requests of three replicas in the east."""
    usual: dict[str, object] = {
        "ok": True, "region": "east", "deployment_version": "v1", "batch_size": 4.0, "input_tokens": 1000,
        "cached_input_tokens": 0, "output_tokens": 100, "reasoning_tokens": 50, "attempts": 2.0, "cold_start": "true",
        "streaming": "false", "status_class": "ok",
    }  # fmt: skip
    names = columns.pop("replicas", ["r-0", "r-1", "r-2"])
    assert isinstance(names, list)
    frame = pl.DataFrame({"replica": [names[i % len(names)] for i in range(n)]})
    return frame.with_columns(pl.lit(value).alias(name) for name, value in (usual | columns).items())


Make = Callable[[], pl.DataFrame]
DONE: dict[str, tuple[tuple[tuple[str, str], ...], Make]] = {  # segment, requests after the change
    "scale_out": (EAST, lambda: rows(replicas=["r-0", "r-1", "r-2", "r-3"])),
    "autoscale_policy": (EAST, lambda: rows(replicas=["r-0", "r-1", "r-2", "r-3"])),
    "replica_drain": ((("replica", "r-0"),), lambda: rows(replicas=["r-1", "r-2"])),
    "rollback_version": ((("deployment_version", "v1"),), lambda: rows(deployment_version="v0")),
    "raise_batch_limit": (EAST, lambda: rows(batch_size=8.0)),
    "lower_batch_limit": (EAST, lambda: rows(batch_size=2.0)),
    "input_length_cap": (EAST, lambda: rows(input_tokens=500)),
    "output_length_control": (EAST, lambda: rows(output_tokens=50)),
    "reasoning_budget": (EAST, lambda: rows(reasoning_tokens=10)),
    "retry_budget": (EAST, lambda: rows(attempts=1.0)),
    "prompt_layout": (EAST, lambda: rows(cached_input_tokens=400)),
    "prefix_caching": (EAST, lambda: rows(cached_input_tokens=400)),
    "cache_aware_routing": (EAST, lambda: rows(cached_input_tokens=400)),
    "warm_pool": ((("cold_start", "true"),), lambda: rows(cold_start="false")),
    "streaming_output": (EAST, lambda: rows(streaming="true")),
    "rate_limit": (EAST, lambda: rows(status_class="shed")),
}


def test_every_sign_has_its_case() -> None:
    assert set(DONE) == set(SIGNS)


@pytest.mark.parametrize("identity", sorted(DONE))
def test_the_change_is_seen_and_its_absence_too(identity: str) -> None:
    segment, changed = DONE[identity]
    done, same = (sign_of(identity, segment, rows(), now) for now in (changed(), rows()))
    assert (done.is_done, same.is_done) == (True, False)
    assert " then" in done.says


def test_a_replica_that_serves_a_few_requests_at_the_edge_is_none() -> None:
    then = pl.concat([rows(replicas=["r-0"]), rows(3, replicas=["r-1"])])
    assert sign_of("scale_out", EAST, then, rows()).says == "3 replicas serve the segment, 1 then"


def test_what_traces_do_not_show_is_not_told() -> None:
    assert sign_of("gc_tuning", EAST, rows(), rows()) == UNSEEN
    assert sign_of("scale_out", EAST, rows().drop("replica"), rows()) == UNSEEN
    assert sign_of("scale_out", EAST, rows(10), rows()).is_done is None
    assert sign_of("raise_batch_limit", EAST, rows(), rows(batch_size=None)).is_done is None


def test_one_replica_serves_and_several_serve() -> None:
    then, now = rows(replicas=["r-0", "r-1"]), rows(replicas=["r-0"])
    assert sign_of("scale_out", EAST, then, now).says == "1 replica serves the segment, 2 then"
