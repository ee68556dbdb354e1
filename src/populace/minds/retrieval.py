"""Retrieval: how recency, importance and relevance become one score.

The presets are those of well-known projects. Where a paper and its code differ, or where code does the opposite of
what it says, the description of the preset says which of the two it follows.
"""

import math
import tomllib
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from populace.base.errors import ParameterError, UnknownNameError
from populace.minds.growable_arrays import Ints
from populace.minds.similarity import Floats

HOUR = 3600
"""Seconds."""

Mask = npt.NDArray[np.bool_]


class ScoreComponents(NamedTuple):
    """The scaled components of candidates, each in [0, 1], and their weighted sum; a row for each query."""

    recency: Floats
    importance: Floats
    relevance: Floats
    score: Floats


@dataclass(frozen=True)
class Retrieval:
    """How memories are ranked.

    A memory's score is the weighted sum of three components. Recency is `decay` to the power of the time since the
    last access in units of `per` seconds. Importance is what was rated; where nothing was, the component is 0.
    Relevance is the cosine with the query. Scaled, each runs from 0 to 1 over the candidates of the query.

    Attributes:
        about: A description in a sentence.
        recency: The weight of recency.
        importance: The weight of importance.
        relevance: The weight of relevance.
        decay: The factor by which recency falls in one unit of time.
        per: The unit in simulated seconds; with `"rank"`, time is the number of candidates accessed more recently.
        whole_units: Whether parts of a unit are ignored.
        since: The time from which recency is counted.
        scaling: `"min-max"` over the candidates; or `"none"`: importance in tenths, relevance not below 0.
        equal: The scaled value of a component that is equal for all candidates.
        nearest: How many of the most relevant memories are candidates; None for all.
        top: How many memories are returned.
        presented: The order in which they are shown to a model.

    Example:
        >>> how = Retrieval("Only what matters.", recency=0, relevance=0)
        >>> retrieval_preset("park2023").top
        30
    """

    about: str
    _: KW_ONLY
    recency: float = 1.0
    importance: float = 1.0
    relevance: float = 1.0
    decay: float = 0.995
    per: float | Literal["rank"] = HOUR
    whole_units: bool = False
    since: Literal["last_access", "time"] = "last_access"
    scaling: Literal["min-max", "none"] = "min-max"
    equal: float = 0.5
    nearest: int | None = None
    top: int = 30
    presented: Literal["by score", "by time"] = "by score"

    def __post_init__(self) -> None:
        weights = (self.recency, self.importance, self.relevance)
        sound = {
            "the weights": all(0 <= weight < math.inf for weight in weights) and any(weights),
            "decay": 0 < self.decay <= 1,
            "per": self.per == "rank" or (not isinstance(self.per, str) and 0 < self.per < math.inf),
            "since": self.since in ("last_access", "time"),
            "scaling": self.scaling in ("min-max", "none"),
            "equal": 0 <= self.equal <= 1,
            "nearest": self.nearest is None or self.nearest >= 1,
            "top": self.top >= 1,
            "presented": self.presented in ("by score", "by time"),
        }
        for name, good in sound.items():
            if not good:
                raise ParameterError(
                    f"a retrieval cannot have {name} = {weights if name == 'the weights' else getattr(self, name)!r}.",
                    "Weights are not negative and one is above 0; decay is above 0 and at most 1; equal is from 0 to "
                    "1; per, nearest and top are above 0.",
                )

    def components(self, ages: Ints, importance: Floats, cosine: Floats, among: Mask | None) -> ScoreComponents:
        """The components and scores of candidates, a row for each query.

        Args:
            ages: Seconds since the time from which recency is counted.
            importance: The ratings, NaN where there is none.
            cosine: The cosine with the query.
            among: Which cells hold a candidate; None for all.
        """
        recency = self._recency(ages, among)
        if self.scaling == "none":
            rated, near = np.nan_to_num(importance / 10, nan=0.0), np.clip(cosine, 0.0, 1.0)
        else:
            unrated = np.isnan(importance)
            if unrated.any():
                rated = self._scaled(importance, ~unrated if among is None else among & ~unrated)
                rated[unrated] = 0.0
            else:
                rated = self._scaled(importance, among)
            recency, near = self._scaled(recency, among), self._scaled(cosine, among)
        score = self.recency * recency
        score += self.importance * rated
        score += self.relevance * near
        return ScoreComponents(recency, rated, near, score)

    def _recency(self, ages: Ints, among: Mask | None) -> Floats:
        if self.per == "rank":
            units, rate = _ranks(ages, among), math.log(self.decay)
        elif self.whole_units:
            units, rate = np.floor(np.maximum(ages, 0) / self.per), math.log(self.decay)
        else:
            units, rate = ages.astype(np.float64), math.log(self.decay) / self.per
            np.maximum(units, 0.0, out=units)
        if self.scaling == "min-max":
            # Scaling removes a common factor; taking it out first keeps very old memories distinguishable.
            units -= (units if among is None else np.where(among, units, np.inf)).min(axis=1, keepdims=True)
            if among is not None:
                units = np.where(among, units, 0.0)
        units *= rate
        return np.exp(units, out=units)

    def _scaled(self, values: Floats, among: Mask | None) -> Floats:
        low = (values if among is None else np.where(among, values, np.inf)).min(axis=1, keepdims=True)
        high = (values if among is None else np.where(among, values, -np.inf)).max(axis=1, keepdims=True)
        spread = np.isfinite(low) & (high > low)
        with np.errstate(over="ignore"):  # Only where there is no candidate.
            scaled: Floats = values - np.where(spread, low, 0.0)
            scaled /= np.where(spread, high - low, 1.0)
        return scaled if spread.all() else np.where(spread, scaled, self.equal)


def _ranks(ages: Ints, among: Mask | None) -> Floats:
    """The rank of each candidate by age: 1 plus the number of younger candidates."""
    keyed = ages if among is None else np.where(among, ages, np.iinfo(np.int64).max)
    order = np.argsort(keyed, axis=1, kind="stable")
    ordered = np.take_along_axis(keyed, order, axis=1)
    place = np.broadcast_to(np.arange(keyed.shape[1]), keyed.shape).copy()
    place[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = 0
    ranks = np.empty(keyed.shape)
    np.put_along_axis(ranks, order, np.maximum.accumulate(place, axis=1) + 1.0, axis=1)
    return ranks


_FILE = Path(__file__).with_name("retrievals.toml")
RETRIEVALS = {name: Retrieval(**how) for name, how in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}
"""The presets by name."""


def retrieval_preset(name: str) -> Retrieval:
    """The preset of this name.

    Example:
        >>> retrieval_preset("ai-town").nearest
        30
    """
    if name not in RETRIEVALS:
        raise UnknownNameError("retrieval", name, RETRIEVALS)
    return RETRIEVALS[name]
