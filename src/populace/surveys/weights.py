"""Weights of respondents: raking to known margins, and the size of sample that weights are worth."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.document_lines import at_entry
from populace.base.errors import QuestionnaireError
from populace.surveys.respondents import check_weights

_ROUNDS = 1_000
_TOLERANCE = 1e-10


def rake(frame: pl.DataFrame, margins: Mapping[str, Mapping[str, float]], *, weight: str = "") -> pl.Series:
    """Weights with which the margins of a table are those that are given.

    The weights are scaled to one margin after the other until all of them fit (iterative proportional fitting). They
    have a mean of 1.

    Args:
        frame: The table.
        margins: For each column the share of each of its values; shares are scaled so that they add up to 1.
        weight: A column of weights to begin with.

    Raises:
        QuestionnaireError: If a margin names a value that nobody has, a person has a value without a share, a share is
            not positive, or the margins cannot all be met.

    Example:
        >>> people = pl.DataFrame({"sex": ["f", "f", "f", "m"]})
        >>> rake(people, {"sex": {"f": 0.5, "m": 0.5}}).round(4).to_list()
        [0.6667, 0.6667, 0.6667, 2.0]
    """
    check_weights(frame, weight)
    if not margins:
        raise QuestionnaireError("there are no margins to rake to.", "Give the shares of at least one column.")
    groups = []
    for name, shares in margins.items():
        with at_entry(name):
            groups.append((_codes(frame, name, shares), _shares(name, shares)))
    start = frame[weight].cast(pl.Float64).to_numpy() if weight else np.ones(frame.height)
    weights = start / start.sum()
    for _ in range(_ROUNDS):
        largest = 0.0
        for name, (codes, targets) in zip(margins, groups, strict=True):
            totals = np.bincount(codes, weights, len(targets))
            if (totals <= 0).any():
                value = list(margins[name])[int(np.argmin(totals))]
                with at_entry(name, value):
                    raise QuestionnaireError(
                        f"everybody with {name} = {value!r} has a weight of zero.", "Leave the group out."
                    )
            factors = targets / totals
            weights = weights * factors[codes]
            largest = max(largest, float(np.abs(factors - 1).max()))
        if largest < _TOLERANCE:
            return pl.Series("weight", weights * frame.height)
    raise QuestionnaireError(
        f"the margins cannot all be met: after {_ROUNDS} rounds they still differ by {largest:.2g}.",
        "Some combinations of groups have no respondent; join groups, or leave a margin out.",
    )


def effective_size(weights: npt.NDArray[np.float64]) -> float:
    """Kish's effective sample size: the number of people with equal weights that tell as much.

    Example:
        >>> effective_size(np.array([1.0, 1.0, 2.0]))
        2.6666666666666665
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def _codes(frame: pl.DataFrame, name: str, shares: Mapping[str, float]) -> npt.NDArray[np.int64]:
    if name not in frame.columns:
        raise QuestionnaireError(f"there is no column {name!r} to rake by.", f"There are: {', '.join(frame.columns)}.")
    values = frame[name].cast(pl.String)
    names = [str(value) for value in shares]
    present = set(values.drop_nulls().unique().to_list())
    absent = next((value for value in names if value not in present), None)
    if absent is not None:
        with at_entry(absent):
            raise QuestionnaireError(
                f"nobody has {name} = {absent!r}, so this margin cannot be met.",
                f"The respondents have: {', '.join(sorted(present)[:12])}.",
            )
    unknown = sorted(present - set(names))
    if unknown or values.null_count():
        who = f"{name} = {unknown[0]!r}" if unknown else f"no {name}"
        count = values.is_in(unknown[:1]).sum() if unknown else values.null_count()
        raise QuestionnaireError(
            f"{count} of {len(values)} respondents have {who}, and the margins give no share for it.",
            "Give it a share, or leave these respondents out." if unknown else "Fill the column.",
        )
    return values.replace_strict({value: code for code, value in enumerate(names)}, return_dtype=pl.Int64).to_numpy()


def _shares(name: str, shares: Mapping[str, float]) -> npt.NDArray[np.float64]:
    values = np.array(list(shares.values()), np.float64)
    wrong = ~np.isfinite(values) | (values <= 0)
    if wrong.any():
        value = list(shares)[int(np.argmax(wrong))]
        with at_entry(value):
            raise QuestionnaireError(
                f"the share of {name} = {value!r} is {shares[value]}; shares must be numbers above 0.",
                "Leave out a group of share 0.",
            )
    scaled: npt.NDArray[np.float64] = values / values.sum()
    return scaled
