"""A queue of answers to judge: a sample spread evenly over the runs, in a separate order for each rater."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from populace.base.documents import read_json
from populace.base.errors import DamagedRunError, JournalError, UnknownNameError, UsageError
from populace.base.randomness import stream
from populace.engine.workspace import Workspace
from populace.evaluation.believability import BelievabilityStudy
from populace.feedback.interview_items import interview_items
from populace.feedback.items import KINDS, Item, ItemKind, draw_items
from populace.feedback.sources import Source, read_sources
from populace.journal.segments import writing


@dataclass(frozen=True)
class QueueSample:
    """The sample of a queue for a seed.

    Attributes:
        items: The answers.
        missing: The number of runs that can no longer be read.
    """

    items: tuple[Item, ...]
    missing: int = 0

    def in_rater_order(self, rater: str, seed: int) -> list[Item]:
        """The answers in the order in which a rater sees them."""
        order = stream(seed, f"feedback/order/{rater}").permutation(len(self.items))
        return [self.items[place] for place in order.tolist()]


@dataclass(frozen=True)
class Queue:
    """The runs to judge, and which of their answers. Its name does not reveal them, so raters stay blind.

    Attributes:
        sources: The runs.
        kind: Decisions or utterances.
        size: The number of answers.
        purpose: Only answers to questions with this purpose.

    Example:
        >>> queue = Queue((Source("norms-1a2b", 7),), "decision", 20)
        >>> queue.name
        '3f8193'
    """

    sources: tuple[Source, ...]
    kind: ItemKind = "decision"
    size: int = 30
    purpose: str = ""

    @classmethod
    def of(
        cls, workspace: Workspace, names: Sequence[str], kind: str = "decision", size: int = 30, purpose: str = ""
    ) -> Queue:
        """A queue over runs and experiments by name."""
        known = next((each for each in KINDS if each == kind), None)
        if known is None:
            raise UnknownNameError("kind of answer", kind, KINDS)
        if not 1 <= size <= 2000:
            raise UsageError(f"a queue of {size} answers cannot be made.", "Choose 1 to 2000.")
        return cls(read_sources(workspace, names), known, size, purpose)

    @property
    def name(self) -> str:
        """Six digits of a hash of its fields."""
        return hashlib.blake2b(json.dumps(self._data(), sort_keys=True).encode(), digest_size=3).hexdigest()

    def save(self, workspace: Workspace) -> None:
        """Store it, so that others can judge the same answers by its name."""
        path = _queue_path(workspace, self.name)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{self.name}-{os.getpid()}.json")
            temporary.write_text(json.dumps(self._data(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(temporary, path)

    @classmethod
    def open(cls, workspace: Workspace, name: str) -> Queue:
        """A stored queue by its name."""
        known = [path.stem for path in sorted(_queue_path(workspace, "x").parent.glob("*.json"))]
        if name not in known:
            raise UnknownNameError("queue of answers", name, known, "Make a new one on the page Feedback.")
        try:
            data = read_json(_queue_path(workspace, name))
            return cls(**data | {"sources": tuple(Source(**each) for each in data["sources"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DamagedRunError(f"the queue {name} cannot be read.", "Make a new one.") from error

    def draw(self, workspace: Workspace, seed: int = 0) -> QueueSample:
        """The sample: the same number of answers from every run, as far as it has them."""
        piles, missing = [], 0
        for source in self.sources:
            try:
                if source.study:
                    study = BelievabilityStudy.open(source.study, workspace)
                    piles.append(interview_items(study, self.size, seed) if self.kind == "utterance" else [])
                    continue
                run = source.open(workspace)
                origin = (source.experiment, source.arm)
                pile = draw_items(
                    run, self.kind, self.size, seed, until=source.until, purpose=self.purpose, origin=origin
                )
                piles.append(pile)
            except (JournalError, UnknownNameError):
                missing += 1  # told to the rater as a number, as a name would not be blind
        return QueueSample(tuple(_round_robin(piles, self.size)), missing)

    def _data(self) -> dict[str, Any]:
        return asdict(self) | {"sources": [source.data() for source in self.sources]}


def _round_robin(piles: list[list[Item]], size: int) -> list[Item]:
    """One item from every pile in turn, until there are enough."""
    deepest = max(map(len, piles), default=0)
    items = [pile[place] for place in range(deepest) for pile in piles if place < len(pile)]
    return items[:size]


def _queue_path(workspace: Workspace, name: str) -> Any:
    return workspace.folder / "feedback" / "queues" / f"{name}.json"
