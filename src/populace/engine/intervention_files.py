"""Interventions whose values are names of files: what a file holds becomes part of the run, so that the run repeats."""

from collections.abc import Mapping
from typing import Any

from populace.engine.scenario import Scenario
from populace.journal import ChangeParameters, Intervention, read_interventions
from populace.journal.intervention_list import AnyIntervention


def recorded_interventions(
    interventions: list[Intervention | Mapping[str, Any]], scenario: Scenario
) -> list[AnyIntervention]:
    """Interventions as the manifest records them.

    Args:
        interventions: The interventions as a user gave them.
        scenario: The scenario, with the parameters that it begins with.

    Raises:
        PopulaceError: An intervention cannot be read, or changes a parameter to a value that does not fit.
    """
    return [_with_contents(each, scenario) for each in read_interventions(interventions)]


def _with_contents(intervention: AnyIntervention, scenario: Scenario) -> AnyIntervention:
    if not isinstance(intervention, ChangeParameters):
        return intervention
    names = [name for name, value in intervention.parameters.items() if isinstance(value, str)]
    if not names:
        return intervention
    changed = type(scenario)(**scenario.parameters)
    changed.change(intervention.parameters)
    values = changed.parameters
    contents = {name: values[name] for name in names if not isinstance(values[name], str)}
    return ChangeParameters(at=intervention.at, parameters={**intervention.parameters, **contents})
