from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from populace.base.errors import UsageError
from populace.statistics import fluctuation, path_dependence, proportion, sobol_indices, sobol_sample

BOUNDS = {"x": (0.0, 1.0), "y": (-1.0, 1.0), "z": (0.0, 10.0)}


def sampled(n: int = 512) -> pl.DataFrame:
    return sobol_sample(BOUNDS, n, seed=1).with_columns(out=2 * pl.col("x") + pl.col("y"))


def test_sobol_indices_find_the_shares_of_a_known_function() -> None:
    # The variances of 2x and y are 4/12 and 1/3: one half each, and z does nothing.
    found = sobol_indices(sampled(), "out", seed=1)
    for index in (found.first, found.total):
        assert [index[name].value for name in BOUNDS] == pytest.approx([0.5, 0.5, 0.0], abs=0.05)
        assert all(one.low <= one.value <= one.high for one in index.values())
    assert (found.n, found.table().height) == (512, 6)


def test_sobol_indices_are_those_of_scipy() -> None:
    frame = sampled(64).with_columns(out=pl.col("x") * pl.col("y") + pl.col("z").sin())
    blocks = {key[0]: part["out"].to_numpy() for key, part in frame.partition_by("block", as_dict=True).items()}
    ab = np.stack([blocks[f"A with {name} of B"] for name in BOUNDS])[:, None, :]
    known = stats.sobol_indices(func={"f_A": blocks["A"][None], "f_B": blocks["B"][None], "f_AB": ab}, n=64)
    found = sobol_indices(frame.sample(fraction=1, shuffle=True, seed=2), "out", seed=1, resamples=50)
    assert [one.value for one in found.first.values()] == pytest.approx(list(known.first_order))
    assert [one.value for one in found.total.values()] == pytest.approx(list(known.total_order))


def test_a_point_with_a_failed_run_is_dropped_and_counted() -> None:
    frame = sampled(64).with_columns(pl.when(pl.int_range(pl.len()) == 70).then(None).otherwise("out").alias("out"))
    assert (sobol_indices(frame, "out", seed=1, resamples=20).n, sobol_indices(frame, "out", seed=1).dropped) == (63, 1)
    still = sobol_indices(frame.with_columns(out=pl.lit(1.0)), "out", seed=1, resamples=20)
    assert math.isnan(still.first["x"].value)


def test_bad_samples_are_refused() -> None:
    for call, said in (
        (lambda: sobol_sample(BOUNDS, 100, seed=1), "power of two"),
        (lambda: sobol_sample({"x": (1.0, 0.0)}, 8, seed=1), "bounds"),
        (lambda: sobol_sample({}, 8, seed=1), "at least one factor"),
        (lambda: sobol_indices(sampled(4), "out", seed=1), "4 values"),
        (lambda: sobol_indices(sampled(8).filter(pl.col("block") == "A"), "out", seed=1), "not the rows"),
        (lambda: sobol_indices(pl.concat([sampled(8)] * 2), "out", seed=1), "more than once"),
    ):
        with pytest.raises(UsageError, match=said):
            call()


def sizes(power: float) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    agents = np.repeat([10, 40, 160, 640], 60)
    return pl.DataFrame({"agents": agents, "share": 0.5 + rng.normal(size=240) * agents**power})


def test_the_exponent_of_a_fluctuation_is_found() -> None:
    for power in (-0.5, -0.2):
        found = fluctuation(sizes(power), "share", "agents", seed=1)
        assert found.exponent.contains(power) and found.exponent.width < 0.15
    assert not found.exponent.contains(-0.5)
    table = found.table()
    assert table["n"].to_list() == [60] * 4
    assert (table["independent"][0] / table["independent"][1]) == pytest.approx(2)


def test_fluctuations_that_cannot_be_fitted_are_refused() -> None:
    frame = sizes(-0.5)
    for bad, said in (
        (frame.filter(pl.col("agents") == 10), "two sizes"),
        (frame.with_columns(share=pl.lit(0.5)), "same 'share'"),
        (frame.group_by("agents").head(2), "2 values"),
        (frame.with_columns(pl.col("agents") - 10), "above 0"),
    ):
        with pytest.raises(UsageError, match=said):
            fluctuation(bad, "share", "agents", seed=1)


def test_dependence_on_the_start_is_found_where_it_is() -> None:
    rng = np.random.default_rng(2)
    start = np.repeat(["low", "high"], 40)
    held = np.where(rng.random(80) < 0.9, start, "other")
    frame = pl.DataFrame({"start": start, "end": held, "free": rng.choice(["p", "q"], 80)})
    frame = frame.with_columns(number=(start == "high") + 0.5 * rng.normal(size=80), noise=rng.normal(size=80))
    for end in ("end", "number"):
        found = path_dependence(frame, "start", end, seed=1, resamples=200)
        assert found.p < 0.01 and found.strength.low > 0.2 and found.n == 80
    ends = path_dependence(frame, "start", "end", seed=1, resamples=50).ends
    first = ends.row(0, named=True)
    count = int(((start == "high") & (held == "high")).sum())
    assert (first["start"], first["state"], first["n"]) == ("high", "high", 40)
    assert (first["probability"], first["low"]) == (proportion(count, 40).value, proportion(count, 40).low)
    for end in ("free", "noise"):
        found = path_dependence(frame, "start", end, seed=1, resamples=200)
        assert found.p > 0.02 and found.strength.value < 0.2
    still = path_dependence(frame.with_columns(end=pl.lit(1.0)), "start", "end", seed=1, resamples=50)
    assert (still.p, still.strength.value) == (1, 0)
    assert math.isnan(still.strength.low) and math.isnan(still.strength.high)
    assert found.strength.warning == "from 40 runs of a start a bootstrap interval is a little too short"


@pytest.mark.parametrize("ends", [("blue", "green"), (0.1, 0.9)])
def test_starts_whose_runs_all_end_alike_show_no_precision(ends: tuple[object, object]) -> None:
    frame = pl.DataFrame({"start": ["low"] * 60 + ["high"] * 60, "end": [ends[0]] * 60 + [ends[1]] * 60})
    found = path_dependence(frame, "start", "end", seed=1, resamples=100)
    assert found.strength.value == pytest.approx(1) and found.p < 0.02
    assert math.isnan(found.strength.low) and "says nothing about how far others would differ" in found.strength.warning


def test_few_runs_that_are_nearly_all_alike_show_no_precision_of_the_exponent() -> None:
    """Three runs of which two are equal have one spread in every draw: the interval had no width."""
    runs = pl.DataFrame({"agents": [10] * 3 + [100] * 3, "share": [0.5, 0.5, 0.75, 0.25, 0.5, 0.5]})
    found = fluctuation(runs, "share", "agents", seed=1, resamples=100)
    assert found.exponent.value == 0 and math.isnan(found.exponent.low)
    assert "says nothing about how far others would differ" in found.exponent.warning
    assert math.isnan(found.spread[10].high)


def test_starts_without_replicates_are_refused() -> None:
    frame = pl.DataFrame({"start": [0.1, 0.2, 0.3], "end": [1.0, 2.0, 3.0]})
    with pytest.raises(UsageError, match="cut a continuous start"):
        path_dependence(frame, "start", "end", seed=1)
    with pytest.raises(UsageError, match="fewer than two"):
        path_dependence(frame.with_columns(start=pl.lit("a")), "start", "end", seed=1)
