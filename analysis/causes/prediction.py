"""What a recommendation would have done to the worst window of an objective.

Input: the explained objective with its judged windows, the candidate, the scene. Output: Prediction, or the reason why
there is none.

Two bases, kept apart. back_to_normal: the cause is undone (a version rolled back, a limit raised, a cache restored), so
the window takes the value that unbroken windows have at its arrivals: log(value) regressed on log(arrivals). remedy: the
cause stays and the remedy changes the load per replica or the length of the work; the same line is read at the load that
is left. The line stands in for queueing feedback as far as the unbroken windows have seen it; where arrivals are the
cause, the broken window is a further point of the same curve, and loads between both are read between them. A remedy of a
stage outside the engine, and a limit on answers, are read from the requests themselves (restaged.py, capped.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property

import polars as pl

from analysis.aggregates.statistics import wilson
from analysis.aggregates.weighted import Sorted, effective
from analysis.causes.candidates.candidate import Candidate
from analysis.causes.capped import capped
from analysis.causes.explain import Explained
from analysis.causes.figures import number
from analysis.causes.goal import members, population
from analysis.causes.restaged import restaged
from analysis.causes.scene import Scene
from analysis.result import Prediction, WindowVerdict
from ingest.schema import NS_PER_S

MIN_WINDOWS = 2
MIN_REQUESTS = 72  # below which a P95 has no upper bound
MIN_LINE = 6  # a slope through fewer windows says more about chance than about load
BACKLOG_S = 600.0
HALF = 0.5
NO_MODEL = "no model of this remedy's effect on this traffic"
RATES = ("failure", "cancel", "degraded", "cold")
WIDTH = 1.645  # 90 % of a normal spread
LEAST_SPREAD = 0.05  # windows differ by about this much for reasons that no line sees
REMEDY_WIDER = 2.0  # a remedy reads the line outside its middle

UNDO = {  # recommendations that take the cause itself away
    "replica_missing": ("scale_out", "autoscale_policy"),
    "seats_low": ("raise_batch_limit",),
    "cache_lost": ("prompt_layout", "prefix_caching", "cache_aware_routing"),
    "cold_start": ("warm_pool",),
    "version_slow": ("rollback_version",),
    "engine_slow": ("rollback_version",),
    "errors": ("rollback_version", "replica_drain"),
    "memory_shrunk": ("raise_kv_capacity",),
    "refused": ("raise_batch_limit",),
    "prefill_stalls": ("chunked_prefill",),
    "decode_slow": ("speculative_decoding",),
    "router_skew": ("load_balancing",),
    "pauses": ("gc_tuning",),
    "input_growth": ("input_length_cap",),
    "output_growth": ("output_length_control",),
    "cost_input": ("input_length_cap",),
    "cost_output": ("output_length_control",),
    "cost_cache": ("prompt_layout", "prefix_caching"),
    "cost_model": ("model_routing",),
}
REPAIRED = {  # recommendations that bring a stage outside the engine back to its normal
    "parallel_retrieval",
    "rerank_budget",
    "faster_guardrail",
    "tool_timeout_cache",
    "region_routing",
    "postprocess_optimise",
    "frontend_scaling",
    "connection_reuse",
}
GROWTH = ("traffic_growth", "arrivals_segment")  # causes that are arrivals: value and arrivals are on one curve
REPEATED = "how many questions repeat is not in the traces"
DEVICE = "what it gains depends on the model and the device, not on this traffic"
NOT_PREDICTED = {
    **dict.fromkeys(("retrieval_cache", "semantic_cache", "tool_timeout_cache"), REPEATED),
    **dict.fromkeys(("quantisation", "faster_kernels", "kv_compression", "kv_offload", "speculative_decoding"), DEVICE),
    **dict.fromkeys(("pool_isolation", "prefill_decode_split"), "how the replicas would be divided is not decided"),
    "async_guardrail": "how much of the filter runs before the first token is not in the traces",
    "autoscale_policy": "how early is early enough is not in the traces",
    "budget_alert": "it tells of spend and changes none",
    "chunked_prefill": "how prefills and decode steps share a device is not in the traces",
    "priority_scheduling": "these requests are themselves the batch work that would wait",
    "proxy_buffering": "what a proxy holds back is not in the traces",
    "retry_budget": "it takes retries off an overload and leaves what made them",
    "streaming_output": "it shows tokens earlier and leaves this figure as it is",
    "timeout_degrade": "it bounds the wait of callers and leaves the service as it is",
}
IGNORES = {
    "back_to_normal": "Takes the cause as wholly undone; other changes within the window stay out of sight.",
    "remedy": "Reads the value at the load per replica that is left, from unbroken windows; queueing beyond their load,"
    " start-up time and other pools stay out of sight.",
    "requests": "Reads the requests of the window as they would be then; its effect on others' waits stays out of sight.",
}


@dataclass(frozen=True)
class Unbroken:
    """One window that was kept."""

    arrivals: float
    value: float
    attainment: float | None


@dataclass(frozen=True)
class Line:
    """log(value) = intercept + slope * log(arrivals), with the spread of its residuals."""

    intercept: float
    slope: float
    spread: float
    n: int

    def at(self, arrivals: float) -> float:
        return math.exp(self.intercept + self.slope * math.log(arrivals))


class Predictor:
    """Predictions of one objective; its unbroken windows are read once."""

    def __init__(self, entry: Explained, scene: Scene) -> None:
        self._entry = entry
        self._scene = scene

    @cached_property
    def _counted(self) -> list[tuple[WindowVerdict, float, float, float]]:
        """Judged windows with start, end, and the requests of the objective's kind that arrived in them."""
        rows, goal = self._scene.rows, self._entry.goal
        mine = rows.frame.lazy().filter(members(rows, goal)).select("at", "votes").collect()
        at, reached = mine["at"], [0, *mine["votes"].cum_sum().to_list()]
        found = []
        for window in goal.judged.windows:
            if window.start is None or window.end is None:
                continue
            start, end = span(window, rows.start_ns)
            n = reached[int(at.search_sorted(end, side="left"))] - reached[int(at.search_sorted(start, side="left"))]
            found.append((window, start, end, max(float(n), 1.0)))
        return found

    @cached_property
    def unbroken(self) -> list[Unbroken]:
        """Windows that were kept and do not touch the incident or the minutes in which its backlog drains."""
        interval = self._scene.interval
        return [
            Unbroken(n, float(window.value), window.attainment)
            for window, start, end, n in self._counted
            if window.verdict == "met"
            and window.value is not None
            and window.of is None
            and not (start < interval.end + BACKLOG_S and end > interval.start)
        ]

    @cached_property
    def _worst(self) -> tuple[WindowVerdict, float, float, float] | None:
        """The worst window with its span and arrivals; of a further incident, the worst one that it broke."""
        worst, interval = self._entry.goal.judged.worst, self._scene.interval
        broken = [
            one
            for one in self._counted
            if one[0].verdict == "breached" and one[1] < interval.end and one[2] > interval.start
        ]
        for one in broken:
            if worst is not None and (one[0].start, one[0].of) == (worst.start, worst.of):
                return one
        return min(broken, key=lambda one: (_badness(one[0]), one[3])) if broken else None

    @property
    def _arrivals(self) -> float:
        return self._worst[3] if self._worst is not None else float(max(self._entry.inside.height, 1))

    @cached_property
    def line(self) -> Line | None:
        return fit([(window.arrivals, window.value) for window in self.unbroken])

    def predict(self, identity: str, candidate: Candidate | None) -> tuple[Prediction | None, str | None]:
        """The prediction of one recommendation, or None and why not."""
        if candidate is None:
            return None, "the cause is not known, so nothing is known to be undone"
        if identity == "output_length_control" and (limited := self._capped(candidate)) is not None:
            return limited, None
        undone = identity in UNDO.get(candidate.id, ()) or (identity in REPAIRED and candidate.id.startswith("slow_"))
        load = 1.0 if undone else self._load_after(identity, candidate)
        if load is None:
            shorter = self._restaged(identity, candidate)
            return shorter, None if shorter is not None else NOT_PREDICTED.get(identity, NO_MODEL)
        predicted, why_not = self._predicted(undone=undone, load=load, candidate=candidate)
        if predicted is None:
            return None, why_not
        served = served_share(identity, candidate)
        if served < 1:
            predicted = replace(
                predicted,
                attainment=_times(predicted.attainment, served),
                low=_times(predicted.low, served),
                high=_times(predicted.high, served),
            )
        return replace(predicted, ignores=f"{_assumption(identity, candidate)}{predicted.ignores}"), None

    def _predicted(self, *, undone: bool, load: float, candidate: Candidate) -> tuple[Prediction | None, str | None]:
        basis = "back_to_normal" if undone else "remedy"
        if len(self.unbroken) < MIN_WINDOWS:
            usual = self._usual(basis) if undone else None
            few = f"{len(self.unbroken)} unbroken windows; {MIN_WINDOWS} are needed to say what is normal"
            return usual, None if usual is not None else few
        if self._entry.goal.kind in RATES or self.line is None:
            return self._share(basis), None
        return self._on_line(self.line, self._arrivals * load, basis, candidate), None

    def _load_after(self, identity: str, candidate: Candidate) -> float | None:
        """Load per replica after the remedy, against that of a normal pool with these arrivals."""
        if identity == "priority_scheduling" and candidate.id in GROWTH and self._entry.goal.kind not in RATES:
            waits = _offline(self._scene.inside)
            mine = _offline(self._entry.inside)
            return None if waits is None or mine is None or mine > HALF else 1.0 - waits
        return _load_after(identity, candidate)

    def _restaged(self, identity: str, candidate: Candidate) -> Prediction | None:
        """A remedy of a stage outside the engine, read from the requests of the worst window."""
        window = self._window
        if window is None or self._entry.goal.kind != "latency":
            return None
        found = restaged(identity, candidate.id, self._entry.goal, window, self._scene.normal)
        if found is None:
            return None
        return self._read((found.value, found.attainment), window.height, found.says, served=found.served)

    def _capped(self, candidate: Candidate) -> Prediction | None:
        """A limit on the answers, read from the lengths of the worst window."""
        goal, window, scene = self._entry.goal, self._window, self._scene
        if window is None or goal.kind not in ("latency", "cost"):
            return None
        found = capped(goal, candidate.segment, window, population(scene.rows, goal, scene.normal))
        if found is None:
            return None
        says = f"Assumes a limit of {found.limit} output tokens, which cuts {found.cut:.0%} of the answers. "
        return self._read((found.value, found.attainment), window.height, says, served=1.0)

    @cached_property
    def _window(self) -> pl.DataFrame | None:
        """The objective's requests of the worst window."""
        if self._worst is None:
            return None
        _, start, end, _ = self._worst
        rows = self._scene.rows
        return population(rows, self._entry.goal, rows.frame.filter((pl.col("at") >= start) & (pl.col("at") < end)))

    def _read(self, figures: tuple[float, float | None], n: int, says: str, *, served: float) -> Prediction:
        """A prediction that rests on the requests of the window themselves."""
        value, attainment = figures
        spread = math.exp(WIDTH * REMEDY_WIDER * LEAST_SPREAD)
        told = served < 1 or any(each.attainment is not None for each in self.unbroken)  # as the others tell it
        kept = attainment if told else None
        shares = None if kept is None else wilson(round(kept * n), n)
        return Prediction(
            attainment=_times(kept, served),
            low=None if shares is None else _times(shares[0], served),
            high=None if shares is None else _times(shares[1], served),
            value=value,
            value_low=value / spread,
            value_high=value * spread,
            basis="remedy",
            ignores=f"{says}{IGNORES['requests']}",
        )

    def _usual(self, basis: str) -> Prediction | None:
        """The statistic over the unbroken requests themselves, where there are no unbroken windows."""
        goal, normal = self._entry.goal, self._entry.normal
        kept = normal.filter(pl.col("bad").is_not_null())
        if kept.height < MIN_REQUESTS:
            return None
        votes = kept["votes"]
        all_votes, squares = int(votes.sum()), int((votes.cast(pl.Int128) ** 2).sum())
        bad, n = effective(int(kept.filter("bad")["votes"].sum()), all_votes, squares)
        shares = wilson(n - bad, n)
        attainment = ((n - bad) / n, *shares) if shares is not None else (None, None, None)
        value, interval = None, None
        if goal.kind in RATES:
            value, interval = bad / n, wilson(bad, n)
        elif goal.statistic is not None and goal.statistic.startswith("p"):
            ordered, share = Sorted.of(kept, "value"), Fraction(goal.statistic[1:]) / 100
            value, interval = ordered.at(share), ordered.interval(share)
        if value is None and attainment[0] is None:
            return None
        return Prediction(
            attainment=attainment[0],
            low=attainment[1],
            high=attainment[2],
            value=value,
            value_low=interval[0] if interval is not None else None,
            value_high=interval[1] if interval is not None else None,
            basis=basis,
            ignores=IGNORES[basis],
        )

    def _share(self, basis: str) -> Prediction:
        """A rate has no line in arrivals: its mean over the unbroken windows, and their range."""
        values = sorted(window.value for window in self.unbroken)
        weight = sum(window.arrivals for window in self.unbroken)
        mean = sum(window.value * window.arrivals for window in self.unbroken) / weight
        return self._prediction(mean, (values[0], values[-1]), basis)

    def _at(self, line: Line, arrivals: float, candidate: Candidate) -> float:
        """The value at some arrivals; beyond the unbroken windows on the way to the broken one, if arrivals broke it."""
        busiest = max(window.arrivals for window in self.unbroken)
        if candidate.id not in GROWTH or arrivals <= busiest or self._worst is None:
            return line.at(arrivals)
        window, _, _, most = self._worst
        calm = line.at(busiest)
        if most <= busiest or not window.value or window.value <= calm:
            return line.at(arrivals)
        part = min(1.0, math.log(arrivals / busiest) / math.log(most / busiest))
        return calm * math.exp(part * math.log(window.value / calm))

    def _on_line(self, line: Line, arrivals: float, basis: str, candidate: Candidate) -> Prediction:
        value = self._at(line, arrivals, candidate)
        wider = REMEDY_WIDER if basis == "remedy" else 1.0
        spread = math.exp(WIDTH * wider * max(line.spread * math.sqrt(1 + 1 / line.n), LEAST_SPREAD))
        return self._prediction(value, (value / spread, value * spread), basis)

    def _prediction(self, value: float, interval: tuple[float, float], basis: str) -> Prediction:
        known = [(window.attainment, window.arrivals) for window in self.unbroken if window.attainment is not None]
        shares = [share for share, _ in known]
        return Prediction(
            attainment=sum(share * n for share, n in known) / sum(n for _, n in known) if known else None,
            low=min(shares) if shares else None,
            high=max(shares) if shares else None,
            value=value,
            value_low=interval[0],
            value_high=interval[1],
            basis=basis,
            ignores=IGNORES[basis],
        )


