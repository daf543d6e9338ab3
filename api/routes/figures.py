"""Figures of a selection: one route per part of the result, and the whole of it.

Input: a selection. Output: the part, with the selection it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from analysis.breakdown import PARTS, metric_of
from api.routes.asking import Asked, Inside, answer, names_of, parts

router = APIRouter(prefix="/api/v1", tags=["figures"])

FIGURES: tuple[tuple[str, tuple[str, ...], str], ...] = (  # route, keys of the result, what it answers
    ("summary", ("summary", "data_quality", "rolled"), "How much there was, and how far it can be trusted"),
    ("stages", ("stages",), "Where the time went"),
    ("strata", ("strata",), "Latency by input and output length"),
    ("goodput", ("goodput",), "Requests and tokens per second that kept every objective"),
    ("availability", ("availability",), "Failures, timeouts, cancellations and degradations"),
    ("throughput", ("throughput",), "Requests and tokens per second"),
    ("cache", ("cache",), "Input read from prompt caches"),
    ("load", ("load",), "Concurrency, replicas, batches, hours"),
    ("comparison", ("comparison",), "This selection against the one before"),
    ("follow-up", ("follow_up",), "What became of the recommendations of the selection before"),
)


By = Annotated[str, Query(description="dimensions, separated by commas: one row per group")]


def figure_route(name: str) -> Callable[..., Response]:
    """The function of a route that answers with parts of the result."""
    names = next(names for route, names, _ in FIGURES if route == name)

    def figure(house: Inside, question: Asked) -> Response:
        return parts(house.service.analyze(question), *names)

    def figure_by(house: Inside, question: Asked, by: By = "") -> Response:
        groups = names_of(by)
        return answer(house.service.breakdown(question, name, groups, (), ())) if groups else figure(house, question)

    return figure_by if name in PARTS else figure


for _name, _, _says in FIGURES:
    router.add_api_route(f"/{_name}", figure_route(_name), methods=["GET"], summary=_says, name=_name)


@router.get("/latency", summary="Percentiles of every metric, streamed and not, and by length")
def latency(
    house: Inside,
    question: Asked,
    metric: Annotated[list[str] | None, Query(description="only these metrics")] = None,
    by: By = "",
    percentiles: Annotated[str, Query(description="in percent, separated by commas, such as 50,99.9")] = "",
) -> Response:
    if by or percentiles:
        return answer(house.service.breakdown(question, "latency", names_of(by), metric or (), names_of(percentiles)))
    for name in metric or ():
        metric_of(name)  # raises
    result = house.service.analyze(question)
    rows = [row for row in result.latency if not metric or row.metric in metric]
    strata = [row for row in result.strata if not metric or row.metric in metric]
    return answer({"selection": result.selection, "latency": rows, "strata": strata, "rolled": result.rolled})


@router.get("/result", summary="The whole result, as a report is drawn from it")
def result(house: Inside, question: Asked) -> Response:
    return answer(house.service.analyze(question))
