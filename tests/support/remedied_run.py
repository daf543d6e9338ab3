"""A run of the simulator with a remedy in place; started by the simulator's Python, prints every objective's windows.

Usage: remedied_run.py SIMULATE.PY INCIDENT SEED REMEDY
Output: JSON, objective id to [seconds from the start, value in the simulator's unit] per judged window.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

HOURS, START = 6.0, "2026-03-02T08:00:00Z"


def simulator(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("simulate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate"] = module
    spec.loader.exec_module(module)
    return module


def more_replicas(sim: ModuleType, context: Any, *, late_s: float | None = None) -> None:
    """Twice the replicas in every pool, from the start or some seconds after the incident begins."""
    rows = list(context.fleet.rows)
    for place, row in enumerate(rows):
        context.new_replicas.append((row["model"], row["region"], row["deployment_version"]))
        if late_s is not None:
            context.ctl.append((0.0, sim.K_DOWN, len(rows) + place, 0, 0.0))
            context.ctl.append((context.t0 + late_s, sim.K_UP, len(rows) + place, 0, context.t0 + late_s))


def scaled_late(sim: ModuleType, context: Any) -> None:
    more_replicas(sim, context, late_s=300.0)


def drained(sim: ModuleType, context: Any) -> None:
    """The replica that the incident slows serves nothing instead."""
    (sick,) = {replica for _, _, replica, _, _ in context.ctl}
    context.ctl[:] = [(context.t0, sim.K_DOWN, sick, 0, 0.0), (context.t1, sim.K_UP, sick, 0, context.t1)]


def outputs_capped(sim: ModuleType, _: Any) -> None:
    """Answers of chats end where 95 % of them ended before."""
    chat = sim.SCENARIOS.index("chat")
    middle, spread = sim.SCEN["chat"]["out"]
    most = round(middle * math.exp(1.645 * spread))
    lengths = sim.lengths

    def limited(traces: Any) -> Any:
        fed, made, *rest = lengths(traces)
        made[traces["scen"] == chat] = made[traces["scen"] == chat].clip(max=most)
        return (fed, made, *rest)

    vars(sim)["lengths"] = limited


REMEDIES: dict[str, Callable[[ModuleType, Any], None]] = {
    "scale_out": more_replicas,
    "autoscale_policy": scaled_late,
    "replica_drain": drained,
    "output_length_control": outputs_capped,
}


def main(path: str, incident: str, seed: str, remedy: str) -> None:
    sim = simulator(Path(path))
    planted = sim.INCIDENTS[incident]

    def remedied(context: Any) -> Any:
        truth = planted(context)
        REMEDIES[remedy](sim, context)
        return truth

    sim.INCIDENTS[incident] = remedied
    ran = sim.simulate(int(seed), HOURS, START, [incident])
    objectives = sim.slo_list(ran.hours, ran.start_epoch, ran.sample)
    found = sim.evaluate(ran.df, objectives, ran.hours, ran.sample, sim.replica_hours(ran))
    sys.stdout.write(json.dumps({name: values["windows"] for name, values in found.items()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
