"""Objectives: what a user promises, read from objectives.yaml and checked.

Input: YAML text, or OpenSLO documents (analysis/openslo). Output: one frozen `Objectives`: settings, and the
objectives in the order of the file. How each form is judged stands in analysis/aggregates/attainment.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path

from analysis import durations
from analysis.dimensions import Where
from analysis.errors import ObjectivesError
from analysis.metrics.catalog import BY_ID
from analysis.metrics.metric import Better, Metric
from analysis.openslo import is_openslo, openslo_entries
from analysis.settings import POLICY_CHOICES, POLICY_SYNONYMS, Buckets, Policy, Settings
from analysis.thresholds import Threshold, read_threshold
from ingest.documents import Entry, read_document, scalar_text, suggestion
from ingest.errors import ConfigError, UnreadableInput
from ingest.selection import DIMENSIONS, zone_of

JOINT = "all_of"  # the metric of a joint objective
MIN_REQUESTS = 30
_TOP = ("timezone", "objectives", "buckets", "policy", *POLICY_CHOICES)
_KEYS = (
    "id",
    "title",
    "metric",
    "all_of",
    "where",
    "threshold",
    "target",
    "statistic",
    "per",
    "window",
    "period",
    "min_requests",
)
MOST_YEARS = 10
MOST_S = MOST_YEARS * 366 * 86_400  # of a window or a period; its edges must stay dates
_PERCENTILE = re.compile(r"^p(?![0.]+$)([0-9]{1,2}(?:\.[0-9]{1,6})?)$")
_ID = re.compile(r"^[\w-][\w.-]{0,199}$")  # it stands in addresses and in names of files
_COUNT = re.compile(r"^[0-9]{1,12}$")
_NEAR_A_DIMENSION = 0.8  # a promoted dimension may have any name; one this near to a known one is a slip


@dataclass(frozen=True)
class Condition:
    """One limit on one figure of a request."""

    metric: Metric
    threshold: Threshold


@dataclass(frozen=True)
class Objective:
    """One promise.

    conditions: what a request must keep; one, or several of a joint objective; none for availability.
    statistic: None (a target, or a ratio of sums), mean, sum, rate, or a percentile such as p95.
    """

    id: str
    title: str
    metric: str
    conditions: tuple[Condition, ...]
    where: Where
    target: float | None
    statistic: str | None
    per: str | None
    window: str | None
    window_s: int | None
    period: str | None
    period_s: int | None
    min_requests: int

    @property
    def joint(self) -> bool:
        return self.metric == JOINT

    @property
    def threshold(self) -> Threshold | None:
        """The limit of a single objective; None for a joint one and for availability with a target."""
        return self.conditions[0].threshold if len(self.conditions) == 1 else None

    @cached_property
    def target_exact(self) -> Fraction | None:
        return None if self.target is None else Fraction(repr(self.target))

    @cached_property
    def percentile(self) -> Fraction | None:
        """0.95 for p95, exactly; None for the other statistics."""
        found = _PERCENTILE.match(self.statistic or "")
        return Fraction(found[1]) / 100 if found else None

    @property
    def per_request(self) -> bool:
        """Whether its value comes from a figure that each request has by itself."""
        return self.joint or BY_ID[self.metric].per_request


@dataclass(frozen=True)
class Objectives:
    settings: Settings
    items: tuple[Objective, ...]
    source: str  # file name, or "default"
    notes: tuple[str, ...] = ()  # what its file says that has no meaning here


def default_objectives() -> Objectives:
    """The objectives that hold where a user gives none."""
    text = resources.files("analysis.defaults").joinpath("objectives.yaml").read_text(encoding="utf-8")
    read = read_objectives(text, "objectives.yaml")
    return Objectives(read.settings, read.items, "default")


def load_objectives(path: Path) -> Objectives:
    """The objectives of a file: objectives.yaml, or OpenSLO documents.

    Raises:
        UnreadableInput: no such file, or not text.
        ObjectivesError: a rule is broken; the message has file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"{path} cannot be read as text: {error}") from error
    return read_objectives(text, path.name)


@lru_cache(maxsize=8)  # one question reads its file for the time zone, the key and the judgement
def read_objectives(text: str, file: str = "objectives.yaml") -> Objectives:
    """The objectives of a YAML text.

    Raises:
        ConfigError: a rule is broken; the message has file, line, value and remedy.
    """
    notes: tuple[str, ...] = ()
    if is_openslo(text):
        timezone, entries, notes = openslo_entries(text, file)
        settings = Settings(timezone=_zone(timezone, Entry(file, {}), "timeZone"))
    else:
        document = read_document(text, file)
        document.only(_TOP)
        settings = _read_settings(document)
        entries = list(document.entries("objectives"))
    items = tuple(_read_objective(entry) for entry in entries)
    seen: set[str] = set()
    for entry, item in zip(entries, items, strict=True):
        if item.id in seen:
            raise entry.error(f'id "{item.id}" stands twice; ids must differ', "id")
        seen.add(item.id)
    return Objectives(settings, items, file, notes)


