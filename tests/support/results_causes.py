"""Findings of the result written by hand: one incident that breaks four objectives."""

from __future__ import annotations

from collections.abc import Callable

from analysis import result as r

PREDICTIONS = {
    "code.ttft": (0.883, 0.995, 0.995, 0.995),
    "rag.ttft": (0.939, 1.0, 0.998, 1.0),
    "code.e2e": (0.939, 0.970, 0.969, 0.970),
    "chat.ttft": (0.9498, 0.996, 0.995, 0.996),
}


def scale_out(objective: str) -> r.Recommendation:
    _, value, low, high = PREDICTIONS[objective]
    return r.Recommendation(
        id="scale_out",
        entry="KB-01",
        title="Bring back the two missing replicas",
        why="lm-large-us-east-0 and -1 served 0 requests from 12:45 to 16:15; about 689 were expected.",
        actions={
            "vllm": "more replicas behind the router; -dp within a host",
            "sglang": "--dp, or a further worker at the gateway",
            "tensorrt_llm": "a further instance; no flag replaces one",
        },
        predicted=r.Prediction(
            value, low, high, None, None, None, "back_to_normal", "slower decoding is left as it was"
        ),
        not_predicted=None,
        reported_effect="queue falls faster than load once use leaves 100 %; conditions differ",
        precondition="requests wait while replicas are missing",
        risk="idle cost: a spare replica is 5.00 USD per hour",
        verify="queue P95 of the pool per hour against its replicas",
        cost=r.CostEffect("16.67", "2 further replicas, at the price of the replica hours."),
    )


def without_prediction(name: str, title: str, why: str, not_predicted: str) -> r.Recommendation:
    return r.Recommendation(
        id=name, entry=None, title=title, why=why, actions={"vllm": "KEDA on vllm:num_requests_waiting"}, predicted=None,
        not_predicted=not_predicted, reported_effect="", precondition="", risk="idle cost after short peaks",
        verify="minutes from queue depth above 1 to the next replica",
    )  # fmt: skip


def findings(at: Callable[[float], str]) -> list[r.Finding]:
    """One finding per breached objective, all of one incident; the first also advises routing and scaling."""
    return [finding(at, objective, rank) for rank, objective in enumerate(PREDICTIONS, 1)]


def finding(at: Callable[[float], str], objective: str, rank: int) -> r.Finding:
    further = [
        without_prediction("autoscale_policy", "Scale on waiting requests, not on GPU use",
                           "Waiting requests rose from 0.03 to 4.5 in ten minutes.", "start-up time is not in the traces"),
        without_prediction("region_routing", "Send overflow to eu-west",
                           "lm-large in eu-west had a mean queue of 0.05 s in the same hours.", "effect on eu-west is unknown"),
    ]  # fmt: skip
    return r.Finding(
        objective=objective,
        verdict="breached",
        rank=rank,
        stage="queue",
        cause="failure",
        segment={"model": "lm-large", "region": "us-east"},
        moves_together={"replica": ["lm-large-us-east-2"]},
        window=(at(132.75), at(136.25)),
        title="Two of three lm-large replicas missing in us-east",
        says="Requests waited in queue: 1.19 s on average against 0.12 s before.",
        recommendations=[scale_out(objective), *(further if rank == 1 else [])],
        contraindicated=[
            r.Contraindication("raise_batch_limit", "replicas were missing, not seats"),
            r.Contraindication("rightsize_replicas", "the pool was short of capacity"),
        ],
        untested=[r.Untested("warm_pool", ["cold_start"]), r.Untested("prompt_layout", ["prompt_hash"])],
        evidence=[
            r.Evidence("replicas serving", 1.0, 3.0, "count"),
            r.Evidence("bad share, segment", 0.285, 0.021, "ratio", 771),
            r.Evidence("mean queue", 1.19, 0.12, "s", 771),
            r.Evidence("last version", "2026.03.0", None, ""),
        ],
        share_of_bad=0.94,
        structural_share=0.04,
        confidence="high",
        exemplars=["094923dbaf73", "0c719255ae1a", "072d11c0ffee"],
        incident="inc-1",
        n_bad=220,
        n_over=212,
    )
