"""Cells of the audit: regressions with clusters, factorials, tests on ranks, and times of events."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from coverage_cells import Cell, Outcome, cell, cells
from scipy.special import ndtri

from populace.base.errors import UsageError
from populace.experiments.survival import survival_table
from populace.statistics import dunn, factorial_tests, fit_regression, kruskal_wallis
from populace.statistics.regression import Regression

ROWS = 6
"""Rows of a cluster."""
HORIZON = 20
"""The last step of a run, after which a time is censored."""


def designs(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Factorials, tests on ranks, and times."""
    yield from factorials(sets, sizes)
    yield from factorial_bounds(sets, sizes)
    yield from ranks(sets, sizes)
    yield from times(sets, sizes)


def _clusters(rng: np.random.Generator, n: int, where: str) -> tuple[np.ndarray, np.ndarray]:
    """The cluster of each row and its arm: n clusters in each arm, or n clusters with both arms inside."""
    if where == "unequal clusters":
        counts = rng.integers(2, 2 * ROWS, 2 * n)
        run = np.repeat(np.arange(2 * n), counts)
        return run, run % 2
    run = np.repeat(np.arange(n if where == "within clusters" else 2 * n), ROWS)
    return run, np.tile([0, 1], len(run) // 2) if where == "within clusters" else run % 2


def _skewed(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.lognormal(size=size) - np.exp(0.5)


def linear(rng: np.random.Generator, n: int, where: str) -> pl.DataFrame:
    """Clusters that share their luck; the effect is 0.5. A skewed outcome is skewed in one arm."""
    run, arm = _clusters(rng, n, where)
    luck = rng.standard_normal(run.max() + 1)
    if where == "skewed between clusters":
        luck = np.where(np.arange(2 * n) % 2 == 1, _skewed(rng, 2 * n), luck)
    y = 0.5 * arm + luck[run] + rng.standard_normal(len(run))
    return pl.DataFrame({"run": run, "arm": arm.astype(str), "y": y})


def shares(rng: np.random.Generator, n: int, where: str, p: float, q: float) -> pl.DataFrame:
    """Yes or no of rows whose clusters have shares of their own, on average p with the treatment and q without."""
    run, arm = _clusters(rng, n, where)
    mean = np.where(arm == 1, p, q)
    if where == "within clusters":
        rank = rng.random(n)[run]  # the same place of a cluster in both arms
        share = mean + 0.3 * (2 * rank - 1) * np.minimum(mean, 1 - mean)
    else:
        first = np.searchsorted(run, np.arange(2 * n))
        share = rng.beta(8 * mean[first], 8 * (1 - mean[first]))[run]
    return pl.DataFrame({"run": run, "arm": arm.astype(str), "y": (rng.random(len(run)) < share).astype(float)})


def counts(rng: np.random.Generator, n: int, where: str) -> pl.DataFrame:
    """Counts of rows whose clusters have rates of their own, on average 4 with the treatment and 2 without."""
    run, arm = _clusters(rng, n, where)
    rate = np.where(arm == 1, 4.0, 2.0) * rng.gamma(4, 0.25, run.max() + 1)[run]
    return pl.DataFrame({"run": run, "arm": arm.astype(str), "y": rng.poisson(rate).astype(float)})


def _log_odds(p: float) -> float:
    return float(np.log(p / (1 - p)))


def regressions(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    clustered = {"cluster": "run"}
    for where in ("between clusters", "within clusters", "unequal clusters", "skewed between clusters"):
        yield from _regression(
            f"normal, {where}" if "skewed" not in where else "lognormal in one arm, between clusters",
            sizes, lambda rng, n, where=where: linear(rng, n, where), 0.5, sets, **clustered,
        )  # fmt: skip
    yield from _regression(
        "normal, persons as blocks and clusters",
        sizes, lambda rng, n: linear(rng, n, "within clusters"), 0.5, sets, block="run", **clustered,
    )  # fmt: skip
    for p, q in ((0.7, 0.5), (0.95, 0.85)):
        for where in ("between clusters", "within clusters"):
            yield from _regression(
                f"binary {p:g} and {q:g}, {where}".replace("0.", "."),
                sizes, lambda rng, n, where=where, p=p, q=q: shares(rng, n, where, p, q), _log_odds(p) - _log_odds(q),
                sets, family="binomial", **clustered,
            )  # fmt: skip
    for where in ("between clusters", "within clusters"):
        yield from _regression(
            f"counts, {where}",
            sizes, lambda rng, n, where=where: counts(rng, n, where), float(np.log(2)), sets,
            family="poisson", **clustered,
        )  # fmt: skip

    def unequal(rng: np.random.Generator, n: int) -> pl.DataFrame:
        arm = np.repeat([0, 1], n)
        return pl.DataFrame({"arm": arm.astype(str), "y": 0.5 * arm + (1 + arm) * rng.standard_normal(2 * n)})

    def answers(rng: np.random.Generator, n: int) -> pl.DataFrame:
        arm = np.repeat([0, 1], n)
        yes = rng.random(2 * n) < np.where(arm == 1, 0.7, 0.5)
        return pl.DataFrame({"arm": arm.astype(str), "y": yes.astype(float)})

    yield from _regression("normal, unequal variances, no clusters", sizes, unequal, 0.5, sets)
    yield from _regression(
        "binary .7 and .5, no clusters", sizes, answers, _log_odds(0.7) - _log_odds(0.5), sets, family="binomial"
    )


def _regression(
    data: str,
    sizes: tuple[int, ...],
    draw: Callable[[np.random.Generator, int], pl.DataFrame],
    truth: float,
    sets: int,
    **options: str,
) -> Iterator[Cell]:
    family = options.get("family", "gaussian")
    for n in sizes:

        def one(rng: np.random.Generator, n=n) -> Outcome:
            try:
                fit: Regression = fit_regression(draw(rng, n), "y", ["arm"], **options)
            except UsageError:  # all answers are equal: refused
                return False, True
            estimate = fit["arm[1]"].estimate
            return estimate.contains(truth), bool(estimate.warning)

        yield cell(f"`fit_regression`, {family}", data, n, one, sets)


def factorials(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Two factors with two levels and one with three; the first and the second interact by 0.5."""
    grid = pl.DataFrame({"a": [0, 1]}).join(pl.DataFrame({"b": [0, 1]}), how="cross")
    grid = grid.join(pl.DataFrame({"c": [0, 1, 2]}), how="cross")
    for paired in (True, False):
        for tails in ("normal", "lognormal"):
            for n in sizes:

                def terms(rng: np.random.Generator, paired=paired, tails=tails, n=n) -> list[Outcome]:
                    runs = grid.join(pl.DataFrame({"replicate": range(n)}), how="cross")
                    noise = rng.standard_normal(runs.height)
                    if tails == "lognormal":  # skewed where a = 1
                        noise = np.where(runs["a"].to_numpy() == 1, _skewed(rng, runs.height), noise)
                    luck = rng.standard_normal(n)[runs["replicate"].to_numpy()] if paired else 0.0
                    runs = runs.with_columns(y=luck + 0.5 * (runs["a"] * runs["b"]).to_numpy() + noise)
                    table = factorial_tests(runs, "y", ["a", "b", "c"], replicate="replicate" if paired else None)
                    a, both, none = (
                        table.row(by_predicate=pl.col("term") == term, named=True) for term in ("a", "a:b", "b:c")
                    )
                    return [
                        (a["low"] <= 0.25 <= a["high"], bool(a["warning"])),
                        (both["low"] <= 0.5 <= both["high"], bool(both["warning"])),
                        (none["p"] < 0.05, bool(none["warning"])),
                    ]

                names = {
                    "`factorial_tests`, main effect": "coverage",
                    "`factorial_tests`, interaction": "coverage",
                    "`factorial_tests`, p of an interaction, 2 df": "size",
                }
                data = f"{tails}, {'common seeds' if paired else 'independent runs'}"
                yield from cells(names, data, n, terms, sets)


def factorial_bounds(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Runs that fail more often where the outcome is high; the truth is the effect if none had failed."""
    grid = pl.DataFrame({"a": [0, 1]}).join(pl.DataFrame({"b": [0, 1]}), how="cross")
    for data in ("binary .5 and .8", "normal", "lognormal"):
        for n in sizes:

            def bounds(rng: np.random.Generator, data=data, n=n) -> list[Outcome]:
                runs = grid.join(pl.DataFrame({"replicate": range(n)}), how="cross")
                a = runs["a"].to_numpy()
                if data.startswith("binary"):
                    y = (rng.random(len(a)) < np.where(a == 1, 0.8, 0.5)).astype(float)
                else:
                    y = 0.5 * a + (rng.standard_normal(len(a)) if data == "normal" else rng.lognormal(size=len(a)))
                means = runs.with_columns(y=y).group_by("a", "b").agg(pl.col("y").mean()).sort("a", "b")["y"].to_numpy()
                main, both = (means[2:] - means[:2]).mean(), means @ np.array([1, -1, -1, 1])
                failed = rng.random(len(a)) < np.where(y > np.median(y), 0.3, 0.1)
                failed &= runs["replicate"].to_numpy() > 1  # two of every combination end
                seen = runs.with_columns(y=pl.Series(np.where(failed, np.nan, y), nan_to_null=True))
                ends = (0.0, 1.0) if data.startswith("binary") else None
                table = factorial_tests(seen, "y", ["a", "b"], ends=ends)
                rows = (table.row(by_predicate=pl.col("term") == term, named=True) for term in ("a", "a:b"))
                slack = 1e-9
                return [
                    (row["bound_low"] - slack <= truth <= row["bound_high"] + slack, bool(row["warning"]))
                    for row, truth in zip(rows, (main, both), strict=True)
                ]

            names = {
                "`factorial_tests`, bounds of a main effect": "coverage",
                "`factorial_tests`, bounds of an interaction": "coverage",
            }
            yield from cells(names, f"{data}, a fifth missing, high values more often", n, bounds, sets)


def ranks(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    draws: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
        "normal, four groups": lambda rng, n: rng.standard_normal((4, n)),
        "lognormal, four groups": lambda rng, n: rng.lognormal(size=(4, n)),
        "scale of 1 to 5, four groups": lambda rng, n: rng.integers(1, 6, (4, n)).astype(float),
    }
    for data, draw in draws.items():
        for n in sizes:

            def whole(rng: np.random.Generator, n=n, draw=draw) -> Outcome:
                return kruskal_wallis(dict(zip("abcd", draw(rng, n), strict=True))).p < 0.05, False

            def any_pair(rng: np.random.Generator, n=n, draw=draw) -> Outcome:
                return bool((dunn(dict(zip("abcd", draw(rng, n), strict=True)))["p_adjusted"] < 0.05).any()), False

            yield cell("`kruskal_wallis`", data, n, whole, sets, "size")
            yield cell("`dunn` with Holm, any pair", data, n, any_pair, sets, "size")


def times(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Times of an event in whole steps; runs end after 20."""
    curves: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "exponential, 19 % censored": lambda u: -12 * np.log(1 - u),
        "lognormal, 2 % censored": lambda u: 8.4 * np.exp(0.4 * ndtri(u)),
        "exponential, 46 % censored": lambda u: -26 * np.log(1 - u),
    }
    everybody = (np.arange(100_000) + 0.5) / 100_000
    for data, curve in curves.items():
        known = np.ceil(curve(everybody))
        median, restricted = float(np.median(known)), float(np.minimum(known, HORIZON).mean())
        for n in sizes:

            def summaries(
                rng: np.random.Generator, n=n, curve=curve, median=median, restricted=restricted
            ) -> list[Outcome]:
                time = np.ceil(curve(rng.random(2 * n)))
                runs = pl.DataFrame({"arm": np.repeat(["a", "b"], n), "seed": np.tile(np.arange(n), 2)}).with_columns(
                    replicate=pl.col("seed"), status=pl.lit("complete"), failure=pl.lit(""), steps=pl.lit(HORIZON),
                    t=pl.Series(np.where(time <= HORIZON, time, np.nan), nan_to_null=True),
                )  # fmt: skip
                first, second = survival_table(runs, "t", ["a", "b"], "a", "holm", 0.95).iter_rows(named=True)
                low, high = first["median_low"], first["median_high"]
                ends = first["low"], first["high"]
                return [
                    ((low is None or low <= median) and (high is None or median <= high), False),
                    (ends[0] is not None and ends[0] <= restricted <= ends[1], bool(first["warning"])),
                    (second["p"] is not None and second["p"] < 0.05, bool(second["warning"])),
                ]

            names = {
                "`survival`, median": "coverage",
                "`survival`, restricted mean": "coverage",
                "`survival`, log-rank p": "size",
            }
            yield from cells(names, data, n, summaries, sets)
