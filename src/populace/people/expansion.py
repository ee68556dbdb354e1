"""From a few described people to many: which of the newly described ones are kept, and where each comes from.

Nothing is asked here. Texts and their vectors come in; out come the distinct ones, as evenly spread over the seeds as
whole people allow, each with its provenance.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import PeopleError
from populace.people.names import draw_names
from populace.people.table import People
from populace.people.traits import OCCUPATIONS, PASTIMES, TEMPERS

Whole = npt.NDArray[np.int64]

SOURCES = ("seed", "model", "rule", "table", "list")
"""Where a field can come from: the designer's seed, a model, our own lists by rule, a table, the list of names."""
_BLOCK = 512
_EXACT = 2**24
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Expansion:
    """People made from seeds or from a table.

    Attributes:
        people: With the columns `name`, `persona`, `seed` (which one, from 1; empty for a table), `batch` (the number
            of the call that wrote the persona; empty where none did), and `source` and `name_source`, one of `SOURCES`.
        counts: What happened: `asked` and `written` (personas), `calls`, `invalid` (calls that could not be read),
            `unusable` (texts that were no persona), `duplicates`, `near duplicates`, `surplus` (more than were
            wanted), `filled` (made by rule).
    """

    people: People
    counts: Counter[str]

    @property
    def provenance(self) -> pl.DataFrame:
        """For each field, how many people have it from which source."""
        frame = self.people.frame
        parts = [
            frame.group_by(pl.col(column).alias("source")).len("people").select(pl.lit(name).alias("field"), pl.all())
            for name, column in (("persona", "source"), ("name", "name_source"))
        ]
        return pl.concat(parts).sort("field", "source").with_columns(pl.col("people").cast(pl.Int64))


