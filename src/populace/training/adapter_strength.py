"""How much of what it learned an adapter keeps, as a whole and in its parts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pydantic

from populace.base.errors import TrainingError
from populace.training.base_network import Matrix, training_library

_PLACE = re.compile(r"\.layers\.(\d+)\..*\.(\w+_proj)\.lora_B\.")


class PartStrength(pydantic.BaseModel):
    """How much some matrices in some layers keep of what they learned.

    The first layers read what is asked, and the last ones write the answer. Keeping less in some of them makes an
    adapter less sure of questions that it does not know, at another price for those that it knows.

    Example:
        >>> PartStrength(strength=0.5, layers=(0, 9), matrices=("q_proj", "v_proj", "o_proj")).holds("q_proj", 9)
        True
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    strength: float = pydantic.Field(ge=0, le=1, description="The part that is kept.")
    layers: tuple[int, int] | None = pydantic.Field(
        default=None, description="The first and the last of these layers, counted from 0; all by default."
    )
    matrices: tuple[Matrix, ...] | None = pydantic.Field(
        default=None, min_length=1, description="Which matrices; all that the adapter changes by default."
    )

    @pydantic.field_validator("layers")
    @classmethod
    def _in_order(cls, layers: tuple[int, int] | None) -> tuple[int, int] | None:
        if layers is not None and not 0 <= layers[0] <= layers[1]:
            raise ValueError("the first layer must be 0 or more, and no later than the last, such as [0, 9]")
        return layers

    def holds(self, matrix: str, layer: int) -> bool:
        """Whether it says something of a matrix.

        Args:
            matrix: The kind of matrix.
            layer: The number of its layer.
        """
        within = self.layers is None or self.layers[0] <= layer <= self.layers[1]
        return within and (self.matrices is None or matrix in self.matrices)


def check_layers(model: Any, parts: Sequence[PartStrength]) -> None:
    """Refuse parts of layers that a network does not have, before it is trained.

    Args:
        model: A network with an adapter.
        parts: The parts that are to be weakened.
    """
    last = max((int(place[1]) for name, _ in model.named_parameters() if (place := _PLACE.search(name))), default=-1)
    for part in parts:
        if part.layers is not None and part.layers[1] > last:
            raise TrainingError(
                f"`strengths` names the layers {part.layers[0]} to {part.layers[1]}, and the last layer is {last}.",
                "Layers are counted from 0.",
            )


def weaken_adapter(model: Any, strength: float, parts: Sequence[PartStrength] = ()) -> None:
    """Keep a part of what an adapter changes.

    Args:
        model: A network with an adapter.
        strength: The part, from 0 to 1.
        parts: What some matrices keep of that; where several hold for one, they are multiplied.
    """
    torch = training_library("torch")
    with torch.no_grad():
        for name, weights in model.named_parameters():
            place = _PLACE.search(name)
            if place is not None:
                factors = [part.strength for part in parts if part.holds(place[2], int(place[1]))]
                weights.mul_(strength * math.prod(factors))
