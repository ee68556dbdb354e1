from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from populace.base.errors import UnknownNameError, UsageError
from populace.statistics import agreement, proportion

N = None
# The worked example of Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", with its published values.
RATED = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    "C": [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
}
WORKED = pl.concat([pl.DataFrame({"item": range(12), "rater": who, "value": row}) for who, row in RATED.items()])


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(level: str, alpha: float) -> None:
    found = agreement(WORKED, level=level)
    assert found.alpha.value == pytest.approx(alpha, abs=0.0006)
    assert found.alpha.low < alpha < found.alpha.high
    assert (found.items, found.single, found.raters, found.ratings, found.dropped) == (11, 1, 4, 40, 7)
    assert found.kappa is None
    assert found.alpha.warning == "from 11 items a bootstrap interval is a little too short"
    assert agreement(two(1, 0.6)).alpha.warning == ""


def two(seed: int, noise: float, items: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    first = rng.integers(3, size=items)
    second = np.where(rng.random(items) < noise, rng.integers(3, size=items), first)
    return pl.DataFrame(
        {"item": [*range(items)] * 2, "rater": ["a"] * items + ["b"] * items, "value": [*first, *second]}
    )


def test_kappa_is_that_of_statsmodels() -> None:
    frame = two(1, 0.4)
    pairs = frame["value"].to_numpy().reshape(2, -1).T
    known = cohens_kappa(to_table(pairs)[0])
    found = agreement(frame)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(known.kappa)
    assert (found.kappa.low, found.kappa.high) == pytest.approx((known.kappa_low, known.kappa_upp), abs=0.06)
    assert found.share.value == pytest.approx((pairs[:, 0] == pairs[:, 1]).mean())
    assert found.table()["measure"].to_list() == ["alpha", "share", "kappa"]


def test_the_order_of_rows_and_names_does_not_matter() -> None:
    frame = two(2, 0.3)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1).with_columns(pl.col("value").cast(pl.String) + "x")
    assert agreement(frame).alpha.value == pytest.approx(agreement(shuffled).alpha.value)


def test_ordinal_words_need_their_order() -> None:
    words = WORKED.with_columns(
        pl.col("value").replace_strict({1: "no", 2: "rather not", 3: "so so", 4: "rather", 5: "yes"})
    )
    order = ("no", "rather not", "so so", "rather", "yes")
    assert agreement(words, level="ordinal", order=order).alpha.value == pytest.approx(0.815, abs=0.0006)
    with pytest.raises(UsageError, match="order="):
        agreement(words, level="ordinal")
    with pytest.raises(UsageError, match="'yes' is not in the order"):
        agreement(words, level="ordinal", order=order[:4])
    with pytest.raises(UsageError, match="not numbers"):
        agreement(words, level="interval")


def test_raters_who_always_say_the_same_have_no_alpha() -> None:
    found = agreement(two(3, 0).with_columns(value=pl.lit(1)))
    assert math.isnan(found.alpha.value) and found.kappa is not None and math.isnan(found.kappa.value)
    assert found.share.value == 1


def test_raters_at_random_agree_as_chance_has_it() -> None:
    assert agreement(two(4, 1.0, items=400)).alpha.contains(0)


def test_bad_ratings_are_refused() -> None:
    frame = two(5, 0.1)
    for bad, said in (
        (pl.concat([frame, frame]), "twice"),
        (frame.filter(pl.col("rater") == "a"), "at least two raters"),
        (frame.clear(), "at least two raters"),
        (frame.head(1).vstack(frame.tail(1)), "items with two ratings"),
    ):
        with pytest.raises(UsageError, match=said):
            agreement(bad)
    with pytest.raises(UnknownNameError, match="rater"):
        agreement(frame, rater="ratr")


def rated(*rows: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        [(item, rater, value) for item, row in enumerate(rows) for rater, value in enumerate(row)],
        schema=["item", "rater", "value"],
        orient="row",
    )


def test_raters_who_agree_about_every_item_show_no_precision() -> None:
    found = agreement(rated(*([place % 2] * 2 for place in range(60))))
    assert (found.alpha.value, found.kappa and found.kappa.value, found.share.value) == (1, 1, 1)
    assert math.isnan(found.alpha.low) and found.kappa is not None and math.isnan(found.kappa.high)
    assert "nothing about how far others would differ" in found.alpha.warning
    assert (found.share.low, found.share.high) == (proportion(60, 60).low, 1)
    three = agreement(rated(*([0, 1, 1] for _ in range(60))))
    assert math.isnan(three.share.low) and math.isnan(three.alpha.low)
    same = agreement(rated(*([1, 1] for _ in range(60))))
    assert math.isnan(same.alpha.value) and "every rating is the same" in same.alpha.warning


def test_few_items_in_which_raters_differ_warn() -> None:
    """Of 200 items in 4 % of which raters differ, drawing items anew covered alpha in 90 % of data sets."""
    rare = agreement(rated(*([place % 2, (place + (place < 8)) % 2] for place in range(200))))
    assert rare.alpha.warning == "from 8 items in which raters differ the interval is too short"
    assert rare.share.warning == "" and rare.share.method == "mid-P"
    unusual = agreement(rated(*([int(place < 12), int(place in range(6, 18))] for place in range(200))))
    assert "the interval is too short" in unusual.alpha.warning
    often = agreement(rated(*([place % 2, (place + (place < 60)) % 2] for place in range(200))))
    assert often.alpha.warning == ""
