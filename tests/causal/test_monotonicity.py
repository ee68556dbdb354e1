"""Whether a curve falls: rises beyond chance are found, and those within chance are not called rises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from populace.causal import CausalStudy
from populace.causal.monotonicity import Monotonicity, falling_fit, monotonicity
from populace.causal.responses import Responses

STUDY = CausalStudy.read(
    {
        "treatment": {"name": "price", "levels": [0, 1, 2, 3], "statement": "It costs {price} dollars."},
        "setting": "You see {what}.",
        "question": "Do you buy?",
        "options": ["yes", "no"],
        "success": "yes",
        "items": [{"what": "apples"}, {"what": "pears"}, {"what": "plums"}],
    }
)


def shape(curve: list[float], noise: float = 0.05, people: int = 40) -> Monotonicity:
    rng = np.random.default_rng(1)
    y: Any = np.array(curve) + rng.normal(0, noise, (people, 3, len(curve)))
    return monotonicity(Responses(STUDY, "blind", y))


def test_a_falling_curve_falls_throughout() -> None:
    found = shape([0.9, 0.6, 0.4, 0.1])
    assert found.verdict == "falls throughout" and found.falling_items == 3
    assert found.largest_rise == found.excess == 0


def test_a_flat_curve_falls_nowhere_and_one_that_reaches_zero_may_stay_there() -> None:
    flat = shape([0.5, 0.5, 0.5, 0.5], noise=0)
    assert (flat.falling_steps, flat.falling_items, flat.verdict) == (0, 0, "no certain rise")
    assert shape([0.6, 0.2, 0.0, 0.0], noise=0).verdict == "falls throughout"


def test_an_inverted_u_rises_beyond_chance() -> None:
    found = shape([0.2, 0.8, 0.6, 0.1])
    assert found.certain_rises == 1 and found.verdict == "rises at some step"
    assert found.largest_rise == pytest.approx(0.6, abs=0.05)


def test_a_rise_within_chance_is_not_certain() -> None:
    found = shape([0.5, 0.5, 0.5, 0.5], noise=0.4)
    assert found.certain_rises == 0


def test_the_nearest_falling_curve_is_that_of_least_squares() -> None:
    sklearn = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(2)
    for _ in range(20):
        curve = rng.random(9)
        expected = sklearn.IsotonicRegression(increasing=False).fit_transform(np.arange(9), curve)
        assert falling_fit(curve) == pytest.approx(expected)


def test_missing_answers_are_left_out() -> None:
    y = np.full((4, 3, 4), np.nan)
    y[:2] = [0.9, 0.6, 0.4, 0.1]
    assert monotonicity(Responses(STUDY, "within", y)).falling_steps == 3


def test_an_item_without_an_answer_at_some_level_is_not_counted() -> None:
    y = np.full((4, 3, 4), np.nan)
    y[:, :2] = [0.9, 0.6, 0.4, 0.1]
    y[:, 2, 0] = 0.5
    found = monotonicity(Responses(STUDY, "within", y))
    assert (found.falling_items, found.items) == (2, 2)
