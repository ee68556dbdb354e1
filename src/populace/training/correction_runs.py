"""The simulations of a correction: each is made once, and one that was interrupted goes on."""

from __future__ import annotations

from pathlib import Path

from populace.engine.discovery import reference
from populace.engine.run import Run, open_run, simulate
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.journal import Manifest
from populace.models.artifacts import sha256


class CorrectionRuns:
    """The runs in the workspace of a correction, by what they simulate.

    Both arms begin with the same simulation of the base, and a command that is given again meets its earlier runs.

    Args:
        workspace: The workspace.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def run(self, scenario: Scenario, *, model: str, seed: int, adapter: Path | None = None) -> Run:
        """A complete simulation: one that is there, one that is there in part and goes on, or a new one.

        Args:
            scenario: What is simulated.
            model: The model string.
            seed: The seed of the run.
            adapter: The file of the adapter that the model string names; a run with other weights is not taken.
        """
        known = self._known(scenario, model, seed, adapter)
        if known is not None:
            return open_run(known, self.workspace).resume()
        return simulate(scenario, model=model, seed=seed, workspace=self.workspace)

    def _known(self, scenario: Scenario, model: str, seed: int, adapter: Path | None) -> str | None:
        weights = "" if adapter is None else sha256(adapter)[:32]
        for name in self.workspace.names():
            manifest = Manifest.read(self.workspace.runs / name)
            regime = manifest.regime
            if (
                manifest.status.state != "failed"
                and (regime.model, regime.seed) == (model, seed)
                and manifest.scenario == reference(type(scenario))
                and manifest.scenario_hash == type(scenario).source_hash()
                and regime.parameters == scenario.parameters
                and weights in manifest.models.get(model, "")
            ):
                return name
        return None
