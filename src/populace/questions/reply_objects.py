"""Replies that are one JSON object: its schema, and how it is read."""

from collections.abc import Mapping
from typing import Any

from populace.questions.base import REFUSED, UNPARSEABLE, Answer
from populace.questions.reply_parsing import is_refusal, json_objects


def object_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has all of these fields and no other.

    Example:
        >>> object_schema({"age": {"type": "integer"}})["required"]
        ['age']
    """
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def object_in(reply: str) -> dict[str, Any] | Answer:
    """The only JSON object of a reply, or the invalid answer that a reply without exactly one is.

    Example:
        >>> object_in('{"age": 41}'), object_in("41").status
        ({'age': 41}, 'unparseable')
    """
    objects = json_objects(reply)
    if len(objects) == 1:
        return objects[0]
    return REFUSED if not objects and is_refusal(reply) else UNPARSEABLE
