"""Checks of a questionnaire against the columns that it fills and names, before anybody is asked."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from populace.base.document_lines import at_entry
from populace.base.errors import QuestionnaireError, UnknownNameError
from populace.people.selection import explain_nobody
from populace.surveys.conditions import Condition, answer_flag, comparisons, condition_columns
from populace.surveys.items import GridItem, Item, RatingItem
from populace.surveys.questionnaire import RESERVED_IDS, Questionnaire
from populace.surveys.variables import PROFILE_TEXT, STATE, Variable


def check_columns(questionnaire: Questionnaire, respondents: pl.DataFrame) -> None:
    """Refuse items that fill a column of the respondents, and conditions and texts that name what is not there.

    Raises:
        UnknownNameError: If a name is neither a column of the respondents nor one that an item fills.
        QuestionnaireError: If an item fills a column that the respondents have, or a comparison can never hold: words
            with numbers, or an answer that is no option.
    """
    known = _Columns(questionnaire, respondents)
    taken = next((v for v in questionnaire.variables if v.name in (*respondents.columns, STATE, PROFILE_TEXT)), None)
    if taken is not None:
        raise QuestionnaireError(
            f"item {taken.item!r} would fill the column {taken.name!r}, which the respondents have.",
            "Rename the item or the column.",
        )
    for number, block in enumerate(questionnaire.blocks):
        for row, item in enumerate(block.items):
            with at_entry("blocks", number, "items", row):
                for condition in (block.show_if, item.show_if, item.screen_out_if):
                    known.check(condition, item)
                for name in item.fields():
                    known.check_name(name, item)
                reserved = next((name for name in item.fields() if name in RESERVED_IDS - {"id"}), None)
                if reserved is not None:
                    raise QuestionnaireError(
                        f"the text of item {item.id!r} names the column {reserved!r}, which prompts use otherwise.",
                        "Rename the column.",
                    )


def explain_conditions(questionnaire: Questionnaire, respondents: pl.DataFrame) -> None:
    """Warn of a value in a condition that no respondent has, where it looks like a slip for one that somebody has."""
    conditions = [block.show_if for block in questionnaire.blocks]
    conditions += [each for item in questionnaire.items for each in (item.show_if, item.screen_out_if)]
    for condition in conditions:
        for name, comparison, value in comparisons(condition):
            if name in respondents.columns and comparison in ("eq", "ne"):
                explain_nobody(respondents[name], value)


class _Columns:
    """What conditions can name: the columns of the respondents, and those that the items fill."""

    def __init__(self, questionnaire: Questionnaire, respondents: pl.DataFrame) -> None:
        self.respondents = respondents
        self.variables: Mapping[str, Variable] = {each.name: each for each in questionnaire.variables}
        self.items: Mapping[str, Item] = {item.id: item for item in questionnaire.items}

    def check(self, condition: Condition, item: Item) -> None:
        for name in condition_columns(condition):
            self.check_name(name, item)
        for name, comparison, value in comparisons(condition):
            where = f"item {item.id!r}: a condition compares {name!r} with {value!r}"
            dtype = self.variables[name].dtype if name in self.variables else self.respondents[name].dtype
            _check_kind(dtype, value, where)
            if comparison in ("eq", "ne") and value is not None and name in self.variables:
                self._check_answer(self.variables[name], value, where)

    def check_name(self, name: str, item: Item) -> None:
        if name in self.variables or name in self.respondents.columns:
            return
        hint = f"Named by item {item.id!r}."
        parts = [f"{each.name} ({each.part})" for each in self.variables.values() if each.item == name]
        if parts:
            raise QuestionnaireError(
                f"item {item.id!r} names {name!r}, which fills several columns.", f"Name one of: {', '.join(parts)}."
            )
        raise UnknownNameError("column or item", name, [*self.respondents.columns, *self.variables], hint)

    def _check_answer(self, variable: Variable, value: Any, where: str) -> None:
        item = self.items[variable.item]
        if variable.categories and value not in variable.categories:
            raise QuestionnaireError(
                f"{where}, which is not one of its options.", f"They are: {', '.join(variable.categories)}."
            )
        scale = (item.low, item.high) if isinstance(item, (RatingItem, GridItem)) else (None, None)
        if scale[0] is not None and scale[1] is not None and not scale[0] <= value <= scale[1]:
            raise QuestionnaireError(f"{where}, and its scale runs from {scale[0]} to {scale[1]}.")


def _check_kind(dtype: pl.DataType, value: Any, where: str) -> None:
    """Refuse to compare words with numbers, and either with yes or no."""
    if value is None:
        return
    if dtype == pl.Boolean:
        fits, holds = answer_flag(value) is not None, "yes or no"
    elif dtype.is_numeric():
        fits, holds = isinstance(value, (int, float)) and not isinstance(value, bool), "numbers"
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        fits, holds = isinstance(value, str), "words"
    else:
        return
    if not fits:
        raise QuestionnaireError(f"{where}, and it holds {holds}.", "Write numbers without quotes.")
