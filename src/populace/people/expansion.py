"""From a few described people (seeds) to many: which new personas are accepted, and where each comes from.

No model is called here. Texts and their vectors are the input; the result is the distinct personas, spread over the
seeds as evenly as whole people allow, each with its provenance.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PeopleError
from populace.base.words import lower_words
from populace.people.names import draw_names
from populace.people.table import People
from populace.people.traits import OCCUPATIONS, PASTIMES, TEMPERS

Integers = npt.NDArray[np.int64]

SOURCES = ("seed", "model", "rule", "table", "list")
"""The sources of a field: a seed by the user, a model, the built-in lists by rule, a table, the list of names."""
_ROW_SCHEMA = {"persona": pl.String, "seed": pl.Int64, "batch": pl.Int64, "source": pl.String, "given_name": pl.String}
_BLOCK = 512
_EXACT = 2**24
"""Whole numbers up to this size are exact in 32-bit floats."""


@dataclass(frozen=True)
class Expansion:
    """People generated from seeds or from a table, with their provenance.

    Attributes:
        people: With the columns `name`, `persona`, `seed` (its number, from 1; empty for a table), `batch` (the number
            of the call that wrote the persona; empty if none did), and `source` and `name_source`, one of `SOURCES`.
        counts: How many personas were `asked` for and `written`, how many `calls` were made, how many of them were
            `invalid` (not readable), and how many texts were `unusable` (not a persona), `duplicates`,
            `near duplicates`, `surplus` (more than needed) or `filled` (made by rule).
    """

    people: People
    counts: Counter[str]

    @property
    def provenance(self) -> pl.DataFrame:
        """How many people have each field from each source: the columns `field`, `source` and `people`."""
        frame = self.people.frame
        parts = [
            frame.group_by(pl.col(column).alias("source")).len("people").select(pl.lit(name).alias("field"), pl.all())
            for name, column in (("persona", "source"), ("name", "name_source"))
        ]
        return pl.concat(parts).sort("field", "source").with_columns(pl.col("people").cast(pl.Int64))


@dataclass
class PersonaPool:
    """Collects distinct personas until every seed has its share.

    Args:
        seeds: The descriptions to begin with.
        count: How many people are needed.
        near: Two personas whose cosine is at least this are too similar.
        with_seeds: Whether the seeds themselves are among the people.

    Example:
        >>> pool = PersonaPool(["a baker", "a cyclist"], 4, near=0.9)
        >>> pool.add_seeds(np.eye(3, dtype=np.float32)[:2])
        >>> pool.missing().tolist()
        [1, 1]
        >>> vectors, calls = np.eye(3, dtype=np.float32)[1:], np.array([1, 1])
        >>> pool.add_personas(np.array([0, 1]), ["A baker.", "a nurse"], vectors, batch=calls)
        1
        >>> dict(pool.counts)
        {'written': 2, 'duplicates': 1}
    """

    seeds: Sequence[str]
    count: int
    near: float
    with_seeds: bool = True
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if len(self.seeds) < 1 or self.count < 1:
            raise PeopleError(f"{len(self.seeds)} seeds cannot become {self.count} people.", "Both must be at least 1.")
        if not 0 < self.near <= 1:
            raise PeopleError(f"near must be a cosine above 0 and at most 1, not {self.near:g}.")
        words = [normal_words(seed) for seed in self.seeds]
        for row, text in enumerate(words):
            if not text:
                raise PeopleError(f"seed {row + 1} is empty.", "Describe a person.")
            if text in words[:row]:
                raise PeopleError(f"seeds {words.index(text) + 1} and {row + 1} are the same.", "Change one of them.")
        self._rows: list[tuple[str, int, int | None, str, str | None]] = []
        self._known: set[str] = set()
        self._vectors = np.zeros((0, 1), np.float32)

    @property
    def texts(self) -> list[str]:
        """The personas so far."""
        return [row[0] for row in self._rows]

    def shares(self) -> Integers:
        """How many people each seed should have; the numbers differ by at most one."""
        whole, left = divmod(self.count, len(self.seeds))
        return whole + (np.arange(len(self.seeds)) < left).astype(np.int64)

    def missing(self) -> Integers:
        """How many people each seed still lacks."""
        seeds = np.array([row[1] for row in self._rows], np.int64)
        return self.shares() - np.bincount(seeds, minlength=len(self.seeds))

    def add_seeds(self, vectors: npt.NDArray[np.float32]) -> None:
        """Add the seeds: as people, or only as texts from which the others must differ."""
        self._vectors = vectors
        self._known.update(normal_words(seed) for seed in self.seeds)
        if self.with_seeds:
            for row in np.flatnonzero(self.shares() > 0).tolist():
                self._rows.append((self.seeds[row], row, None, "seed", None))

    def add_personas(
        self,
        seed: Integers,
        texts: Sequence[str],
        vectors: npt.NDArray[np.float32],
        *,
        batch: Integers,
        names: Sequence[str | None] | None = None,
    ) -> int:
        """Accept those of some new personas that are distinct and still needed; returns how many.

        Args:
            seed: The index of each persona's seed.
            texts: The personas.
            vectors: A unit vector for each persona.
            batch: The number of the call that wrote each persona.
            names: The name that the model gave to each person, or None.
        """
        self.counts["written"] += len(texts)
        new: list[int] = []
        for row, text in enumerate(map(normal_words, texts)):
            if text in self._known:
                self.counts["duplicates"] += 1
            else:
                self._known.add(text)
                new.append(row)
        rows = np.array(new, np.int64)
        distinct = rows[near_duplicates(vectors[rows], near=self.near, against=self._vectors) < 0]
        if len(distinct) < len(rows):
            self.counts["near duplicates"] += len(rows) - len(distinct)
        missing, accepted = self.missing(), []
        for row in distinct.tolist():
            if missing[seed[row]] > 0:
                missing[seed[row]] -= 1
                accepted.append(row)
                name = names[row] if names else None
                self._rows.append((texts[row], int(seed[row]), int(batch[row]), "model", name))
        if len(accepted) < len(distinct):
            self.counts["surplus"] += len(distinct) - len(accepted)
        self._vectors = np.concatenate([self._vectors, vectors[accepted]])
        return len(accepted)

    def fill(self, rng: np.random.Generator) -> int:
        """Add the missing personas by rule: the seed with an age, an occupation, a temper and a pastime.

        They differ in their words; their similarity is not checked. Returns how many were added.
        """
        count = 0
        traits = list(itertools.product(OCCUPATIONS, TEMPERS, PASTIMES))
        for row, missing in enumerate(self.missing().tolist()):
            while missing > 0:
                occupation, temper, pastime = traits[int(rng.integers(len(traits)))]
                text = (
                    f"{self.seeds[row].rstrip(' .')}; {int(rng.integers(18, 80))}, {occupation}, {temper}, {pastime}."
                )
                if normal_words(text) not in self._known:
                    self._known.add(normal_words(text))
                    self._rows.append((text, row, None, "rule", None))
                    missing -= 1
                    count += 1
        self.counts["filled"] += count
        return count

    def expansion(self, rng: np.random.Generator) -> Expansion:
        """The people so far, one of each seed in turn, with distinct names."""
        frame = pl.DataFrame(self._rows, schema=_ROW_SCHEMA, orient="row").with_columns(pl.col("seed") + 1)
        frame = frame.with_columns(turn=pl.int_range(pl.len()).over("seed")).sort("turn", "seed").drop("turn")
        frame = frame.with_columns(distinct_names(frame["given_name"], rng))
        return Expansion(People(frame.select("name", "persona", "seed", "batch", "source", "name_source")), self.counts)


def near_duplicates(
    vectors: npt.NDArray[np.float32], *, near: float, against: npt.NDArray[np.float32] | None = None
) -> Integers:
    """For each vector, the number of the first earlier vector that is near it, or -1 if there is none.

    A near duplicate is left out, so later vectors are not compared with it. Rows of `against` are numbered first, then
    those of `vectors`. Sums are exact, so the result does not depend on the machine.

    Args:
        vectors: Unit vectors.
        near: Two vectors whose cosine is at least this are near duplicates.
        against: Earlier vectors, none of which is left out.

    Example:
        >>> near_duplicates(np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.14]], np.float32), near=0.9).tolist()
        [-1, -1, 0]
    """
    before = 0 if against is None else len(against)
    originals = np.full(len(vectors), -1, np.int64)
    if not len(vectors):
        return originals
    everything = vectors if against is None or not before else np.concatenate([against, vectors])
    rows, lengths = _round_vectors(everything)
    bounds = np.float32(near) * lengths
    distinct = list(range(before))
    for begin in range(before, len(rows), _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, len(rows)))
        first = np.full(len(block), -1, np.int64)
        for start in range(0, len(distinct), 8 * _BLOCK):
            some = np.array(distinct[start : start + 8 * _BLOCK])
            close = rows[block] @ rows[some].T >= np.outer(bounds[block], lengths[some])
            if close.any():
                hit = close.any(axis=1) & (first < 0)
                first[hit] = some[close[hit].argmax(axis=1)]
        inside = rows[block] @ rows[block].T >= np.outer(bounds[block], lengths[block])
        for place in np.flatnonzero(np.triu(inside, 1).any(axis=1)).tolist():
            if first[place] < 0:
                after = inside[place] & (np.arange(len(block)) > place) & (first < 0)
                first[after] = block[place]
        originals[block - before] = first
        distinct.extend(block[first < 0].tolist())
    return originals


def distinct_names(names: pl.Series, rng: np.random.Generator) -> pl.DataFrame:
    """A distinct name for everybody, and its source: the first use of a given name counts, others get a drawn one.

    Args:
        names: The name that was given to each person, or null.
        rng: Draws the other names.
    """
    usable = names.is_not_null() & names.is_first_distinct()
    in_use = names.filter(usable)
    candidates = draw_names(names.len() + in_use.len(), rng)["name"]
    free = candidates.filter(~candidates.is_in(in_use.implode())) if in_use.len() else candidates
    place = (~usable).cast(pl.Int64).cum_sum() - 1
    replacements = free.gather(place.clip(0).cast(pl.UInt32))
    return pl.DataFrame(
        {
            "name": names.zip_with(usable, replacements),
            "name_source": pl.Series(["list", "model"]).gather(usable.cast(pl.UInt32)),
        }
    )


def normal_words(text: str) -> str:
    """The words of a text in lower case: equal for texts that differ only in case and punctuation."""
    return " ".join(lower_words(text))


def _round_vectors(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Vectors rounded to small whole numbers, so that sums of products are exact, and the length of each."""
    most = np.float32(min(127, int((_EXACT / vectors.shape[1]) ** 0.5)))
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    rows = np.rint(vectors / np.where(largest > 0, largest, 1) * most).astype(np.float32)
    lengths = np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1))
    return rows, np.where(lengths > 0, lengths, 1).astype(np.float32)
