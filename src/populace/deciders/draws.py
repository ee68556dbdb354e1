"""From distributions to draws.

Temperature is applied to a distribution after the fact, so every temperature and every seed is
free once the distribution is known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def apply_temperature(probabilities: Floats, temperature: float) -> Floats:
    """Distributions, one in each row, at a temperature: 1 leaves them, 0 leaves only the most likely.

    At 0 the first of several equally likely options is taken.

    Example:
        >>> apply_temperature(np.array([[0.8, 0.2]]), 0.5).round(3).tolist()
        [[0.941, 0.059]]
        >>> apply_temperature(np.array([[0.2, 0.8]]), 0.0).tolist()
        [[0.0, 1.0]]
    """
    if temperature == 1.0:
        return probabilities
    if temperature == 0.0:
        best = np.zeros_like(probabilities)
        best[np.arange(len(best)), probabilities.argmax(axis=1)] = 1.0
        return best
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities) / temperature
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    distributions: Floats = weights / weights.sum(axis=1, keepdims=True)
    return distributions


def draw_options(probabilities: Floats, of_person: npt.NDArray[np.int32], uniforms: Floats) -> npt.NDArray[np.uint8]:
    """The option that each person draws: the first whose cumulative probability exceeds the person's number."""
    bounds = np.cumsum(probabilities, axis=1)
    option = np.zeros(len(of_person), np.uint8)
    for column in range(probabilities.shape[1] - 1):
        option += uniforms >= bounds[of_person, column]
    last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(axis=1)
    # Rounding can leave a cumulative sum just below 1; an option of probability 0 is never drawn for it.
    options: npt.NDArray[np.uint8] = np.minimum(option, last[of_person]).astype(np.uint8)
    return options
