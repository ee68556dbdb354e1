"""The settings with which a run is started.

The signatures of `simulate` and `Run.fork`, the options of the command line, Studio's forms, the arms of
experiments and the manifest are derived from `RunSettings`. A new setting is one field here, and its use.
"""

import typing
from typing import Any, Literal

import pydantic

from populace.base.plain_data import PlainData

OnFailure = Literal["stop", "record"]
"""What happens where the service of a model fails: the run stops and can be resumed, or the failure is recorded."""
Decider = Literal["model", "rule", "replay", "human"]
DECIDERS: tuple[str, ...] = typing.get_args(Decider)


class RunSettings(PlainData):
    """The settings of a run, besides its scenario.

    Example:
        >>> RunSettings(seed=3).temperature
        1.0
    """

    model_config = pydantic.ConfigDict(extra="forbid")

    model: str = pydantic.Field(default="embedded", description="The language model, as a string such as `embedded`.")
    seed: int = pydantic.Field(default=0, description="The seed of all random numbers of the run.")
    temperature: float = pydantic.Field(
        default=1.0,
        ge=0,
        allow_inf_nan=False,
        description="1 uses distributions as the model gave them, 0 always takes the most probable option.",
    )
    decider: Decider = pydantic.Field(
        default="model", description="What decides for people, unless their column `decider` says otherwise."
    )
    play: str | None = pydantic.Field(
        default=None,
        exclude_if=lambda play: not play,
        description="The name or id of the person whose decisions you make; several with commas.",
    )
    variation: dict[str, Any] = pydantic.Field(
        default={},
        exclude_if=lambda variation: not variation,
        description="Another way to ask the same questions: other words, order, labels or names.",
    )

    on_failure: OnFailure | None = pydantic.Field(
        default=None,
        exclude_if=lambda on_failure: on_failure != "record",
        description="What to do when the service of a model fails: `stop`, so that the run can be resumed, or `record` "
        "the answers as missing. As the scenario says by default, which is to stop.",
    )

    @pydantic.field_validator("model", mode="before")
    @classmethod
    def _model_string(cls, model: Any) -> Any:
        """The string of a model that was given as an object."""
        if callable(model) and not hasattr(model, "spec"):
            raise ValueError("it is a function, not a model. Write model=pc.Scripted(function)")
        return getattr(model, "spec", model)

    @pydantic.field_validator("variation", mode="before")
    @classmethod
    def _variation_data(cls, variation: Any) -> Any:
        """The data of a variation that was given as an object; None is no variation."""
        return variation.data() if hasattr(variation, "data") else variation or {}


class Regime(RunSettings):
    """The settings and parameters that hold from one step on; a fork adds one to those of its parent."""

    # Manifests written by a later version may hold settings that are not known here.
    model_config = pydantic.ConfigDict(extra="ignore")

    since: int = pydantic.Field(default=0, ge=0)
    parameters: dict[str, Any] = pydantic.Field(default={})
