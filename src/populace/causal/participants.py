"""Who takes part in a design: a row for each persona and item, with the columns that fill the prompts.

A participant is one persona who meets one item. All columns are made for all participants at once.
"""

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.templates import Template, concat_texts
from populace.causal.study import ITEM, PERSONA, CausalStudy
from populace.causal.wording import stated_covariates
from populace.people import People
from populace.people.profiles import profile_texts

Rows = npt.NDArray[np.int64]
PROFILE_TEXT = "profile_text"
"""The column that lists what is known of a persona, where the study has no profile of its own."""


def participants(study: CausalStudy) -> People:
    """Everybody who takes part: every persona meets every item.

    Columns are those of personas and items, `persona` and `item`; ids are numbers.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see {product}.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes",
        ...     "items": [{"product": "apples"}, {"product": "pears"}], "personas": [{"age": 30}, {"age": 50}]})
        >>> participants(study).frame.select("persona", "item", "age", "product").rows()
        [('1', '1', 30, 'apples'), ('1', '2', 30, 'pears'), ('2', '1', 50, 'apples'), ('2', '2', 50, 'pears')]
    """
    personas, items = study.persona_table, study.item_table
    about = [name for name in personas.columns if name != PERSONA]
    personas = personas.with_columns(profile_texts(personas, about, PROFILE_TEXT))
    return _crossed(personas, items)


def forecasters(study: CausalStudy) -> People:
    """The forecasters of the aggregate design: independent forecasts of every item, by nobody in particular."""
    names = pl.DataFrame({PERSONA: [f"forecaster {number}" for number in range(1, study.forecasts + 1)]})
    return _crossed(names, study.item_table)


def _crossed(personas: pl.DataFrame, items: pl.DataFrame) -> People:
    who = pl.Series(np.repeat(np.arange(personas.height), items.height))
    what = pl.Series(np.tile(np.arange(items.height), personas.height))
    ids = pl.Series("id", np.arange(len(who)))
    return People(pl.concat([pl.DataFrame({"id": ids}), personas[who], items[what]], how="horizontal"))


def item_numbers(study: CausalStudy, people: People) -> Rows:
    """The number of each participant's item in the declaration."""
    places = {name: place for place, name in enumerate(study.item_table[ITEM].to_list())}
    numbers: Rows = people[ITEM].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    return numbers


def treatment_values(study: CausalStudy, level: int, items: Rows) -> pl.Series:
    """What fills the field of the treatment at a level, for each participant."""
    return study.treatment.value_at(level, study.item_table)[items]


def covariate_choices(study: CausalStudy, count: int, rng: np.random.Generator) -> Rows:
    """The number of the value of each stated covariate, drawn for each participant, whatever the level.

    The values of a covariate are dealt out in equal shares and shuffled, independently of all other covariates.
    """
    columns = []
    for covariate in stated_covariates(study):
        dealt = np.arange(count) % len(covariate.values)
        columns.append(rng.permutation(dealt))
    return np.column_stack(columns) if columns else np.empty((count, 0), np.int64)


def covariate_values(study: CausalStudy, choices: Rows, items: Rows) -> dict[str, pl.Series]:
    """What fills the fields of the stated covariates, for each participant."""
    table = study.item_table[items]
    return {
        covariate.name: covariate.value_for(pl.Series(choices[:, place]), table)
        for place, covariate in enumerate(stated_covariates(study))
    }


def level_orders(count: int, levels: int, rng: np.random.Generator) -> Rows:
    """The order in which each participant meets the levels: a row of numbers of levels for each."""
    orders: Rows = rng.permuted(np.tile(np.arange(levels), (count, 1)), axis=1)
    return orders


def level_lists(study: CausalStudy) -> pl.Series:
    """All levels in one sentence, for each item."""
    entries = _texts_by_item(study, [study.treatment.list_entry(level) for level in _levels(study)])
    return pl.Series(["; ".join(row) if _sentences(study) else ", ".join(row) for row in entries])


def condition_lists(study: CausalStudy) -> pl.Series:
    """All levels as numbered conditions, for each item."""
    entries = _texts_by_item(study, [study.treatment.situation(level) for level in _levels(study)])
    return pl.Series(["\n".join(f"Condition {n}: {text}" for n, text in enumerate(row, 1)) for row in entries])


def situation_lists(study: CausalStudy, orders: Rows, items: Rows) -> pl.Series:
    """All levels as numbered situations, in the order of each participant."""
    entries = _texts_by_item(study, [study.treatment.situation(level) for level in _levels(study)])
    texts, width = pl.Series([text for row in entries for text in row]), orders.shape[1]
    pieces: list[str | pl.Series | list[str]] = []
    for place in range(width):
        start = "\n" if place else ""
        pieces += [f"{start}Situation {place + 1}: ", texts[pl.Series(items * width + orders[:, place])]]
    return concat_texts(pieces, len(items))


def _levels(study: CausalStudy) -> range:
    return range(len(study.treatment.values))


def _sentences(study: CausalStudy) -> bool:
    return isinstance(study.treatment.levels, dict)


def _texts_by_item(study: CausalStudy, templates: list[str]) -> list[list[str]]:
    """Templates over item and treatment, filled for every item: a row of texts for each."""
    items, name = study.item_table, study.treatment.name
    columns = []
    for level, text in enumerate(templates):
        fields = {column: items[column] for column in items.columns} | {name: study.treatment.value_at(level, items)}
        columns.append(Template(text).render({}, fields, items.height).to_list())
    return [list(row) for row in zip(*columns, strict=True)]
