"""A scenario run on a stand-in model and kept in memory, to learn about it before anything is spent."""

import time
from collections.abc import Sequence

from populace.base.errors import InterruptedRunError
from populace.broker import Usage
from populace.engine.contract import check_scenario
from populace.engine.observer import Observer
from populace.engine.scenario import Scenario
from populace.engine.session import Session
from populace.engine.simulation import Simulation
from populace.journal import AnyIntervention, Manifest, MemoryRecord, Regime, RunSettings
from populace.models import Model


def run_trial(
    scenario: Scenario,
    stand_in: Model,
    settings: RunSettings,
    *,
    interventions: Sequence[AnyIntervention] = (),
    until: int | None = None,
    seconds: float | None = None,
) -> tuple[MemoryRecord, Usage]:
    """Run a scenario with a stand-in for every model.

    Args:
        scenario: The scenario; it is used up.
        stand_in: Answers in the place of every model.
        settings: The settings of the run.
        interventions: What is done from outside.
        until: The last step; the end of the scenario by default.
        seconds: After so many seconds of the wall clock the trial ends with the step under way; the status of the
            record says how many steps are done and how many were planned.

    Returns:
        What was recorded, and what was asked.
    """
    scenario = check_scenario(scenario)
    regime = Regime(**{**settings.model_dump(), "model": stand_in.spec}, parameters=scenario.parameters)
    manifest = Manifest(run="trial", scenario="", scenario_hash="", regimes=[regime], interventions=list(interventions))
    record, session = MemoryRecord(manifest), Session(stand_in=stand_in)
    observer = None if seconds is None else _Deadline(time.monotonic() + seconds)
    try:
        session.finish(Simulation(scenario, record, session, observer=observer).run(until))
    except InterruptedRunError:
        if observer is None:
            raise
    return record, session.usage


class _Deadline(Observer):
    """Ends a run after the step in which a time of the wall clock passes."""

    def __init__(self, ends: float) -> None:
        self._ends = ends

    def on_step(self, simulation: Simulation) -> None:
        """Look at the clock after a step."""
        if simulation.step and time.monotonic() > self._ends:
            simulation.halt()
