"""Kinds of misbehaviour of an OpenAI-compatible server, by name, as acts of the fake server."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Callable
from typing import Any

from support.fake_server import (
    BROKEN,
    CUT,
    KEY_REFUSED,
    NO_CREDIT,
    OVERLOADED,
    RESET,
    RESET_MIDWAY,
    TRUNCATED,
    UNKNOWN,
    WRONG_SCHEMA,
    Act,
    failing,
    rate_limited,
)

Reply = dict[str, Any]
DEEP = b'{"choices": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
BOMB = gzip.compress(b" " * (64 << 20), 9)


def edited(edit: Callable[[Reply], Any], **settings: Any) -> Act:
    """An act that changes the true reply in place."""

    def change(reply: Reply) -> Reply:
        edit(reply)
        return reply

    return Act(edit=change, **settings)


def message(**fields: Any) -> Act:
    """The message of a reply, changed."""
    return edited(lambda reply: reply["choices"][0]["message"].update(fields))


def usage(**fields: Any) -> Act:
    """The numbers of tokens, changed."""
    return edited(lambda reply: reply["usage"].update(fields))


def logprobs(*values: Any) -> Act:
    """The log-probabilities of the first tokens, replaced; texts stay as they are."""

    def change(reply: Reply) -> None:
        found = reply["choices"][0]["logprobs"]
        if found:
            for entry, value in zip(found["content"][0]["top_logprobs"], values, strict=False):
                entry["logprob"] = value
        else:
            reply["choices"] = []  # Where text was asked for, the fault must be seen as well.

    return edited(change)


def without(*path: str | int) -> Act:
    """A reply that lacks a field."""

    def change(reply: Any) -> None:
        *before, last = path
        for step in before:
            reply = reply[step]
        del reply[last]

    return edited(change)


STOPPING: dict[str, Act] = {
    "500": BROKEN,
    "502 html": Act(502, b"<html><body>Bad Gateway</body></html>", headers={"Content-Type": "text/html"}),
    "503": OVERLOADED,
    "529": failing(529, "Overloaded."),
    "504 empty": Act(504, b""),
    "400 without a reason": failing(400, "Bad request."),
    "422": failing(422, "Unprocessable."),
    "429": failing(429, "Slow down."),
    "429 wait an hour": rate_limited(3600),
    "429 wait for ever": rate_limited("1e400"),
    "429 wait -5": rate_limited(-5),
    "429 wait nan": rate_limited("nan"),
    "429 wait until a date": rate_limited("Wed, 21 Oct 2093 07:28:00 GMT"),
    "429 wait nonsense": rate_limited("soon"),
    "no credit": NO_CREDIT,
    "key refused": KEY_REFUSED,
    "key forbidden": failing(403, "This key may not do that."),
    "model gone": UNKNOWN,
    "reset": RESET,
    "reset midway": RESET_MIDWAY,
    "cut": CUT,
    "half-closed": Act(manner="half-close"),
    "hang": Act(manner="hang"),
    "drip": Act(manner="drip", pause_s=0.02),
    "drip of headers": Act(manner="drip head", pause_s=0.02),
    "endless": Act(manner="endless"),
    "too long a body announced": Act(headers={"Content-Length": "1000000"}, manner="cut"),
    "too short a body announced": Act(headers={"Content-Length": "20"}),
    "gzip bomb": Act(body=BOMB, headers={"Content-Encoding": "gzip"}),
    "deflate bomb": Act(body=zlib.compress(b" " * (64 << 20), 9), headers={"Content-Encoding": "deflate"}),
    "gzip that is none": Act(body=b"{}", headers={"Content-Encoding": "gzip"}),
    "unknown encoding": Act(headers={"Content-Encoding": "zstd"}),
    "large": Act(body=b'{"choices": "' + b"x" * (9 << 20) + b'"}'),
    "truncated": TRUNCATED,
    "empty": Act(body=b""),
    "html": Act(body=b"<html>It works!</html>", headers={"Content-Type": "text/html"}),
    "deep": Act(body=DEEP),
    "list": Act(body=[]),
    "number": Act(body=7),
    "null": Act(body=b"null"),
    "not UTF-8": Act(body=b'{"choices": "\xff\xfe"}'),
    "wrong schema": WRONG_SCHEMA,
    "two documents": Act(edit=lambda reply: json.dumps(reply).encode() * 2),
    "error with status 200": Act(body={"error": {"message": "The provider is down.", "code": 502}}),
    "no choices": edited(lambda reply: reply.update(choices=[])),
    "two choices": edited(lambda reply: reply.update(choices=reply["choices"] * 2)),
    "choice is text": edited(lambda reply: reply.update(choices=["blue"])),
    "choices missing": without("choices"),
    "message missing": without("choices", 0, "message"),
    "another model": edited(lambda reply: reply.update(model="fake-2")),
    "content is a list": message(content=[{"type": "text", "text": "blue"}]),
    "content is a number": message(content=7),
    "content is null": edited(
        lambda reply: reply["choices"][0]["logprobs"] or reply["choices"][0]["message"].update(content=None)
    ),
    "ended with an error": edited(lambda reply: reply["choices"][0].update(finish_reason="error")),
    "log-probability nan": logprobs(math.nan),
    "log-probability infinite": logprobs(math.inf),
    "log-probability 5": logprobs(5.0),
    "log-probability 1000": logprobs(1000.0),
    "log-probability 1e400": edited(
        lambda reply: reply["choices"][0].update(
            logprobs={"content": [{"top_logprobs": [{"token": "4", "logprob": 1e308 * 10}]}]}
        )
    ),
    "log-probabilities above 1 in sum": logprobs(-0.1, -0.1),
    "log-probabilities all impossible": logprobs(*[-math.inf] * 50),
    "log-probability is text": logprobs("-0.1"),
    "log-probability is null": logprobs(None),
    "log-probability is true": logprobs(True),
    "log-probability is a list": logprobs([]),
    "log-probabilities missing": edited(lambda reply: reply["choices"][0].update(logprobs=None)),
    "log-probabilities empty": edited(lambda reply: reply["choices"][0].update(logprobs={"content": []})),
    "log-probabilities are text": edited(lambda reply: reply["choices"][0].update(logprobs="none")),
    "usage negative": usage(prompt_tokens=-100),
    "usage negative in replies": usage(completion_tokens=-1),
    "usage huge": usage(prompt_tokens=10**15),
    "usage beyond any number": usage(completion_tokens=10**40),
    "usage is text": usage(prompt_tokens="12"),
    "usage is a fraction": usage(prompt_tokens=1.5),
    "usage is a list": edited(lambda reply: reply.update(usage=[1, 2])),
}
"""What no reply can be taken from."""

HARMLESS: dict[str, Act] = {
    "sent twice": Act(manner="twice", headers={"Connection": "close"}),
    "compressed": Act(
        edit=lambda reply: gzip.compress(json.dumps(reply).encode()), headers={"Content-Encoding": "gzip"}
    ),
    "ids alike": edited(lambda reply: reply.update(id="chatcmpl-1")),
    "ids missing": without("id"),
    "index wrong": edited(lambda reply: reply["choices"][0].update(index=7)),
    "model missing": without("model"),
    "name of a version": edited(lambda reply: reply.update(model="fake-1-2026-01-01")),
    "further fields": edited(lambda reply: reply.update(x={"y": [None]}, service_tier="default")),
    "finish unknown": edited(lambda reply: reply["choices"][0].update(finish_reason="eos")),
    "rounded up": edited(lambda reply: reply.update(system_fingerprint=None)),
    "listed twice": edited(
        lambda reply: (
            reply["choices"][0]["logprobs"]
            and reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"].extend(
                reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][:]
            )
        )
    ),
}
"""What looks strange and changes nothing."""

ESTIMATED: dict[str, Act] = {
    "usage missing": without("usage"),
    "usage null": edited(lambda reply: reply.update(usage=None)),
    "usage empty": edited(lambda reply: reply.update(usage={})),
    "usage null inside": usage(prompt_tokens=None, completion_tokens=None),
    "usage zero": usage(prompt_tokens=0, completion_tokens=0),
}
"""What leaves the number of tokens open."""
