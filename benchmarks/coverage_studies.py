"""Cells of the audit: shares of variance, clusters, models, paths, fluctuation, and people who answer items."""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import polars as pl
from coverage_cells import Cell, Outcome, cell

from populace.statistics import (
    bootstrap,
    decompose,
    effect_over,
    fit_mixed_model,
    fluctuation,
    path_dependence,
    sobol_indices,
    sobol_sample,
)
from populace.statistics.crossed import crossed_logit, crossed_means


def studies(sets: int) -> Iterator[Cell]:
    """Decomposition, Sobol indices, clusters, models, path dependence and fluctuation."""
    yield from _decompositions(sets)
    yield from sobol(sets, "first")
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
                arm = np.tile([0, 1], units * 10)
                slope = 1 + spread * rng.standard_normal(units)
                y = rng.standard_normal(units)[model] + slope[model] * arm + rng.standard_normal(units * 20)
                return pl.DataFrame({"model": model, "arm": arm.astype(str), "y": y})

            def over(rng: np.random.Generator, frame=frame) -> Outcome:
                row = effect_over(frame(rng), "y", "arm", "model").row(0, named=True)
                return row["low"] <= 1 <= row["high"], False

            kind = "equal effects" if spread == 0 else "effects that vary"
            yield cell("`effect_over` models", kind, f"{units} models", over, sets)

    def mixed(rng: np.random.Generator) -> Outcome:
        model = np.repeat(np.arange(8), 20)
        arm = np.tile([0, 1], 80)
        slope = 1 + 0.5 * rng.standard_normal(8)
        y = rng.standard_normal(8)[model] + slope[model] * arm + rng.standard_normal(160)
        fit = fit_mixed_model(pl.DataFrame({"model": model, "arm": arm.astype(str), "y": y}), "y", ["arm"], ["model"])
        return fit["arm[1]"].estimate.contains(1.0), "effect_over" in fit.words

    yield cell("`fit_mixed_model`, random intercept", "effects that vary", "8 models", mixed, sets)
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

                yield cell(f"`decompose`, share of {part}", f"{layout}, {tails}", f"{seeds} seeds", share, sets)


def sobol(sets: int, kind: Literal["first", "total"]) -> Iterator[Cell]:
    """Indices of an input whose slope depends on the seed."""
    for replicates in (1, 5, 20):

        def index(rng: np.random.Generator, replicates=replicates) -> Outcome:
            sample = sobol_sample({"x": (0.0, 1.0), "y": (0.0, 1.0)}, 64, seed=int(rng.integers(2**31)))
            x, y = sample["x"].to_numpy(), sample["y"].to_numpy()
            slopes = 1 + 0.5 * rng.standard_normal(replicates)  # the slope of x depends on the seed
            frames = [
                sample.with_columns(out=slope * x + 0.7 * y, replicate=pl.lit(i)) for i, slope in enumerate(slopes)
            ]
            seed = int(rng.integers(2**31))
            indices = sobol_indices(pl.concat(frames), "out", seed=seed, replicate="replicate", resamples=199)
            result = getattr(indices, kind)["x"]
            return result.contains(1 / 1.49), bool(result.warning)

        name = f"`sobol_indices`{', total' if kind == 'total' else ''}, common seeds"
        yield cell(name, "slope that depends on the seed", f"{replicates} seeds", index, sets)


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
