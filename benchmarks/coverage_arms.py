"""Cells of the audit: means, differences between arms, tests, and looks at data that are not complete."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from coverage_cells import Cell, Outcome, cell

from populace.experiments.execution import FIRST_LOOK, is_precise
from populace.statistics import difference, mean, mean_share, proportion


def bistable(rng: np.random.Generator, p: float, n: int) -> np.ndarray:
    """Shares that end near 0.97 with probability p, and otherwise near 0.03."""
    high = rng.random(n) < p
    return np.clip(np.where(high, 0.97, 0.03) + 0.01 * rng.standard_normal(n), 0, 1)


def arms(rng: np.random.Generator, data: str, n: int, paired: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Two arms, and the true difference of their means."""
    shared = rng.standard_normal(n) if paired else 0.0
    if data == "normal":
        return shared + 1 + rng.standard_normal(n), shared + rng.standard_normal(n), 1.0
    if data == "lognormal":
        return shared + rng.lognormal(size=n), shared + 0.5 * rng.standard_normal(n), float(np.exp(0.5))
    if data.startswith("binary"):
        p, q = {"binary .98 and .02": (0.98, 0.02), "binary .95 and .90": (0.95, 0.9)}[data]
        luck = (
            rng.random((2, n)) if not paired else np.where(rng.random(n) < 0.5, rng.random((1, n)), rng.random((2, n)))
        )
        return (luck[0] < p).astype(float), (luck[1] < q).astype(float), p - q
    p, q = 0.97, 0.05
    truth = (0.03 + 0.94 * p) - (0.03 + 0.94 * q)
    return bistable(rng, p, n), bistable(rng, q, n), truth


DATA = ("normal", "lognormal", "binary .98 and .02", "binary .95 and .90", "bistable .97 and .05")


def differences(sets: int, sizes: tuple[int, ...], methods: tuple[str, ...]) -> Iterator[Cell]:
    for method in methods:
        for data in DATA if method == "t" else DATA[:2]:
            for paired in (False, True):
                for n in sizes:

                    def one(rng: np.random.Generator, data=data, n=n, paired=paired, method=method) -> Outcome:
                        a, b, truth = arms(rng, data, n, paired)
                        seed = int(rng.integers(2**31))
                        estimate = difference(a, b, paired=paired, method=method, resamples=499, seed=seed).estimate
                        return estimate.contains(truth), bool(estimate.warning)

                    name = f"`difference`, {method}, {'paired' if paired else 'independent'}"
                    yield cell(name, data, n, one, sets)


def means(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    draws: dict[str, tuple[Callable, Callable[[np.random.Generator, int], np.ndarray], float]] = {
        "normal": (mean, lambda rng, n: rng.standard_normal(n), 0.0),
        "lognormal": (mean, lambda rng, n: rng.lognormal(size=n), float(np.exp(0.5))),
        "binary .95": (mean, lambda rng, n: (rng.random(n) < 0.95).astype(float), 0.95),
        "binary .02": (mean_share, lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02),
        "bistable .97": (mean_share, lambda rng, n: bistable(rng, 0.97, n), 0.03 + 0.94 * 0.97),
        "shares around .3": (mean_share, lambda rng, n: rng.beta(6, 14, n), 0.3),
    }
    for data, (function, draw, truth) in draws.items():
        for n in sizes:

            def one(rng: np.random.Generator, n=n, function=function, draw=draw, truth=truth) -> Outcome:
                estimate = function(draw(rng, n))
                return estimate.contains(truth), bool(estimate.warning)

            yield cell(f"`{function.__name__}`", data, n, one, sets)
    for p in (0.02, 0.1, 0.5, 0.98):
        for n in sizes:

            def share(rng: np.random.Generator, n=n, p=p) -> Outcome:
                return proportion(int(rng.binomial(n, p)), n).contains(p), False

            yield cell("`proportion`", f"p = {p:g}", n, share, sets)


def tests(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """The size of tests where there is nothing to find."""
    for method in ("t", "permutation"):
        for data in ("normal", "lognormal", "binary .9"):
            for paired in (False, True):
                for n in sizes:

                    def one(rng: np.random.Generator, data=data, n=n, paired=paired, method=method) -> Outcome:
                        if data == "normal":
                            a, b = rng.standard_normal((2, n))
                        elif data == "lognormal":
                            a, b = rng.lognormal(size=(2, n))
                        else:
                            a, b = (rng.random((2, n)) < 0.9).astype(float)
                        seed = int(rng.integers(2**31))
                        effect = difference(a, b, paired=paired, method=method, resamples=399, seed=seed)
                        return effect.p < 0.05, bool(effect.warning)

                    if method == "t" or data != "binary .9":
                        name = f"`difference`, p by {method}, {'paired' if paired else 'independent'}"
                        yield cell(name, data, n, one, sets, "size")


def looks(sets: int) -> Iterator[Cell]:
    """Stops by width, with the rule of experiments, and a test at every look."""
    for data, width in (("normal", 1.0), ("binary .98 and .02", 0.3), ("bistable .97 and .05", 0.2)):

        def stop(rng: np.random.Generator, data=data, width=width) -> Outcome:
            a, b, truth = arms(rng, data, 200, False)
            n = FIRST_LOOK
            while True:
                estimate = difference(a[:n], b[:n], paired=False).estimate
                ends = {"low": [estimate.low], "high": [estimate.high], "warning": [estimate.warning]}
                table = pl.DataFrame(ends).with_columns(pl.col("low", "high").fill_nan(None))
                if is_precise(table, n, width) or n >= 200:
                    return estimate.contains(truth), bool(estimate.warning)
                n += 10

        yield cell("stop by width, first look at 20", data, "20 to 200", stop, sets)

    def again(rng: np.random.Generator) -> Outcome:
        a, b = rng.standard_normal((2, 100))
        found = any(difference(a[:n], b[:n], paired=False).p < 0.05 for n in range(10, 101, 10))
        return found, True  # `effects` warns from the second look on

    yield cell("running again, ten looks at p", "normal", "10 to 100", again, sets, "size")
