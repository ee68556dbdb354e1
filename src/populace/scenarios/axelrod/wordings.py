"""What players are told and asked, in several wordings and with several words for the two moves."""

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.scenarios.wordings import read_wording_texts

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


WORDINGS = {
    name: {key: text.replace("{payoffs}", wording["payoffs"]) for key, text in wording.items()}
    for name, wording in read_wording_texts(__file__).items()
}
"""What players are told and asked, in several wordings."""
