"""A recorded run, run again on its own answers up to a step."""

from populace.engine.discovery import recorded_scenario
from populace.engine.observer import Observer
from populace.engine.scenario import Scenario
from populace.engine.session import Session
from populace.engine.simulation import Simulation
from populace.engine.workspace import trusted_for
from populace.journal import MemoryRecord
from populace.runs.reader import RunReader


def scenario_class(run: RunReader) -> type[Scenario]:
    """The class of a run's scenario.

    Raises:
        UntrustedCodeError: The run names code that is not trusted; nothing was imported.
    """
    return recorded_scenario(run.manifest.scenario, trusted_for(run.record), run.name)


def build_scenario(run: RunReader) -> Scenario:
    """The scenario of a run, with the parameters that it began with."""
    return scenario_class(run)(**run.manifest.regimes[0].parameters)


async def replay_to(run: RunReader, step: int, session: Session, observer: Observer | None = None) -> Simulation:
    """Replay a run in memory up to a step, and stay there.

    Args:
        run: The run; it does not change.
        step: The last step.
        session: Gives access to models, for what is asked afterwards; the replay itself calls none.
        observer: Receives every question as the scenario puts it.
    """
    manifest = run.manifest.model_copy(deep=True)
    record = MemoryRecord(manifest)
    simulation = Simulation(
        build_scenario(run), record, session, source=run.record, replay_until=step + 1, observer=observer
    )
    await simulation.run(until=step)
    return simulation
