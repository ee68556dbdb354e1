"""Cells of the audit: several groups, margins, planned looks, agreement, skills, path dependence and sensitivity."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from coverage_cells import Cell, Outcome, cell, cells
from coverage_studies import sobol

from populace.statistics import (
    SkillScale,
    agreement,
    bootstrap,
    contrast,
    difference,
    equivalence,
    look_levels,
    one_way,
    path_dependence,
    true_skill,
    tukey,
)

NO_DRAWS = SkillScale(draw=1e-4)
DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.standard_normal((3, n)),
    "lognormal": lambda rng, n: rng.lognormal(size=(3, n)),
    "normal, unequal variances": lambda rng, n: np.array([[1.0], [1.0], [3.0]]) * rng.standard_normal((3, n)),
}


def groups(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Several groups or looks at once, and intervals of agreement, skill, path dependence and sensitivity."""
    yield from _planned_looks(sets)
    yield from _statistics(sets, sizes)
    yield from _contrasts(sets, sizes)
    yield from _agreements(sets)
    yield from _studies(sets)
    yield from _skills(sets, sizes)
    for data, draw in DRAWS.items():
        for n in sizes:
            yield from _three_groups(data, draw, n, sets)
    yield from _margins(sets, sizes)


def _three_groups(data: str, draw: Callable[..., np.ndarray], n: int, sets: int) -> Iterator[Cell]:
    def several(rng: np.random.Generator) -> list[Outcome]:
        values = draw(rng, n)
        named = dict(zip("abc", values, strict=True))
        test, pairs = one_way(named), tukey(named)
        both = [difference(values[i], values[0], paired=False, level=0.975).estimate for i in (1, 2)]
        return [
            (test.p < 0.05, bool(test.warning)),
            (bool(((pairs["low"] <= 0) & (pairs["high"] >= 0)).all()), bool(pairs["warning"][0])),
            (all(each.contains(0.0) for each in both), any(bool(each.warning) for each in both)),
        ]

    names = {
        "`one_way`": "size",
        "`tukey`, all pairs": "coverage",
        "`effects`, `low_all` to `high_all`, both arms": "coverage",
    }
    yield from cells(names, f"{data}, three groups", n, several, sets)


