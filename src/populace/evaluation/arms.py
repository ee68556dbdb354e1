"""What an agent in place of a person knows: some of their profile, some of their answers, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from populace.base.errors import HumanDataError, UnknownNameError
from populace.evaluation.human_answers import HumanAnswers

ARMS = ("demographics", "answers", "both")
"""The arms of an evaluation: what is known of a person, what they answered to other items, or both."""


@dataclass(frozen=True)
class Arm:
    """Agents with the same kind of knowledge about the person in whose place they answer.

    Attributes:
        name: Its name.
        profile: The columns of the profile that they know.
        context: The items whose answers they know.
        changes: Values that replace those of the profile, by column: the same people in another group.

    Example:
        >>> Arm("demographics", profile=("age", "sex")).context
        ()
    """

    name: str
    profile: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    changes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def standard(cls, name: str, human: HumanAnswers, context: Sequence[str]) -> Arm:
        """One of `ARMS` for the profiles of people and for the items whose answers may be known."""
        if name not in ARMS:
            raise UnknownNameError("arm", name, ARMS)
        if name != "answers" and not human.profiles.width:
            raise HumanDataError(f"the arm {name!r} needs profiles.", "Give a table with what is known of people.")
        if name != "demographics" and not context:
            raise HumanDataError(
                f"the arm {name!r} needs items whose answers are known.", "Give items the role context."
            )
        columns = () if name == "answers" else tuple(human.profiles.columns)
        return cls(name, columns, () if name == "demographics" else tuple(context))


def personas(human: HumanAnswers, arm: Arm) -> pl.Series:
    """What agents of an arm are told about the person in whose place they answer, a text for each person.

    Values and answers that are missing are left out.

    Example:
        >>> import numpy as np
        >>> from populace.evaluation import EvaluationItem
        >>> item = EvaluationItem("tea", "Do you like tea?", ("yes", "no"), title="likes tea")
        >>> human = HumanAnswers(("a",), (item,), np.array([[0]]), np.array([[-1]]), pl.DataFrame({"age": [40]}))
        >>> print(personas(human, Arm("both", ("age",), ("tea",)))[0])
        About you:
        - age: 40
        In a survey you answered:
        - likes tea: yes
    """
    count = len(human.people)
    for name in (*arm.profile, *arm.changes):
        if name not in human.profiles.columns:
            raise UnknownNameError("column of the profiles", name, human.profiles.columns)
    known = human.profiles.with_columns(pl.lit(value).alias(name) for name, value in arm.changes.items())
    about = _lines(known, {name: name.replace("_", " ") for name in arm.profile}, "About you:", count)
    chosen = human.select(arm.context)
    # A missing answer has the code -1, and so the last place, which holds nothing.
    words = pl.DataFrame(
        {
            item.id: pl.Series([*item.options, None], dtype=pl.String).gather(column % (len(item.options) + 1))
            for item, column in zip(chosen.items, chosen.answers.T, strict=True)
        }
    )
    titles = {item.id: item.title or item.text for item in chosen.items}
    earlier = _lines(words, titles, "In a survey you answered:", count)
    both = pl.DataFrame({"about": about, "earlier": earlier})
    parts = pl.concat_list(pl.col("about", "earlier")).list.eval(pl.element().filter(pl.element() != ""))
    return both.select(parts.list.join("\n").alias("persona"))["persona"]


def _lines(table: pl.DataFrame, names: Mapping[str, str], heading: str, count: int) -> pl.Series:
    """A heading and a line for each value that is there; nothing where there is none."""
    empty = pl.Series("lines", [""]).new_from_index(0, count)
    if not names:
        return empty
    parts = [
        pl.when(pl.col(column).is_not_null())
        .then(pl.format("\n- {}: {}", pl.lit(title), pl.col(column).cast(pl.String)))
        .otherwise(pl.lit(""))
        for column, title in names.items()
    ]
    lines = table.select(pl.concat_str(parts).alias("lines"))["lines"]
    headed = pl.DataFrame({"lines": lines})
    text = pl.when(pl.col("lines") != "").then(pl.lit(heading) + pl.col("lines")).otherwise(pl.lit(""))
    return headed.select(text.alias("lines"))["lines"]
