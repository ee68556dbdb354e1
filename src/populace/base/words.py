"""The words of a text, as texts are compared."""

import re

_WORD = re.compile(r"\w+")
_ASCII = bytes(ord(sign.lower() if _WORD.match(sign) else " ") for sign in map(chr, range(128))).ljust(256)
"""For each ASCII sign the lower case of a letter, and a space where it is no part of a word."""


def lower_words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters, digits and underscores.

    Example:
        >>> lower_words("The café, at 17:00!"), lower_words("...")
        (['the', 'café', 'at', '17', '00'], [])
    """
    # Most texts are plain ASCII, which needs no regular expression.
    if text.isascii():
        return text.encode().translate(_ASCII).decode().split()
    return _WORD.findall(text.casefold())
