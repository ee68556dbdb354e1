"""How the scripted cast shops: everybody has a highest price for a product, and buys less often above it.

Asked for what a prompt leaves open, such as an earlier price, the cast takes it to lie near the price that it was told,
as language models do.
"""

import math
import re
from typing import Any

from populace.models.cast.scene import Scene
from populace.models.expected_reply import text_chance

_MONEY = re.compile(r"\$\s?(\d+(?:\.\d+)?)")
_BUYING = re.compile(r"\b(?:buy|purchase|shopping|supermarket)\b", re.IGNORECASE)
_ENTRY = re.compile(r"^(?:Situation|Condition) (\d+): (.*)$", re.MULTILINE)
_KEY = re.compile(r"^(situation|condition)_(\d+)$")
_PRODUCT = re.compile(r": (.*?) \(")
_ELASTICITY = 2.6
_TYPICAL = 4.0
_SPREAD = 1.2


def is_purchase(scene: Scene) -> bool:
    """Whether a prompt asks about buying something at a price in dollars."""
    return bool(_MONEY.search(scene.user) and _BUYING.search(scene.user))


def purchase(scene: Scene) -> dict[str, float]:
    """The probabilities of buying and of not buying, at the last price that is told."""
    likely = _buying(scene, _last_price(scene.user))
    return {option: likely if option.casefold() == "yes" else 1 - likely for option in scene.request.options}


def answers(scene: Scene) -> dict[str, Any] | None:
    """The answer to each situation, or the percentage of buyers in each condition; nothing for other forms."""
    keys = list(scene.expected.schema.get("properties", {}))
    matches = [_KEY.match(key) for key in keys]
    prices = {int(number): _last_price(text) for number, text in _ENTRY.findall(scene.user)}
    if not keys or not all(match and int(match[2]) in prices for match in matches):
        return None
    replies: dict[str, Any] = {}
    for key, match in zip(keys, matches, strict=True):
        assert match is not None
        likely = _buying(scene, prices[int(match[2])])
        yes = text_chance(scene.system, f"mood{_product(scene)}") < likely
        replies[key] = ("yes" if yes else "no") if match[1] == "situation" else round(100 * likely, 1)
    return replies


def unstated_price(scene: Scene) -> float | None:
    """A guess at a price that the prompt leaves open: near the price that it tells."""
    if "$" not in scene.user or not re.search(r"\b(?:cost|price)\b[^\n]*\?", scene.user):
        return None
    guess = _last_price(scene.user) * 0.5 + _TYPICAL * 0.5
    return float(scene.expected.bounds.at(0.0)) if guess < scene.expected.bounds.low else round(guess, 2)


def _buying(scene: Scene, price: float) -> float:
    """The chance of buying at a price."""
    taste = text_chance(scene.system, f"taste{_product(scene)}") - 0.5
    limit = _TYPICAL * (1 + _SPREAD * taste)
    return 0.95 / (1 + math.pow(price / limit, _ELASTICITY))


def _last_price(text: str) -> float:
    prices = _MONEY.findall(text)
    return float(prices[-1]) if prices else 0.0


def _product(scene: Scene) -> str:
    match = _PRODUCT.search(scene.user)
    return match[1] if match else ""
