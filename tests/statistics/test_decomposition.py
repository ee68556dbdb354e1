from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics import decompose

SHARES = {"rule": 0.3, "model": 0.15, "wording": 0.0, "interactions": 0.15, "chance": 0.4}
SHAPE = (3, 4, 2)


def planted(seed: int, runs: int, *, common: bool = False, lost: float = 0.0) -> pl.DataFrame:
    """Runs over a grid of three factors whose shares are exactly those planted; `common` seeds move all cells alike."""
    rng = np.random.default_rng(seed)
    effects = np.zeros(SHAPE)
    for axis, name in enumerate(("rule", "model")):
        one = rng.normal(size=SHAPE[axis])
        one -= one.mean()
        one *= math.sqrt(SHARES[name] / np.mean(one**2))
        effects += one.reshape([-1 if i == axis else 1 for i in range(3)])
    both = rng.normal(size=SHAPE[:2])
    both -= both.mean(axis=0)
    both -= both.mean(axis=1, keepdims=True)
    effects += (both * math.sqrt(SHARES["interactions"] / np.mean(both**2)))[:, :, None]
    cell, number = np.repeat(np.arange(effects.size), runs), np.tile(np.arange(runs), effects.size)
    noise = rng.normal(size=len(cell))
    if common:
        noise = math.sqrt(0.7) * rng.normal(size=runs)[number] + math.sqrt(0.3) * noise
    places = np.unravel_index(cell, SHAPE)
    frame = pl.DataFrame(
        {
            **dict(zip(("rule", "model", "wording"), places, strict=True)),
            "seed": number,
            "y": effects.ravel()[cell] + math.sqrt(SHARES["chance"]) * noise,
        }
    )
    return frame.filter(pl.Series(rng.random(frame.height) >= lost))


FACTORS = ["rule", "model", "wording"]


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "lost"), [(5, 0.0), (8, 0.2)])
def test_planted_shares_are_covered_at_the_stated_rate(runs: int, lost: float) -> None:
    covered = dict.fromkeys(SHARES, 0)
    for seed in range(100):
        found = decompose(planted(seed, runs, lost=lost), "y", FACTORS, seed=seed, resamples=200)
        for name, share in SHARES.items():
            covered[name] += found[name].contains(share)
    assert min(covered.values()) >= 88, covered


@pytest.mark.slow
def test_planted_shares_are_covered_under_common_random_numbers() -> None:
    covered = dict.fromkeys(SHARES, 0)
    for seed in range(100):
        frame = planted(seed, 12, common=True)
        found = decompose(frame, "y", FACTORS, cluster="seed", seed=seed, resamples=200)
        for name, share in SHARES.items():
            covered[name] += found[name].contains(share)
    assert min(covered.values()) >= 82, covered


def test_a_balanced_design_gives_omega_squared() -> None:
    frame = planted(1, 6)
    y = frame["y"].to_numpy()
    cells = frame.group_by(FACTORS).agg(pl.col("y").mean().alias("m"))
    within = float(((y - frame.join(cells, on=FACTORS, how="left", maintain_order="left")["m"].to_numpy()) ** 2).sum())
    error = within / (len(y) - cells.height)
    means = frame.group_by("rule").agg(pl.col("y").mean(), pl.len())
    effect = float((means["len"] * (means["y"] - y.mean()) ** 2).sum())
    omega = (effect - 2 * error) / (float(((y - y.mean()) ** 2).sum()) + error)
    found = decompose(frame, "y", FACTORS, seed=1, resamples=50)
    # Parts below zero count as zero, which moves the sum of the others by next to nothing here.
    assert found["rule"].value == pytest.approx(omega, abs=0.01)


def test_shares_sum_to_one_and_do_not_depend_on_the_unit() -> None:
    frame = planted(2, 4, lost=0.1)
    found = decompose(frame, "y", FACTORS, seed=1, resamples=50)
    moved = decompose(frame.with_columns(pl.col("y") * 7 - 100), "y", FACTORS, seed=1, resamples=50)
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1)
    for name, share in found.shares.items():
        assert (share.value, share.low, share.high) == pytest.approx(
            (moved[name].value, moved[name].low, moved[name].high)
        )
        assert 0 <= share.low <= share.value <= share.high <= 1
    assert moved.variance == pytest.approx(49 * found.variance)


def test_factors_can_be_counted_in_groups() -> None:
    frame = planted(3, 6)
    found = decompose(frame, "y", FACTORS, groups={"both": ["rule", "model"]}, seed=1, resamples=50)
    assert list(found.shares) == ["both", "wording", "interactions", "chance"]
    assert found["both"].value == pytest.approx(0.6, abs=0.12)
    assert found.largest == "both"


