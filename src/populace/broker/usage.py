"""Counts of decisions, calls, tokens, money and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from populace.models import Reply


@dataclass
class Usage:
    """Counts over a run, or over a part of one.

    Attributes:
        decisions: Answers given to people.
        calls: Requests that a model answered for this run.
        reused: Requests that the call store answered.
        failures: Requests that got no reply.
        retried: Attempts that were repeated.
        prompt_tokens: Tokens read by the model in calls.
        completion_tokens: Tokens written by the model in calls.
        cost: Money for the calls, where a price is known.
        estimated: Calls whose tokens are estimated, because the service does not say how many it used.
        purposes: Calls by what they were for.
    """

    decisions: int = 0
    calls: int = 0
    reused: int = 0
    failures: int = 0
    retried: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    estimated: int = 0
    purposes: Counter[str] = field(default_factory=Counter)

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def reused_share(self) -> float:
        """The share of requests that cost nothing because the reply was known."""
        requests = self.calls + self.reused
        return self.reused / requests if requests else 0.0

    def add_calls(self, replies: Sequence[Reply], cost: float, purpose: str) -> None:
        """Count calls."""
        self.calls += len(replies)
        self.prompt_tokens += sum([reply.prompt_tokens for reply in replies])
        self.completion_tokens += sum([reply.completion_tokens for reply in replies])
        self.cost += cost
        self.estimated += sum([reply.estimated for reply in replies])
        self.purposes[purpose] += len(replies)

    def __sub__(self, earlier: Usage) -> Usage:
        """What was used since an earlier count of the same run."""
        return Usage(**{name: getattr(self, name) - getattr(earlier, name) for name in self.__dataclass_fields__})

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**self.__dict__, "purposes": dict(sorted(self.purposes.items()))}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Usage:
        """From plain data."""
        return cls(**{**data, "purposes": Counter(data.get("purposes", {}))})
