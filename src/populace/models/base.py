"""The interface of a language model: requests in, replies out.

A request holds everything that can change a reply. A hash of the request and of the model's fingerprint is therefore
the permanent address of the reply in the call store. A model never decides what a reply means.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import pydantic_core

from populace.models.artifacts import Artifact
from populace.models.hub_file import HubFile

ChatMessage = tuple[str, str]
"""A role (`system`, `user` or `assistant`) and the text."""


Finish = Literal["stop", "length", "refusal"]
"""Why a reply ended."""


class Request(NamedTuple):
    """One request to a model.

    Attributes:
        messages: The conversation so far.
        lead: The words with which the reply must begin, for models that can continue from given words.
        max_tokens: The longest reply, in tokens.
        top: How many alternatives of the first token to report with log-probabilities; 0 to generate text.
        temperature: The temperature of the model's own sampling; 1 leaves its probabilities as they are.
        seed: The seed of the model's own sampling; None where nothing is sampled.
        schema: A JSON schema that the reply must satisfy, as text in a fixed order of keys.
        options: The words or labels that are looked for in the reply. A part of the key only for models whose replies
            depend on them (`Capabilities.options`).

    Example:
        >>> request = Request((("user", "Tea or coffee?"),), options=("tea", "coffee"))
        >>> request.key("model-1") == request._replace(options=()).key("model-1") != request.key("model-2")
        True
    """

    messages: tuple[ChatMessage, ...]
    lead: str = ""
    max_tokens: int = 64
    top: int = 0
    temperature: float = 1.0
    seed: int | None = None
    schema: str | None = None
    options: tuple[str, ...] = ()

    def key(self, fingerprint: str, *, with_options: bool = False) -> str:
        """The address of the reply: a hash of the model's fingerprint and of everything that can change the reply."""
        content = pydantic_core.to_json((fingerprint, *(self if with_options else self[:-1])))
        return hashlib.blake2b(content, digest_size=16).hexdigest()


_FEW = 4
"""So many requests of one frame are not worth a common beginning."""
_MANY = 64
"""From how many requests on it is worth finding out what they share."""
_PIECE = 512
"""Of how many requests the messages are written together: few enough to reuse the same memory."""
_SAMPLE = 16
"""Of how many requests it is seen whether they are like the next one."""
_NUMBERS = ("max_tokens", "top", "temperature", "seed")


