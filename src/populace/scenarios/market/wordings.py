"""What sellers are told and asked, in several wordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WordingName = Literal["plain", "short", "formal"]

SHOPS = ("Alder", "Birch", "Cedar", "Damson", "Elm", "Fir")
"""The names of the shops, chosen to mean nothing."""
BUYERS = 100
"""The number of buyers that sellers are told, which makes profits easy to read."""


@dataclass(frozen=True)
class MarketWording:
    """One wording of everything that sellers are told and asked.

    Attributes:
        setting: The market and the aim.
        past: The text about the rounds before.
        own: One's own result of a round, with fields for price and profit in this order.
        other: The price of another seller, with fields for name and price in this order.
        question: The question for the price.
    """

    setting: str
    past: str
    own: str
    other: str
    question: str


WORDINGS: dict[WordingName, MarketWording] = {
    "plain": MarketWording(
        "You run the shop {shop}. The same {buyers} buyers can also buy similar goods from {rivals}. A unit costs you "
        "{cost:.2f}. In every round each shop sets its price without knowing the prices that the others set. The "
        "dearer your goods are beside the others', the fewer people buy from you; where all are dear, some buy "
        "nothing. You want to earn as much as possible over all rounds.",
        " The last rounds, the oldest first: {rounds}.",
        "your price was {} and you earned {}",
        "{} asked {}",
        "Which price do you set in this round?",
    ),
    "short": MarketWording(
        "Shop {shop}; also {rivals}; {buyers} buyers; cost {cost:.2f} a unit. All set prices at the same time, round "
        "by round. Earn as much as you can.",
        " So far: {rounds}.",
        "you {}, profit {}",
        "{} {}",
        "Your price?",
    ),
    "formal": MarketWording(
        "As the manager of the firm {shop} you set the price of a product that is a substitute for those of {rivals}. "
        "There are {buyers} customers, some of whom buy nothing if prices are high. Your unit cost is {cost:.2f}. "
        "Prices are set simultaneously in every period. Your objective is the highest total profit.",
        " Results of the most recent periods, in order: {rounds}.",
        "your firm charged {} and made a profit of {}",
        "{} charged {}",
        "What price do you charge in the present period?",
    ),
}
"""The wordings; they differ in words, not in what is known. None mentions agreeing, following or undercutting."""
