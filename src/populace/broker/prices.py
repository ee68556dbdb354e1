"""Prices of models, in money for a million tokens, from a table that the user keeps."""

import fnmatch
import functools
import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.base.documents import read_text
from populace.base.errors import UsageError
from populace.base.folders import user_folder
from populace.base.table_files import reading_problem
from populace.models import Model, ModelTraits, Reply, model_traits

EXAMPLE = """currency = "USD"

["openai:gpt-4o-mini*"]
prompt = 0.15
completion = 0.60
"""
"""A price table. The figures are an example, not a quotation."""


@dataclass(frozen=True)
class Price:
    """Money for a million tokens read and written.

    Attributes:
        prompt: For tokens read.
        completion: For tokens written.
    """

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

    The table names its currency, and maps a pattern for the model string to money for a million tokens::

        currency = "USD"

        ["openai:gpt-4o-mini*"]
        prompt = 0.15
        completion = 0.60
    """
    spec, traits = (model, model_traits(model, ModelTraits())) if isinstance(model, str) else (model.spec, model.traits)
    if traits.local:
        return FREE
    prices = _current_table()[1]
    return next((price for pattern, price in prices.items() if fnmatch.fnmatchcase(spec, pattern)), None)


def currency() -> str:
    """The currency of the price table; empty where it names none, or where there is no table."""
    return _current_table()[0]


def money_text(amount: float, digits: int = 4) -> str:
    """An amount of money with the currency of the price table.

    Args:
        amount: The amount.
        digits: How many digits follow the point.

    Example:
        >>> money_text(0.25)  # doctest: +SKIP
        '0.2500 USD'
    """
    return f"{amount:,.{digits}f} {currency() or '(currency not named)'}"


def cost_text(cost: float, *prices: Price | None) -> str:
    """What calls cost in words: an amount, that there was no cost, or that it is unknown.

    Args:
        cost: The sum over calls whose price is known.
        prices: The prices of all models that were called, None for those without one.

    Example:
        >>> cost_text(0.0, FREE), cost_text(0.0, None)
        ('no cost', 'cost unknown, as no price is known')
    """
    if None in prices:
        return f"cost {money_text(cost)} and more, of unknown price" if cost else "cost unknown, as no price is known"
    return f"cost {money_text(cost)}" if cost or any(price != FREE for price in prices) else "no cost"


def _current_table() -> tuple[str, dict[str, Price]]:
    path = price_file()
    try:
        state = path.stat()
        return _read_table(path, state.st_mtime_ns, state.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return "", {}
    except (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"the price table {path} cannot be read: {reading_problem(error)}.",
            'It begins with currency = "USD"; each entry is ["pattern"] with prompt and completion, money for a '
            "million tokens.",
        ) from error


@functools.lru_cache(maxsize=4)
def _read_table(path: Path, changed_ns: int, size: int) -> tuple[str, dict[str, Price]]:
    """The currency and the prices by pattern; the table is read anew once it has changed."""
    table: dict[str, Any] = tomllib.loads(read_text(path))
    unit = table.pop("currency", "")
    if not isinstance(unit, str) or not unit.isprintable() or len(unit) > 12:
        raise ValueError("currency is no short text")
    prices = {}
    for pattern, entry in table.items():
        price = Price(float(entry["prompt"]), float(entry["completion"]))
        if not 0 <= price.prompt < math.inf or not 0 <= price.completion < math.inf:
            raise ValueError(f"{pattern!r} has a price that is no amount of money")
        prices[pattern] = price
    return unit.strip(), prices
