"""The addresses of many replies at once.

Requests that follow each other often differ in the text of their last message alone. What stands before it in the
content of their keys is hashed once.
"""

import hashlib
from collections.abc import Sequence
from itertools import groupby

import pydantic_core

from populace.models.base import Request

_FEW = 4
"""So many requests of one frame are not worth a common beginning."""
_SAMPLE = 16
"""Of how many requests it is seen whether they are like the next one."""


def request_keys(requests: Sequence[Request], fingerprint: str, *, with_options: bool = False) -> list[str]:
    """The key of each request; all are equal to those of `Request.key`.

    Args:
        requests: The requests.
        fingerprint: The fingerprint of the model.
        with_options: Whether the replies depend on the options of a request.

    Example:
        >>> requests = [Request((("user", f"Tea or {n} coffees?"),)) for n in range(9)]
        >>> request_keys(requests, "model-1") == [request.key("model-1") for request in requests]
        True
    """
    width = len(Request._fields) if with_options else len(Request._fields) - 1

    def frame(request: Request) -> tuple[object, ...]:
        messages = request[0]
        return (messages[:-1], messages[-1][0], request[1:width]) if messages else ()

    places = range(0, len(requests) - 1, max(1, len(requests) // _SAMPLE))
    alike = sum(frame(requests[place]) == frame(requests[place + 1]) for place in places)
    if alike <= len(places) // 2:
        return [request.key(fingerprint, with_options=with_options) for request in requests]
    keys: list[str] = []
    for shared, group in groupby(requests, frame):
        same = list(group)
        if len(same) <= _FEW or not shared:
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


def _encoded(texts: list[str]) -> list[bytes]:
    """The texts as JSON, without the quotes around each."""
    content = pydantic_core.to_json(texts)
    # A quote inside a text has a backslash before it, and so no text can be taken for the gap between two.
    if b'\\"' not in content:
        return content[2:-2].split(b'","')
    return [pydantic_core.to_json(text)[1:-1] for text in texts]
