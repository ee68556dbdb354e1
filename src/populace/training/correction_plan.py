"""A plan of correction: what is simulated, who scores, how is trained, and what is watched besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pydantic

from populace.base import trust
from populace.engine.discovery import find_scenario, source_code
from populace.engine.scenario import Scenario
from populace.training.base_network import Precision
from populace.training.decision_scoring import Scoring
from populace.training.plan_file import read_plan
from populace.training.preference import PreferenceSettings
from populace.training.reinforcement import ReinforcementSettings
from populace.training.target_learning import TargetSettings


class ScenarioPart(pydantic.BaseModel):
    """A scenario with its parameters.

    Attributes:
        name: Its name, or `file.py` or `file.py:Class`.
        parameters: Its parameters.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str
    parameters: dict[str, Any] = {}

    def build(self) -> Scenario:
        """The scenario itself."""
        return find_scenario(self.name)(**self.parameters)


class CorrectionPlan(pydantic.BaseModel):
    """A plan, usually a YAML file.

    Attributes:
        name: The name of the adapters.
        base: The model that is corrected: `embedded`, a GGUF file, or a folder in the format of transformers.
        engine: What runs the simulations: `transformers` (PyTorch) or `embedded` (llama.cpp; a GGUF file).
        scenario: What is simulated, scored and learned from.
        held_out: Another scenario, which is never learned from.
        score: Who scores decisions.
        method: `preference` (DPO), `reinforcement` (GRPO), or `supervised` (shares of options as targets).
        rounds: How many times is trained.
        runs: How many simulations a round has, each with another seed. Where one run goes one way, as norms do, several
            let the network learn the rule and not the way.
        decisions: How many decisions are scored in each round, of all its simulations together.
        seeds: A whole correction is made for each seed.
        control: Whether a control arm learns, with the same compute, from the same scores shuffled.
        rank: The rank of the adapter.
        precision: The numbers of the base in training: `float32` or `bfloat16`; as the device has it by default.
        preference: How preferences are learned.
        reinforcement: How rewards are learned.
        supervised: How shares are learned.

    Example:
        >>> plan = CorrectionPlan(
        ...     name="blue", scenario={"name": "norms"}, held_out={"name": "epidemic"},
        ...     score={"prefer": {"blue": 1.0, "green": 0.0}},
        ... )
        >>> plan.arms
        ('feedback', 'control')
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = pydantic.Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")
    base: str = "embedded"
    engine: Literal["transformers", "embedded"] = "transformers"
    scenario: ScenarioPart
    held_out: ScenarioPart
    score: Scoring
    method: Literal["preference", "reinforcement", "supervised"] = "preference"
    rounds: int = pydantic.Field(default=3, ge=1, le=100)
    runs: int = pydantic.Field(default=1, ge=1, le=1000)
    decisions: int = pydantic.Field(default=64, ge=2, le=100_000)
    seeds: tuple[int, ...] = pydantic.Field(default=(1, 2, 3, 4, 5), min_length=1)
    control: bool = True
    rank: int = pydantic.Field(default=8, ge=1, le=512)
    precision: Precision | None = None
    preference: PreferenceSettings = PreferenceSettings()
    reinforcement: ReinforcementSettings = ReinforcementSettings()
    supervised: TargetSettings = TargetSettings()

    @pydantic.model_validator(mode="after")
    def _possible(self) -> CorrectionPlan:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError("a seed stands there twice")
        if self.scenario == self.held_out:
            raise ValueError("the held-out scenario is the one that is learned from")
        if self.score.people and self.method == "reinforcement":
            raise ValueError("people cannot reward every reply of reinforcement; use the method `preference`")
        if self.score.human and self.method == "reinforcement":
            raise ValueError("rewards would lead to the most common answer alone; use `supervised` or `preference`")
        if self.score.people and self.method == "supervised":
            raise ValueError("people in Studio score one option of a decision, not all; use the method `preference`")
        return self

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms: with feedback, and with shuffled feedback."""
        return ("feedback", "control") if self.control else ("feedback",)

    @property
    def code(self) -> list[trust.Code]:
        """What the plan would import, call or fetch."""
        scenarios = (self.scenario.name, self.held_out.name)
        return [*self.score.code, *(code for each in dict.fromkeys(scenarios) for code in source_code(each))]

    @classmethod
    def read(cls, path: str | Path) -> CorrectionPlan:
        """A plan from a YAML file; files that it names are relative to it.

        Args:
            path: The file.
        """
        return read_plan(cls, path, name="a plan of correction", needs="name, scenario, held_out and score")

    def located(self, folder: Path) -> CorrectionPlan:
        """The plan with its files taken from another folder, where they are relative.

        Args:
            folder: The folder.
        """

        def find(text: str) -> str:
            where, _, name = text.rpartition(".py")
            return f"{folder / where}.py{name}" if where and not Path(where).is_absolute() else text

        base = self.base if self.base == "embedded" else str(folder / Path(self.base).expanduser())
        parts = {
            name: part.model_copy(update={"name": find(part.name)})
            for name, part in (("scenario", self.scenario), ("held_out", self.held_out))
        }
        human = self.score.human
        if human is not None:
            human = human.model_copy(update={"decisions": folder / human.decisions.expanduser()})
        score = self.score.model_copy(update={"function": find(self.score.function), "human": human})
        return self.model_copy(update={"base": base, "score": score, **parts})
