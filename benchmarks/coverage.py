"""Nominal against actual: how often intervals hold a known truth, and how often tests find what is not there.

Every cell simulates data sets whose truth is known and calls the functions that users call. A cell counts as warned
where a warning stands beside nearly all of its intervals. `python benchmarks/coverage.py` (or `make audit`) writes the
table into docs/concepts/statistics.md; the tests run a part of it.
"""

import argparse
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from populace.experiments.execution import FIRST_LOOK, is_precise
from populace.statistics import (
    bootstrap,
    decompose,
    difference,
    effect_over,
    equivalence,
    fit_mixed_model,
    fluctuation,
    mean,
    mean_share,
    one_way,
    path_dependence,
    proportion,
    sobol_indices,
    sobol_sample,
    tukey,
)
from populace.statistics.crossed import crossed_logit, crossed_means

DOCS = Path(__file__).parents[1] / "docs" / "concepts" / "statistics.md"
BEGIN, END = "<!-- coverage begins -->", "<!-- coverage ends -->"
SIZES = (5, 10, 20, 40)
LEAST = 0.93
MOST = 0.07
WARNED = 0.9
"""A cell in which a larger share of data sets is warned counts as warned."""

Outcome = tuple[bool, bool]
"""Of one data set: whether the interval holds the truth (or the test finds something), and whether it warns."""


@dataclass(frozen=True)
class Cell:
    """One procedure on one kind of data.

    Attributes:
        procedure: What was computed.
        data: The kind of data.
        n: Runs of each arm, or pairs.
        kind: `coverage` of an interval, or `size` of a test.
        sets: The number of data sets.
        actual: How often the interval held the truth, or the test found something.
        warned: The share of data sets with a warning.
        unwarned: The same as `actual`, among data sets without a warning; None where there are hardly any.
    """

    procedure: str
    data: str
    n: str
    kind: str
    sets: int
    actual: float
    warned: float
    unwarned: float | None

    @property
    def holds(self) -> bool:
        """Whether the bar is met, or a warning stands beside the interval."""
        if self.unwarned is None:
            return True
        return self.unwarned >= LEAST if self.kind == "coverage" else self.unwarned <= MOST


