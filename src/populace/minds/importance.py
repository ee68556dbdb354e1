"""The importance of a memory, from 1 (brushing teeth) to 10 (a death in the family).

There are two raters: a rule over words, which is fast and the same for everybody, and a question for the model. Where
a model gives no number, the importance stays empty, and the answer counts as invalid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.questions import Rating

MUNDANE = (
    "brush shower dress breakfast lunch dinner coffee tea snack dishes laundry sweep tidy clean bed nap sleep asleep "
    "idle wait waiting sit sitting walk walking commute bus shop groceries errand weather email routine usual usually"
).split()
"""Words of everyday matters; each lowers the importance a little."""

NOTABLE = (
    "party invite invited invitation plan plans promise promised agreed decide decided election vote job work project "
    "exam news rumour rumor secret meeting visit friend birthday travel money argue argued disagree help helped idea"
).split()
"""Words of things that people tell others; each raises the importance a little."""

POIGNANT = (
    "died death dead funeral born birth pregnant married marry wedding divorce divorced fired hired accident hospital "
    "cancer fire flood war arrested betrayed betray proposal proposed accepted rejected graduated graduation breakup "
    "diagnosed crash stolen attacked rescued"
).split()
"""Words of turning points; each raises the importance much."""

FEELINGS = (
    "love loved hate hated afraid fear angry furious ashamed proud grief grieving jealous lonely heartbroken overjoyed "
    "devastated terrified hopeful regret guilty excited happy sad worried cried crying tears"
).split()
"""Words of feelings; each raises the importance."""

FIRSTS = ("first time", "for the first", "never before", "finally", "at last", "last time", "for good", "forever")
"""Phrases for what happens rarely."""

_BASE = 3.0
_WEIGHTS: Mapping[str, float] = {"mundane": -1.0, "notable": 1.0, "poignant": 3.0, "feelings": 1.5, "firsts": 1.5}


def rate_by_rule(texts: Sequence[str] | pl.Series) -> npt.NDArray[np.float64]:
    """An importance from 1 to 10 for each text.

    It begins at 3. A mundane word takes 1 away, two at most count; a notable word adds 1, a feeling or a first time
    1.5, a turning point 3, and a text of 25 words or more 0.5.

    Args:
        texts: What to rate.

    Example:
        >>> rate_by_rule(["I brush my teeth.", "Bo invited me to a party.", "My mother died."]).tolist()
        [2.0, 5.0, 6.0]
    """
    column = pl.Series("text", texts, dtype=pl.String).str.to_lowercase()
    lists = {"mundane": MUNDANE, "notable": NOTABLE, "poignant": POIGNANT, "feelings": FEELINGS, "firsts": FIRSTS}
    counts = {name: _occurrences(column, words) for name, words in lists.items()}
    counts["mundane"] = np.minimum(counts["mundane"], 2)
    total = np.full(column.len(), _BASE)
    for name, weight in _WEIGHTS.items():
        total += weight * counts[name]
    total += 0.5 * (column.str.count_matches(r"\w+").to_numpy() >= 25)
    np.clip(total, 1.0, 10.0, out=total)
    return total


def importance_question(text: str = "{memory}") -> Rating:
    """The question with which a model rates one memory of one person.

    Args:
        text: The memory; by default a field that the caller fills with a column, one memory for each person asked.

    Example:
        >>> importance_question().template.fields
        ('memory',)
    """
    return Rating(
        f'Here is something that you remember:\n"{text}"\nHow much does it matter to you?',
        low=1,
        high=10,
        anchors=(
            "an everyday matter, such as brushing teeth or making the bed",
            "a turning point, such as a death in the family or an offer of marriage",
        ),
    )


def _occurrences(texts: pl.Series, words: Sequence[str]) -> npt.NDArray[np.int64]:
    return texts.str.count_matches(rf"\b(?:{'|'.join(words)})\b").to_numpy().astype(np.int64)
