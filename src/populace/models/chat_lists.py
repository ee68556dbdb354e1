"""Several scored prompts in one request, to servers that take lists of prompts and tell their chat template.

Lists of conversations do not exist in the OpenAI protocol; lists of prompts do. A conversation must therefore be
written as the prompt that the server itself would make of it. The server is asked how it writes conversations of each
shape (the roles and the lead), with words in place of the texts, and the pieces between the words are kept. A shape is
used only where the pieces give, character by character, what the server makes of a second conversation, and where the
list gives the distribution that the conversation gives. A text to which a template may react goes alone. In every
other case each conversation is sent alone, as before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jinja2

from populace.models.base import Reply, ReplyOrFailure, Request
from populace.models.server_probe import Server, ask_aside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from populace.models.bounded_http import HttpClient

Shape = tuple[tuple[str, ...], str]
"""The roles of the messages, and the lead."""

LISTS_AT_ONCE = 2
"""How many lists may be under way at one server: one is computed while the next one travels."""
_FEWEST = 8
"""With fewer new prompts at once, it does not pay to learn how a shape is written."""
_MOST = 32
"""The longest list."""
_TOLERANCE = 0.05
"""How far two distributions of one prompt may lie apart, as total variation: servers round in different ways."""
_SUSPICIOUS = re.compile(r"[<>\[\]{}|]|/(?:no_)?think")
"""What templates are known to react to in a text: their own marks, and switches for reasoning."""
_MAX_TEMPLATE = 200_000
_FIELDS = ["index", "model", "content", "stop_type", "tokens_evaluated", "tokens_predicted", "completion_probabilities"]
_SAMPLE = "Ann said: \"It's 5 %, isn't it?\"\nYes & no; é, ü, 日本.\n\n1. Tea\n2. Coffee -- or {words} none"


class _Frame(NamedTuple):
    """How a server writes conversations of one shape: what stands before, between and after the texts."""

    pieces: tuple[str, ...]

    def prompt(self, texts: Sequence[str]) -> str:
        filled = [part for pair in zip(self.pieces, texts, strict=False) for part in pair]
        return "".join([*filled, self.pieces[-1]])


class ChatLists:
    """Sends scored prompts in lists where it is certain that the model sees what it would see of each alone.

    Args:
        client: The client.
        server: The server that is asked how it writes conversations.
        name: The model's name on the server.
        timeout_s: How long one request may take.
    """

    def __init__(self, client: HttpClient, server: Server, name: str, timeout_s: float) -> None:
        self._client, self._server, self._name, self._timeout_s = client, server, name, timeout_s
        self._owner = server.owner(name)
        self._frames: dict[Shape, _Frame | None] = {}
        self._words: str | None = None

    @property
    def possible(self) -> bool:
        """Whether the server is of a kind that takes lists and tells how it writes conversations."""
        return self._owner in ("llamacpp", "vllm")

    @property
    def path(self) -> str:
        """Where lists are sent to, after the address of the server."""
        # llama.cpp counts the tokens of each prompt at its own address; at the other one, only those of the first.
        return "../completion" if self._owner == "llamacpp" else "/completions"

    async def learn(
        self, requests: Sequence[Request], ask: Callable[[Request, str | None], Awaitable[ReplyOrFailure]]
    ) -> None:
        """Find out how the server writes the shapes of these requests, where there are many of one.

        Args:
            requests: What is going to be asked.
            ask: Asks a request as a conversation, or the prompt that is named as a list of two.
        """
        counts: dict[Shape, int] = {}
        for request in requests:
            if _listable(request):
                counts[_shape(request)] = counts.get(_shape(request), 0) + 1
        for shape, count in counts.items():
            if count >= _FEWEST and shape not in self._frames:
                self._frames[shape] = None
                self._frames[shape] = await self._learn(shape, ask)

    async def _learn(
        self, shape: Shape, ask: Callable[[Request, str | None], Awaitable[ReplyOrFailure]]
    ) -> _Frame | None:
        words = await self._template_words()
        if words is None:
            return None
        roles, lead = shape
        names = [f"Wq{number}xk" for number in range(len(roles))]
        frame = _split(await self._render(roles, names, lead), names)
        texts = [f"{name} {_SAMPLE.format(words=words)} {name}" for name in names]
        if frame is None or frame.prompt(texts) != await self._render(roles, texts, lead):
            return None
        request = Request(tuple(zip(roles, texts, strict=True)), lead, 1, 20)
        alone, listed = await ask(request, None), await ask(request, frame.prompt(texts))
        if not isinstance(alone, Reply) or not isinstance(listed, Reply):
            return None
        return frame if _distance(alone, listed) <= _TOLERANCE else None

    async def _template_words(self) -> str | None:
        """Words that stand in the server's template, where it shows it; None where it cannot be read."""
        if self._owner != "llamacpp":
            return ""
        if self._words is None:
            properties = await self._aside("/props", None)
            source = properties.get("chat_template") if isinstance(properties, dict) else None
            if not isinstance(source, str) or len(source) > _MAX_TEMPLATE:
                return None
            try:
                tokens = list(jinja2.Environment(autoescape=True).lex(source))
            except jinja2.TemplateError:
                return None
            literals = dict.fromkeys(" ".join(text[1:-1].split()) for _, kind, text in tokens if kind == "string")
            self._words = " ".join(text for text in literals if text and not _SUSPICIOUS.search(text))
        return self._words

    async def _render(self, roles: Sequence[str], texts: Sequence[str], lead: str) -> str | None:
        """The prompt that the server makes of a conversation; None where it does not tell."""
        messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        if lead:
            messages.append({"role": "assistant", "content": lead})
        if self._owner == "llamacpp":
            return _text(await self._aside("/apply-template", {"model": self._name, "messages": messages}), "prompt")
        going_on = {"add_generation_prompt": not lead, "continue_final_message": bool(lead)}
        tokens = await self._tokens({"messages": messages, **going_on})
        text = _text(await self._aside("/detokenize", {"model": self._name, "tokens": tokens}), "prompt")
        return text if text is not None and tokens and await self._tokens({"prompt": text}) == tokens else None

    async def _tokens(self, fields: dict[str, Any]) -> list[Any] | None:
        document = await self._aside("/tokenize", {"model": self._name, "add_special_tokens": False, **fields})
        tokens = document.get("tokens") if isinstance(document, dict) else None
        return tokens if isinstance(tokens, list) else None

    async def _aside(self, path: str, body: dict[str, Any] | None) -> Any:
        return await ask_aside(self._client, self._server, path, body, self._timeout_s)

    def prompt(self, request: Request) -> str | None:
        """The prompt that the server would make of a request; None where that is not certain."""
        frame = self._frames.get(_shape(request)) if _listable(request) else None
        return frame and frame.prompt([text for _, text in request.messages])

    def lots(self, requests: Sequence[Request], concurrency: int) -> list[list[int]]:
        """The numbers of the requests that go together, those that go alone included.

        No more prompts are under way in lists than requests may be.

        Args:
            requests: What is asked.
            concurrency: How many requests may be under way at one server.
        """
        size = min(_MOST, concurrency // LISTS_AT_ONCE)
        together: dict[int, list[int]] = {}
        alone: list[list[int]] = []
        for number, request in enumerate(requests):
            if size > 1 and self._frames and self.prompt(request) is not None:
                together.setdefault(request.top, []).append(number)
            else:
                alone.append([number])
        lists = [numbers[at : at + size] for numbers in together.values() for at in range(0, len(numbers), size)]
        return alone + lists

    def body(self, prompts: Sequence[str], top: int) -> dict[str, Any]:
        """A request with several prompts for the alternatives of their first tokens."""
        body: dict[str, Any] = {"model": self._name, "prompt": list(prompts), "temperature": 1.0}
        if self._owner == "llamacpp":
            return body | {"n_predict": 1, "n_probs": top, "response_fields": _FIELDS}
        return body | {"max_tokens": 1, "logprobs": top, "add_special_tokens": False}


def _listable(request: Request) -> bool:
    return (
        request.top > 0
        and request.schema is None
        and all(text and text == text.strip() and not _SUSPICIOUS.search(text) for _, text in request.messages)
    )


def _shape(request: Request) -> Shape:
    return tuple([role for role, _ in request.messages]), request.lead


def _split(prompt: str | None, names: Sequence[str]) -> _Frame | None:
    """The pieces of a prompt around words that stand in it once each, in their order."""
    if prompt is None or any(prompt.count(name) != 1 for name in names):
        return None
    pieces, rest = [], prompt
    for name in names:
        piece, found, rest = rest.partition(name)
        if not found:
            return None
        pieces.append(piece)
    return _Frame((*pieces, rest))


def _distance(one: Reply, other: Reply) -> float:
    """The total variation between two distributions, over the tokens that either lists."""
    first, second = ({token: math.exp(logprob) for token, logprob in each.tokens} for each in (one, other))
    return sum(abs(first.get(token, 0.0) - second.get(token, 0.0)) for token in first.keys() | second.keys()) / 2


def _text(document: Any, field: str) -> str | None:
    value = document.get(field) if isinstance(document, dict) else None
    return value if isinstance(value, str) else None
