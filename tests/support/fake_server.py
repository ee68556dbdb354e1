"""An OpenAI-compatible server on loopback that answers from a hash of the messages, and misbehaves on command.

A reply depends on the messages, the seed and the schema alone, never on time, order or the connection. Trouble comes
from acts and from nothing else: a function or a sequence says how each chat request is treated. In a test it runs in
a thread; `python tests/support/fake_server.py --port-file FILE --log FILE` runs it as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import os
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

Offer = Literal["given", "ignored", "refused"]
Manner = Literal["send", "twice", "endless", "hang", "drip", "drip head", "cut", "half-close", "reset", "reset midway"]

_OPTIONS = re.compile(r"Options: (.+?)\.\s*(?:\n|$)")
_LABELLED = re.compile(r"^([A-Z])\. .+$", re.MULTILINE)
_SCALE = re.compile(r"Scale: a whole number from (-?\d+) to (-?\d+)\.")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_KEY = re.compile(rb"\r\nauthorization: *Bearer ([^\r\n]*)", re.IGNORECASE)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_LEFTOVER = 0.05
"""The share of probability that falls on no option."""


@dataclass(frozen=True)
class Act:
    """How one request is treated.

    Attributes:
        status: Of the response.
        body: In place of the true reply: JSON, or bytes as they are.
        changes: What to put into the first choice of the true reply, one level deep.
        edit: What to make of the true reply, in place of sending it as it is.
        headers: Further headers.
        manner: How the bytes are sent: at once, twice, again and again without an end, never, one at a time (those of
            the body, or all), half of them (then the connection is closed, or reset), or not one before the connection
            is closed for writing, or reset.
        pause_s: Before the first byte; when dripping, before each.
        until: What the first byte waits for as well.
    """

    status: int = 200
    body: Any = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    edit: Callable[[dict[str, Any]], Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Manner = "send"
    pause_s: float = 0.0
    until: Callable[[], bool] | None = None


def failing(status: int, message: str = "trouble", code: str | None = None, **headers: str) -> Act:
    """An error in the words of the API; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(status, {"error": {"message": message, "type": "error", "code": code}}, headers=named)


def rate_limited(retry_after: str | float) -> Act:
    """429, with the wish to be left alone for so many seconds."""
    return failing(429, "Rate limit reached.", "rate_limit_exceeded", Retry_After=str(retry_after))


