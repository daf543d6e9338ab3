"""Data quality: what was read and refused, which fields are known, and a grade by published rules.

Input: a measured frame, the uploads and first rejects behind it. Output: one DataQuality record.
The rules of the grade are data: analysis/defaults/quality.yaml. Grade D withholds verdicts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from typing import Any

import polars as pl

from analysis import durations
from analysis.aggregates.stages import skewed, unattributed
from analysis.metrics.latency import CALLS
from analysis.money import usd_text
from analysis.result import Coverage, DataQuality, QualityCheck, RejectLine, UploadLine
from ingest.documents import read_document
from ingest.errors import REJECT_REASONS
from ingest.schema import STAGES

GRADES = "ABCD"
MAX_UPLOADS, MAX_REJECTS, MAX_NAMES = 200, 50, 100
UNEXPLAINED = 0.05  # of E2E: above it a request counts as unexplained (metric definitions, section 1)
COVERAGE: tuple[tuple[str, str], ...] = (  # name of the field, column
    ("arrival", "started_ns"),
    ("e2e", "e2e_ns"),
    ("ttft", "ttft_ns"),
    ("ttfa", "ttfa_ns"),
    ("tpot", "tpot"),
    ("itl_max", "itl_max_ns"),
    *((stage, f"{stage}_ns") for stage in STAGES),
    ("streaming", "streaming"),
    ("input_tokens", "input_tokens"),
    ("cached_input_tokens", "cached_input_tokens"),
    ("output_tokens", "output_tokens"),
    ("reasoning_tokens", "reasoning_tokens"),
    ("cost", "cost_pico"),
    *((name, name) for name in ("model", "provider", "scenario", "tenant", "user", "session", "route", "region")),
    *((name, name) for name in ("replica", "deployment_version", "attempts", "batch_size", "quality", "vantage")),
)


@dataclass(frozen=True)
class Rule:
    """One check of the grade: the largest value that still earns A, B and C; without c the worst grade is C."""

    id: str
    title: str
    says: str
    a: Fraction
    b: Fraction
    c: Fraction | None

    def grade(self, value: float) -> str:
        if value <= float(self.a):
            return "A"
        if value <= float(self.b):
            return "B"
        return "C" if self.c is None or value <= float(self.c) else "D"


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """The published rules, in the order of the file."""
    text = resources.files("analysis.defaults").joinpath("quality.yaml").read_text(encoding="utf-8")
    return tuple(
        Rule(
            id=entry.needed("id"),
            title=entry.needed("title"),
            says=entry.needed("says"),
            a=durations.ratio(entry.needed("a")),
            b=durations.ratio(entry.needed("b")),
            c=None if entry.text("c") is None else durations.ratio(entry.needed("c")),
        )
        for entry in read_document(text, "quality.yaml").entries("checks")
    )


def data_quality(
    frame: pl.DataFrame, uploads: pl.DataFrame, rejects: pl.DataFrame, *, end_ns: int | None
) -> DataQuality:
    """Everything a reader must know before believing a figure.

    Args:
        frame: measured requests of the selection.
        uploads: rows of table uploads behind it.
        rejects: first rows of table rejects of those uploads.
        end_ns: end of the selection, None if open: who arrived before and ended after is a straddler.
    """
    receipts = [json.loads(text) for text in uploads.get_column("receipt").drop_nulls()]
    sums = {
        name: int(uploads.get_column(f"n_{name}").fill_null(0).sum())
        for name in ("read", "accepted", "duplicate", "rejected")
    }
    values = check_values(frame, sums["read"], sums["rejected"])
    checks = _checks(values)
    late = straddlers(frame, end_ns)
    weights = frame.get_column("weight")
    return DataQuality(
        grade=_grade(frame, checks),
        read=sums["read"],
        accepted=sums["accepted"],
        duplicate=sums["duplicate"],
        rejected=sums["rejected"],
        reasons=_merged(receipt.get("reasons") for receipt in receipts),
        uploads=[_upload(row) for row in uploads.head(MAX_UPLOADS).to_dicts()],
        rejects=_rejects(rejects, uploads),
        coverage=coverage(frame),
        checks=checks,
        flags=_flags(frame),
        not_understood=dict(list(_merged(receipt.get("not_understood") for receipt in receipts).items())[:MAX_NAMES]),
        unattributed_share=values.get("unattributed"),
        sampling_rate=frame.get_column("sampling_rate").min() if frame.height else None,  # type: ignore[arg-type]
        n_effective=_effective(weights),
        n_without_time=frame.get_column("started_ns").null_count(),
        straddlers=late.height,
        straddler_tokens=int(
            late.select((pl.col("input_tokens").fill_null(0) + pl.col("output_tokens").fill_null(0)).sum()).item()
        ),
        notes=_notes(receipts),
        straddler_cost_usd=_cost(late),
        sampling=_sampling(frame),
    )


def grade_of(frame: pl.DataFrame, uploads: pl.DataFrame) -> str | None:
    """The grade alone, as `data_quality` gives it; None without requests."""
    read, rejected = (int(uploads.get_column(f"n_{name}").fill_null(0).sum()) for name in ("read", "rejected"))
    return _grade(frame, _checks(check_values(frame, read, rejected)))


def _grade(frame: pl.DataFrame, checks: list[QualityCheck]) -> str | None:
    return None if frame.is_empty() else max((check.grade for check in checks), default="A")


def _checks(values: dict[str, float]) -> list[QualityCheck]:
    return [
        QualityCheck(rule.id, rule.title, values[rule.id], rule.grade(values[rule.id]), rule.says)
        for rule in rules()
        if rule.id in values
    ]


def check_values(frame: pl.DataFrame, read: int, rejected: int) -> dict[str, float]:
    """Value of every check that has something to look at."""
    n = frame.height
    ok, e2e = pl.col("status_class") == "ok", pl.col("e2e_ns")
    streamed = ok & pl.col("streaming").fill_null(value=False) & (pl.col("output_tokens").fill_null(1) > 0)
    has_stage = pl.any_horizontal(pl.col(f"{stage}_ns").is_not_null() for stage in STAGES if stage != "unattributed")
    measured = e2e.is_not_null() & ~skewed() & has_stage
    rest = unattributed().clip(lower_bound=0)
    sums = {
        "ok": ok.sum(),
        "timed": e2e.count(),
        "skewed": (e2e.is_not_null() & skewed()).sum(),
        "measured": measured.sum(),
        "much": (measured & (rest > UNEXPLAINED * e2e)).sum(),
        "seconds": rest.filter(measured).sum(),
        "whole": e2e.filter(measured).sum(),
        "without_duration": (ok & e2e.is_null()).sum(),
        "streamed": streamed.sum(),
        "without_first": (streamed & pl.col("ttft_ns").is_null()).sum(),
        "without_tokens": (ok & (pl.col("input_tokens").is_null() | pl.col("output_tokens").is_null())).sum(),
    }
    found = frame.lazy().select(**sums).collect().row(0, named=True)  # lazily: what several ask for is worked out once
    parts: dict[str, tuple[int, int]] = {
        "rejected": (rejected, read),
        "stages_exceed_request": (found["skewed"], found["timed"]),
        "unexplained": (found["much"], found["measured"]),
        "unattributed": (found["seconds"], found["whole"]),
        "without_time": (frame.get_column("started_ns").null_count(), n),
        "without_duration": (found["without_duration"], found["ok"]),
        "without_first_token": (found["without_first"], found["streamed"]),
        "without_tokens": (found["without_tokens"], found["ok"]),
        "without_price": (frame.get_column("cost_pico").null_count(), n),
        "without_user": (frame.get_column("user").null_count(), n),
    }
    return {name: part / whole for name, (part, whole) in parts.items() if whole > 0}


def coverage(frame: pl.DataFrame) -> list[Coverage]:
    """How many requests have each field; TPOT is counted over those with more tokens than calls."""
    found: list[Coverage] = []
    several = (pl.col("output_tokens") > CALLS).fill_null(value=True)
    for name, column in COVERAGE:
        rows = frame.select("tpot", "output_tokens", "llm_calls").filter(several) if name == "tpot" else frame
        n = rows.height - rows.get_column(column).null_count()
        found.append(Coverage(name, n, n / rows.height if rows.height else None))
    return found


def straddlers(frame: pl.DataFrame, end_ns: int | None) -> pl.DataFrame:
    """Requests that arrived in the selection and ended after it: an invoice by completion time differs by them."""
    if end_ns is None:
        return frame.clear()
    ended = pl.coalesce("ended_ns", pl.col("started_ns") + pl.col("e2e_ns"))
    columns = ("request_key", "started_ns", "ended_ns", "e2e_ns", "input_tokens", "output_tokens", "cost_pico")
    return frame.select(columns).filter((ended >= end_ns).fill_null(value=False))


def _cost(rows: pl.DataFrame) -> str | None:
    priced = rows.get_column("cost_pico").drop_nulls().cast(pl.Int128)
    return None if priced.is_empty() else usd_text(int(priced.sum()))


def _sampling(frame: pl.DataFrame) -> dict[str, int]:
    """Requests by sampling rate, the highest first; a missing rate is 1."""
    rates = frame.select(pl.col("sampling_rate").fill_null(1.0).alias("rate"))
    table = rates.group_by("rate").len().sort("rate", descending=True)
    return {f"{rate:.12g}": int(n) for rate, n in table.iter_rows()}


def _effective(weights: pl.Series) -> float | None:
    """Effective number of requests under unequal sampling: (sum of weights)^2 / sum of squares."""
    if weights.is_empty():
        return None
    counts = weights.value_counts().sort(weights.name or "weight")
    pairs = [(float(weight), int(n)) for weight, n in counts.iter_rows()]
    return sum(w * n for w, n in pairs) ** 2 / sum(w * w * n for w, n in pairs)


def _flags(frame: pl.DataFrame) -> dict[str, int]:
    names = frame.select(pl.col("flags").explode(empty_as_null=True).alias("flag")).drop_nulls()
    table = names.group_by("flag").len().sort(["len", "flag"], descending=[True, False])
    return {flag: int(n) for flag, n in table.iter_rows()}


def _merged(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for found in counts:
        if isinstance(found, Mapping):
            total.update({str(name): int(n) for name, n in found.items()})
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _notes(receipts: list[dict[str, Any]]) -> list[str]:
    notes: dict[str, None] = {}
    for receipt in receipts:
        notes.update(dict.fromkeys(str(note) for note in receipt.get("notes") or ()))
    return list(notes)


def _upload(row: dict[str, Any]) -> UploadLine:
    return UploadLine(
        name=row["name"],
        format=row["format"],
        sha256=row["sha256"],
        read=row["n_read"] or 0,
        accepted=row["n_accepted"] or 0,
        duplicate=row["n_duplicate"] or 0,
        rejected=row["n_rejected"] or 0,
        state=row["state"],
        message=row["message"],
    )


def _rejects(rejects: pl.DataFrame, uploads: pl.DataFrame) -> list[RejectLine]:
    names = dict(uploads.select("upload_id", "name").iter_rows())
    return [
        RejectLine(
            upload=names.get(row["upload_id"], row["upload_id"]),
            line=row["line"],
            offset=row["byte_offset"],
            reason=row["reason"],
            says=": ".join(
                filter(None, (REJECT_REASONS.get(row["reason"], row["reason"].replace("_", " ")), row.get("detail")))
            ),
            head=row["head"] or "",
        )
        for row in rejects.head(MAX_REJECTS).to_dicts()
    ]
