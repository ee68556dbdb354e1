"""The text of a prompt: the profile of the person, announcements, memories, the situation and the question.

Composition works on columns: the distinct combinations of the fields that a prompt really uses
are computed first, and text is rendered once for each of them. People share a prompt only when every
character of it is the same. Two combinations that happen to read the same are asked once as well,
because the broker asks equal requests once.
"""

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import TemplateError
from populace.base.formatting import plural
from populace.base.templates import FEW, Template, concat_texts
from populace.people import HEARD, People
from populace.prompting.inquiry import Situation

_VARIANT = "variant of the prompt"
_MEMORIES = "what comes to mind"
_ZERO = pl.Series([0], dtype=pl.Int32)


@dataclass(frozen=True)
class Prompts:
    """The distinct prompts of one question, and who gets which.

    Attributes:
        of_person: For each person asked, the row of the prompt.
        system: Who one is, for each distinct prompt.
        situation: What one is told.
        wording: The question as worded.
        variant: A number that tells otherwise equal prompts apart, such as the order of the options.
        fields: The values behind the text, for each distinct prompt; fields that are the same for everybody are left
            out, because the question records them once.
    """

    of_person: npt.NDArray[np.int32]
    system: pl.Series
    situation: pl.Series
    wording: pl.Series
    variant: pl.Series
    fields: pl.DataFrame

    def __len__(self) -> int:
        return self.system.len()


def compose(
    profile: Template, people: People, situation: Situation, variant: npt.NDArray[np.int32] | None = None
) -> Prompts:
    """The distinct prompts of a question to some people.

    Args:
        profile: Who one is, as a template over the columns of the population.
        people: Who is asked.
        situation: What they are told and asked.
        variant: A number for each person that tells otherwise equal prompts apart.

    Example:
        >>> from populace.questions import Choice
        >>> people = People(pl.DataFrame({"name": ["Ann", "Bo"], "mood": ["calm", "calm"]}))
        >>> tea = Situation(Choice("Tea?", options=("yes", "no")), Template("It rains."), {}, {})
        >>> prompts = compose(Template("You are {mood}."), people, tea)
        >>> prompts.system.to_list(), prompts.of_person.tolist()
        (['You are calm.'], [0, 0])
    """
    parts = {"the profile": profile, "given": situation.given, "the question": situation.question.template}
    known = {*people.columns, *situation.constants, *situation.columns}
    for where, template in parts.items():
        template.require(sorted(known), where)
    field_names = dict.fromkeys(field for template in parts.values() for field in template.fields)
    columns = {name: _column(name, people, situation) for name in field_names if name not in situation.constants}
    heard = HEARD in people and people[HEARD].null_count() < len(people)
    if heard:
        columns[HEARD] = people[HEARD].fill_null("")
    if situation.memories is not None and situation.memories_first:
        columns[_MEMORIES] = situation.memories.texts
    if variant is not None:
        columns[_VARIANT] = pl.Series(variant)
    of_person, rows = distinct(list(columns.values()), len(people))
    count = len(rows)
    values = columns
    if count < len(people):
        first = pl.Series(rows).cast(pl.UInt32)
        values = {name: column[first] for name, column in columns.items()}
    situations = situation.given.render(situation.constants, values, count)
    for name, gap in ((_MEMORIES, "\n\n"), (HEARD, "\n")):
        if name in values:
            situations = concat_texts([values[name], gap, situations], count).str.strip_chars("\n")
    return Prompts(
        of_person,
        profile.render(situation.constants, values, count),
        situations,
        situation.question.template.render(situation.constants, values, count),
        values[_VARIANT] if variant is not None else _ZERO.new_from_index(0, count),
        pl.DataFrame([values[name].alias(name) for name in values if name in field_names]),
    )


def _column(name: str, people: People, situation: Situation) -> pl.Series:
    column = situation.columns[name] if name in situation.columns else people[name]
    if column.null_count():
        who, others = people.ids[int(column.is_null().arg_max() or 0)], column.null_count() - 1
        more = f" and {plural(others, 'other')}" if others else ""
        value = "0" if column.dtype.is_numeric() else '"unknown"'
        advice = f"Write {name}=column.fill_null({value}) in ask, or ask only people who have a value."
        if name not in situation.columns:
            advice = (
                f'Fill the column: people["{name}"] = people["{name}"].fill_null({value}); '
                f'or ask only people who have a value: people.where({name}={{"ne": None}}).'
            )
        raise TemplateError(f"{{{name}}} is empty for person {who!r}{more}, and a prompt needs it.", advice)
    if column.len() <= FEW:
        values = column.to_list()
        has_nan = any(map(operator.ne, values, values))
    else:
        has_nan = column.dtype.is_float() and bool(column.is_nan().any())
    if has_nan:
        who = people.ids[int(column.is_nan().arg_max() or 0)]
        raise TemplateError(
            f"{{{name}}} is nan for person {who!r}, which marks a missing value, and a prompt needs one.",
            "Fill the column with .fill_nan(…), or ask only those who have a value.",
        )
    return column


def _exact(column: pl.Series) -> pl.Series:
    """A column that is equal exactly where the text is: -0.0 is not 0.0, and lists can be compared."""
    dtype = column.dtype
    if dtype.is_float():
        return pl.Series(column.cast(pl.Float64).to_numpy().view(np.int64))
    if dtype.is_nested():
        return pl.Series([repr(value) for value in column.to_list()], dtype=pl.String)
    return column


def _exact_values(values: list[Any]) -> list[Any]:
    """The same for a few values."""
    return values if {str, int}.issuperset(map(type, values)) else list(map(repr, values))


_FEW_ROWS = 512
"""Up to so many rows, Python numbers them in less time than polars needs to begin."""


def distinct(columns: list[pl.Series], height: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Number the distinct rows in order of first appearance: rows whose values are written in different ways.

    Returns:
        For each row its number, and for each number the first row that has it.
    """
    if not columns:
        return np.zeros(height, np.int32), np.zeros(1, np.int64)
    if height <= _FEW_ROWS:
        numbers: dict[tuple[Any, ...], int] = {}
        rows = list(zip(*[_exact_values(column.to_list()) for column in columns], strict=True))
        codes = np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int32)
        return codes, np.unique(codes, return_index=True)[1] if len(numbers) < height else np.arange(height)
    names = [f"c{index}" for index in range(len(columns))]
    frame = pl.DataFrame(
        [_exact(column).alias(name) for column, name in zip(columns, names, strict=True)]
    ).with_row_index("row")
    first = frame.select(pl.col("row").first().over(names)).to_series().to_numpy()
    leads = first == np.arange(height, dtype=first.dtype)
    return (np.cumsum(leads, dtype=np.int32) - 1)[first], np.flatnonzero(leads)