WELL = Act()
BROKEN = failing(500, "The server had an error.")
OVERLOADED = failing(503, "The engine is overloaded.")
KEY_REFUSED = failing(401, "Incorrect API key provided.", "invalid_api_key")
UNKNOWN = failing(404, "The model does not exist.", "model_not_found")
TOO_LONG = failing(400, "This model's maximum context length is 10 tokens.", "context_length_exceeded")
PROMPT_FILTERED = failing(400, "The prompt was filtered.", "content_filter")
NO_CREDIT = failing(429, "You exceeded your current quota.", "insufficient_quota")
FILTERED = Act(changes={"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}})
DECLINED = Act(changes={"message": {"role": "assistant", "content": None, "refusal": "I'm sorry, no."}})
HANG = Act(manner="hang")
DRIP = Act(manner="drip", pause_s=0.02)
CUT = Act(manner="cut")
RESET = Act(manner="reset")
RESET_MIDWAY = Act(manner="reset midway")
TRUNCATED = Act(body=b'{"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "mess')
WRONG_SCHEMA = Act(body={"id": "chatcmpl-1", "object": "chat.completion", "choices": None, "result": "blue"})


class Seen(NamedTuple):
    """A chat request as it came in."""

    number: int
    digest: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What the last message says."""
        return str(self.body["messages"][-1]["content"])

    @property
    def is_probe(self) -> bool:
        """Whether somebody only wants to know what the server can do."""
        limit = self.body.get("max_tokens") or self.body.get("max_completion_tokens")
        return limit == 1 and not any(options_in(str(each["content"])) for each in self.body["messages"])


Acts = Callable[[Seen], Act | None] | Iterable[Act | None]
"""A function from each chat request, or a treatment for each in turn; None, and whatever comes after, is well."""


class FakeServer:
    """The server, in a thread of its own while the `with` block lasts.

    Args:
        acts: How chat requests are treated.
        probing: How probes are treated: requests for a single token that offer no options. They are not counted below.
        listing: How a request for the list of models is treated.
        models: The models served, and who is said to own them.
        aliases: Names that are known but not listed.
        path: The path before `/models` and `/chat/completions`.
        unknown_fields: Fields of a chat request that are refused.
        key: The key that is wanted; any or none will do without it. A refusal repeats the wrong key in full.
        logprobs: Whether log-probabilities are given, silently left out, or refused.
        most_top: How many alternatives may be asked for.
        limit_field: The only name under which the longest reply may be given; either by default.
        latency_s: How long a reply takes.
        log: A file for one line as each chat request starts and one as it is answered; probes are left out.
        remember: Whether to keep what was seen; a benchmark would only fill memory with it.
        tokenised: What `/tokenize` answers; it is not there without.
        lists: The way in which lists of prompts are taken and the chat template is told; neither without.
        template: Writes conversations as prompts, where lists are taken.

    Attributes:
        seen: The chat requests so far, without probes.
        chats: How many they are.
        probes: How many probes there were.
        tokenisations: How often `/tokenize` was asked.
        listed: How often the list of models was asked for.
        keys: The keys that came with requests.
        under_way: Chat requests that are being answered.
        most_under_way: The most that ever were at one time.
        answered: How many were answered in full.
    """

    def __init__(
        self,
        acts: Acts = (),
        *,
        probing: Acts = (),
        listing: Act = WELL,
        models: Mapping[str, str] | None = None,
        aliases: Collection[str] = (),
        path: str = "/v1",
        unknown_fields: Collection[str] = (),
        key: str | None = None,
        logprobs: Offer = "given",
        most_top: int = 20,
        limit_field: str | None = None,
        latency_s: float = 0.0,
        log: Path | None = None,
        remember: bool = True,
        tokenised: Any = None,
        lists: Literal["llamacpp", "vllm"] | None = None,
        template: Callable[[list[dict[str, str]]], str] | None = None,
    ) -> None:
        self.tokenised, self.tokenisations = tokenised, 0
        self.lists, self.template = lists, template or chat_prompt
        self.list_requests = self.most_in_list = 0
        self.acts, self.probing = _function(acts), _function(probing)
        self.listing = listing
        self.models = {"fake-1": "fake"} if models is None else models
        self.aliases, self.path, self.unknown_fields = aliases, path, unknown_fields
        self.key, self.logprobs, self.most_top, self.limit_field = key, logprobs, most_top, limit_field
        self.latency_s, self.remember = latency_s, remember
        self.seen: list[Seen] = []
        self.keys: set[str] = set()
        self.listed = self.chats = self.probes = self.under_way = self.most_under_way = self.answered = 0
        self.connections: set[Connection] = set()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) if log else None
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    def digests(self) -> Counter[str]:
        """How often each request was seen."""
        return Counter(seen.digest for seen in self.seen)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="fake-server", daemon=True)
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the fake server did not come up")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Drop every connection and go away."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)
        if self._log is not None:
            os.close(self._log)
            self._log = None

    async def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until stopped."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        listener = await self._loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=1024)
        self.port = listener.sockets[0].getsockname()[1]
        ready()
        self._ready.set()
        await self._stop.wait()
        listener.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    def note(self, what: str, digest: str) -> None:
        """Write a line to the log, at once."""
        if self._log is not None:
            os.write(self._log, f"{what} {digest}\n".encode())

    def respond(self, target: bytes, head: bytes, body: bytes) -> tuple[Act, bytes, str | None]:
        """How a request is treated, the body of its response, and its digest where it is a chat request that counts."""
        found = _KEY.search(head)
        given = found.group(1).decode("latin-1") if found else ""
        self.keys.add(given)
        if self.key is not None and given != self.key:
            return _spelled(failing(401, f"Incorrect API key provided: {given}.", "invalid_api_key"))
        if target == f"GET {self.path}/models".encode():
            self.listed += 1
            if self.listing is not WELL:
                return _spelled(self.listing)
            rows = [{"id": name, "object": "model", "created": 0, "owned_by": by} for name, by in self.models.items()]
            return _spelled(Act(body={"object": "list", "data": rows}))
        if target == b"POST /tokenize" and self.tokenised is not None:
            self.tokenisations += 1
            return _spelled(Act(body=self.tokenised))
        if self.lists is not None and (answer := self._list_answer(target, body)) is not None:
            return answer
        if target != f"POST {self.path}/chat/completions".encode():
            return _spelled(failing(404, f"There is nothing at {target.decode('latin-1')}."))
        return self._chat(body)

    def _list_answer(self, target: bytes, raw: bytes) -> tuple[Act, bytes, str | None] | None:
        """What llama.cpp and vLLM offer beside conversations: their template, their tokeniser, lists of prompts."""
        asked = json.loads(raw) if raw else {}
        if target == b"GET /props" and self.lists == "llamacpp":
            return _spelled(Act(body={"chat_template": TEMPLATE}))
        if target == b"POST /apply-template" and self.lists == "llamacpp":
            return _spelled(Act(body={"prompt": self.template(asked["messages"])}))
        if target == b"POST /tokenize" and self.lists == "vllm":
            text = asked["prompt"] if "prompt" in asked else self.template(asked["messages"])
            return _spelled(Act(body={"tokens": [ord(letter) for letter in text]}))
        if target == b"POST /detokenize" and self.lists == "vllm":
            return _spelled(Act(body={"prompt": "".join(map(chr, asked["tokens"]))}))
        if (
            target
            != {"llamacpp": b"POST /completion", "vllm": f"POST {self.path}/completions".encode()}[self.lists or ""]
        ):
            return None
        return self._completions(asked, hashlib.blake2b(raw, digest_size=8).hexdigest())

    def _completions(self, asked: dict[str, Any], digest: str) -> tuple[Act, bytes, str | None]:
        self.list_requests += 1
        self.most_in_list = max(self.most_in_list, len(asked["prompt"]))
        top = asked.get("n_probs") or asked.get("logprobs")
        bodies = [
            {
                "model": asked["model"],
                "messages": messages_of(prompt),
                "logprobs": True,
                "top_logprobs": top,
                "max_tokens": 1,
            }
            for prompt in asked["prompt"]
        ]
        acts = [self.acts(seen) for seen in (Seen(self.chats, digest, body) for body in bodies) if not seen.is_probe]
        self.chats += len(acts)
        act = next(filter(None, acts), None) or WELL
        if act.body is not None:
            return act, _spelled(act)[1], None
        said = [completion(body) for body in bodies]
        rows: list[dict[str, Any]] = []
        for index, each in enumerate(said):
            choice, usage = each["choices"][0], each["usage"]
            content, text = choice["logprobs"]["content"], choice["message"]["content"]
            row: dict[str, Any] = {"index": index, "model": asked["model"], "content": text, "stop_type": "limit"}
            row |= {"tokens_evaluated": usage["prompt_tokens"], "tokens_predicted": usage["completion_tokens"]}
            rows.append(row | {"completion_probabilities": content})
        if self.lists == "llamacpp":
            return _spelled(Act(body=act.edit({"rows": rows}) if act.edit else rows))
        choices = []
        for row in rows:
            tokens = {entry["token"]: entry["logprob"] for entry in row["completion_probabilities"][0]["top_logprobs"]}
            logprobs = {"tokens": [row["content"]], "top_logprobs": [tokens]}
            choices.append(
                {"index": row["index"], "text": row["content"], "logprobs": logprobs, "finish_reason": "length"}
            )
        usage = {name: sum(each["usage"][name] for each in said) for name in said[0]["usage"]}
        reply = {"object": "text_completion", "model": asked["model"], "choices": choices[::-1], "usage": usage}
        return _spelled(Act(body=act.edit(reply) if act.edit else reply))

    def _chat(self, raw: bytes) -> tuple[Act, bytes, str | None]:
        digest = hashlib.blake2b(raw, digest_size=8).hexdigest()
        seen = Seen(self.chats, digest, json.loads(raw))
        if probe := seen.is_probe:
            self.probes += 1
        else:
            self.chats += 1
            self.note("started", digest)
            if self.remember:
                self.seen.append(seen)
        act = (self.probing if probe else self.acts)(seen) or self._objection(seen.body) or WELL
        counted = None if probe else digest
        if act.body is not None:
            return act, _spelled(act)[1], counted
        said = completion(seen.body, with_logprobs=self.logprobs == "given")
        if act.changes:
            said["choices"][0] |= act.changes
        if act.edit is not None:
            return act, _spelled(Act(body=act.edit(said)))[1], counted
        return act, json.dumps(said).encode(), counted

    def _objection(self, body: Mapping[str, Any]) -> Act | None:
        """What a server that is strict about parameters says to this request."""
        if body.get("model") not in self.models and body.get("model") not in self.aliases:
            return UNKNOWN
        if unknown := sorted(set(self.unknown_fields) & set(body)):
            return failing(422, f"Extra inputs are not permitted: {unknown[0]}.", "extra_forbidden")
        limits = {"max_tokens", "max_completion_tokens"} & set(body)
        if self.limit_field and limits - {self.limit_field}:
            return failing(400, f"Unsupported parameter; use {self.limit_field}.", "unsupported_parameter")
        if body.get("logprobs") and (self.logprobs == "refused" or body.get("top_logprobs", 0) > self.most_top):
            return failing(400, "These log-probabilities are not offered.", "unsupported_parameter")
        return None


class Connection(asyncio.Protocol):
    """One client's connection, kept alive; requests on it are answered one after the other."""

    transport: asyncio.Transport

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.buffer = bytearray()
        self.digest: str | None = None
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.server.connections.discard(self)
        self._leave()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.busy:
            self._next()

    def _next(self) -> None:
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end])
        found = _LENGTH.search(head)
        total = end + 4 + (int(found.group(1)) if found else 0)
        if len(self.buffer) < total:
            return
        body = bytes(self.buffer[end + 4 : total])
        del self.buffer[:total]
        self.busy = True
        server, target = self.server, head[: head.find(b" HTTP/")]
        act, reply, self.digest = server.respond(target, head, body)
        if self.digest is not None:
            server.under_way += 1
            server.most_under_way = max(server.most_under_way, server.under_way)
        pause_s = act.pause_s or (server.latency_s if self.digest else 0.0)
        if pause_s:
            asyncio.get_running_loop().call_later(pause_s, self._send_when_due, act, reply)
        else:
            self._send_when_due(act, reply)

    def _send_when_due(self, act: Act, reply: bytes) -> None:
        if act.until is None or act.until() or self.transport.is_closing():
            self._send(act, reply)
        else:
            asyncio.get_running_loop().call_later(0.002, self._send_when_due, act, reply)

    def _send(self, act: Act, reply: bytes) -> None:
        if act.manner == "hang" or self.transport.is_closing():
            return
        if act.manner == "reset":
            return self._reset()
        if act.manner == "half-close":
            return self.transport.write_eof()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(reply)), **act.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {act.status} {_REASONS.get(act.status, 'Trouble')}\r\n{lines}\r\n".encode()
        if act.manner in ("send", "twice"):
            self._count()
            self.transport.write((head + reply) * (1 if act.manner == "send" else 2))
            return self._done()
        if act.manner == "endless":
            self.transport.write(head.replace(b"Content-Length", b"X-Length"))
            return self._repeat(reply * 100)
        if act.manner == "drip head":
            return self._drip(head + reply, 0, act.pause_s)
        if act.manner == "drip":
            self.transport.write(head)
            return self._drip(reply, 0, act.pause_s)
        self.transport.write(head + reply[: len(reply) // 2])
        # The half that was sent should arrive before the end does.
        end = self.transport.close if act.manner == "cut" else self._reset
        asyncio.get_running_loop().call_later(0.02, end)

    def _repeat(self, reply: bytes) -> None:
        if not self.transport.is_closing():
            if self.transport.get_write_buffer_size() < 1 << 20:
                self.transport.write(reply)
            asyncio.get_running_loop().call_later(0.001, self._repeat, reply)

    def _drip(self, reply: bytes, sent: int, pause_s: float) -> None:
        if self.transport.is_closing():
            return
        if sent == len(reply):
            self._count()
            return self._done()
        self.transport.write(reply[sent : sent + 1])
        asyncio.get_running_loop().call_later(pause_s, self._drip, reply, sent + 1, pause_s)

    def _reset(self) -> None:
        if not self.transport.is_closing():
            self.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.transport.abort()

    def _count(self) -> None:
        # Before the last byte is sent: a client that has a reply must find it in the log.
        if self.digest is not None:
            self.server.answered += 1
            self.server.note("answered", self.digest)

    def _done(self) -> None:
        self._leave()
        self.busy = False
        if self.buffer:
            self._next()

    def _leave(self) -> None:
        if self.digest is not None:
            self.server.under_way -= 1
            self.digest = None


TEMPLATE = """{% for message in messages %}{% if message['role'] == 'tool' %}{{ 'Result: ' }}{% endif %}{{ '<|im_start|>'
+ message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}"""
_MESSAGE = re.compile(r"<\|im_start\|>(\w+)\n(.*?)(?:<\|im_end\|>\n|$)", re.DOTALL)


def chat_prompt(messages: list[dict[str, str]]) -> str:
    """A conversation as a prompt."""
    lead = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
    turns = messages[:-1] if lead else messages
    text = "".join(f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in turns)
    return f"{text}<|im_start|>assistant\n{lead}"


def messages_of(prompt: str) -> list[dict[str, str]]:
    """The conversation that a prompt was made of."""
    messages = [{"role": role, "content": text} for role, text in _MESSAGE.findall(prompt)]
    return messages if messages[-1]["content"] else messages[:-1]


def completion(body: Mapping[str, Any], *, with_logprobs: bool = True) -> dict[str, Any]:
    """The true reply to a chat request."""
    messages = body["messages"]
    spelled = json.dumps([messages, body.get("seed")]).encode()
    luck = hashlib.blake2b(spelled, digest_size=32).digest()
    asked = next((str(m["content"]) for m in reversed(messages) if m["role"] == "user"), "")
    words = options_in(asked)
    text, logprobs = "", None
    if body.get("logprobs") and with_logprobs:
        weights = distribution(messages, words)
        ranked = sorted(weights.items(), key=lambda item: -item[1])
        rows = [{"token": word, "logprob": math.log(p), "bytes": None} for word, p in ranked]
        text = rows[0]["token"]
        logprobs = {"content": [rows[0] | {"top_logprobs": rows[: body.get("top_logprobs", 0)]}], "refusal": None}
    elif (body.get("response_format") or {}).get("type") == "json_schema":
        schema = body["response_format"]["json_schema"]["schema"]
        text = json.dumps(_made(schema, luck, schema.get("$defs", {})))
    else:
        text = words[int.from_bytes(luck[:4]) % len(words)] if words else f"I would say {luck.hex()[:8]}."
    read, written = sum(len(m["content"]) for m in messages) // 4, max(1, len(text) // 4)
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": logprobs,
        "finish_reason": "length" if logprobs else "stop",
    }
    return {
        "id": f"chatcmpl-{luck.hex()[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "choices": [choice],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def options_in(text: str) -> list[str]:
    """The words or labels that a prompt offers, in the order shown."""
    if labels := _LABELLED.findall(text):
        return labels
    if found := _OPTIONS.search(text):
        return found.group(1).split(", ")
    if found := _SCALE.search(text):
        first, last = int(found.group(1)), int(found.group(2))
        step = 1 if first <= last else -1
        return [str(point) for point in range(first, last + step, step)]
    return []


def distribution(messages: Any, words: list[str]) -> dict[str, float]:
    """The probability of the first token of each option; a little falls on none."""
    luck = hashlib.blake2b(json.dumps(messages).encode(), digest_size=64).digest()
    heads = [word.split(" ")[0] for word in words] or ["yes", "no"]
    weights = {head: 1 + luck[place % 64] for place, head in enumerate(heads)}
    total = sum(weights.values())
    return {head: (1 - _LEFTOVER) * weight / total for head, weight in weights.items()} | {"the": _LEFTOVER}


def _made(schema: Mapping[str, Any], luck: bytes, defs: Mapping[str, Any]) -> Any:
    """A value that fits a JSON schema, by luck."""
    if "$ref" in schema:
        return _made(defs[schema["$ref"].rpartition("/")[2]], luck, defs)
    if "enum" in schema:
        return schema["enum"][luck[0] % len(schema["enum"])]
    kind = schema.get("type", "string")
    if kind == "object":
        fields = schema.get("properties", {}).items()
        return {name: _made(part, hashlib.blake2b(luck + name.encode()).digest(), defs) for name, part in fields}
    if kind in ("integer", "number"):
        low = schema.get("minimum", 0)
        return low + luck[0] % (schema.get("maximum", low + 100) - low + 1)
    return {"boolean": luck[0] % 2 == 0, "array": [], "null": None}.get(kind, f"words {luck.hex()[:8]}")


def _function(acts: Acts) -> Callable[[Seen], Act | None]:
    if callable(acts):
        return acts
    turns = iter(acts)
    return lambda seen: next(turns, None)


def _spelled(act: Act) -> tuple[Act, bytes, None]:
    return act, act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode(), None


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port-file", type=Path, required=True, help="where the port is written once it listens")
    parser.add_argument("--log", type=Path, help="a line as each chat request starts, and as it is answered")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that a reply takes")
    parser.add_argument("--lists", choices=["llamacpp", "vllm"], help="take lists of prompts in this way")
    parser.add_argument("--no-logprobs", action="store_true", help="leave log-probabilities out")
    given = parser.parse_args()
    offer: Offer = "ignored" if given.no_logprobs else "given"
    owner = {"fake-1": given.lists or "fake"}
    server = FakeServer(
        logprobs=offer, latency_s=given.latency, log=given.log, remember=False, lists=given.lists, models=owner
    )

    def ready() -> None:
        beside = given.port_file.with_name(given.port_file.name + ".part")
        beside.write_text(str(server.port))
        beside.replace(given.port_file)

    asyncio.run(server.serve(ready))


if __name__ == "__main__":
    main()
