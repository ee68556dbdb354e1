"""What players are told and asked, in several wordings and with several words for the two moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

WordingName = Literal["plain", "short", "formal"]
Words = Literal["neutral", "shapes", "share", "named"]

MOVES = ("cooperate", "defect")
"""The two moves, as results name them."""

MOVE_WORDS: dict[Words, tuple[str, str]] = {
    "neutral": ("J", "F"),
    "shapes": ("circle", "square"),
    "share": ("share", "keep"),
    "named": ("cooperate", "defect"),
}
"""The words for the moves in prompts; `named` uses those that a model has read about."""


def move_words(words: Words, swap: bool) -> dict[str, str]:
    """The word for each move; swapped, each has the other's."""
    pair = MOVE_WORDS[words]
    return dict(zip(MOVES, reversed(pair) if swap else pair, strict=True))


def moves(cooperated: npt.NDArray[np.bool_]) -> pl.Series:
    """A column of moves, from who cooperated."""
    return pl.Series(np.where(cooperated, 0, 1).astype(np.uint8)).cat.to(pl.Enum(MOVES))


@dataclass(frozen=True)
class AxelrodWording:
    """One wording of everything that players are told and asked.

    Attributes:
        game: The rules of a game with one other player.
        first: The text before the first round.
        past: The text about the rounds before.
        neighbours: The rules of the game with all neighbours.
        result: What one earned, and what the best neighbour did.
        question: Which move.
    """

    game: str
    first: str
    past: str
    neighbours: str
    result: str
    question: str


_PLAIN = (
    " If both choose {c}, each gets {reward:g} points. If both choose {d}, each gets {punishment:g}. If one chooses "
    "{c} and the other {d}, who chose {d} gets {temptation:g} and who chose {c} gets {sucker:g}."
)
_SHORT = (
    " Points for you and the other: both {c} {reward:g} and {reward:g}; both {d} {punishment:g} and {punishment:g}; "
    "you {d}, the other {c} {temptation:g} and {sucker:g}; you {c}, the other {d} {sucker:g} and {temptation:g}."
)
_FORMAL = (
    " A player who selects {d} receives {temptation:g} points against {c} and {punishment:g} against {d}; a player who "
    "selects {c} receives {reward:g} points against {c} and {sucker:g} against {d}."
)

WORDINGS: dict[WordingName, AxelrodWording] = {
    "plain": AxelrodWording(
        "You play a game of many rounds, always with the same other player. In each round both of you choose {c} or "
        "{d} at the same time." + _PLAIN + " You want to have as many points as possible in the end.",
        " This is the first round.",
        " The last rounds, the oldest first: {rounds}.",
        "You play a game of many rounds with each of your neighbours, with the same choice for all of them. In each "
        "round everybody chooses {c} or {d} at the same time." + _PLAIN + " You want as many points as possible.",
        " In the last round you chose {own} and got {score:.2f} points in all. The most successful of your neighbours "
        "chose {theirs} and got {best:.2f} points in all.",
        "Which do you choose in this round?",
    ),
    "short": AxelrodWording(
        "A game of many rounds, two players, {c} or {d}." + _SHORT,
        " First round.",
        " So far: {rounds}.",
        "A game of many rounds with all neighbours, {c} or {d}." + _SHORT,
        " Last round: you {own}, {score:.2f} points; your best neighbour {theirs}, {best:.2f} points.",
        "Your choice?",
    ),
    "formal": AxelrodWording(
        "You are one of two participants who interact repeatedly. In every period each participant selects {c} or {d} "
        "without knowing the selection of the other." + _FORMAL + " Your aim is to maximise your own total.",
        " No period has been played yet.",
        " Record of the most recent periods, in order: {rounds}.",
        "You are one of many participants on a map, and interact repeatedly with everyone next to you. In every period "
        "each participant selects {c} or {d}, for all alike." + _FORMAL + " Your aim is to maximise your own total.",
        " In the previous period the best of those next to you selected {theirs} and received {best:.2f} points in "
        "total; you selected {own} and received {score:.2f}.",
        "What do you select in the present period?",
    ),
}
"""The wordings; they differ in words and in what is named first, not in what is known."""
