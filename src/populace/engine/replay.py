"""A recorded run, run again on its own answers up to a step."""

from populace.engine.discovery import find_scenario
from populace.engine.scenario import Scenario
from populace.engine.session import Session
from populace.engine.simulation import Observer, Simulation
from populace.journal import Manifest, MemoryRecord
from populace.runs.reader import RunReader


def build_scenario(manifest: Manifest) -> Scenario:
    """The scenario of a run, with the parameters that it began with."""
    return find_scenario(manifest.scenario)(**manifest.regimes[0].parameters)


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
        build_scenario(manifest), record, session, source=run.record, replay_until=step + 1, observer=observer
    )
    await simulation.run(until=step)
    return simulation
