from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from populace.base.randomness import bits, path_key, person_keys, stream, uniforms

MANY = 100_000


def numbers(seed: int = 1, path: str = "3/0", count: int = MANY) -> np.ndarray:
    return uniforms(path_key(seed, path), person_keys(pl.int_range(count, eager=True)))


def test_the_same_place_gives_the_same_numbers_and_any_other_place_others() -> None:
    assert (numbers(1, "3/0") == numbers(1, "3/0")).all()
    for seed, path in [(2, "3/0"), (1, "3/1"), (1, "4/0"), (1, "3/0/0")]:
        assert not (numbers(seed, path, 100) == numbers(1, "3/0", 100)).any()


def test_numbers_never_change_between_versions() -> None:
    keys = person_keys(pl.Series([0, 1, 2**40]))
    assert path_key(7, "3/0") == 4068299189366490741
    assert bits(5, keys).tolist() == [_splitmix(5, 0), _splitmix(5, 1), _splitmix(5, 2**40)]


def _splitmix(key: int, person: int) -> int:
    mask = 2**64 - 1

    def mix(x: int) -> int:
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    return mix((mix((person * 0x9E3779B97F4A7C15 + key) & mask) + key) & mask)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30, unique=True), st.integers(0, 30), st.data())
@settings(max_examples=60, deadline=None)
def test_a_persons_number_depends_on_nobody_else_asked(ids: list[int], cut: int, data: st.DataObject) -> None:
    key = path_key(1, "3/0")
    whole = uniforms(key, person_keys(pl.Series(ids, dtype=pl.Int64)))
    parts = [uniforms(key, person_keys(pl.Series(part, dtype=pl.Int64))) for part in (ids[:cut], ids[cut:])]
    assert np.concatenate(parts).tolist() == whole.tolist()
    order = data.draw(st.permutations(range(len(ids))))
    shuffled = uniforms(key, person_keys(pl.Series([ids[i] for i in order], dtype=pl.Int64)))
    assert shuffled.tolist() == whole[order].tolist()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=2, max_size=20, unique=True))
@settings(max_examples=40, deadline=None)
def test_string_ids_have_keys_of_their_own_wherever_they_appear(ids: list[str]) -> None:
    keys = person_keys(pl.Series(ids))
    assert len(set(keys.tolist())) == len(ids)
    assert person_keys(pl.Series(ids[::-1])).tolist() == keys.tolist()[::-1]
    assert person_keys(pl.Series(ids).cast(pl.Categorical)).tolist() == keys.tolist()


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.UInt16])
def test_the_width_of_an_integer_column_does_not_matter(dtype: pl.DataType) -> None:
    ids = pl.Series([0, 5, 100])
    assert person_keys(ids.cast(dtype)).tolist() == person_keys(ids).tolist()


@pytest.mark.parametrize("path", ["1/0", "1/1", "250/3/7:mary/0"])
@pytest.mark.parametrize("seed", [0, 1, -5, 2**40])
def test_numbers_are_uniform_over_people(seed: int, path: str) -> None:
    draws = numbers(seed, path)
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    assert stats.kstest(draws, "uniform").pvalue > 1e-4
    assert stats.chisquare(np.bincount((draws * 100).astype(int), minlength=100)).pvalue > 1e-4


def test_numbers_are_uniform_over_places_for_one_person() -> None:
    one = person_keys(pl.Series([7]))
    draws = np.concatenate([uniforms(path_key(1, f"{step}/0"), one) for step in range(5000)])
    assert stats.kstest(draws, "uniform").pvalue > 1e-4


def test_numbers_are_uniform_for_string_ids() -> None:
    keys = person_keys(pl.Series([f"person-{i}" for i in range(20_000)]))
    assert stats.kstest(uniforms(path_key(1, "3/0"), keys), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("other", [(1, "3/1"), (1, "4/0"), (2, "3/0"), (1, "30"), (1, "3/0/rng")])
def test_different_places_are_uncorrelated(other: tuple[int, str]) -> None:
    assert abs(np.corrcoef(numbers(), numbers(*other))[0, 1]) < 4 / np.sqrt(MANY)


@pytest.mark.parametrize("lag", [1, 2, 16, 1000])
def test_neighbouring_people_are_uncorrelated(lag: int) -> None:
    draws = numbers()
    assert abs(np.corrcoef(draws[lag:], draws[:-lag])[0, 1]) < 4 / np.sqrt(MANY)


def test_every_bit_is_set_half_of_the_time() -> None:
    draws = bits(path_key(1, "3/0"), person_keys(pl.int_range(MANY, eager=True)))
    share = [float(((draws >> np.uint64(bit)) & np.uint64(1)).mean()) for bit in range(64)]
    assert max(abs(s - 0.5) for s in share) < 5 * 0.5 / np.sqrt(MANY)


def test_a_million_people_get_different_bits() -> None:
    draws = bits(path_key(1, "3/0"), person_keys(pl.int_range(1_000_000, eager=True)))
    assert len(np.unique(draws)) == 1_000_000


def test_a_stream_belongs_to_its_place_and_goes_on_from_draw_to_draw() -> None:
    first, again, other = stream(7, "3/0"), stream(7, "3/0"), stream(7, "3/1")
    assert first.random(5).tolist() == again.random(5).tolist()
    assert first.random(5).tolist() == again.random(5).tolist()
    assert stream(7, "3/0").random(5).tolist() != other.random(5).tolist()
    assert abs(np.corrcoef(stream(7, "3/0").random(MANY), other.random(MANY))[0, 1]) < 4 / np.sqrt(MANY)


def test_drawing_numbers_leaves_the_global_random_state_alone() -> None:
    before = np.random.get_state()[1].tolist()
    stream(1, "0").random(10)
    numbers(count=10)
    assert np.random.get_state()[1].tolist() == before
