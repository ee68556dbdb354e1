"""Checks of a memory of one's own."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from populace.minds import MemoryPart, Recollection
from populace.people import Id
from populace.testing.stage import require

_TEXTS = {
    "deed": "You {} the roof.",
    "hearing": 'Di told you: "The {} is late."',
}
_WORDS = ("mended", "ferry", "painted", "train", "swept", "bus")


def check_memory(make: Callable[[], MemoryPart]) -> None:
    """Check that a memory keeps to its protocol.

    It stores for many people and returns an id for each memory, which no other memory has. People recall their own
    memories only, no more than `top`, of the given kinds, in the words in which they were stored, and the same ones
    each time. Empty queries, people without memories and empty lists are no errors.

    Args:
        make: Makes a new memory; a class is such a function.

    Raises:
        ParameterError: What is wrong.

    Example:
        >>> from populace.minds import Memory
        >>> from populace.models import HashingEmbedder
        >>> check_memory(lambda: Memory(HashingEmbedder(64)))
    """
    for people in ((0, 1, 2), ("ann", "bo", "cy")):
        _check_with(make, people)


def _check_with(make: Callable[[], MemoryPart], people: Sequence[Id]) -> None:
    part = make()
    for method in ("store", "recollect"):
        require(callable(getattr(part, method, None)), part, f"has no method {method}")
    stored = _fill(part, people)
    first, second, nobody = people
    numbers = [number for _, _, _, number in stored]
    require(len(set(numbers)) == len(numbers), part, "gives one id to two memories")
    for queries in (["the roof"] * 3, [""] * 3):
        recollection = _recollect(part, people, queries, top=3)
        for who, ids, text in zip(people, recollection.ids.to_list(), recollection.texts.to_list(), strict=True):
            own = {number: words for owner, _, words, number in stored if owner == who}
            require(set(ids) <= set(own), part, f"recalls memories that are not those of {who!r}")
            require(len(ids) <= 3, part, f"recalls {len(ids)} memories where top is 3")
            require(len(set(ids)) == len(ids), part, "recalls one memory twice")
            require(all(own[number] in text for number in ids), part, "shows other words than were stored")
            require(ids or who == nobody, part, f"recalls nothing for {who!r}, who has memories")
    require(not _recollect(part, [nobody], ["the roof"], top=3).ids[0].len(), part, "recalls what nobody stored")
    for kind in _TEXTS:
        of_kind = {number for _, other, _, number in stored if other == kind}
        for ids in _recollect(part, [first, second], ["the roof"] * 2, top=3, kinds=[kind]).ids.to_list():
            require(set(ids) <= of_kind, part, f"recalls memories of other kinds where kinds is [{kind!r}]")
    require(len(_recollect(part, [], [], top=3)) == 0, part, "recalls something for nobody")
    twice = _recollect(part, [first, first], ["the roof", "the ferry"], top=2)
    require(len(twice) == 2, part, "has no row for each query where a person thinks of two things")
    _check_rest(part, people, numbers)
    _check_repeats(make, people)


def _fill(part: MemoryPart, people: Sequence[Id]) -> list[tuple[Id, str, str, int]]:
    """Store memories of two of three people; returns owner, kind, text and id of each."""
    stored: list[tuple[Id, str, str, int]] = []
    for place, word in enumerate(_WORDS):
        owners = [people[0], people[1], people[0]]
        kind = list(_TEXTS)[place % 2]
        texts = [f"{_TEXTS[kind].format(word)} ({number}, {place})" for number in range(len(owners))]
        importance: Any = [3.0, 8.0, 5.0] if place % 3 else 4.0
        numbers = part.store(owners, texts, kind=kind, now=60 * place, importance=importance)
        require(len(numbers) == len(owners), part, f"returns {len(numbers)} ids for {len(owners)} memories")
        require(np.issubdtype(np.asarray(numbers).dtype, np.integer), part, "returns ids that are no whole numbers")
        stored += zip(owners, [kind] * len(owners), texts, np.asarray(numbers).tolist(), strict=True)
    none = part.store([], [], kind="deed", now=600, importance=3.0)
    require(len(none) == 0, part, "returns ids where nothing was stored")
    return stored


def _recollect(
    part: MemoryPart, ids: Sequence[Id], queries: Sequence[str], *, top: int, kinds: Sequence[str] | None = None
) -> Recollection:
    recollection = part.recollect(ids, queries, now=900, purpose="check", top=top, kinds=kinds)
    require(isinstance(recollection, Recollection), part, "recollects something that is no Recollection")
    require(len(recollection) == len(ids), part, f"recollects {len(recollection)} rows for {len(ids)} people")
    return recollection


def _check_rest(part: MemoryPart, people: Sequence[Id], numbers: Sequence[int]) -> None:
    require(len(part.importance_of(numbers)) == len(numbers), part, "gives no importance for each id")
    tables = part.drain_tables()
    are_tables = isinstance(tables, dict) and all(isinstance(table, pl.DataFrame) for table in tables.values())
    require(are_tables, part, "drains something that is no dictionary of tables")
    evidence = part.store(
        [people[0]], ["It seems so."], kind="reflection", now=960, importance=5, evidence=[numbers[:1]]
    )
    require(len(evidence) == 1, part, "does not store a memory that rests on others")
    require(isinstance(part.forget(1000), int), part, "does not say how many memories it forgot")


def _check_repeats(make: Callable[[], MemoryPart], people: Sequence[Id]) -> None:
    """Two memories with the same history recall the same."""
    recollections = []
    for _ in range(2):
        part = make()
        _fill(part, people)
        recollections.append(_recollect(part, people, ["the ferry"] * 3, top=2))
    one, two = recollections
    same = one.texts.equals(two.texts) and one.ids.equals(two.ids)
    require(same, make(), "recalls something else after the same history")
