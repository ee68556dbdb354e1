"""The answers of a queue before one rater: the current one, the judgements so far, and how to go back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from populace.engine.workspace import Workspace
from populace.feedback import Feedback, Item, Queue


@dataclass
class RatingSession:
    """The answers of a queue before one rater; nothing in it tells where an answer comes from.

    Attributes:
        queue: The name of the queue.
        seed: The seed that draws answers from its runs.
        items: The answers in the order of this rater.
        missing: How many runs of the queue are gone.
        judgements: What the rater recorded so far, by the key of the answer.
        place: The position of the current answer; the number of answers once all are judged.
    """

    feedback: Feedback
    queue: str
    seed: int
    rater: str
    items: list[Item]
    missing: int
    judgements: dict[str, dict[str, Any]]
    place: int = 0
    _history: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, workspace: Workspace, queue: str, seed: int, rater: str) -> RatingSession:
        """Open a queue at the first answer that this rater has not judged."""
        draw = Queue.open(workspace, queue).draw(workspace, seed)
        feedback = Feedback(workspace)
        items = draw.in_rater_order(rater, seed)
        session = cls(feedback, queue, seed, rater, items, draw.missing, feedback.judgements(rater))
        session.place = session._next_place(0)
        return session

    @property
    def item(self) -> Item | None:
        """The current answer; None once all are judged."""
        return self.items[self.place] if self.place < len(self.items) else None

    @property
    def judged(self) -> int:
        """How many of the answers were judged or skipped."""
        return sum(item.key in self.judgements for item in self.items)

    @property
    def earlier_judgement(self) -> str:
        """The rater's earlier judgement of the current answer, as a sentence; empty where there is none."""
        line = self.judgements.get(self.item.key) if self.item else None
        if line is None:
            return ""
        return f"You scored it {line['score']}." if line["verdict"] == "scored" else f"You have {line['verdict']} it."

    def go_to(self, place: int) -> None:
        """Show the answer at a position."""
        self.place = max(0, min(place, len(self.items)))

    def score(self, score: int) -> None:
        """Record a score and go on."""
        self.feedback.score(self._current, self.rater, score, queue=self.queue, seed=self.seed)
        self._go_on("scored", score)

    def rewrite(self, text: str) -> None:
        """Record what the person should have answered and go on."""
        self.feedback.rewrite(self._current, self.rater, text, queue=self.queue, seed=self.seed)
        self._go_on("rewritten")

    def skip(self) -> None:
        """Record that the answer was skipped and go on."""
        self.feedback.skip(self._current, self.rater, queue=self.queue, seed=self.seed)
        self._go_on("skipped")

    def back(self) -> None:
        """Go back to the previous answer, and withdraw its judgement."""
        if not self._history and self.place == 0:
            return
        self.place = self._history.pop() if self._history else self.place - 1
        item = self._current
        if item.key in self.judgements:
            self.feedback.withdraw(item, self.rater, queue=self.queue, seed=self.seed)
            del self.judgements[item.key]

    @property
    def _current(self) -> Item:
        return self.items[min(self.place, len(self.items) - 1)]

    def _go_on(self, verdict: str, score: int | None = None) -> None:
        self.judgements[self._current.key] = {"verdict": verdict, "score": score}
        self._history.append(self.place)
        self.place = self._next_place(self.place + 1)

    def _next_place(self, start: int) -> int:
        """The position of the first answer from `start` on, then from the beginning, that is not judged."""
        order = [*range(start, len(self.items)), *range(min(start, len(self.items)))]
        return next((place for place in order if self.items[place].key not in self.judgements), len(self.items))