def _contrasts(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """The mean of two arms against a third."""
    weights = np.array([0.5, 0.5, -1.0])
    skewed: Callable[[np.random.Generator, int], np.ndarray] = lambda rng, n: np.vstack(  # noqa: E731
        [rng.standard_normal((2, n)), rng.lognormal(size=(1, n)) - np.exp(0.5)]
    )
    for data, draw in (*DRAWS.items(), ("lognormal in one arm", skewed)):
        for n in sizes:

            def one(rng: np.random.Generator, draw=draw, n=n) -> Outcome:
                estimate = contrast(list(draw(rng, n)), weights).estimate
                return estimate.contains(0.0), bool(estimate.warning)

            yield cell("`contrast` of three arms", data, n, one, sets)


def _margins(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Arms that differ by the margin itself."""
    shares = {"binary .5 and .8": (0.8, 0.5), "binary .85 and .95": (0.95, 0.85)}
    for data in ("normal", "lognormal", *shares):
        for paired in (False, True):
            for n in sizes:

                def tost(rng: np.random.Generator, data=data, n=n, paired=paired) -> Outcome:
                    if data == "normal":
                        a, b = rng.standard_normal((2, n)) + np.array([[0.5], [0.0]])
                    elif data == "lognormal":
                        a, b = rng.lognormal(size=(2, n)) + np.array([[0.5], [0.0]])
                    else:
                        a, b = (rng.random((2, n)) < np.array([shares[data]]).T).astype(float)
                    margin = shares[data][0] - shares[data][1] if data in shares else 0.5
                    result = equivalence(a, b, margin, paired=paired)
                    return result.equivalent, bool(result.difference.warning)

                name = f"`equivalence` at its margin, {'paired' if paired else 'independent'}"
                yield cell(name, data, n, tost, sets, "size")


def _planned_looks(sets: int) -> Iterator[Cell]:
    for looks in ([20, 40, 60], [10, 20, 30, 40, 50]):
        levels = look_levels(looks)

        def planned(rng: np.random.Generator, looks=looks, levels=levels) -> Outcome:
            a, b = rng.standard_normal((2, looks[-1]))
            tests = (difference(a[:n], b[:n], paired=False).p < level for n, level in zip(looks, levels, strict=True))
            return any(tests), False

        yield cell("`look_levels`, any planned look", "normal", f"{looks[0]} to {looks[-1]}", planned, sets, "size")


def _statistics(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    for name, statistic, truth in (("mean", np.mean, float(np.exp(0.5))), ("median", np.median, 1.0)):
        for n in (*sizes, 80):

            def one(rng: np.random.Generator, n=n, statistic=statistic, truth=truth) -> Outcome:
                seed = int(rng.integers(2**31))
                estimate = bootstrap(rng.lognormal(size=n), statistic, seed=seed, resamples=499)
                return estimate.contains(truth), bool(estimate.warning)

            yield cell(f"`bootstrap` of a {name}", "lognormal", n, one, sets)


def _ratings(rng: np.random.Generator, items: int) -> pl.DataFrame:
    """Three raters who see the true value of an item (0 or 1, one in three) in four cases of five."""
    truth = rng.random(items) < 1 / 3
    value = np.where(rng.random((items, 3)) < 0.8, truth[:, None], ~truth[:, None]).astype(int)
    place = np.arange(items * 3)
    return pl.DataFrame({"item": place // 3, "rater": place % 3, "value": value.ravel()})


def _agreements(sets: int) -> Iterator[Cell]:
    rare, error = 1 / 3, 0.2
    share = rare * (1 - error) + (1 - rare) * error
    differ = 2 * error * (1 - error)  # two raters of one item
    alpha = 1 - differ / (2 * share * (1 - share))
    for items in (10, 20, 40, 100):

        def one(rng: np.random.Generator, items=items) -> list[Outcome]:
            result = agreement(_ratings(rng, items), seed=int(rng.integers(2**31)), resamples=999)
            return [
                (result.alpha.contains(alpha), bool(result.alpha.warning)),
                (result.share.contains(1 - differ), bool(result.share.warning)),
            ]

        names = {"`agreement`, alpha": "coverage", "`agreement`, share": "coverage"}
        yield from cells(names, "binary, three raters", f"{items} items", one, sets)


def _skills(sets: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Four competitors whose skills are drawn from the prior, beside their mean; n rankings without draws."""
    for n in sizes:

        def one(rng: np.random.Generator, n=n) -> Outcome:
            skill = 25 + 25 / 3 * rng.standard_normal(4)
            performance = skill + 25 / 6 * rng.standard_normal((n, 4))
            rank = (-performance).argsort(axis=1).argsort(axis=1)
            place = np.arange(4 * n)
            frame = pl.DataFrame({"game": place // 4, "who": place % 4, "rank": rank.ravel()})
            seed = int(rng.integers(2**31))
            table = true_skill(frame, competitor="who", rank="rank", ranking=["game"], seed=seed, scale=NO_DRAWS)
            row = table.row(by_predicate=pl.col("who") == 0, named=True)
            truth = skill[0] - skill.mean() + table["mean"].mean()
            return row["low"] <= truth <= row["high"], False

        yield cell("`true_skill`, beside the mean of all", "normal skills", f"{n} rankings", one, sets)


def _studies(sets: int) -> Iterator[Cell]:
    for n in (6, 12, 24, 60):

        def path(rng: np.random.Generator, n=n) -> Outcome:
            start = np.repeat([0, 1], n)
            runs = pl.DataFrame({"start": start.astype(str), "end": start + rng.standard_normal(2 * n)})
            result = path_dependence(runs, "start", "end", seed=int(rng.integers(2**31)), resamples=199).strength
            return result.contains(0.2), bool(result.warning)  # 0.25 between starts, 1 within them

        yield cell("`path_dependence`, strength", "normal", n, path, sets)
    yield from sobol(sets, "total")