def test_interactions_can_be_shown_each() -> None:
    found = decompose(planted(4, 6), "y", FACTORS, interactions="each", seed=1, resamples=50)
    assert {"rule:model", "rule:wording", "model:wording", "rule:model:wording"} <= set(found.shares)
    assert found["rule:model"].value == pytest.approx(0.15, abs=0.08)
    assert found.table().height == 8 and (found.table()["n"] == found.n).all()


def test_missing_combinations_are_fitted_up_to_the_order_that_they_bear() -> None:
    frame = planted(5, 6).filter(~((pl.col("rule") == 0) & (pl.col("model") == 1) & (pl.col("wording") == 1)))
    found = decompose(frame, "y", FACTORS, seed=1, resamples=50)
    assert (found.order, found.cells) == (2, (23, 24))
    whole = decompose(planted(5, 6), "y", FACTORS, seed=1, resamples=50)
    assert found["rule"].value == pytest.approx(whole["rule"].value, abs=0.05)


def test_one_run_a_cell_will_do_where_the_highest_interaction_is_given_up() -> None:
    frame = planted(6, 1)
    with pytest.raises(UsageError, match="two replicates"):
        decompose(frame, "y", FACTORS, seed=1)
    assert decompose(frame, "y", FACTORS, order=2, seed=1, resamples=50).order == 2


def test_a_cell_left_with_one_run_does_not_stop_it() -> None:
    frame = planted(7, 3).with_row_index().filter(~pl.col("index").is_in([0, 1]))
    for cluster in (None, "seed"):
        found = decompose(frame, "y", FACTORS, cluster=cluster, seed=1, resamples=50)
        assert found.n == 70 and found["rule"].low > 0


def test_the_same_seed_gives_the_same_intervals() -> None:
    frame = planted(8, 3)
    one, two, other = (decompose(frame, "y", FACTORS, seed=s, resamples=50).table() for s in (1, 1, 2))
    assert one.equals(two) and not one.equals(other)


def test_missing_outcomes_are_dropped_and_counted() -> None:
    frame = planted(9, 3).with_columns(pl.when(pl.col("seed") == 0).then(None).otherwise("y").alias("y"))
    assert decompose(frame, "y", FACTORS, seed=1, resamples=50).dropped == 24


def test_outcomes_that_do_not_vary_have_no_shares_and_chance_may_be_none() -> None:
    frame = planted(10, 3)
    still = decompose(frame.with_columns(y=pl.lit(0.1)), "y", FACTORS, seed=1, resamples=50)
    assert all(math.isnan(share.value) for share in still.shares.values()) and still.variance == 0
    sure = decompose(frame.with_columns(y=pl.col("rule") * 0.1), "y", FACTORS, seed=1, resamples=50)
    assert sure["rule"].value == pytest.approx(1) and sure["chance"].high < 1e-9


def test_bad_tables_are_refused() -> None:
    frame = planted(11, 2)
    with pytest.raises(UsageError, match="'wording' has one level"):
        decompose(frame.filter(pl.col("wording") == 0), "y", FACTORS, seed=1)
    with pytest.raises(UnknownNameError, match="wording"):
        decompose(frame, "y", ["rule", "wordings"], seed=1)
    with pytest.raises(UnknownNameError, match="model"):
        decompose(frame, "y", FACTORS, groups={"x": ["modl"]}, seed=1)
    with pytest.raises(UsageError, match="two groups"):
        decompose(frame, "y", FACTORS, groups={"x": ["rule"], "z": ["rule"]}, seed=1)
    with pytest.raises(UsageError, match="named twice"):
        decompose(frame, "y", ["rule", "rule"], seed=1)
    with pytest.raises(UsageError, match="at least one factor"):
        decompose(frame, "y", [], seed=1)
    with pytest.raises(UsageError, match="no level"):
        decompose(frame.clear(), "y", FACTORS, seed=1)
    with pytest.raises(UsageError, match="too few to tell"):
        decompose(frame.filter(pl.col("rule") == pl.col("wording")), "y", ["rule", "wording"], seed=1)
    many = frame.with_columns(
        x=np.linspace(0, 1, frame.height), z=np.linspace(0, 1, frame.height), w=np.arange(frame.height)
    )
    with pytest.raises(UsageError, match="too many combinations"):
        decompose(many, "y", ["x", "z", "w"], seed=1)
