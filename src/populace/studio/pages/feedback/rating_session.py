"""One rater before one queue: which answer comes next, what was said of it, and how to take that back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from populace.engine.workspace import Workspace
from populace.feedback import Feedback, Item, Queue


@dataclass
class RatingSession:
    """A rater at work; nothing in it tells where an answer comes from.

    Attributes:
        feedback: Where it is kept.
        queue: The name of the queue.
        seed: Which answers of its runs.
        rater: Who judges.
        items: The answers in the order of this rater.
        missing: How many runs of the queue are gone.
        said: What the rater said of each answer so far.
        place: The answer that is shown; as many as there are answers once all are judged.
    """

    feedback: Feedback
    queue: str
    seed: int
    rater: str
    items: list[Item]
    missing: int
    said: dict[str, dict[str, Any]]
    place: int = 0
    _done: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, workspace: Workspace, queue: str, seed: int, rater: str) -> RatingSession:
        """Sit down before a queue, at the first answer that this rater has not judged."""
        drawn = Queue.open(workspace, queue).draw(workspace, seed)
        feedback = Feedback(workspace)
        items = drawn.in_rater_order(rater, seed)
        made = cls(feedback, queue, seed, rater, items, drawn.missing, feedback.judgements(rater))
        made.place = made._next(0)
        return made

    @property
    def item(self) -> Item | None:
        """The answer that is shown; None once all are judged."""
        return self.items[self.place] if self.place < len(self.items) else None

    @property
    def judged(self) -> int:
        """How many of the answers were judged or skipped."""
        return sum(item.key in self.said for item in self.items)

    @property
    def before(self) -> str:
        """What was said of the answer that is shown."""
        line = self.said.get(self.item.key) if self.item else None
        if line is None:
            return ""
        return f"You scored it {line['score']}." if line["verdict"] == "scored" else f"You have {line['verdict']} it."

    def go_to(self, place: int) -> None:
        """Show an answer by its place."""
        self.place = max(0, min(place, len(self.items)))

    def score(self, score: int) -> None:
        """Keep a score and go on."""
        item = self._shown()
        self.feedback.score(item, self.rater, score, queue=self.queue, seed=self.seed)
        self._went(item, {"verdict": "scored", "score": score})

    def rewrite(self, text: str) -> None:
        """Keep what the person should have answered and go on."""
        item = self._shown()
        self.feedback.rewrite(item, self.rater, text, queue=self.queue, seed=self.seed)
        self._went(item, {"verdict": "rewritten", "score": None})

    def skip(self) -> None:
        """Leave it and go on."""
        item = self._shown()
        self.feedback.skip(item, self.rater, queue=self.queue, seed=self.seed)
        self._went(item, {"verdict": "skipped", "score": None})

    def back(self) -> None:
        """Go back to the answer before, and take back what was said of it."""
        if not self._done and self.place == 0:
            return
        self.place = self._done.pop() if self._done else self.place - 1
        item = self._shown()
        if item.key in self.said:
            self.feedback.withdraw(item, self.rater, queue=self.queue, seed=self.seed)
            del self.said[item.key]

    def _shown(self) -> Item:
        return self.items[min(self.place, len(self.items) - 1)]

    def _went(self, item: Item, line: dict[str, Any]) -> None:
        self.said[item.key] = line
        self._done.append(self.place)
        self.place = self._next(self.place + 1)

    def _next(self, start: int) -> int:
        """The first answer from here on, and then from the beginning, that is not judged."""
        order = [*range(start, len(self.items)), *range(min(start, len(self.items)))]
        return next((place for place in order if self.items[place].key not in self.said), len(self.items))
