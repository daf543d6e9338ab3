"""Time of one request in each stage, and the part of it that is not the model's work.

Source: metric definitions, sections 1 and 7. Stages never overlap and sum to E2E; an unmeasured one is null.
"""

from __future__ import annotations

import polars as pl

from analysis.division import divided
from analysis.metrics.latency import seconds_of
from analysis.metrics.metric import Better, Kind, Metric, Unit
from ingest.schema import NS_PER_S, STAGES

SAYS: dict[str, str] = {
    "gateway": "Authentication, routing, retries and back-off.",
    "network": "Between the caller and the service, both ways.",
    "guardrail": "Safety filter on input and output.",
    "retrieval": "Vector or keyword search.",
    "rerank": "Re-ranking of retrieved passages.",
    "queue": "Waiting for a seat in the inference engine, cold starts included.",
    "prefill": "Processing of the prompt up to the first token.",
    "decode": "Generation of the tokens after the first.",
    "tool": "Tool calls of an agent.",
    "postprocess": "Validation and formatting of the answer.",
    "model": "A model call of whose inside nothing is known.",
    "before_first_token": "A model call up to its first token, where only a client's clock split it.",
    "after_first_token": "A model call after its first token, where only a client's clock split it.",
    "unattributed": "Time of the request that no span and no figure explains.",
}
_WORK = ("queue", "prefill", "decode", "tool", "model", "before_first_token", "after_first_token")
_MODEL = ("prefill", "decode", "model", "before_first_token", "after_first_token")
# where decode alone is known, the rest hides the prompt's work
_UP_TO_TOKENS = ("prefill", "model", "before_first_token")
_WORK_NS = pl.sum_horizontal(pl.col(f"{stage}_ns").fill_null(0) for stage in _WORK)

STAGE_METRICS: tuple[Metric, ...] = tuple(
    Metric(
        id=stage,
        title=f"Time in {stage.replace('_', ' ')}",
        unit=Unit.SECOND,
        better=Better.LOWER,
        kind=Kind.REQUEST,
        needs=(f"{stage}_ns",),
        expr=seconds_of(f"{stage}_ns"),
        says=SAYS[stage],
        source="spans or attributes of the source, on the critical path",
        column_name="model_time" if stage == "model" else "",  # `model` is the dimension
    )
    for stage in STAGES
)

OVERHEAD = Metric(
    id="overhead",
    title="Time around the model",
    unit=Unit.SECOND,
    better=Better.LOWER,
    kind=Kind.REQUEST,
    needs=("e2e_ns", *(f"{stage}_ns" for stage in _MODEL)),
    expr=pl.when(pl.any_horizontal(pl.col(f"{stage}_ns").is_not_null() for stage in _UP_TO_TOKENS)).then(
        divided(pl.col("e2e_ns") - _WORK_NS, NS_PER_S)
    ),
    says="E2E without queue, prefill, decode and tools, or without the whole call where its inside is not known.",
    source="the request minus its model calls and tools; unknown where no model time, or only decode, was measured",
)
