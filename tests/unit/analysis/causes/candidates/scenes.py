"""Scenes of the small service: the fault's time beside the rest."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.causes.candidates.work import Offered, offered
from analysis.causes.rows import prepare
from analysis.causes.scene import Scene, quiet_part, scene_of
from analysis.causes.settings import CauseSettings
from analysis.causes.window import Interval
from analysis.metrics.measure import measure
from tests.support.builders import frame, replica_hours
from tests.support.service import FAULT, Plant, Row, service

SETTINGS = CauseSettings()
INTERVAL = Interval(FAULT[0] * 60, FAULT[1] * 60, 1.0)


def scene(*plants: Plant, rows: Sequence[Row] | None = None, hours: Sequence[Row] = ()) -> Scene:
    prepared = prepare(measure(frame(service(*plants) if rows is None else rows)))
    quiet = quiet_part(prepared, [(INTERVAL.start, INTERVAL.end)], [], SETTINGS)
    return scene_of(prepared, INTERVAL, quiet, earlier=None, replica_hours=replica_hours(hours), settings=SETTINGS)


def work_of(found: Scene) -> Offered:
    return offered(found)
