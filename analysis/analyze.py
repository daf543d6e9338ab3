"""DOOR of analysis: rows of a store in, one finished result out.

Four steps: select, measure (and price), aggregate, judge. The same store, selection, files and `now` give the same
bytes. Nothing here reads a clock, a setting of the process or a file of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

import polars as pl

from analysis.aggregates.attainment import good_objectives, judge, share_if_all_kept
from analysis.aggregates.availability import availability
from analysis.aggregates.cache import cache
from analysis.aggregates.comparison import compare
from analysis.aggregates.compatible import compatible_figures
from analysis.aggregates.cost import costs
from analysis.aggregates.cost_change import cost_steps
from analysis.aggregates.device_limits import mfu, roofline_lines
from analysis.aggregates.distribution import distributions
from analysis.aggregates.goodput import goodput
from analysis.aggregates.load import load
from analysis.aggregates.quality import MAX_REJECTS, data_quality, grade_of
from analysis.aggregates.run_time import run_seconds
from analysis.aggregates.stages import stage_shares
from analysis.aggregates.strata import strata
from analysis.aggregates.throughput import throughput
from analysis.aggregates.verdicts import last_instant
from analysis.causes.diagnose import diagnose
from analysis.causes.follow_up import Earlier, Present, follow_up
from analysis.describe import definitions, provenance, selection_record, summary, title_of
from analysis.dimensions import grouped, matches
from analysis.fleet import Fleet
from analysis.history import columns_for, history, without_prices
from analysis.measured import Measured, Side, measured
from analysis.metrics.measure import measure
from analysis.objectives import Objective, Objectives
from analysis.pricebook import PriceBook
from analysis.result import (
    RESULT_VERSION,
    AnalysisResult,
    Comparison,
    DataQuality,
    Finding,
    ObjectiveResult,
)
from analysis.rollups.figures import rolled_figures
from analysis.rollups.verdicts import rolled_verdicts
from analysis.rules.catalog import Catalog, built_in
from ingest.schema import NS_PER_S
from ingest.selection import DERIVED_DIMENSIONS, Selection
from ingest.store.database import Store

MOST_COST_ROWS = 10_000  # of a table in the result: 3 MB of JSON; the command costs has them all
UPLOADS_WITH_REJECTS = 20  # of which the first rejected rows are shown
WORKED_OUT = "worked out from its requests"  # earlier findings without a stored report


def analyze(
    store: Store,
    selection: Selection,
    *,
    objectives: Objectives,
    prices: PriceBook,
    fleet: Fleet | None = None,
    catalog: Catalog | None = None,
    baseline: tuple[Store, Selection] | None = None,
    reported: tuple[str, AnalysisResult] | None = None,
    now: datetime,
    command: str | None = None,
) -> AnalysisResult:
    """The finished analysis of a selection.

    Args:
        store: an open store.
        selection: time range and filters; its time zone holds for windows, hours, weekdays and days.
        objectives: what is promised, and the settings of the judgement.
        prices: price book.
        fleet: capacity of self-hosted models, if a file was given.
        catalog: rules that advise; the built-in ones if not given.
        baseline: what it is compared with, in this store or another.
        reported: id and result of a stored report of the baseline, whose recommendations are followed up; without one
            they are worked out from its requests.
        now: the instant that the result bears.
        command: what the reader typed, for the footer.
    """
    objectives = replace(objectives, settings=replace(objectives.settings, timezone=selection.timezone))
    side = measured(store, selection, objectives, prices, fleet)
    other = None if baseline is None else measured(*baseline, objectives, prices, fleet)
    frame, span = side.frame, side.span
    money = costs(
        frame, side.replica_hours, ledger=side.ledger, fleet=fleet, selection=selection, most_rows=MOST_COST_ROWS
    )
    quality = _quality(store, side)
    defining = good_objectives(objectives)
    judged, findings = judgement(
        store,
        side,
        objectives,
        fleet,
        catalog=catalog,
        other=None if other is None else lambda: other,
        grade=quality.grade,
    )
    past = history(store, selection, objectives)
    before = None
    if reported is not None:
        before = Earlier(
            reported[1].selection.title,
            f"report {reported[0]}",
            reported[1].objectives,
            reported[1].findings,
            None if other is None else other.frame,
        )
    elif other is not None and baseline is not None:
        then = judgement(baseline[0], other, objectives, fleet, catalog=catalog)
        before = Earlier(title_of(other.selection), WORKED_OUT, *then, other.frame)
    present = Present(frame, judged, objectives.items, findings, side.replica_hours, catalog or built_in(), fleet)
    rolled = rolled_figures(store, selection, frame, side.ledger, judged=judged, objectives=objectives)
    return AnalysisResult(
        result_version=RESULT_VERSION,
        selection=selection_record(selection, span, None if other is None else other.selection),
        data_quality=quality,
        summary=summary(frame, money),
        latency=distributions(frame),
        stages=stage_shares(frame),
        strata=strata(frame, objectives, last_instant(frame)),
        objectives=[replace(one, history=past.get(one.id, [])) for one in judged],
        goodput=goodput(frame, defining, span, side.hours, fleet),
        availability=availability(frame),
        throughput=throughput(frame, span),
        load=replace(
            load(
                frame,
                span,
                objectives.settings,
                side.hours,
                mfu=mfu(frame, side.hours, fleet),
                target=share_if_all_kept(defining),
            ),
            roofline=[]
            if fleet is None
            else roofline_lines(frame.filter(pl.col("status_class") == "ok"), side.hours, fleet),
        ),
        cache=cache(frame, money.saved_usd),
        findings=list(findings),
        costs=money,
        comparison=None if other is None else _with_cost_steps(_comparison(side, other, objectives), side, other),
        definitions=definitions(),
        provenance=provenance(
            frame,
            sorted({line.sha256 or line.name for line in quality.uploads}),
            now=now,
            timezone=selection.timezone,
            objectives=objectives.source,
            price_book=money.price_book,
            rules=(catalog or built_in()).source,
            command=command,
        ),
        notes=notes_of(side),
        rolled=rolled,
        compatible=compatible_figures(frame, defining, run_seconds(frame, store.uploads())),
        follow_up=None if before is None else follow_up(before, present),
    )


def judgement(
    store: Store,
    side: Side,
    objectives: Objectives,
    fleet: Fleet | None = None,
    *,
    catalog: Catalog | None = None,
    other: Callable[[], Side] | None = None,
    grade: str | None = None,
    only: str | None = None,
    judged: tuple[ObjectiveResult, ...] | None = None,
) -> tuple[tuple[ObjectiveResult, ...], tuple[Finding, ...]]:
    """Verdicts and findings of a measured side: all of the analysis that asks why.

    Args:
        objectives: in the time zone of the selection; only those to be judged.
        catalog: rules that advise; the built-in ones if not given.
        other: gives what is normal, if the side has no unbroken part; called only then.
        grade: of the data; worked out if it is not given. At D no verdict is told.
        only: id of the objective whose findings are asked for; None: of all.
        judged: verdicts of this very side, where they are known already.
    """
    judged = judged or verdicts(store, side, objectives, fleet, grade)
    findings = diagnose(
        side.rows,
        judged,
        objectives.items,
        replica_hours=side.replica_hours,
        every=None if side.is_whole else side.one_of,
        baseline=None if other is None else lambda one_in: other().one_of(one_in),
        fleet=fleet,
        catalog=catalog,
        only=only,
    )
    return judged, tuple(findings)


def verdicts(
    store: Store,
    side: Side,
    objectives: Objectives,
    fleet: Fleet | None,
    grade: str | None = None,
    *,
    told: Collection[str] | None = None,
    known: tuple[ObjectiveResult, ...] = (),
) -> tuple[ObjectiveResult, ...]:
    """The part of `judgement` that says what was kept; `told` and `known` as in attainment.judge, the others as there."""
    before = {result.id for result in known if told is not None and result.id not in told}
    anew = replace(objectives, items=tuple(item for item in objectives.items if item.id not in before))
    judged = judge(
        side.rows,
        objectives,
        start_ns=side.selection.start_ns,
        end_ns=side.selection.end_ns,
        replica_hours=side.hours,
        fleet=fleet,
        earlier=earlier_requests(store, side.selection, anew, last_instant(side.rows)),
        kept=kept_counts(store, side.selection, anew, last_instant(side.rows)),
        told=told,
        known=known,
    )
    if (grade or grade_of(side.rows, _uploads_behind(store, side))) == "D":
        judged = tuple(result if result.id in before else withheld(result) for result in judged)
    return judged


def earlier_requests(
    store: Store, selection: Selection, objectives: Objectives, until: int | None
) -> pl.DataFrame | None:
    """Measured requests before a selection, as far back as the longest period of an objective; None if none is longer.

    Prices are left out: an objective on cost has the budget of the selection alone.
    """
    periods = [item.period_s for item in objectives.items if item.period_s is not None and without_prices(item)]
    if selection.start_ns is None or until is None or not periods:
        return None
    last = until + 1 if selection.end_ns is None else min(selection.end_ns, until + 1)
    first = last - max(periods) * NS_PER_S
    if first >= selection.start_ns:
        return None
    before = store.requests(
        selection.within(first, selection.start_ns),
        columns_for([item for item in objectives.items if item.period_s is not None]),
    )
    frame = measure(before, objectives.settings)
    derived = grouped(pair for pair in selection.where if pair[0] in DERIVED_DIMENSIONS)
    return frame.filter(matches(derived)) if derived else frame


def kept_counts(
    store: Store, selection: Selection, objectives: Objectives, until: int | None
) -> Callable[[Objective], pl.DataFrame] | None:
    """Counts of requests that are gone, as far back as the longest period of an objective; None if none is told."""
    periods = [item.period_s for item in objectives.items if item.period_s is not None]
    if until is None or not periods:
        return None
    found = rolled_verdicts(store, selection.within(until - max(periods) * NS_PER_S, until + 1), objectives)
    return None if found is None else found.cells


def _with_cost_steps(comparison: Comparison, side: Measured, other: Measured) -> Comparison:
    return replace(comparison, cost_steps=cost_steps(other.frame, side.frame))


def _comparison(side: Measured, other: Measured, objectives: Objectives) -> Comparison:
    current, baseline = ((one.frame, one.span, last_instant(one.frame)) for one in (side, other))
    return compare(current, baseline, objectives, title_of(other.selection))


def withheld(result: ObjectiveResult) -> ObjectiveResult:
    """The result without its verdict, for data of grade D."""
    return replace(
        result,
        verdict="unknown",
        sure=None,
        says="The data are of grade D, so no verdict is given. " + result.says,
        windows=[replace(window, verdict="unknown", sure=None) for window in result.windows],
        worst=None,
        n_windows_judged=0,
        n_windows_breached=0,
    )


def _quality(store: Store, side: Measured) -> DataQuality:
    uploads = _uploads_behind(store, side)
    damaged = uploads.filter(pl.col("n_rejected") > 0).head(UPLOADS_WITH_REJECTS).get_column("upload_id").to_list()
    rejects = [store.rejects(upload_id, limit=MAX_REJECTS) for upload_id in damaged]
    told = pl.concat(rejects) if rejects else store.rejects(limit=0)
    return data_quality(side.frame, uploads, told, end_ns=side.selection.end_ns)


def _uploads_behind(store: Store, side: Side) -> pl.DataFrame:
    """Uploads behind the rows; all of them where the selection is open."""
    uploads = store.uploads()
    if side.selection.start_ns is None and side.selection.end_ns is None:
        return uploads
    return uploads.filter(pl.col("upload_id").is_in(side.rows.get_column("upload_id").unique().to_list()))


def notes_of(side: Side) -> list[str]:
    """What a reader must know before any figure of a side: what it lacks, and what it is a sample of."""
    notes: list[str] = []
    if side.dropped is not None:
        notes.append(side.dropped)
    if side.rows.is_empty():
        nothing = "No request lies in this selection."
        if side.dropped is not None:
            nothing = (
                "No row of this selection stands: its counts, attainment and costs remain as far as roll-ups keep them."
            )
        notes.append(nothing if side.dropped or not side.elsewhere else f"{nothing} {side.elsewhere}")
    elif side.span.seconds is None:
        notes.append("No request has a clock, so there are no rates, windows or series.")
    elif side.selection.start_ns is None or side.selection.end_ns is None:
        notes.append("The range is open: rates are over the time from the first arrival to the last end.")
    if side.rows.height and side.rows.get_column("sampling_rate").min() != 1.0:
        notes.append("The input is a sample: tokens, costs and rates per second are divided by its sampling rate.")
        notes.append(
            "Concurrency is rebuilt from the sample, each request standing for 1 / rate: right in the mean, while the "
            "level that a single request met scatters, and the highest one is more likely too high than too low."
        )
    if side.rows.get_column("sampling_rate").n_unique() > 1:
        notes.append(
            "Sampling rates differ between requests: percentiles, means and shares weigh each request by 1 / rate, and "
            "their intervals are of the effective number of requests. Counts are of the rows read."
        )
    return notes