def _badness(window: WindowVerdict) -> float:
    return window.attainment if window.attainment is not None else -(window.value or 0.0)


def _offline(frame: pl.DataFrame) -> float | None:
    """Part of the tokens that belongs to requests nobody watches; None where the source does not say."""
    if "streaming" not in frame.columns:
        return None
    tokens = pl.col("input_tokens").fill_null(0) + pl.col("output_tokens").fill_null(0)
    waits = pl.col("streaming").cast(pl.String) == "false"
    sums = frame.select(all=tokens.sum(), offline=tokens.filter(waits).sum())
    total = number(sums["all"][0])
    return number(sums["offline"][0]) / total if total > 0 else None


def _load_after(identity: str, candidate: Candidate) -> float | None:
    """Load per replica after a remedy that the cause alone tells, against that of a normal pool with these arrivals."""
    growth = candidate.facts.get("arrivals_growth")
    if identity in ("scale_out", "autoscale_policy", "rate_limit") and candidate.id in GROWTH:
        return 1.0 / growth if isinstance(growth, float) and growth > 0 else None
    if identity == "replica_drain" and candidate.id == "replica_slow":
        size = candidate.facts.get("replicas_of_pool")
        return size / (size - 1) if isinstance(size, float) and size > 1 else None
    return None


def served_share(identity: str, candidate: Candidate | None) -> float:
    """Part of the requests that a remedy serves: what it refuses counts as a failure."""
    growth = candidate.facts.get("arrivals_growth") if candidate is not None else None
    return 1 / growth if identity == "rate_limit" and isinstance(growth, float) and growth > 1 else 1.0