def request_keys(requests: Sequence[Request], fingerprint: str, *, with_options: bool = False) -> list[str]:
    """The key of each request; all are equal to those of `Request.key`.

    Requests that follow each other often differ in their messages alone, and then their JSON is written by one call.
    Where only the text of the last message differs, what stands before it in the content of their keys is hashed once.

    Args:
        requests: The requests.
        fingerprint: The fingerprint of the model.
        with_options: Whether the replies depend on the options of a request.

    Example:
        >>> requests = [Request((("user", f"Tea or {n} coffees?"),)) for n in range(99)]
        >>> request_keys(requests, "model-1") == [request.key("model-1") for request in requests]
        True
    """
    width = len(Request._fields) if with_options else len(Request._fields) - 1

    def frame(request: Request) -> tuple[object, ...]:
        messages = request[0]
        return (messages[:-1], messages[-1][0], request[1:width]) if messages else ()

    if len(requests) <= _MANY:
        return [request.key(fingerprint, with_options=with_options) for request in requests]
    places = range(0, len(requests) - 1, max(1, len(requests) // _SAMPLE))
    alike = sum(frame(requests[place]) == frame(requests[place + 1]) for place in places)
    keys: list[str] = []
    if alike <= len(places) // 2:
        for begin in range(0, len(requests), _PIECE):
            keys += _piece_keys(requests[begin : begin + _PIECE], fingerprint, width)
        return keys
    for shared, group in groupby(requests, frame):
        same = list(group)
        if len(same) <= _FEW or not shared or not _are_written_alike(same):
            keys += [request.key(fingerprint, with_options=with_options) for request in same]
            continue
        earlier, role, others = shared
        before = pydantic_core.to_json((fingerprint, earlier))[:-2]
        before += (b",[" if earlier else b"[") + pydantic_core.to_json(role) + b',"'
        after = b'"]],' + pydantic_core.to_json(others)[1:]
        beginning = hashlib.blake2b(before, digest_size=16)
        for text in _encoded([request[0][-1][1] for request in same]):
            content = beginning.copy()
            content.update(text + after)
            keys.append(content.hexdigest())
    return keys


def _piece_keys(requests: Sequence[Request], fingerprint: str, width: int) -> list[str]:
    """The keys of requests of which all fields but the messages are mostly equal."""
    first, columns = requests[0], list(zip(*requests, strict=True))
    role = first.messages[0][0] if first.messages else ""
    if role.isalpha() and all(_is_written_alike(column) for column in columns[1:width]):
        head = b"[[" + pydantic_core.to_json(role) + b',"'
        content = pydantic_core.to_json(columns[0])
        # It stands only between requests: at its first quote a text ends. One that began there, or had this quote in
        # it, with a backslash before it, would end at the second quote, and no letter follows the end of a text.
        texts = content[1 + len(head) : -4].split(b'"]],' + head)
        if len(texts) == len(requests) and content.startswith(head, 1):  # Else one begins in another way.
            before = pydantic_core.to_json((fingerprint,))[:-1] + b"," + head
            after = b'"]],' + pydantic_core.to_json(first[1:width])[1:]
            return [hashlib.blake2b(before + text + after, digest_size=16).hexdigest() for text in texts]
    return [request.key(fingerprint, with_options=width == len(Request._fields)) for request in requests]


def _is_written_alike(column: Sequence[Any]) -> bool:
    """Whether all values of a column have the same JSON: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    first = column[0]
    if column.count(first) < len(column):
        return False
    return not isinstance(first, int | float) or len(set(map(type if first else repr, column))) == 1


def _are_written_alike(requests: Sequence[Request]) -> bool:
    """Whether the numbers of equal requests have the same JSON."""
    columns = list(zip(*requests, strict=True))
    return all(_is_written_alike(columns[Request._fields.index(name)]) for name in _NUMBERS)


def _encoded(texts: list[str]) -> list[bytes]:
    """The texts as JSON, without the quotes around each."""
    content = pydantic_core.to_json(texts)
    # A quote inside a text has a backslash before it, and so no text can be taken for the gap between two.
    if b'\\"' not in content:
        return content[2:-2].split(b'","')
    return [pydantic_core.to_json(text)[1:-1] for text in texts]


class Reply(NamedTuple):
    """A reply of a model.

    Attributes:
        text: The text, without the lead.
        tokens: The most likely first tokens with their log-probabilities, if the request asked for them: a tuple, or
            where a model made many replies at once, a `TokenRow`, which is equal to one.
        finish: Why the reply ended: `stop`, `length` or `refusal` (the service declined to answer).
        prompt_tokens: The number of tokens read; 0 where the service does not say, and it is then estimated.
        completion_tokens: The number of tokens written; 0 where the service does not say.
        estimated: Whether one of the two is an estimate.

    Example:
        >>> import json
        >>> Reply.from_json(json.loads(Reply("blue", (("blue", -0.1),)).to_json())).tokens
        (('blue', -0.1),)
    """

    text: str
    tokens: Sequence[tuple[str, float]] = ()
    finish: Finish = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False

    def to_json(self) -> bytes:
        """The reply as the call store holds it."""
        return pydantic_core.to_json(self if self.estimated else self[:-1], inf_nan_mode="null", fallback=tuple)

    @classmethod
    def from_json(cls, fields: list[Any]) -> Reply:
        """Read a reply from the call store; a log-probability of null means minus infinity."""
        text, tokens, *rest = fields
        return cls(text, tuple([(token, -math.inf if lp is None else lp) for token, lp in tokens]), *rest)


class Failure(NamedTuple):
    """A request that got no reply after all retries. It is counted and never stored, so the next run asks again.

    `timeout` and `unanswered` are failures of the service, and say nothing about the person who was asked. `rejected`
    lies in this one prompt: it is too long for the model, and would be rejected again.

    Example:
        >>> Failure("timeout", "no reply within 60 s").of_service, Failure("rejected", "too long").of_service
        (True, False)
    """

    status: Literal["timeout", "unanswered", "rejected"]
    detail: str

    @property
    def of_service(self) -> bool:
        """Whether the service failed, so that the same request may succeed later."""
        return self.status != "rejected"


ReplyOrFailure = Reply | Failure
"""The result of one request."""


@dataclass(frozen=True)
class Capabilities:
    """What a model can do; deciders use the best of it.

    Attributes:
        top_tokens: How many alternatives of the first token it reports; 0 if it gives no log-probabilities.
        lead: Whether a reply can be made to begin with given words.
        schema: Whether replies can be constrained to a JSON schema.
        seed: Whether its sampling can be seeded.
        context: How many tokens a prompt and its reply may have together; None if unknown.
        options: Whether the tokens that it reports depend on the options of a request.

    Example:
        >>> Capabilities(top_tokens=20).lead
        False
    """

    top_tokens: int = 0
    lead: bool = False
    schema: bool = False
    seed: bool = False
    context: int | None = None
    options: bool = False


@dataclass(frozen=True)
class ModelTraits:
    """What is known of a model from its kind, before it is opened.

    Attributes:
        local: Whether it runs in this process: its calls cost nothing, and it always reports log-probabilities.
        scripted: Whether a function answers in place of a language model.
        artifact: The pinned file that it needs, fetched on first use; None where it needs none.
        hub_file: The file on the Hugging Face hub that it needs, fetched on first use; None where it needs none.
        adapter: The name of the adapter that changes it; empty where none does.
        adapter_file: The file of the adapter on the hub, likewise.

    Example:
        >>> ModelTraits(local=True, scripted=True).fills_machine
        False
    """

    local: bool = False
    scripted: bool = False
    artifact: Artifact | None = None
    hub_file: HubFile | None = None
    adapter: str = ""
    adapter_file: HubFile | None = None

    @property
    def fills_machine(self) -> bool:
        """Whether it computes with every processor here, so that a second one in another process would slow both."""
        return self.local and not self.scripted


class Model:
    """A language model. Subclass it to connect another engine (docs/models.md).

    Attributes:
        spec: The model string: enough to open the model again, and never a key.
        traits: What is known of it before it is started.
        fingerprint: Identifies what can produce its replies, such as a file hash or the id that a server reports.
            Replies are stored under it, so it must change whenever the replies could.
        capabilities: What it can do; final after `start`.
        notes: Limits of the model that the user should know, in sentences.
        facts: What `start` found out about a server; the call store keeps it and passes it to `start` the next time.
        lot: How many requests it wants at once at most, so that neither it nor its caller waits long for the other.
        retry_count: How many attempts were repeated so far.
        halted: Set by the broker: requests under way may end, and no further one is sent.

    Example:
        >>> class Parrot(Model):
        ...     spec = fingerprint = "parrot"
        ...     capabilities = Capabilities(top_tokens=1)
        >>> Parrot().describe()
        {'spec': 'parrot', 'fingerprint': 'parrot'}
    """

    spec: str
    traits: ModelTraits = ModelTraits()
    fingerprint: str
    capabilities: Capabilities
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = MappingProxyType({})
    lot: int = 1_000_000
    retry_count: int = 0
    halted: bool = False

    async def start(self, facts: Mapping[str, Any] | None = None) -> None:
        """Load the file or reach the server; raises ModelError if that fails.

        Args:
            facts: The `facts` of an earlier start, so that the server need not be probed again.
        """

    async def close(self) -> None:
        """Release what `start` acquired."""

    def replies(self, requests: Sequence[Request]) -> AsyncGenerator[list[tuple[int, ReplyOrFailure]]]:
        """Answer the requests in any order: yields lists of (index of the request, result) as results arrive."""
        raise NotImplementedError

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        """The first token of each text as the model would write it, or None if its tokeniser is not available."""
        return None

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int] | None:
        """The number of tokens of each text, or None if the model's tokeniser is not available.

        It is used where a reply does not say how many tokens it cost.
        """
        return None

    def describe(self) -> dict[str, Any]:
        """What the manifest records of the model."""
        return {"spec": self.spec, "fingerprint": self.fingerprint}
