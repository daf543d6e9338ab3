"""Numbers that the root-cause method rests on, each with its reason.

Output: CauseSettings, one frozen record; every call of the method takes it.
Source: measured on simulated incidents unless a comment says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CauseSettings:
    """Limits of the method. Durations are seconds, shares are ratios."""

    # how much
    max_rows: int = 1_000_000  # of a larger selection one request in so many is looked into that about these are left
    min_bad: int = (
        500  # bad requests of every objective that a sample must keep; so many show a cause of a tenth of them
    )
    # since when
    bin_s: int = 300  # coarse step of the change-point scan: long enough for a stable share over the threshold
    fine_s: int = 60  # step of its refinement
    pad_s: int = 1800  # how far outside the judged windows an incident may reach
    max_bins: int = 600  # a longer selection takes longer bins, so the scan stays quadratic in a small number
    stretch_gap_s: int = 7 * 86_400  # a week without a request: what lies beyond belongs to another story
    guard_s: int = 900  # a backlog drains after the incident; its rows are no baseline
    max_runs: int = 6  # separate runs of breached windows of one objective that are looked into, the strongest
    same_episode: float = 0.75  # share of the shorter window inside the longer one
    min_normal_requests: int = 200  # fewer say nothing about a 95th percentile
    min_normal_share: float = 0.1  # of the selection; less is an odd corner of it
    # which stage
    tail: float = 0.9  # the slowest tenth
    second_stage: float = 0.25  # part of the whole excess below which a further stage is no finding
    max_rescued: int = 400  # bad requests taken for the exact Shapley shares
    # which segment
    min_support: int = 30
    slice_share: float = 0.8  # part of the excess a slice must hold
    slice_lift: float = 1.45
    pair_lift: float = 1.8
    size_penalty: float = 0.9
    # which cause
    min_score: float = 0.04  # log of the multiplier of load; about 4 %
    growth: float = 1.2  # common growth of work that counts as load
    own_share: float = 0.6
    own_lift: float = 1.5
    own_z: float = 4.0
    own_of_pool: float = 0.06
    cache_kept: float = 0.75  # cached tokens against those expected
    slow: float = 1.35  # time per token at equal batch against the replica's own baseline
    gone: float = 0.2  # requests of a replica against those expected
    min_expected: float = 20.0
    seats: float = 0.75  # batch of waiting requests against the normal P99 batch
    memory_free: float = 0.7  # KV usage below which memory is not the limit (KB-02)
    cold_share: float = 0.005
    max_findings: int = 3  # ranks per objective
