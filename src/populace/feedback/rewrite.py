"""A better answer by the rater, checked against the question."""

import json
import math
import unicodedata

from populace.base.errors import UsageError
from populace.feedback.items import Item
from populace.questions import Number

LONGEST = 20_000
"""The most characters of a rewriting."""


def parse_rewrite(item: Item, text: str) -> str:
    """The reply that the model should have given; raises an error if the text does not answer the question.

    Args:
        item: The answer to rewrite.
        text: The better answer; if there are options, one of them as it was shown.
    """
    # A browser can send half of a surrogate pair, which no file of UTF-8 can hold.
    clean = text.encode("utf-8", "replace").decode()
    reply = "".join(c for c in clean if unicodedata.category(c) != "Cc" or c in "\n\t").strip()
    if not reply:
        raise UsageError("the rewriting is empty.", "Write what the person should have said, or press Escape.")
    if len(reply) > LONGEST:
        raise UsageError(f"the rewriting has {len(reply):,} characters; at most {LONGEST:,} are kept.")
    if item.options:
        if reply not in item.options:
            raise UsageError(f"{reply!r} is none of the options.", f"Choose among: {', '.join(item.options)}.")
        return item.options[reply]
    if item.question["kind"] == "number":
        return _number(item, reply)
    if item.question["kind"] == "form":
        return _form(item, reply)
    return reply


def _number(item: Item, reply: str) -> str:
    question = item.question
    low = -math.inf if question["low"] is None else question["low"]
    high = math.inf if question["high"] is None else question["high"]
    number = Number("How many?", low=low, high=high, whole=question["whole"], unit=question["unit"])
    if number.parse(reply).status != "ok":
        raise UsageError(f"{reply!r} is not a number that the question takes.", number.instruction())
    return reply


def _form(item: Item, reply: str) -> str:
    try:
        filled = json.loads(reply)
    except ValueError as error:
        raise UsageError(f"the form is not JSON: {error}.", "Keep the braces, the names and the quotes.") from error
    required = set(item.question["schema"].get("required", ()))
    if not isinstance(filled, dict) or not required <= set(filled):
        raise UsageError(f"the form needs {', '.join(sorted(required))}.", "Change the values only.")
    return reply
