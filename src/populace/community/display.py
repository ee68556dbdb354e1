"""Untrusted text made safe to show: nothing in it may act on the terminal or the page."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_DIRECTION = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SUBSTITUTE = "\ufffd"


def safe_text(text: str) -> str:
    """Text for a terminal: a visible mark replaces characters that move the cursor or change the writing direction.

    Example:
        >>> safe_text("red: \\x1b[31m, turned: \\u202e!")
        'red: �[31m, turned: �!'
    """
    return _DIRECTION.sub(_SUBSTITUTE, without_control_characters(text))


def without_control_characters(text: str) -> str:
    """The text with one kind of line break, and a visible mark in place of every other control character.

    Example:
        >>> without_control_characters("bell: \\x07, line:\\r\\nend")
        'bell: �, line:\\nend'
    """
    return _CONTROL.sub(_SUBSTITUTE, text.replace("\r\n", "\n").replace("\r", "\n"))