def cell(
    procedure: str,
    data: str,
    n: object,
    one: Callable[[np.random.Generator], Outcome],
    sets: int,
    kind: str = "coverage",
) -> Cell:
    """Run one cell; its random numbers depend on its names alone."""
    rng = np.random.default_rng(zlib.crc32(f"{procedure}/{data}/{n}".encode()))
    outcomes = np.array([one(rng) for _ in range(sets)])
    hits, warned = outcomes[:, 0], outcomes[:, 1]
    share = float(warned.mean())
    unwarned = float(hits[~warned].mean()) if share < WARNED else None
    return Cell(procedure, data, str(n), kind, sets, float(hits.mean()), share, unwarned)


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

    def tost(rng: np.random.Generator) -> Outcome:
        a, b = rng.standard_normal((2, 20))
        return equivalence(a + 0.5, b, 0.5, paired=False).equivalent, False

    yield cell("`equivalence` at its margin", "normal", 20, tost, sets, "size")

    def anova(rng: np.random.Generator) -> Outcome:
        groups = {name: rng.standard_normal(8) for name in "abc"}
        return one_way(groups).p < 0.05, False

    yield cell("`one_way`", "normal, three groups", 8, anova, sets, "size")

    def honest(rng: np.random.Generator) -> Outcome:
        groups = {name: rng.standard_normal(8) for name in "abc"}
        return bool((tukey(groups)["p"] < 0.05).any()), False

    yield cell("`tukey`, any pair", "normal, three groups", 8, honest, max(1, sets // 5), "size")


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


def studies(sets: int) -> Iterator[Cell]:
    """Decomposition, Sobol indices, clusters, models, path dependence and fluctuation."""
    yield from _decompositions(sets)
    yield from _sobol(sets)
    for clusters in (8, 20):

        def block(rng: np.random.Generator, clusters=clusters) -> Outcome:
            values = np.repeat(rng.standard_normal(clusters), 5) + 0.5 * rng.standard_normal(5 * clusters)
            owner = np.repeat(np.arange(clusters), 5)
            estimate = bootstrap(values, seed=int(rng.integers(2**31)), resamples=199, cluster=owner)
            return estimate.contains(0.0), bool(estimate.warning)

        yield cell("`bootstrap` of clusters", "normal", f"{clusters} clusters", block, sets)
    for units in (5, 10):
        for spread in (0.0, 0.5):

            def frame(rng: np.random.Generator, units=units, spread=spread) -> pl.DataFrame:
                model = np.repeat(np.arange(units), 20)
                told = np.tile([0, 1], units * 10)
                slope = 1 + spread * rng.standard_normal(units)
                y = rng.standard_normal(units)[model] + slope[model] * told + rng.standard_normal(units * 20)
                return pl.DataFrame({"model": model, "told": told.astype(str), "y": y})

            def over(rng: np.random.Generator, frame=frame) -> Outcome:
                row = effect_over(frame(rng), "y", "told", "model").row(0, named=True)
                return row["low"] <= 1 <= row["high"], False

            kind = "equal effects" if spread == 0 else "effects that vary"
            yield cell("`effect_over` models", kind, f"{units} models", over, sets)

    def mixed(rng: np.random.Generator) -> Outcome:
        model = np.repeat(np.arange(8), 20)
        told = np.tile([0, 1], 80)
        slope = 1 + 0.5 * rng.standard_normal(8)
        y = rng.standard_normal(8)[model] + slope[model] * told + rng.standard_normal(160)
        fit = fit_mixed_model(
            pl.DataFrame({"model": model, "told": told.astype(str), "y": y}), "y", ["told"], ["model"]
        )
        return fit["told[1]"].estimate.contains(1.0), "effect_over" in fit.words

    yield cell("`fit_mixed_model`, random intercept", "effects that vary", "8 models", mixed, max(1, sets // 5))
    for shared in (False, True):

        def path(rng: np.random.Generator, shared=shared) -> Outcome:
            luck = np.tile(rng.standard_normal(12), 2) if shared else 0.0
            end = luck + 0.5 * rng.standard_normal(24)
            seeds = np.tile(np.arange(12), 2) if shared else np.arange(24)
            runs = pl.DataFrame({"start": ["low"] * 12 + ["high"] * 12, "end": end, "seed": seeds})
            seed = int(rng.integers(2**31))
            cluster = "seed" if shared else None
            return path_dependence(runs, "start", "end", seed=seed, cluster=cluster, resamples=199).p < 0.05, False

        data = "common seeds" if shared else "independent seeds"
        yield cell("`path_dependence`", data, 12, path, sets, "size")
    for shared in (False, True):

        def spread_of(rng: np.random.Generator, shared=shared) -> Outcome:
            sizes = np.array([10, 40, 160])
            luck = np.tile(rng.standard_normal(20), 3) if shared else rng.standard_normal(60)
            noise = (0.8 * luck + 0.6 * rng.standard_normal(60)) if shared else luck
            agents = np.repeat(sizes, 20)
            runs = pl.DataFrame({"agents": agents, "m": noise / np.sqrt(agents), "seed": np.tile(np.arange(20), 3)})
            options = {"seed": int(rng.integers(2**31)), "cluster": "seed" if shared else None, "resamples": 299}
            estimate = fluctuation(runs, "m", "agents", **options).exponent
            return estimate.contains(-0.5), bool(estimate.warning)

        yield cell("`fluctuation`, exponent", "common seeds" if shared else "independent seeds", 20, spread_of, sets)


def _decompositions(sets: int) -> Iterator[Cell]:
    layouts = {"independent runs": (False, 10), "common seeds": (True, 12), "seeds within ways of asking": (True, 3)}
    for layout, (clustered, seeds) in layouts.items():
        for tails in ("normal", "lognormal"):

            def study(rng: np.random.Generator, layout=layout, clustered=clustered, seeds=seeds, tails=tails):
                ways = 6 if "within" in layout else 1
                grid = pl.DataFrame({"x": [0, 1, 2]}).join(pl.DataFrame({"model": [0, 1, 2]}), how="cross")
                grid = grid.join(pl.DataFrame({"way": range(ways)}), how="cross")
                runs = grid.join(pl.DataFrame({"replicate": range(seeds)}), how="cross")
                runs = runs.with_columns(seed=pl.col("way") * 1000 + pl.col("replicate"))
                code = runs["seed"].rank("dense").to_numpy().astype(int) - 1

                def noise(size: int) -> np.ndarray:
                    if tails == "normal":
                        return rng.standard_normal(size)
                    return (rng.lognormal(size=size) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)

                luck = 0.8 * noise(int(code.max()) + 1)[code] if clustered else 0.0
                chance = 1.0 if not clustered else 0.64 + 0.36
                effect = 0.9 * (runs["x"].to_numpy() - 1) + 0.5 * (runs["model"].to_numpy() == 1)
                effect = effect + 0.2 * (runs["way"].to_numpy() % 2)
                y = effect + luck + (0.6 if clustered else 1.0) * noise(runs.height)
                parts = {"x": 0.81 * 2 / 3, "model": 0.25 * 2 / 9, "way": 0.01 if ways > 1 else 0.0, "chance": chance}
                factors = ["x", "model", *(["way"] if ways > 1 else [])]
                seed = int(rng.integers(2**31))
                cluster = "seed" if clustered else None
                order = 2 if ways > 1 else None
                shares = decompose(
                    runs.with_columns(y=y), "y", factors, cluster=cluster, order=order, resamples=499, seed=seed
                )
                return shares, {name: part / sum(parts.values()) for name, part in parts.items()}

            for part in ("chance", "x"):

                def share(rng: np.random.Generator, study=study, part=part) -> Outcome:
                    shares, truth = study(rng)
                    return shares[part].contains(truth[part]), bool(shares.warning)

                yield cell(
                    f"`decompose`, share of {part}", f"{layout}, {tails}", f"{seeds} seeds", share, max(1, sets // 2)
                )


def _sobol(sets: int) -> Iterator[Cell]:
    for replicates in (1, 5, 20):

        def index(rng: np.random.Generator, replicates=replicates) -> Outcome:
            sample = sobol_sample({"x": (0.0, 1.0), "y": (0.0, 1.0)}, 64, seed=int(rng.integers(2**31)))
            x, y = sample["x"].to_numpy(), sample["y"].to_numpy()
            slopes = 1 + 0.5 * rng.standard_normal(replicates)  # the slope of x depends on the seed
            frames = [
                sample.with_columns(out=slope * x + 0.7 * y, replicate=pl.lit(i)) for i, slope in enumerate(slopes)
            ]
            seed = int(rng.integers(2**31))
            found = sobol_indices(pl.concat(frames), "out", seed=seed, replicate="replicate", resamples=199).first["x"]
            return found.contains(1 / 1.49), bool(found.warning)

        yield cell(
            "`sobol_indices`, common seeds",
            "slope that depends on the seed",
            f"{replicates} seeds",
            index,
            sets // 2 or 1,
        )


def crossed(sets: int) -> Iterator[Cell]:
    """Answers of people to items: means of binary answers and slopes in log-odds, clustered by both."""
    x = np.array([-1.0, 0.0, 1.0])
    design, slope = np.column_stack([np.ones(3), x]), np.array([0.0, 1.0])
    # The truth is that of very many people and items: nodes of a normal distribution, which have its weights.
    nodes, shares = np.polynomial.hermite_e.hermegauss(60)
    for people, items in ((20, 5), (40, 12), (100, 20)):
        for by_person, by_item in ((0.0, 0.0), (1.0, 0.5)):
            spread = float(np.hypot(by_person, by_item))
            log_odds = spread * nodes[:, None] - x
            curve = (shares / shares.sum()) @ (1 / (1 + np.exp(-log_odds)))
            truth = float(crossed_logit(curve[None, None, :], design).values[1])

            def answers(rng: np.random.Generator, people=people, items=items, p=by_person, i=by_item) -> np.ndarray:
                effects = p * rng.standard_normal((people, 1, 1)) + i * rng.standard_normal((1, items, 1))
                return (rng.random((people, items, 3)) < 1 / (1 + np.exp(-(effects - x)))).astype(float)

            def level(rng: np.random.Generator, answers=answers, truth=float(curve[0])) -> Outcome:
                estimate = crossed_means(answers(rng)).estimate(np.array([1.0, 0.0, 0.0]))
                return estimate.contains(truth), bool(estimate.warning)

            def line(rng: np.random.Generator, answers=answers, truth=truth) -> Outcome:
                estimate = crossed_logit(answers(rng), design).estimate(slope)
                return estimate.contains(truth), bool(estimate.warning)

            data = "binary, people and items differ" if spread else "binary, people and items alike"
            yield cell("`crossed_means`", data, f"{people} × {items}", level, sets)
            yield cell("`crossed_logit`, slope", data, f"{people} × {items}", line, sets)


def table(cells: list[Cell]) -> str:
    """The cells as a Markdown table."""
    lines = ["| procedure | data | n | data sets | nominal | actual | warned | without a warning |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for each in cells:
        nominal = ".95" if each.kind == "coverage" else "size .05"
        without = "–" if each.unwarned is None else _short(each.unwarned)
        mark = "" if each.holds else " **!**"
        cells_text = (each.procedure, each.data, each.n, str(each.sets), nominal, _short(each.actual))
        lines.append("| " + " | ".join((*cells_text, _short(each.warned), without + mark)) + " |")
    return "\n".join(lines)


def _short(x: float) -> str:
    return f"{x:.3f}".lstrip("0") if x < 1 else "1.000"


def all_cells(sets: int) -> Iterator[Cell]:
    """Every cell of the audit."""
    yield from means(sets, SIZES)
    yield from differences(sets, SIZES, ("t",))
    yield from differences(sets, SIZES, ("bootstrap-t", "permutation"))
    yield from differences(sets, (20, 40), ("bootstrap",))
    yield from tests(sets, SIZES)
    yield from looks(sets)
    yield from studies(sets)
    yield from crossed(sets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each cell")
    parser.add_argument("--check", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    cells = []
    for each in all_cells(options.sets):
        cells.append(each)
        print(
            f"{each.procedure} | {each.data} | {each.n}: {each.actual:.3f}, warned {each.warned:.2f}, "
            f"{'ok' if each.holds else 'BELOW'}",
            flush=True,
        )
    failing = [each for each in cells if not each.holds]
    if not options.check:
        text = DOCS.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        DOCS.write_text(f"{before}{BEGIN}\n\n{table(cells)}\n\n{END}{after}", encoding="utf-8")
    print(f"{len(cells)} cells, {len(failing)} below their bar")
    raise SystemExit(bool(failing))


if __name__ == "__main__":
    main()
