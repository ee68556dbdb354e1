"""Recognises a model's refusal to write a post."""

from __future__ import annotations

import re

_REFUSES = re.compile(
    r"""\b(?:
      as\s+an?\s+(?:ai|artificial\s+intelligence|large\s+language\s+model|language\s+model)\b
    | i\s*(?:'|’|\s+a)m\s+(?:just\s+|only\s+)?an?\s+(?:ai|large\s+language\s+model|language\s+model)\b
    | i\s*(?:can(?:no|'|’)?t|can\s+not|won(?:'|’)t|will\s+not|must\s+decline\s+to
        |(?:am|'m|’m)\s+(?:unable|not\s+able)\s+to
        |(?:am|'m|’m)\s+not\s+comfortable(?:\s+with)?)\s+
      (?:assist|comply|fulfil|answer\s+that|help\s+(?:you\s+)?with\s+(?:that|this)|role-?play|roleplaying
        |provide\s+(?:that|this|such|assistance)|engage\s+in|participate\s+in\s+(?:that|this|such)
        |(?:generat|creat|writ|produc)(?:e|ing)\s+(?:that|this|such|content|an?\s+(?:post|reply|response|comment|message)))
    | i\s+do(?:n(?:'|’)t|\s+not)\s+have\s+personal\s+(?:opinions?|experiences?|preferences?|feelings?|beliefs?)
    )""",
    re.IGNORECASE | re.VERBOSE,
)  # fmt: skip


_REFUSAL_HINTS = (" ai", "\nai", "model", "intelligence", "can", "won", "not", "decline", "unable", "personal")
"""Every refusal contains one of these and most posts contain none: a quick test before the slow one."""


def is_refused_post(text: str) -> bool:
    """Whether a post is a refusal to write one; an apology alone is not.

    Example:
        >>> is_refused_post("As an AI, I cannot help with that."), is_refused_post("I'm sorry to hear that.")
        (True, False)
    """
    folded = text.casefold()
    return any(hint in folded for hint in _REFUSAL_HINTS) and _REFUSES.search(text) is not None
