from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from populace.base.randomness import path_key, uniforms
from populace.deciders.decision import apply_temperature, draw_options

WEIGHTS = st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda weights: sum(weights) > 0.01)


def row(*probabilities: float) -> np.ndarray:
    return np.array([probabilities])


def people(count: int) -> np.ndarray:
    return uniforms(path_key(1, "3/0"), np.arange(count, dtype=np.uint64))


def one(probabilities: np.ndarray, numbers: list[float]) -> list[int]:
    return draw_options(probabilities, np.zeros(len(numbers), np.int32), np.array(numbers)).tolist()


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (0.0, (1.0, 0.0, 0.0)),
        (0.5, (0.64 / 0.68, 0.04 / 0.68, 0.0)),
        (1.0, (0.8, 0.2, 0.0)),
        (2.0, (2 / 3, 1 / 3, 0.0)),
    ],
)
def test_a_distribution_is_sharpened_or_flattened_by_temperature(
    temperature: float, expected: tuple[float, ...]
) -> None:
    assert apply_temperature(row(0.8, 0.2, 0.0), temperature)[0] == pytest.approx(expected)


def test_at_temperature_zero_the_first_of_equally_likely_options_is_taken() -> None:
    distributions = np.array([[0.4, 0.4, 0.2], [0.1, 0.45, 0.45]])
    assert apply_temperature(distributions, 0.0).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize("temperature", [1e-3, 0.01, 100.0])
def test_extreme_temperatures_stay_distributions(temperature: float) -> None:
    result = apply_temperature(row(1e-12, 0.3, 0.7, 0.0), temperature)
    assert result.sum() == pytest.approx(1.0)
    assert np.isfinite(result).all()
    assert result[0, 3] == 0.0


@given(WEIGHTS, st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, 5.0]))
@settings(max_examples=100, deadline=None)
def test_temperature_keeps_the_order_of_options_and_the_sum(weights: list[float], temperature: float) -> None:
    before = np.array([weights]) / sum(weights)
    after = apply_temperature(before, temperature)
    assert after.sum() == pytest.approx(1.0)
    assert (after[before == 0.0] == 0.0).all()
    order = np.argsort(before[0], kind="stable")
    # At zero one option has it all, and of equally likely ones it is the first.
    assert after.max() == 1.0 if temperature == 0.0 else (np.diff(after[0][order]) >= -1e-12).all()
    assert before[0][after[0].argmax()] == before.max()


def test_tempering_leaves_what_it_was_given_alone() -> None:
    before = row(0.8, 0.2)
    apply_temperature(before, 0.0)
    apply_temperature(before, 2.0)
    assert before.tolist() == [[0.8, 0.2]]


@pytest.mark.parametrize(
    ("number", "option"), [(0.0, 0), (0.4999, 0), (0.5, 1), (0.7499, 1), (0.75, 2), (0.9999999999999999, 2)]
)
def test_the_first_option_whose_cumulative_probability_exceeds_the_number_is_drawn(number: float, option: int) -> None:
    assert one(row(0.5, 0.25, 0.25), [number]) == [option]


@pytest.mark.parametrize(
    ("probabilities", "possible"),
    [((0.0, 1.0), {1}), ((1.0, 0.0), {0}), ((0.5, 0.0, 0.5), {0, 2}), ((0.0, 0.3, 0.7, 0.0, 0.0), {1, 2})],
)
def test_an_option_without_probability_is_never_drawn(probabilities: tuple[float, ...], possible: set[int]) -> None:
    numbers = [0.0, 1e-300, 0.3, 0.5, 0.7, 1 - 2**-53, *people(2000)]
    assert set(one(row(*probabilities), numbers)) == possible


def test_a_sum_just_below_one_never_draws_an_option_without_probability() -> None:
    short = row(*([0.1] * 9), 0.1 - 1e-12, 0.0)
    assert one(short, [1 - 2**-53]) == [9]


@given(WEIGHTS, st.floats(0, 1, exclude_max=True))
@settings(max_examples=150, deadline=None)
def test_whatever_is_drawn_has_some_probability(weights: list[float], number: float) -> None:
    probabilities = np.array([weights]) / sum(weights)
    (option,) = one(probabilities, [number])
    assert probabilities[0, option] > 0.0


@pytest.mark.parametrize("probabilities", [(0.5, 0.5), (0.7, 0.2, 0.1), (0.05, 0.0, 0.9, 0.05)])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_the_distribution(probabilities: tuple[float, ...], temperature: float) -> None:
    distribution = apply_temperature(row(*probabilities), temperature)
    options = draw_options(distribution, np.zeros(50_000, np.int32), people(50_000))
    likely = distribution[0] > 0
    counts = np.bincount(options, minlength=len(probabilities))[likely]
    assert stats.chisquare(counts, distribution[0][likely] * 50_000).pvalue > 1e-4


def test_everybody_draws_from_the_distribution_of_their_own_prompt() -> None:
    of_person = np.array([0, 1, 1, 0], np.int32)
    options = draw_options(np.array([[1.0, 0.0], [0.0, 1.0]]), of_person, np.array([0.1, 0.1, 0.9, 0.9]))
    assert options.tolist() == [0, 1, 1, 0]


def test_a_colder_distribution_moves_draws_only_towards_the_likelier_option() -> None:
    numbers = people(5000)
    warm, cold = (one(apply_temperature(row(0.7, 0.3), t), numbers.tolist()) for t in (1.0, 0.5))
    assert all(c <= w for c, w in zip(cold, warm, strict=True))
    assert sum(cold) < sum(warm)
