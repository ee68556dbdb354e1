"""Receives the progress of a run: the base class of displays, counters and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from populace.prompting import Inquiry

if TYPE_CHECKING:
    from populace.engine.simulation import Simulation


class Observer:
    """Receives the progress of a run; every method may be left out.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> class StepCounter(Observer):
        ...     steps = 0
        ...     def on_step(self, simulation):
        ...         self.steps += 1
        >>> counter = StepCounter()
        >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing", observer=counter)
        >>> counter.steps
        3
    """

    def on_start(self, simulation: Simulation) -> None:
        """The run begins."""

    def on_step(self, simulation: Simulation) -> None:
        """A step is done, or was replayed; the simulation is as the step left it.

        It is part of the record already, unless it is so large that it is still written while the next one begins.
        """

    def on_commit(self, simulation: Simulation, step: int) -> None:
        """A step became part of the record: before its `on_step`, or, if it is large, during the next step.

        Steps come in order, and the next one is not written before this returns. A step that is replayed from the
        run's own record is part of it already.
        """

    def on_question(self, simulation: Simulation, inquiry: Inquiry) -> None:
        """A question is put, as the scenario words it; its people are as they are at this moment."""

    def on_replies(self, simulation: Simulation) -> None:
        """Replies arrived."""

    def on_end(self, simulation: Simulation) -> None:
        """The run is over, well or not."""
