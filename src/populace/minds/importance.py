"""The importance of a memory, from 1 (brushing teeth) to 10 (a death in the family).

There are two raters: a rule over words, which is fast and the same for everybody, and a question for the model, which
does not say who remembers, so that equal texts are rated once for all. Where a model gives no number, the importance
stays empty, and the answer counts as invalid.
"""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.questions import Answers, Rating

WORD_LISTS = tomllib.loads(Path(__file__).with_name("importance_words.toml").read_text(encoding="utf-8"))
"""Lists of words and phrases, each with its weight: mundane, notable, poignant, feelings and firsts."""

_BASE = 3.0


def rate_by_rule(texts: Sequence[str] | pl.Series) -> npt.NDArray[np.float64]:
    """An importance from 1 to 10 for each text.

    It begins at 3. A mundane word takes 1 away, two at most count; a notable word adds 1, a feeling or a first time
    1.5, a turning point 3, and a text of 25 words or more 0.5.

    Args:
        texts: What to rate.

    Example:
        >>> rate_by_rule(["You brush your teeth.", "Bo asked you for help.", "Your mother died."]).tolist()
        [2.0, 5.0, 6.0]
    """
    column = pl.Series("text", texts, dtype=pl.String).str.to_lowercase()
    total = np.full(column.len(), _BASE)
    for name, words in WORD_LISTS.items():
        count = column.str.count_matches(rf"\b(?:{'|'.join(words['words'])})\b").to_numpy().astype(np.int64)
        total += words["weight"] * (np.minimum(count, 2) if name == "mundane" else count)
    total += 0.5 * (column.str.count_matches(r"\w+").to_numpy() >= 25)
    np.clip(total, 1.0, 10.0, out=total)
    return total


def importance_question(text: str = "{memory}") -> Rating:
    """The question with which a model rates how much something matters to the person who experienced it.

    Args:
        text: What happened; by default a field that the caller fills with a column, one text for each person asked.

    Example:
        >>> importance_question().template.fields
        ('memory',)
    """
    return Rating(
        f'Something that happened to you:\n"{text}"\nHow much does it matter?',
        low=1,
        high=10,
        anchors=(
            "an everyday matter, such as brushing teeth or making the bed",
            "a turning point, such as a death in the family or an offer of marriage",
        ),
    )


def expected_ratings(answers: Answers) -> npt.NDArray[np.float64]:
    """The importance of each text: the mean of the distribution to a tenth where the model gives one, else its answer.

    Args:
        answers: The answers to `importance_question`; an invalid one is NaN.
    """
    ratings = answers.values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if answers.probabilities is None or not isinstance(answers.question, Rating):
        return ratings
    expected = answers.distribution.drop("id").cast(pl.Float64).fill_null(np.nan).to_numpy() @ np.array(
        answers.question.values, np.float64
    )
    # Some people may be asked of a model that gives no distribution.
    return np.where(np.isnan(ratings) | np.isnan(expected), ratings, np.round(expected, 1))