@dataclass
class PersonaPool:
    """Personas as they come in, until every seed has its share.

    Args:
        seeds: The described people to begin with.
        count: How many are wanted.
        near: The cosine from which on two personas are too much alike.
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
            raise PeopleError(f"near is a cosine above 0 and at most 1, not {self.near:g}.")
        spelled = [spelling(seed) for seed in self.seeds]
        for row, text in enumerate(spelled):
            if not text:
                raise PeopleError(f"seed {row + 1} is empty.", "Describe a person.")
            if text in spelled[:row]:
                raise PeopleError(f"seeds {spelled.index(text) + 1} and {row + 1} are the same.", "Change one of them.")
        self.texts: list[str] = []
        self.columns: dict[str, list[Any]] = {"seed": [], "batch": [], "source": [], "given": []}
        self._known: set[str] = set()
        self._vectors = np.zeros((0, 1), np.float32)

    def shares(self) -> Whole:
        """How many people each seed is to have; they differ by one at most."""
        whole, left = divmod(self.count, len(self.seeds))
        return whole + (np.arange(len(self.seeds)) < left).astype(np.int64)

    def missing(self) -> Whole:
        """How many people each seed still lacks."""
        return self.shares() - np.bincount(np.array(self.columns["seed"], np.int64), minlength=len(self.seeds))

    def add_seeds(self, vectors: npt.NDArray[np.float32]) -> None:
        """Let the seeds in, as people or only as what others must differ from."""
        self._vectors = vectors
        self._known.update(spelling(seed) for seed in self.seeds)
        if self.with_seeds:
            for row in np.flatnonzero(self.shares() > 0).tolist():
                self._keep(self.seeds[row], row, None, "seed", None)

    def add_personas(
        self,
        seed: Whole,
        texts: Sequence[str],
        vectors: npt.NDArray[np.float32],
        *,
        batch: Whole,
        names: Sequence[str | None] | None = None,
    ) -> int:
        """Keep those of some newly written personas that are distinct and wanted; returns how many.

        Args:
            seed: For each, the row of the seed.
            texts: The personas.
            vectors: A unit vector for each.
            batch: For each, the number of the call that wrote it.
            names: For each, the name that the model gave, if any.
        """
        self.counts["written"] += len(texts)
        spelled = [spelling(text) for text in texts]
        fresh: list[int] = []
        for row, text in enumerate(spelled):
            if text in self._known:
                self.counts["duplicates"] += 1
            else:
                self._known.add(text)
                fresh.append(row)
        rows = np.array(fresh, np.int64)
        far = rows[near_duplicates(vectors[rows], near=self.near, against=self._vectors) < 0]
        if len(far) < len(rows):
            self.counts["near duplicates"] += len(rows) - len(far)
        missing, kept = self.missing(), []
        for row in far.tolist():
            if missing[seed[row]] > 0:
                missing[seed[row]] -= 1
                kept.append(row)
                self._keep(texts[row], int(seed[row]), int(batch[row]), "model", names[row] if names else None)
        if len(kept) < len(far):
            self.counts["surplus"] += len(far) - len(kept)
        self._vectors = np.concatenate([self._vectors, vectors[kept]])
        return len(kept)

    def fill(self, rng: np.random.Generator) -> int:
        """Give each seed what it lacks, by rule: the seed with an age, a trade, a temper and a pastime.

        These differ in their words; how near they are to one another is not looked at.
        """
        made = 0
        kinds = list(itertools.product(OCCUPATIONS, TEMPERS, PASTIMES))
        for row, lacking in enumerate(self.missing().tolist()):
            while lacking > 0:
                trade, temper, pastime = kinds[int(rng.integers(len(kinds)))]
                text = f"{self.seeds[row].rstrip(' .')}; {int(rng.integers(18, 80))}, {trade}, {temper}, {pastime}."
                if spelling(text) not in self._known:
                    self._known.add(spelling(text))
                    self._keep(text, row, None, "rule", None)
                    lacking -= 1
                    made += 1
        self.counts["filled"] += made
        return made

    def expansion(self, rng: np.random.Generator) -> Expansion:
        """The people so far, seed by seed in turn, with distinct names."""
        seed = np.array(self.columns["seed"], np.int64)
        frame = pl.DataFrame(
            {
                "persona": self.texts,
                "seed": seed + 1,
                "batch": pl.Series(self.columns["batch"], dtype=pl.Int64),
                "source": self.columns["source"],
                "given": pl.Series(self.columns["given"], dtype=pl.String),
            }
        )
        frame = frame.with_columns(turn=pl.int_range(pl.len()).over("seed")).sort("turn", "seed").drop("turn")
        named = frame.with_columns(distinct_names(frame["given"], rng)).drop("given")
        return Expansion(People(named.select("name", "persona", "seed", "batch", "source", "name_source")), self.counts)

    def _keep(self, text: str, seed: int, batch: int | None, source: str, name: str | None) -> None:
        self.texts.append(text)
        for column, value in (("seed", seed), ("batch", batch), ("source", source), ("given", name)):
            self.columns[column].append(value)


def near_duplicates(
    vectors: npt.NDArray[np.float32], *, near: float, against: npt.NDArray[np.float32] | None = None
) -> Whole:
    """For each vector, which earlier one it repeats, or -1 where it is the first of its kind.

    A vector that repeats another is left out, so that later ones are not compared with it. Numbers
    from 0 on are rows of `against` and then of `vectors`. Sums are exact, so that the result does not
    depend on the machine.

    Args:
        vectors: Unit vectors.
        near: The cosine from which on one repeats the other.
        against: Vectors that are kept in any case.

    Example:
        >>> near_duplicates(np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.14]], np.float32), near=0.9).tolist()
        [-1, -1, 0]
    """
    before = 0 if against is None else len(against)
    found = np.full(len(vectors), -1, np.int64)
    if not len(vectors):
        return found
    together = vectors if against is None or not before else np.concatenate([against, vectors])
    rows, lengths = _rounded(together)
    bounds = np.float32(near) * lengths
    kept = list(range(before))
    for begin in range(before, len(rows), _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, len(rows)))
        first = np.full(len(block), -1, np.int64)
        for start in range(0, len(kept), 8 * _BLOCK):
            some = np.array(kept[start : start + 8 * _BLOCK])
            close = rows[block] @ rows[some].T >= np.outer(bounds[block], lengths[some])
            if close.any():
                hit = close.any(axis=1) & (first < 0)
                first[hit] = some[close[hit].argmax(axis=1)]
        inside = rows[block] @ rows[block].T >= np.outer(bounds[block], lengths[block])
        for place in np.flatnonzero(np.triu(inside, 1).any(axis=1)).tolist():
            if first[place] < 0:
                after = inside[place] & (np.arange(len(block)) > place) & (first < 0)
                first[after] = block[place]
        found[block - before] = first
        kept.extend(block[first < 0].tolist())
    return found


def distinct_names(given: pl.Series, rng: np.random.Generator) -> pl.DataFrame:
    """A distinct name for everybody: the one given where it is the first of its kind, else one from our list."""
    usable = given.is_not_null() & given.is_first_distinct()
    taken = given.filter(usable)
    drawn = draw_names(given.len() + taken.len(), rng)["name"]
    free = drawn.filter(~drawn.is_in(taken.implode())) if taken.len() else drawn
    place = (~usable).cast(pl.Int64).cum_sum() - 1
    listed = free.gather(place.clip(0).cast(pl.UInt32))
    return pl.DataFrame(
        {
            "name": given.zip_with(usable, listed),
            "name_source": pl.Series(["list", "model"]).gather(usable.cast(pl.UInt32)),
        }
    )


def spelling(text: str) -> str:
    """A text in the form in which two that differ only in case and marks are the same."""
    return " ".join(_WORD.findall(text.casefold()))


def _rounded(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Vectors as small whole numbers, whose products add up exactly, and the length of each."""
    most = np.float32(min(127, int((_EXACT / vectors.shape[1]) ** 0.5)))
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    rows = np.rint(vectors / np.where(largest > 0, largest, 1) * most).astype(np.float32)
    lengths = np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1))
    return rows, np.where(lengths > 0, lengths, 1).astype(np.float32)
