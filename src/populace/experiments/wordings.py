"""Ways of asking the same question, and which of them change a prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

from populace.base.errors import UsageError
from populace.engine.discovery import find_scenario
from populace.engine.scenario import Scenario
from populace.experiments.arms import Arm
from populace.experiments.rehearsal import rehearsal_digest
from populace.models.scripted import uniform
from populace.prompting.variation import Variation

AS_WRITTEN = "as written"

STANDARD: dict[str, dict[str, Any]] = {
    "labels exchanged": {"labels": True},
    "options reversed": {"order": "reversed"},
    "polite": {"wording": "polite"},
    "headed": {"wording": "headed"},
    "question first": {"wording": "asked first"},
    "sentences on lines": {"space": "lines"},
    "other names": {"names": 17},
}
"""What `populace robust` changes, one at a time."""

Bundle = dict[str, Any]
"""Changes made together: parameters and settings of a run by name, a variation among them."""


def read_wordings(wordings: Sequence[str] | Mapping[str, Any] | None, scenario: type[Scenario]) -> dict[str, Bundle]:
    """Named ways of asking, as changes to the settings of a run.

    Args:
        wordings: Names of paraphrases made by rule; or, by names of your own, what each way changes: parameters of the
            scenario, and under `variation` the parts of a variation.
        scenario: The scenario whose parameters may be changed.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> read_wordings(["polite"], Norms)
        {'polite': {'variation': {'wording': 'polite'}}}
        >>> read_wordings({"others first": {"others_first": True}}, Norms)
        {'others first': {'others_first': True}}
    """
    if wordings is None:
        return {}
    if isinstance(wordings, str):
        raise UsageError(f"wordings are {wordings!r}, a single text.", "Give a list of names, or named changes.")
    if not isinstance(wordings, Mapping):
        wordings = {name: {"variation": {"wording": name}} for name in wordings}
    bundles: dict[str, Bundle] = {}
    for name, changes in wordings.items():
        if not isinstance(changes, Mapping):
            raise UsageError(
                f"the wording {name!r} is {changes!r}.", "Map it to changes, such as {'variation': {'phrases': {…}}}."
            )
        bundles[str(name)] = dict(changes)
        if "variation" in changes:
            bundles[str(name)]["variation"] = Variation.read(changes["variation"]).data()
    return bundles


def changes_prompts(scenario: str, parameters: Mapping[str, Any], changes: Mapping[str, Any], *, seed: int = 0) -> bool:
    """Whether some changes alter any prompt, tested by a rehearsal on stand-in answers.

    True for a scenario that cannot be rehearsed.
    """
    known = find_scenario(scenario)
    changed = {name: value for name, value in changes.items() if name in known.parameter_model().model_fields}
    variation = Variation.read(changes.get("variation")).data()
    before = _trace(scenario, known(**parameters).parameters, {}, seed)
    return before is None or before != _trace(scenario, known(**{**parameters, **changed}).parameters, variation, seed)


def _trace(scenario: str, parameters: dict[str, Any], variation: dict[str, Any], seed: int) -> str | None:
    arm = Arm(
        number=0, levels={}, scenario=scenario, parameters=parameters, model="scripted:uniform", variation=variation
    )
    return rehearsal_digest(arm, seed, uniform, None)
