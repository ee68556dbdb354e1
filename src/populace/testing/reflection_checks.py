"""Checks of a reflection of one's own."""

from collections.abc import Callable, Iterable, Sequence

import numpy.typing as npt

from populace.engine.scenario import Scenario
from populace.minds import Memory, ReflectionPart
from populace.minds.growable_arrays import Ints
from populace.models import HashingEmbedder
from populace.people import Id
from populace.testing.stage import on_stage, require

_MEMORIES = 40


class _Watched(Memory):
    """A memory that records what is stored, by whom and on what it rests."""

    def __init__(self) -> None:
        super().__init__(HashingEmbedder(64))
        self.conclusions: list[tuple[Id, str, str, tuple[int, ...]]] = []
        self.owner_of: dict[int, Id] = {}

    def store(
        self,
        ids: Iterable[Id],
        texts: Sequence[str],
        *,
        kind: str,
        now: int,
        importance: float | npt.ArrayLike,
        evidence: Sequence[Sequence[int]] | None = None,
    ) -> Ints:
        people = list(ids)
        numbers = super().store(people, texts, kind=kind, now=now, importance=importance, evidence=evidence)
        self.owner_of |= dict(zip(numbers.tolist(), people, strict=True))
        grounds = evidence or [()] * len(people)
        self.conclusions += [
            (who, kind, text, tuple(ground)) for who, text, ground in zip(people, texts, grounds, strict=True)
        ]
        return numbers


def check_reflection(make: Callable[[], ReflectionPart]) -> None:
    """Check that a reflection keeps to its protocol.

    It says how many conclusions people drew, and stores as many, as memories of the kind `reflection`, for those alone
    who were to reflect. A conclusion rests on memories of the same person. Nobody reflects where nobody is to, answers
    that cannot be read are no errors, and the same answers give the same conclusions.

    Args:
        make: Makes a new reflection; a class is such a function.

    Raises:
        ParameterError: What is wrong.

    Example:
        >>> from populace.minds import Reflection
        >>> check_reflection(Reflection)
    """
    part = make()
    first = _think(part, [0, 1])
    require(_think(make(), [0, 1]) == first, part, "concludes something else after the same answers")
    _think(make(), [0, 1], answers=False)
    require(not _think(make(), []), part, "lets people reflect whom nobody named")


def _think(
    part: ReflectionPart, ids: Sequence[Id], *, answers: bool = True
) -> list[tuple[Id, str, str, tuple[int, ...]]]:
    memory = _Watched()
    for number in range(_MEMORIES):
        texts = [f"You mended roof {number}.", f"You fed cat {number}.", f"You read page {number}."]
        memory.store([0, 1, 2], texts, kind="deed", now=60 * number, importance=9)
    memory.conclusions = []

    async def body(stage: Scenario) -> int:
        return await part.think(stage, memory, ids, 60 * _MEMORIES)

    count = on_stage(part, body, answers=answers)
    require(isinstance(count, int), part, "does not say how many conclusions there were")
    stored = memory.conclusions
    require(len(stored) == count, part, f"says that there were {count} conclusions and stores {len(stored)}")
    for who, kind, text, grounds in stored:
        require(who in ids, part, f"stores a conclusion of {who!r}, who was not to reflect")
        require(kind == "reflection", part, f"stores a conclusion as {kind!r}, not as 'reflection'")
        require(text.strip(), part, "stores a conclusion without words")
        owners = {memory.owner_of.get(number) for number in grounds}
        require(owners <= {who}, part, f"lets a conclusion of {who!r} rest on what somebody else remembers")
    return stored
