"""Prices of models, in money for a million tokens."""

import fnmatch
import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from populace.base.documents import DocumentError, read_text
from populace.base.errors import UsageError
from populace.base.folders import user_folder
from populace.models import Model, ModelTraits, Reply, model_traits


@dataclass(frozen=True)
class Price:
    """Money for a million tokens read and written."""

    prompt: float
    completion: float

    def of(self, replies: Sequence[Reply]) -> float:
        """What replies cost."""
        return sum([r.prompt_tokens * self.prompt + r.completion_tokens * self.completion for r in replies]) / 1e6


FREE = Price(0.0, 0.0)


def price_file() -> Path:
    """The user's price table: POPULACE_PRICES, else prices.toml in the user's configuration folder."""
    if file := os.environ.get("POPULACE_PRICES"):
        return Path(file)
    return (user_folder("XDG_CONFIG_HOME", ".config") or Path("~/.config/populace")) / "prices.toml"


def price_of(model: Model | str) -> Price | None:
    """The price of a model: nothing for one that runs here, the table's for any other, None where it has none.

    The table maps a pattern for the model string to money for a million tokens::

        ["openai:gpt-*"]
        prompt = 0.15
        completion = 0.60
    """
    spec, traits = (model, model_traits(model, ModelTraits())) if isinstance(model, str) else (model.spec, model.traits)
    if traits.local:
        return FREE
    path = price_file()
    if not path.is_file():
        return None
    try:
        table = tomllib.loads(read_text(path))
        for pattern, entry in table.items():
            if fnmatch.fnmatchcase(spec, pattern):
                price = Price(float(entry["prompt"]), float(entry["completion"]))
                if not 0 <= price.prompt < math.inf or not 0 <= price.completion < math.inf:
                    raise ValueError(f"{pattern!r} has a price that is no amount of money")
                return price
    except (OSError, DocumentError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the price table {path} cannot be read: {error}.",
            'Each entry is ["pattern"] with prompt and completion, money for a million tokens.',
        ) from error
    return None
