"""Whole sessions side by side: those of simulated people and those of a log, by length, outcome and actions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.randomness import stream
from populace.evaluation.next_action.cases import action_category
from populace.statistics.intervals import Estimate, estimates_table, t_quantile
from populace.worlds.web.sessions import WebSessions

Matrix = npt.NDArray[np.float64]

DRAWS = 1_000


def compare_sessions(first: WebSessions, second: WebSessions, *, seed: int = 0) -> pl.DataFrame:
    """How the sessions of two tables differ: mean length, share of purchases, and distance of actions.

    Args:
        first: Sessions, such as those of a run (`run_sessions`).
        second: Others, such as those of a log.
        seed: The seed of the bootstrap.

    Returns:
        A row for each figure with its interval over people, who are drawn anew in both tables: the mean length and the
        share of purchases of both and their difference, and the total variation distance between the categories of
        actions. A distance is above 0 by chance alone; `distance by chance` is what two halves of the second would
        have.
    """
    sides = [_Side(sessions) for sessions in (first, second)]
    names = sorted({*sides[0].categories, *sides[1].categories})
    weights = [[np.ones((1, side.people)), side.weights(seed, number)] for number, side in enumerate(sides)]
    figures: dict[str, list[Matrix]] = {}
    for draw in (0, 1):
        of_first, of_second = (side.figures(weights[number][draw], names) for number, side in enumerate(sides))
        for figure in ("length", "purchases"):
            figures.setdefault(f"{figure} of the first", []).append(of_first[figure])
            figures.setdefault(f"{figure} of the second", []).append(of_second[figure])
            figures.setdefault(f"difference of {figure}", []).append(of_first[figure] - of_second[figure])
        gap = np.abs(of_first["shares"] - of_second["shares"]).sum(1) / 2
        figures.setdefault("distance of actions", []).append(gap)
    n = min(side.people for side in sides)
    estimates = {name: _estimate(values, n) for name, values in figures.items()}
    estimates["distance by chance"] = _by_chance(sides[1], names, seed)
    return estimates_table(list(estimates.values()), figure=list(estimates))


class _Side:
    """Sums over the sessions and actions of each person."""

    def __init__(self, sessions: WebSessions) -> None:
        outcomes = sessions.outcomes
        order = {person: row for row, person in enumerate(outcomes["person"].unique().sort().to_list())}
        who = outcomes["person"].replace_strict(order, return_dtype=pl.Int64).to_numpy()
        self.people = len(order)
        self._sessions = np.bincount(who, minlength=self.people).astype(np.float64)
        self._actions = np.bincount(who, outcomes["length"].to_numpy().astype(np.float64), minlength=self.people)
        bought = (outcomes["outcome"] == "purchase").fill_null(value=False).to_numpy().astype(np.float64)
        self._bought = np.bincount(who, bought, minlength=self.people)
        self._person = sessions.table["person"].replace_strict(order, return_dtype=pl.Int64).to_numpy()
        self._category = action_category(sessions.table)
        self.categories = set(self._category.unique().to_list())

    def weights(self, seed: int, number: int) -> Matrix:
        """How often each person is drawn, a row for each draw."""
        rng = stream(seed, f"web/comparison/{number}")
        return rng.multinomial(self.people, np.full(self.people, 1 / self.people), DRAWS).astype(np.float64)

    def figures(self, weights: Matrix, names: list[str]) -> dict[str, Matrix]:
        """Mean length, share of purchases, and shares of categories, for each row of weights."""
        codes = self._category.replace_strict(
            {name: place for place, name in enumerate(names)}, return_dtype=pl.Int64
        ).to_numpy()
        counts = np.zeros((self.people, len(names)))
        np.add.at(counts, (self._person, codes), 1.0)
        sessions = weights @ self._sessions
        shares = weights @ counts
        return {
            "length": (weights @ self._actions) / sessions,
            "purchases": (weights @ self._bought) / sessions,
            "shares": shares / shares.sum(1, keepdims=True),
        }


def _estimate(values: list[Matrix], n: int) -> Estimate:
    value, draws = float(values[0][0]), values[1]
    half = t_quantile(0.95, max(n - 1, 1)) * float(draws.std(ddof=1))
    return Estimate(value, value - half, value + half, n, 0.95, "bootstrap over people")


def _by_chance(side: _Side, names: list[str], seed: int) -> Estimate:
    """The distance between the actions of random halves of the same people."""
    rng = stream(seed, "web/comparison/halves")
    half = (rng.random((DRAWS, side.people)).argsort(1) < side.people / 2).astype(np.float64)
    shares = [side.figures(weights, names)["shares"] for weights in (half, 1 - half)]
    gaps = np.abs(shares[0] - shares[1]).sum(1) / 2
    low, high = np.quantile(gaps, [0.025, 0.975]).tolist()
    return Estimate(float(gaps.mean()), low, high, side.people, 0.95, "halves of the same people")
