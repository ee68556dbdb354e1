"""The answers of a design as arrays: people × items × levels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import CausalStudyError
from populace.causal.participants import item_numbers
from populace.causal.study import CausalStudy
from populace.causal.wording import CausalDesign, stated_covariates
from populace.questions import VALID
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run

Array = npt.NDArray[np.float64]

RESPONSES = "responses"
"""The table of answers of a run: participant, level, covariate (empty but for drift), y and status."""

MIN_VALID = 10
"""A verdict needs at least so many valid answers at every level."""
MOST_INVALID = 0.5
"""A verdict needs at least this share of valid answers: fewer are a selection."""


@dataclass(frozen=True)
class Cost:
    """What the answers of a design took.

    Attributes:
        calls: Calls to the model, and replies that were known already.
        tokens: Tokens of prompts and replies.
        price: The price of the calls that were made, in dollars.
    """

    calls: int = 0
    tokens: int = 0
    price: float = 0.0


@dataclass(frozen=True)
class Responses:
    """The answers of one design.

    Attributes:
        study: The declaration.
        design: The design.
        y: The share of the answer that counts: people × items × levels; NaN where an answer is invalid.
        covariates: The stated value of each numeric covariate: people × items, in the units of the declaration.
        elicited: The unstated value of each covariate under each level: people × items × levels, in these units too.
        cost: What they took.
        invalid: How many answers were invalid.

    Example:
        >>> from populace import simulate
        >>> from populace.causal import CausalScenario
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> run = simulate(CausalScenario(study=study), model="scripted:uniform", keep="nothing")
        >>> Responses.of(run).y.tolist()
        [[[0.5, 0.5]]]
    """

    study: CausalStudy
    design: CausalDesign
    y: Array
    covariates: dict[str, Array] = field(default_factory=dict)
    elicited: dict[str, Array] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    invalid: int = 0

    @classmethod
    def of(cls, run: RunReader) -> Responses:
        """The answers that a run of a design recorded.

        Args:
            run: A run of `CausalScenario`.
        """
        parameters = parameters_of_run(run)
        if "design" not in parameters or "study" not in parameters:
            raise CausalStudyError(
                f"{run.name} does not hold the declaration of a causal study.",
                "Where a scenario makes the declaration from its parameters, use Responses.read(study, design, run).",
            )
        return cls.read(CausalStudy.read(parameters["study"]), parameters["design"], run)

    @classmethod
    def read(cls, study: CausalStudy, design: CausalDesign, run: RunReader) -> Responses:
        """The answers of a run whose study and design are known.

        Args:
            study: The declaration.
            design: The design.
            run: The run.
        """
        people, table, usage = run.people(), run.history(RESPONSES), run.usage()
        items = item_numbers(study, people)
        shape = (len(items) // len(study.items), len(study.items), len(study.treatment.values))
        scales = {
            each.name: study.item_table[each.scale].cast(pl.Float64).to_numpy() if each.scale else np.ones(shape[1])
            for each in study.covariates
        }
        stated = [each for each in stated_covariates(study) if each.numeric and each.name in people]
        covariates = {
            # Multiplied and divided again, equal values would differ in their last digit.
            each.name: (people[each.name].cast(pl.Float64).to_numpy().reshape(shape[:2]) / scales[each.name]).round(9)
            for each in stated
        }
        elicited = {
            str(name): _array(rows, shape) / scales[str(name)][None, :, None]
            for (name,), rows in table.filter(pl.col("covariate") != "").group_by("covariate", maintain_order=True)
        }
        return cls(
            study, design, _array(table.filter(pl.col("covariate") == ""), shape), covariates, elicited,
            Cost(usage.calls + usage.reused, usage.prompt_tokens + usage.completion_tokens, usage.cost),
            int((~table["status"].is_in(list(VALID))).sum()),
        )  # fmt: skip

    @property
    def x(self) -> Array:
        """The levels on the scale of the slope."""
        return np.array(self.study.treatment.numbers)


def mostly_invalid(y: Array) -> bool:
    """Whether so many answers are invalid that the valid ones are a selection.

    Args:
        y: Answers; NaN where one is invalid.
    """
    return float(np.isnan(y).mean()) > MOST_INVALID


def too_few_valid(y: Array) -> bool:
    """Whether there are too few valid answers for a verdict.

    Args:
        y: Answers: people × items × levels; NaN where one is invalid.

    Example:
        >>> too_few_valid(np.ones((5, 2, 3))), too_few_valid(np.ones((3, 2, 3)))
        (False, True)
    """
    return mostly_invalid(y) or int((~np.isnan(y)).sum(axis=(0, 1)).min()) < MIN_VALID


def _array(table: pl.DataFrame, shape: tuple[int, int, int]) -> Array:
    values: Any = np.full((shape[0] * shape[1], shape[2]), np.nan)
    values[table["participant"].to_numpy(), table["level"].to_numpy()] = table["y"].cast(pl.Float64).to_numpy()
    array: Array = values.reshape(shape)
    return array
