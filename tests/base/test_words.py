from __future__ import annotations

import re
import sys

from populace.base.words import lower_words


def test_words_of_any_sign_are_those_of_the_regular_expression() -> None:
    signs = [chr(code) for code in [*range(0x3000), *range(0x3000, sys.maxunicode, 997)]]
    texts = [f"An{sign}b, {sign} C" for sign in signs]
    assert [lower_words(text) for text in texts] == [re.findall(r"\w+", text.casefold()) for text in texts]
