from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np

from populace.questions.likeness import FoldedText

WORDS = "the mill wheel has been standing still since monday and they will mend it before market über straße".split()


def test_texts_are_alike_where_the_ratio_of_matching_characters_is_high() -> None:
    rng = np.random.default_rng(3)
    verdicts = set()
    for _ in range(120):
        words = rng.choice(WORDS, 9).tolist()
        others = [list(words) for _ in range(4)]
        for other in others:
            for _ in range(int(rng.integers(1, 5))):
                other[int(rng.integers(len(other)))] = str(rng.choice(WORDS))
        text, folded = FoldedText(" ".join(words)), [FoldedText(" ".join(other)) for other in others]
        ratios = [SequenceMatcher(None, text.text, other.text, autojunk=False).ratio() for other in folded]
        assert [text.is_like([other]) for other in folded] == [ratio >= 0.8 for ratio in ratios]
        assert text.is_like(folded) == (max(ratios) >= 0.8)
        verdicts.add(max(ratios) >= 0.8)
    assert verdicts == {True, False}


def test_nothing_is_like_nothing_and_unlike_something() -> None:
    assert FoldedText("...").is_like([FoldedText("")])
    assert not FoldedText("...").is_like([FoldedText("tea")])
    assert not FoldedText("tea").is_like([])
