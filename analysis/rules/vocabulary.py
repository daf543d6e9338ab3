"""Words of a rule's evidence: which facts there are, and what each can say.

Output: constants. A condition on another fact, or against a value that a fact never takes, could never hold, so the
reader of rules refuses it; a test holds the facts that are computed to this list.
"""

from __future__ import annotations

from ingest.schema import STAGES

NOTHING = "none"
COST_STAGES = ("cost_input", "cost_output", "cost_cache", "cost_model", "cost_capacity")
STAGE_VALUES = (*STAGES, "error", "client", *COST_STAGES)
CAUSE_VALUES = ("performance", "load", "mix_shift", "config", "dependency", "failure", "client", "cost", NOTHING)
CANDIDATES = (  # kinds of change that the method can name
    *("traffic_growth", "arrivals_segment", "routing_shift", "input_growth", "output_growth", "cache_lost"),
    *("replica_slow", "version_slow", "engine_slow", "decode_slow", "prefill_slow", "replica_missing", "cold_start"),
    *("seats_low", "memory_shrunk", "router_skew", "pauses", "prefill_stalls", "concurrency"),
    *("errors", "cancels", "refused", *(f"slow_{stage}" for stage in STAGES)),
    *("cost_model", "cost_input", "cost_cache", "cost_output", "cost_user", "cost_capacity", NOTHING),
)
TEXTS: dict[str, tuple[str, ...]] = {  # facts that are words, with all that they can say; empty: any word
    "stage": STAGE_VALUES,
    "cause": CAUSE_VALUES,
    "candidate": CANDIDATES,
    "metric": (),
    "kind": ("latency", "failure", "cancel", "degraded", "cold", "cost", "capacity"),
    "segment_dimension": (),
    "failure_dimension": (),
    "growth_factor": (),
    "cost_factor": (),
}
SEGMENT = "segment."  # segment.region: the value that the finding's segment has of a dimension
FLAGS = ("availability_breached", "tpot_at_risk", "tpot_small_batch_over_limit")
NUMBERS = (  # some are null where their columns are missing
    *("n_bad", "structural_share", "queue_share", "prefill_share", "decode_share"),
    *("load_correlation", "fano", "queue_gini"),
    *("cached_ratio", "kv_p90", "preempted_share", "preempted_growth", "batch_growth", "itl_growth"),
    *("offline_token_share", "attempts_per_request", "attempts_growth", "timeout_share", "timeout_spike"),
    *("cancelled_with_output", "length_finish_share", "length_finish_growth", "failed_cost_share"),
    *("session_spread_growth", "gap_hit_loss", "batch_p50", "long_input_share", "long_output_share"),
    *("unstreamed_share", "ingress_part", "reasoning_share", "behind_long_share"),
    *("prefill_floor_ratio", "decode_floor_ratio"),
    *("tpot_batch_r2", "tpot_batch_slope", "tpot_context_r2", "tpot_batch_step"),
    *("adapter_miss_ratio", "first_of_schema_ratio", "repeated_prompt_share", "expert_imbalance"),
    *("client_tpot_ratio", "media_bad_share"),
    # told by the candidate that found them
    *("arrivals_growth", "common_growth", "input_growth", "output_growth", "routing_growth", "work_growth"),
    *("cache_kept", "slow_ratio", "slow_replicas", "replicas_of_pool", "prefill_speed_ratio", "cold_share"),
    *("replicas_missing", "batch_ceiling", "batch_usual", "kv_usage", "memory_ratio", "skew", "stage_ratio"),
    *("failure_rate", "busy_share", "batch_of_capacity", "user_share", "cost_growth"),
)
KNOWN_FACTS = (*TEXTS, *FLAGS, *NUMBERS)


def is_fact(name: str) -> bool:
    """Whether a rule may read it."""
    return name in KNOWN_FACTS or (name.startswith(SEGMENT) and len(name) > len(SEGMENT))


def is_text(name: str) -> bool:
    """Whether a fact is a word."""
    return name in TEXTS or name.startswith(SEGMENT)