def _times(share: float | None, part: float) -> float | None:
    return None if share is None else share * part


def _assumption(identity: str, candidate: Candidate) -> str:
    """How much of the remedy the prediction takes for granted."""
    growth, missing = candidate.facts.get("arrivals_growth"), candidate.facts.get("replicas_missing")
    scales = identity in ("scale_out", "autoscale_policy")
    says = ""
    if scales and isinstance(growth, float):
        says = f"Assumes {growth:.1f} times the replicas. "
    elif identity == "rate_limit" and isinstance(growth, float):
        says = f"Assumes that {1 - 1 / growth:.0%} of the arrivals are refused, which count as failures. "
    elif scales and isinstance(missing, float):
        who = "the missing replica is" if round(missing) == 1 else f"the {missing:.0f} missing replicas are"
        says = f"Assumes that {who} replaced. "
    elif identity in ("output_length_control", "input_length_cap"):
        says = "Assumes lengths as before; a limit alone cuts only the longest. "
    if identity == "autoscale_policy" and says:
        says += "Assumes that they serve before the queue has grown. "
    return says


def span(window: WindowVerdict, start_ns: int) -> tuple[float, float]:
    """Seconds from the first request."""
    edges = [
        (round(datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()) * NS_PER_S - start_ns) / NS_PER_S
        for text in (window.start, window.end)
    ]
    return edges[0], edges[1]


def fit(points: list[tuple[float, float]]) -> Line | None:
    """Least squares in logarithms; the slope is left out where arrivals hardly differ."""
    if not points or any(value <= 0 or n <= 0 for n, value in points):
        return None
    xs, ys = [math.log(n) for n, _ in points], [math.log(value) for _, value in points]
    n = len(points)
    mean_x, mean_y = sum(xs) / n, sum(ys) / n
    var = sum((x - mean_x) ** 2 for x in xs)
    slope = (
        sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / var
        if n >= MIN_LINE and var > 1e-4 * n
        else 0.0
    )
    intercept = mean_y - slope * mean_x
    residual = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    return Line(intercept, slope, math.sqrt(residual / max(n - 2, 1)), n)
