"""Every change that a cause may be: seen where it is planted, silent in a healthy service, near misses, no column."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.causes.candidates import cache, cold, memory, outer, replicas, seats, skew, speed, stalls, work
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.candidates.concurrency import moves_with_concurrency
from analysis.causes.goal import population
from analysis.causes.scene import Scene
from tests.support.service import Plant, Row, clocked, in_fault, service, without
from tests.unit.analysis.causes.candidates.scenes import SETTINGS, scene, work_of
from tests.unit.analysis.causes.goals import a_goal

Detector = Callable[[Scene], list[Candidate]]
LARGE_EAST = ("large", "east")


def of_work(found: Scene) -> list[Candidate]:
    return work.candidates(found, work_of(found), SETTINGS)


def of_cache(found: Scene) -> list[Candidate]:
    return cache.candidates(found, work_of(found), SETTINGS)


def of_speed(found: Scene) -> list[Candidate]:
    return speed.candidates(found, work_of(found), SETTINGS)


def of_replicas(found: Scene) -> list[Candidate]:
    return replicas.candidates(found, SETTINGS)


def of_cold(found: Scene) -> list[Candidate]:
    return cold.candidates(found, SETTINGS)


def of_seats(found: Scene) -> list[Candidate]:
    return seats.candidates(found, work_of(found), SETTINGS)


def of_memory(found: Scene) -> list[Candidate]:
    return memory.candidates(found, SETTINGS, frozenset())


def of_skew(found: Scene) -> list[Candidate]:
    return skew.candidates(found, SETTINGS, frozenset())


def of_stalls(found: Scene) -> list[Candidate]:
    return stalls.candidates(found, SETTINGS)


def of_errors(found: Scene) -> list[Candidate]:
    made = outer.failures(found, outer.ERRORS, SETTINGS)
    return [made] if made is not None else []


def of_retrieval(found: Scene) -> list[Candidate]:
    made = outer.slow_stage(found, "retrieval", SETTINGS)
    return [made] if made is not None and made.facts["stage_ratio"] > 1.2 else []  # type: ignore[operator]


def planted(change: Callable[[Row], None]) -> Plant:
    def plant(row: Row, minute: float) -> None:
        if in_fault(minute):
            change(row)

    return plant


def prompts(factor: float) -> Plant:
    return planted(
        lambda row: row.update(input_tokens=round(row["input_tokens"] * (factor if row["scenario"] == "rag" else 1)))
    )


def answers(factor: float) -> Plant:
    return planted(
        lambda row: row.update(output_tokens=round(row["output_tokens"] * (factor if row["scenario"] == "chat" else 1)))
    )


def no_cache(share: float) -> Plant:
    return planted(
        lambda row: row.update(
            cached_input_tokens=round(row["cached_input_tokens"] * (share if row["scenario"] == "agent" else 1))
        )
    )


def slow(factor: float, *names: str) -> Plant:
    return planted(lambda row: row.update(slow=factor if row["replica"] in names else 1.0))


def moved(share: float) -> Plant:
    """Part of the requests of two replicas goes to the third of their pool."""
    return planted(
        lambda row: (
            row.update(replica="large-east-2")
            if row["wait"] < share and (row["model"], row["region"]) == LARGE_EAST
            else None
        )
    )


def waiting(batch: float) -> Plant:
    def change(row: Row) -> None:
        if row["model"] == "small":
            row.update(queue_ms=row["queue_ms"] + 5000 * row["wait"], batch_size=batch)

    return planted(change)


def starting(share: float) -> Plant:
    return planted(lambda row: row.update(cold_start=row["model"] == "small" and row["wait"] < share))


def failing(share: float) -> Plant:
    return planted(
        lambda row: row.update(status="error" if row["deployment_version"] == "v2" and row["wait"] < share else "ok")
    )


def searching(factor: float) -> Plant:
    return planted(lambda row: row.update(retrieval_ms=row["retrieval_ms"] * factor))


CASES: dict[str, tuple[Detector, Plant, Plant, str, tuple[tuple[str, str], ...]]] = {
    "longer prompts": (of_work, prompts(3.0), prompts(1.05), "input_growth", (("scenario", "rag"),)),
    "longer answers": (of_work, answers(3.0), answers(1.05), "output_growth", (("scenario", "chat"),)),
    "a lost cache": (of_cache, no_cache(0.0), no_cache(0.9), "cache_lost", (("scenario", "agent"),)),
    "a slow replica": (of_speed, slow(2.0, "large-east-1"), slow(1.15, "large-east-1"), "replica_slow", (("replica", "large-east-1"),)),
    "missing replicas": (of_replicas, moved(1.1), moved(0.5), "replica_missing", (("model", "large"), ("region", "east"))),
    "a skewed router": (of_skew, moved(0.6), moved(0.1), "router_skew", (("replica", "large-east-2"),)),
    "few seats": (of_seats, waiting(2.0), waiting(7.0), "seats_low", (("model", "small"),)),
    "cold starts": (of_cold, starting(0.3), starting(0.005), "cold_start", (("cold_start", "true"),)),
    "a failing version": (of_errors, failing(0.3), failing(0.001), "errors", (("deployment_version", "v2"),)),
    "slow search": (of_retrieval, searching(10.0), searching(1.05), "slow_retrieval", (("scenario", "rag"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_seen_where_it_is_planted(name: str) -> None:
    detect, plant, _, identity, segment = CASES[name]
    assert [(found.id, found.segment) for found in detect(scene(plant))] == [(identity, segment)]


def test_a_stage_that_only_one_scenario_has_sits_in_that_scenario() -> None:
    rows = [row | ({} if row["scenario"] == "rag" else {"retrieval_ns": None}) for row in service(searching(10.0))]
    assert [found.segment for found in of_retrieval(scene(rows=rows))] == [(("scenario", "rag"),)]


@pytest.mark.parametrize("name", CASES)
def test_a_weak_form_of_it_is_not(name: str) -> None:
    detect, _, near, identity, _ = CASES[name]
    assert [found.id for found in detect(scene(near)) if found.id == identity] == []


@pytest.mark.parametrize(
    "detect",
    [
        of_work,
        of_cache,
        of_speed,
        of_replicas,
        of_cold,
        of_seats,
        of_memory,
        of_skew,
        of_stalls,
        of_errors,
        of_retrieval,
    ],
)
def test_a_healthy_service_shows_none(detect: Detector) -> None:
    assert detect(scene()) == []


@pytest.mark.parametrize(
    ("detect", "plant", "columns"),
    [
        (of_cache, no_cache(0.0), ("cached_input_tokens",)),
        (of_speed, slow(2.0, "large-east-1"), ("decode_ns",)),
        (of_replicas, moved(1.1), ("replica",)),
        (of_skew, moved(0.6), ("replica",)),
        (of_seats, waiting(2.0), ("queue_ns",)),
        (of_seats, waiting(2.0), ("batch_size", "replica")),
        (of_cold, starting(0.3), ("cold_start",)),
    ],
)
def test_without_its_column_a_detector_is_silent(detect: Detector, plant: Plant, columns: tuple[str, ...]) -> None:
    assert detect(scene(rows=without(service(plant), *columns))) == []


CLOCKED = ("longer prompts", "longer answers", "a lost cache", "a slow replica", "few seats")


@pytest.mark.parametrize("name", CLOCKED)
def test_the_clock_of_a_client_shows_it_where_no_engine_was_measured(name: str) -> None:
    detect, plant, near, identity, segment = CASES[name]
    assert [(found.id, found.segment) for found in detect(scene(rows=clocked(service(plant))))] == [(identity, segment)]
    assert [found.id for found in detect(scene(rows=clocked(service(near)))) if found.id == identity] == []
    assert detect(scene(rows=clocked(service()))) == []


def test_a_slow_replica_shows_in_the_batch_that_is_counted_from_a_clients_clock() -> None:
    rows = without(clocked(service(slow(2.0, "large-east-1"))), "batch_size")
    assert [(found.id, found.segment) for found in of_speed(scene(rows=rows))] == [
        ("replica_slow", (("replica", "large-east-1"),))
    ]


def test_few_seats_show_in_what_nobody_measured_beside_decode() -> None:
    rows = [
        row | {"queue_ns": None, "prefill_ns": None, "unattributed_ns": row["queue_ns"] + row["prefill_ns"]}
        for row in service(waiting(2.0))
    ]
    assert [(found.id, found.segment) for found in of_seats(scene(rows=rows))] == [("seats_low", (("model", "small"),))]


def test_more_of_everything_is_load_without_a_segment() -> None:
    rows = service()
    more = [
        row | {"request_key": f"more-{index}"} for index, row in enumerate(rows) if 60 * 60 <= index / 36 * 60 < 84 * 60
    ]
    (found,) = of_work(scene(rows=[*rows, *more]))
    assert (found.id, found.cause, found.segment) == ("traffic_growth", "load", ())
    assert found.facts["arrivals_growth"] == pytest.approx(2.0, rel=0.1)


def test_more_of_one_tenant_is_load_of_that_tenant() -> None:
    rows = service()
    own = [row for index, row in enumerate(rows) if 60 * 36 <= index < 84 * 36 and row["tenant"] == "t-3"]
    more = [row | {"request_key": f"more-{index}-{copy}"} for index, row in enumerate(own) for copy in range(9)]
    found = [entry for entry in of_work(scene(rows=[*rows, *more])) if entry.id == "arrivals_segment"]
    assert [(entry.cause, entry.segment) for entry in found] == [("load", (("tenant", "t-3"),))]


def test_a_prompt_that_grows_around_a_fixed_cached_head_has_lost_no_cache() -> None:
    assert of_cache(scene(prompts(3.0))) == []


def test_what_others_miss_by_chance_hides_no_scenario_that_lost_its_cache() -> None:
    def uneven(row: Row, minute: float) -> None:
        if row["scenario"] != "chat":
            row["cached_input_tokens"] = round(row["cached_input_tokens"] * 2 * row["wait"])
        elif in_fault(minute):
            row["cached_input_tokens"] = 0

    assert [found.segment for found in of_cache(scene(uneven))] == [(("scenario", "chat"),)]


def test_several_slow_replicas_are_one_fault_of_what_they_share() -> None:
    version = [f"{model}-{region}-2" for model in ("large", "small") for region in ("east", "west")]
    (found,) = of_speed(scene(slow(2.0, *version)))
    assert (found.id, found.segment) == ("version_slow", (("deployment_version", "v2"),))
    (pool,) = of_speed(scene(slow(2.0, *(f"large-east-{index}" for index in range(3)))))
    assert (pool.id, pool.segment) == ("engine_slow", (("model", "large"), ("region", "east")))


def test_replicas_that_were_down_by_their_hours_are_missing_where_requests_do_not_say_who_served() -> None:
    monday = 1_772_409_600 * 10**9
    hours = [
        {
            "replica": f"large-east-{replica}", "hour_ns": monday + hour * 3600 * 10**9, "upload_id": "u",
            "model": "large", "region": "east", "up_s": 2160.0 if (replica, hour) == (0, 1) else 3600.0, "busy_s": 1000.0,
        }
        for replica in range(3)
        for hour in range(2)
    ]  # fmt: skip
    (found,) = of_replicas(scene(rows=without(service(), "replica"), hours=hours))
    assert (found.id, found.segment) == ("replica_missing", (("model", "large"), ("region", "east")))


@pytest.mark.parametrize(("every", "told"), [(10**9, "nothing"), (40, "nothing or nearly nothing")])
def test_missing_replicas_that_served_a_few_requests_did_not_serve_nothing(every: int, told: str) -> None:
    count = 0

    def gone(row: Row, minute: float) -> None:
        nonlocal count
        if (row["model"], row["region"]) == LARGE_EAST:
            count += 1
            if row["replica"] == "large-east-0" and count % every:
                row["replica"] = "large-east-1"

    (found,) = of_replicas(scene(lambda row, minute: gone(row, minute) if in_fault(minute) else None))
    assert found.says == f"1 of 3 replicas of large in east served {told} (large-east-0)"


def test_the_time_of_missing_replicas_is_their_own() -> None:
    def gone(row: Row, minute: float) -> None:
        if 70 <= minute < 84 and (row["model"], row["region"]) == LARGE_EAST:
            row["replica"] = "large-east-2"

    (found,) = of_replicas(scene(gone))
    assert found.active is not None
    assert found.active[0] == pytest.approx(70 * 60, abs=90)
    assert found.active[1] == pytest.approx(84 * 60, abs=90)


def test_a_smaller_cache_fills_faster_for_the_same_tokens() -> None:
    def smaller(row: Row) -> None:
        if row["model"] == "large":
            row.update(queue_ms=row["queue_ms"] + 4000 * row["wait"])

    rows = service(planted(smaller))
    filled = [
        row | {"kv_cache_usage": 0.7 if 60 * 36 <= index < 84 * 36 and row["model"] == "large" else 0.15}
        for index, row in enumerate(rows)
    ]
    (found,) = of_memory(scene(rows=filled))
    assert (found.id, found.cause, found.segment) == ("memory_shrunk", "config", (("model", "large"),))
    short = frozenset({"large|east", "large|west"})  # survivors of missing replicas show a fuller cache without a fault
    assert memory.candidates(scene(rows=filled), SETTINGS, short) == []


@pytest.mark.parametrize(
    ("gap_ms", "identity"),
    [
        (lambda row: 1500.0, "pauses"),
        (lambda row: 300.0 + 4000.0 * (row["input_tokens"] / 4000) ** 2, "prefill_stalls"),
    ],
)
def test_gaps_of_one_length_are_pauses_and_others_are_stalls(gap_ms: Callable[[Row], float], identity: str) -> None:
    rows = [
        row
        | {"itl_max_ns": round((gap_ms(row) if 60 * 36 <= index < 84 * 36 and row["model"] == "small" else 60.0) * 1e6)}
        for index, row in enumerate(service())
    ]
    (found,) = of_stalls(scene(rows=rows))
    assert (found.id, found.segment) == (identity, (("model", "small"),))


def test_time_that_rises_with_the_requests_in_flight_is_load_and_nothing_narrower() -> None:
    rows = []
    for index, row in enumerate(service()):
        burst = (index // 36) % 10 < 3
        before = 3_000_000_000 if burst else 200_000_000
        rows.append(row | {"before_first_token_ns": before, "ttft_ns": before, "e2e_ns": before + 1_000_000_000})
    unsplit = scene(rows=without(rows, "queue_ns", "prefill_ns"))
    judged = population(unsplit.rows, a_goal())
    found = moves_with_concurrency(unsplit, a_goal(), "before_first_token", judged)
    assert found is not None
    assert (found.cause, found.stage, found.segment) == ("load", "before_first_token", ())
    assert moves_with_concurrency(unsplit, a_goal(), "prefill", judged) is None
