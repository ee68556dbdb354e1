"""A generated town of a thousand people for one simulated hour, and whether its memory stays flat."""

from __future__ import annotations

import tempfile

from measure import Result, Steps, held_memory_gb, report
from town_replies import reply

from populace import simulate
from populace.engine.simulation import Observer, Simulation
from populace.minds import Memory
from populace.models import Scripted
from populace.scenarios.party import Party
from populace.scenarios.townlife import TICK

PEOPLE, HOUR = 1000, 3600 // TICK


class Held(Observer):
    """Notes how much memory the process holds at the end of every day."""

    def __init__(self) -> None:
        self.gb: list[float] = []

    def on_start(self, simulation: Simulation) -> None:
        # SQLite's page cache is bounded, but fills for days; a small one is full from the first day on.
        simulation.broker.store._db.connection.execute("PRAGMA cache_size=-1000")

    def on_step(self, simulation: Simulation) -> None:
        if simulation.scenario.now.hour == simulation.scenario.now.minute == 0:
            self.gb.append(held_memory_gb())


def main() -> None:
    steps, held = Steps(), Held()
    town = Party(residents=PEOPLE, days=1, embedder="hashing")
    with tempfile.TemporaryDirectory() as folder:
        simulate(town, model=Scripted(reply, spec="scripted:town"), seed=1, workspace=folder, observer=steps)
    with tempfile.TemporaryDirectory() as folder:
        forgetful = Party(residents=PEOPLE, days=4, embedder="hashing", remembers=False)
        simulate(forgetful, model=Scripted(reply, spec="scripted:town"), seed=1, workspace=folder, observer=held)
    first, last = held.gb[0], held.gb[-1]
    flat = (
        f"{first * 1000:.0f} MB after the first day, {last * 1000:.0f} MB after {len(held.gb)} days; nobody remembers"
    )
    spent = steps.seconds[1:]
    busiest = max(sum(spent[at : at + HOUR]) for at in range(len(spent) - HOUR))
    memories = len(town.mind.memory.stream) if isinstance(town.mind.memory, Memory) else 0
    detail = f"{town.conversation_count:,} conversations, {memories:,} memories"
    report(
        [
            Result("town of 1,000, its busiest hour", PEOPLE * HOUR / busiest, "person-ticks/s", 2000.0),
            Result("town of 1,000, a day", PEOPLE * len(spent) / sum(spent), "person-ticks/s", 2000.0, detail=detail),
            Result("memory, last day to first, memories apart", last / first, "times", 1.1, at_most=True, detail=flat),
        ]
    )


if __name__ == "__main__":
    main()
