"""What people on the grid are told and asked, in several wordings and with several words for the groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WordingName = Literal["plain", "short", "formal"]
Words = Literal["neutral", "colour", "team", "ethnic"]

GROUPS: dict[Words, tuple[str, ...]] = {
    "neutral": ("group K", "group M", "group P", "group R"),
    "colour": ("the blue people", "the orange people", "the green people", "the yellow people"),
    "team": ("the Rovers supporters", "the United supporters", "the City supporters", "the Town supporters"),
    "ethnic": ("the Black residents", "the white residents", "the Asian residents", "the Latino residents"),
}
"""The words for the groups. The structure is the same; what a model has read about the words differs."""

OTHERS = "other groups"


@dataclass(frozen=True)
class SchellingWording:
    """One wording of everything that people are told and asked.

    Attributes:
        setting: Where a person lives and to which group they belong.
        neighbourhood: Who the neighbours are.
        choice: The question whether to stay or to move.
        threshold: The question for the least number of like neighbours among ten.
    """

    setting: str
    neighbourhood: str
    choice: str
    threshold: str


WORDINGS: dict[WordingName, SchellingWording] = {
    "plain": SchellingWording(
        "You live in a town. You belong to {own}; the others in town belong to {other}.",
        " You have {neighbours} neighbours: {like} of them belong to {own}, as you do, and {unlike} to {other}.",
        "Do you stay where you live, or do you move to a free place somewhere else in town?",
        "Of ten neighbours, at least how many would have to belong to {own}, as you do, for you to stay there?",
    ),
    "short": SchellingWording(
        "You are one of {own}.",
        " Next to you live {like} of {own} and {unlike} of {other}.",
        "Stay or move?",
        "At least how many in ten neighbours should be of {own}?",
    ),
    "formal": SchellingWording(
        "Consider that you are a resident who belongs to {own}, while other residents belong to {other}.",
        " Among the {neighbours} households adjacent to yours, {unlike} belong to {other} and {like} belong to {own}.",
        "Would you remain at your present address, or relocate to a vacant one in another part of town?",
        "If ten households adjoined yours, what is the smallest number belonging to {own} at which you would remain?",
    ),
}
"""The wordings; they differ in words and in what is named first, not in what is known."""
