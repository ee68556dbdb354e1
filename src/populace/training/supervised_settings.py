"""How a network is trained on examples."""

from __future__ import annotations

import pydantic

from populace.training.adapter_strength import PartStrength
from populace.training.base_network import MATRICES, Matrix, Precision


class SupervisedSettings(pydantic.BaseModel):
    """How a network is trained.

    Example:
        >>> SupervisedSettings(rank=16).batch
        64
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rank: int = pydantic.Field(default=32, ge=0, le=512, description="The rank of the adapter; 0 trains all weights.")
    matrices: tuple[Matrix, ...] = pydantic.Field(default=MATRICES, description="What an adapter changes.")
    layers: int = pydantic.Field(
        default=0, ge=0, le=1000,
        description="Only so many of the last layers are trained, which takes less time; 0 for all.",
    )  # fmt: skip
    strength: float = pydantic.Field(
        default=1.0, gt=0, le=1,
        description="How much of the learned change the adapter keeps; less of it is less sure where it knows little.",
    )  # fmt: skip
    strengths: tuple[PartStrength, ...] = pydantic.Field(default=(), description="Parts that keep less than that.")
    length: int = pydantic.Field(default=1024, ge=32, le=32_768, description="Tokens in a packed sequence.")
    batch: int = pydantic.Field(default=64, ge=1, le=4096, description="Sequences in a step.")
    learning_rate: float = pydantic.Field(default=1e-3, gt=0, le=1, description="The highest learning rate.")
    warmup: float = pydantic.Field(default=0.03, ge=0, le=1, description="The share of training that warms up.")
    weight_decay: float = pydantic.Field(default=0.01, ge=0, le=1)
    pool: int = pydantic.Field(default=16, ge=1, le=1000, description="Parts that are shuffled together.")
    check_every: int = pydantic.Field(default=4, ge=1, description="Pools between two looks at unseen people.")
    precision: Precision | None = pydantic.Field(
        default=None, description="The numbers of the base: `float32` or `bfloat16`; as the device has it by default."
    )
    patience: int = pydantic.Field(default=0, ge=0, description="Looks without progress before it ends; 0 for never.")
    seed: int = 0

    @pydantic.model_validator(mode="after")
    def _parts_are_those_of_the_adapter(self) -> SupervisedSettings:
        if not self.rank and (self.strength < 1 or self.strengths):
            raise ValueError("`strength` and `strengths` belong to an adapter; `rank: 0` trains all weights")
        others = sorted({name for part in self.strengths for name in part.matrices or ()} - set(self.matrices))
        if others:
            raise ValueError(f"`strengths` names {', '.join(others)}, which the adapter does not change (`matrices`)")
        return self
