"""Recorded questions and answers as a person would write them: without fields, without JSON."""

import json
import re
from collections.abc import Mapping
from typing import Any

_FIELD = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)(?::[^{}]*)?\}")


def question_text(text: str, values: Mapping[str, Any] | None = None) -> str:
    """A question with the values of its fields; the name of a field in brackets where it has no one value.

    Example:
        >>> question_text("Do you talk with {other} now?", {"other": "Bo"})
        'Do you talk with Bo now?'
        >>> question_text("Do you talk with {other} now?")
        'Do you talk with [other] now?'
    """

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return match[0][0]
        return str(values[name]) if values and name in values else f"[{name.replace('_', ' ')}]"

    return _FIELD.sub(fill, text) if "{" in text or "}" in text else text


def answer_text(value: str | None, kind: str = "form") -> str | None:
    """An answer on one line: of a form, the names of its fields with their values.

    Args:
        value: The answer as it is recorded.
        kind: The kind of question; only the answers to forms are JSON.

    Example:
        >>> answer_text('{"say": "Hello.", "plan": [{"at": "09:00", "doing": "work"}]}')
        'say: Hello. · plan: 09:00, work'
        >>> answer_text("[not JSON")
        '[not JSON'
    """
    if value is None or kind != "form":
        return value
    try:
        fields = json.loads(value)
    except ValueError:
        return value
    if not isinstance(fields, dict):
        return plain_text(fields)
    return " · ".join(f"{name.replace('_', ' ')}: {plain_text(part)}" for name, part in fields.items())


def plain_text(value: Any) -> str:
    """A value without brackets and quotes.

    Example:
        >>> plain_text(["tea", "milk"]), plain_text(True), plain_text(None), plain_text(0.123456)
        ('tea, milk', 'yes', '–', '0.1235')
    """
    if isinstance(value, list):
        return ("; " if any(isinstance(each, dict | list) for each in value) else ", ").join(map(plain_text, value))
    if isinstance(value, dict):
        return ", ".join(map(plain_text, value.values()))
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