def _zone(timezone: str, entry: Entry, key: str) -> str:
    try:
        zone_of(timezone)
    except ConfigError as error:
        raise entry.error(error.message, key) from error
    return timezone


def _read_settings(document: Entry) -> Settings:
    timezone = _zone(document.text("timezone") or "UTC", document, "timezone")
    choices: dict[str, str] = {}
    policy = document.mapping("policy")
    if policy is not None:
        policy.only(tuple(POLICY_CHOICES))
    for source in (document, policy):
        for key in POLICY_CHOICES:
            value = source.text(key) if source is not None else None
            if source is not None and value is not None:
                value = POLICY_SYNONYMS.get(value, value)
                if value not in POLICY_CHOICES[key]:
                    raise source.error(f'{key} "{value}" is not known. {suggestion(value, POLICY_CHOICES[key])}', key)
                choices[key] = value
    return Settings(timezone, _read_buckets(document.mapping("buckets")), Policy(**choices))


def _read_buckets(entry: Entry | None) -> Buckets:
    buckets = Buckets()
    if entry is None:
        return buckets
    entry.only(("input", "output"))
    return Buckets(_read_edges(entry, "input", buckets.input), _read_edges(entry, "output", buckets.output))


def _read_edges(entry: Entry, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    given = entry.values.get(key)
    if given is None:
        return default
    if not isinstance(given, list) or not given:
        raise entry.error(f"{key} takes a list of lengths such as [512, 2k, 8k]", key)
    try:
        edges = tuple(durations.length(scalar_text(edge)) for edge in given)
    except ObjectivesError as error:
        raise entry.error(error.message, key) from error
    if list(edges) != sorted(set(edges)) or edges[0] < 1:
        raise entry.error(f"{key} must rise from edge to edge", key)
    return edges


def _read_objective(entry: Entry) -> Objective:
    try:
        return _objective(entry)
    except ObjectivesError as error:
        if error.message.startswith(entry.file):
            raise
        raise ObjectivesError(entry.error(error.message).message) from error


def _objective(entry: Entry) -> Objective:
    entry.only(_KEYS)
    identity = entry.needed("id")
    if not _ID.match(identity):
        raise entry.error(
            f'id "{identity[:200]}" must be of letters, digits, ".", "_" and "-", at most 200, and not begin with "."',
            "id",
        )
    metric_id, conditions = _read_conditions(entry)
    target = _read_target(entry)
    statistic = entry.text("statistic")
    _check_form(entry, metric_id, conditions, target=target, statistic=statistic)
    window, window_s = _read_duration(entry, "window")
    period, period_s = _read_duration(entry, "period")
    if period is not None and target is None:
        raise entry.error("period needs a target: an error budget is 1 - target", "period")
    per = entry.text("per")
    if per is not None:
        _check_dimension(entry, "per", per)
    return Objective(
        id=identity,
        title=entry.text("title") or identity,
        metric=metric_id,
        conditions=conditions,
        where=_read_where(entry),
        target=target,
        statistic=statistic,
        per=per,
        window=window,
        window_s=window_s,
        period=period,
        period_s=period_s,
        min_requests=_read_min_requests(entry),
    )


def _read_conditions(entry: Entry) -> tuple[str, tuple[Condition, ...]]:
    if "all_of" in entry.values:
        for key in ("metric", "threshold"):
            if key in entry.values:
                raise entry.error(f"{key} and all_of exclude each other; write it within all_of", key)
        conditions = tuple(_read_clause(clause) for clause in entry.entries("all_of", "metric"))
        if not conditions:
            raise entry.error("all_of is empty; it takes a list of {metric, threshold}", "all_of")
        metrics = [condition.metric.id for condition in conditions]
        if len(set(metrics)) < len(metrics):
            raise entry.error("all_of names one metric twice", "all_of")
        return JOINT, conditions
    metric = _known_metric(entry)
    threshold = entry.values.get("threshold")
    if threshold is None:
        return metric.id, ()
    return metric.id, (_condition(entry, metric, threshold),)


def _read_clause(entry: Entry) -> Condition:
    entry.only(("metric", "threshold"))
    metric = _known_metric(entry)
    if not metric.per_request:
        raise entry.error(f"{metric.id} is no figure of one request, so it cannot be part of all_of", "metric")
    if entry.values.get("threshold") is None:
        raise entry.error("threshold is missing")
    return _condition(entry, metric, entry.values["threshold"])


def _known_metric(entry: Entry) -> Metric:
    name = entry.needed("metric")
    if name not in BY_ID:
        raise entry.error(f'metric "{name}" is not known. {suggestion(name, tuple(BY_ID))}', "metric")
    return BY_ID[name]


def _condition(entry: Entry, metric: Metric, value: object) -> Condition:
    if isinstance(value, dict) and not metric.per_request:
        raise entry.error(f"{metric.id} is no figure of one request; its threshold is one value", "threshold")
    table = {scalar_text(k): scalar_text(v) for k, v in value.items()} if isinstance(value, dict) else None
    try:
        return Condition(metric, read_threshold(table if table is not None else scalar_text(value), metric))
    except ObjectivesError as error:
        raise ObjectivesError(entry.error(f"threshold {error.message}", "threshold").message) from error


def _read_target(entry: Entry) -> float | None:
    text = entry.text("target")
    if text is None:
        return None
    try:
        target = float(durations.ratio(text))
    except ObjectivesError as error:
        raise ObjectivesError(entry.error(f"target {error.message}. Write 95% or 0.95", "target").message) from error
    if not 0 < target < 1:
        raise entry.error(f"target {text} must lie between 0 and 100 %, both excluded. Write 95% or 0.95", "target")
    return target


def _check_form(
    entry: Entry, metric_id: str, conditions: tuple[Condition, ...], *, target: float | None, statistic: str | None
) -> None:
    if target is not None and statistic is not None:
        raise entry.error("target and statistic exclude each other; keep one", "statistic")
    if statistic is not None and statistic not in ("mean", "sum", "rate") and not _PERCENTILE.match(statistic):
        raise entry.error(f'statistic "{statistic}" is not known. Write mean, sum, rate or p50 to p99.9', "statistic")
    if metric_id == JOINT:
        if target is None:
            raise entry.error("all_of needs a target: the share of requests that keep all of it")
        return
    if BY_ID[metric_id].per_request:
        if target is None and statistic is None:
            raise entry.error(f"{metric_id} is a figure of each request, so it needs a target or a statistic")
        if not conditions:
            raise entry.error("threshold is missing")
        if statistic in ("sum", "rate", "mean") and conditions[0].threshold.constant is None:
            raise entry.error(f"a threshold by length needs a target or a percentile, not {statistic}", "threshold")
        if target is None and BY_ID[metric_id].better is Better.HIGHER and conditions[0].threshold.constant is None:
            raise entry.error(f"{metric_id} is better when higher; by length it takes a target alone", "threshold")
    else:
        _check_many(entry, metric_id, conditions, target=target, statistic=statistic)


def _check_many(
    entry: Entry, metric_id: str, conditions: tuple[Condition, ...], *, target: float | None, statistic: str | None
) -> None:
    """Forms of a figure of many requests: a threshold, or a target for availability alone."""
    if statistic not in (None, "rate"):
        raise entry.error(f"{metric_id} is a figure of many requests and takes no statistic {statistic}", "statistic")
    if target is not None:
        if metric_id != "availability":
            raise entry.error(f"{metric_id} takes a threshold and no target", "target")
        if conditions:
            raise entry.error("availability takes a target or a threshold, not both", "threshold")
    elif not conditions:
        raise entry.error("threshold is missing" if metric_id != "availability" else "target is missing")
    elif conditions[0].threshold.constant is None:
        raise entry.error(f"{metric_id} is no figure of one request; its threshold is one value", "threshold")


def _read_duration(entry: Entry, key: str) -> tuple[str | None, int | None]:
    text = entry.text(key)
    if text is None:
        return None, None
    try:
        seconds = durations.seconds(text)
    except ObjectivesError as error:
        raise ObjectivesError(entry.error(f"{key} {error.message}", key).message) from error
    if seconds < 1 or seconds.denominator != 1:
        raise entry.error(f"{key} {text} must be whole seconds, at least one", key)
    if seconds > MOST_S:
        raise entry.error(f"{key} {text} is longer than {MOST_YEARS} years, the longest {key}. Write 28d or 13w", key)
    return text, int(seconds)


def _read_where(entry: Entry) -> Where:
    where = entry.mapping("where")
    if where is None:
        return ()
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, value in where.values.items():
        _check_dimension(where, str(name), str(name))
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(v, dict | list) or v is None for v in values):
            raise where.error(f"{name} takes one value or a list of values", str(name))
        found.append((str(name), tuple(scalar_text(v) for v in values)))
    return tuple(sorted(found))


def _check_dimension(entry: Entry, key: str, name: str) -> None:
    near = difflib.get_close_matches(name, DIMENSIONS, n=1, cutoff=_NEAR_A_DIMENSION)
    if name not in DIMENSIONS and near:
        raise entry.error(f'dimension "{name}" is not known. Did you mean "{near[0]}"?', key)


def _read_min_requests(entry: Entry) -> int:
    text = entry.text("min_requests")
    if text is None:
        return MIN_REQUESTS
    if not _COUNT.match(text) or int(text) < 1:
        raise entry.error(f"min_requests {text} must be a whole number from 1 on", "min_requests")
    return int(text)
