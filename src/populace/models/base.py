"""What a language model is to the platform: requests in, replies out.

A request says everything that can change a reply, so its key, together with the model's
fingerprint, is the address of the reply for ever. A model never decides what a reply means.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pydantic_core

from populace.models.artifacts import Artifact

ChatMessage = tuple[str, str]
"""A role (`system`, `user` or `assistant`) and what is said in it."""


class Request(NamedTuple):
    """One thing to ask of a model.

    Attributes:
        messages: The conversation so far.
        lead: How the reply begins, where a model can be made to go on from there.
        max_tokens: The longest reply.
        top: How many alternatives of the first token are wanted, with log-probabilities; 0 for text.
        temperature: Of the model's own sampling; 1 leaves its probabilities as they are.
        seed: Of the model's own sampling; None where nothing is sampled.
        schema: A JSON schema that the reply must meet, in one fixed spelling.
        options: The words or labels that will be looked for; a hint that changes no reply.
    """

    messages: tuple[ChatMessage, ...]
    lead: str = ""
    max_tokens: int = 64
    top: int = 0
    temperature: float = 1.0
    seed: int | None = None
    schema: str | None = None
    options: tuple[str, ...] = ()

    def key(self, fingerprint: str) -> str:
        """The address of the reply: a hash of the model and of everything that can change what it says."""
        spelled = pydantic_core.to_json((fingerprint, *self[:-1]))
        return hashlib.blake2b(spelled, digest_size=16).hexdigest()


class Reply(NamedTuple):
    """What a model said.

    Attributes:
        text: The words, without the lead.
        tokens: The most likely first tokens with their log-probabilities, where they were asked for.
        finish: Why the reply ended: `stop`, `length` or `refusal` (the service declined).
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
    """

    text: str
    tokens: tuple[tuple[str, float], ...] = ()
    finish: Literal["stop", "length", "refusal"] = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def to_json(self) -> bytes:
        """The reply as it is kept in the call store."""
        return pydantic_core.to_json(self, inf_nan_mode="null")

    @classmethod
    def from_json(cls, made: list[Any]) -> Reply:
        """A reply out of the call store."""
        text, tokens, *rest = made
        return cls(text, tuple([(token, -math.inf if lp is None else lp) for token, lp in tokens]), *rest)


class Failure(NamedTuple):
    """No reply came, after every retry. It is counted and never stored, so the next run asks again."""

    status: Literal["timeout", "unanswered"]
    detail: str


ReplyOrFailure = Reply | Failure


@dataclass(frozen=True)
class Capabilities:
    """What a model can do; the broker uses the best that is there.

    Attributes:
        top_tokens: How many alternatives of the first token it reports; 0 where it gives no log-probabilities.
        lead: Whether a reply can be made to begin with given words.
        schema: Whether replies can be held to a JSON schema.
        seed: Whether sampling can be seeded.
        context: How many tokens fit, where that is known.
    """

    top_tokens: int = 0
    lead: bool = False
    schema: bool = False
    seed: bool = False
    context: int | None = None


@dataclass(frozen=True)
class ModelKind:
    """What is known of a model from its kind, before it is opened.

    Attributes:
        local: Whether it runs in this process: its calls cost nothing, and it always reports log-probabilities.
        scripted: Whether a function answers in place of a language model.
        artifact: The pinned file that it needs, fetched on first use; None where it needs none.

    Example:
        >>> ModelKind(local=True, scripted=True).fills_machine
        False
    """

    local: bool = False
    scripted: bool = False
    artifact: Artifact | None = None

    @property
    def fills_machine(self) -> bool:
        """Whether it computes with every processor here, so that a second one in another process would slow both."""
        return self.local and not self.scripted


class Model:
    """A language model.

    Attributes:
        spec: How the user named it; enough to open it again, without any key.
        kind: What is known of it before it is started.
        fingerprint: What makes its replies its own: a file hash or the id that a server reports.
        capabilities: What it can do.
        notes: What had to be done in another way than hoped, in plain sentences.
        learned: What was found out about it and is worth remembering.
        retried: How many attempts were repeated.
        halted: Set from outside to let what is under way end and begin nothing more.
    """

    spec: str
    kind: ModelKind = ModelKind()
    fingerprint: str
    capabilities: Capabilities
    notes: tuple[str, ...] = ()
    learned: Mapping[str, Any] = MappingProxyType({})
    retried: int = 0
    halted: bool = False

    async def start(self, remembered: Mapping[str, Any] | None = None) -> None:
        """Load the file or reach the server; raises ModelError where that fails.

        Args:
            remembered: What was learned about it before, so that it need not be found out again.
        """

    async def close(self) -> None:
        """Give back what `start` took."""

    def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer the requests in any order, in lots, each as soon as it is there."""
        raise NotImplementedError

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text as the model would write it, or None where it cannot tell."""
        return None

    def describe(self) -> dict[str, Any]:
        """What the manifest records."""
        return {"spec": self.spec, "fingerprint": self.fingerprint}
