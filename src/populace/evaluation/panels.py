"""Panels: the same people asked the same items in several waves.

A panel is a CSV or Parquet file in one of two forms. The wide form has a row for each person and wave: `person`,
`wave`, a column for each item, and what is known of the person in all other columns. The long form has a row for each
person, wave and item: `person`, `wave`, `item`, `answer`; a table of its own then says what is known of the people. A
second file lists the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers, read_answer_table

MAX_PANEL_BYTES = 500_000_000
"""The largest file of a panel that is read."""

_SEPARATOR = "|"
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


@dataclass(frozen=True)
class PanelItems:
    """The items of a panel.

    Attributes:
        items: All items.
        targets: The ids of the items that are predicted.
        context: The ids of the items whose answers agents and floors may know.

    Example:
        >>> table = pl.DataFrame({"id": ["tea", "milk"], "text": ["Tea?", "Milk?"], "options": ["yes|no"] * 2,
        ...     "role": ["target", "context"]})
        >>> PanelItems.from_table(table).context
        ('milk',)
    """

    items: tuple[EvaluationItem, ...]
    targets: tuple[str, ...]
    context: tuple[str, ...]

    @classmethod
    def read(cls, path: str | Path) -> PanelItems:
        """The items in a CSV or Parquet file; see `from_table`."""
        return cls.from_table(read_answer_table(Path(path)), where=str(path))

    @classmethod
    def from_table(cls, table: pl.DataFrame, *, where: str = "the table of items") -> PanelItems:
        """The items in a table with a row for each.

        The columns are `id`, `text` and `options` (separated by `|`, in their order) and, where they are there,
        `ordered` (yes where the order means more or less of something), `topic`, `title` (a few words for the item)
        and `role`: `target` for an item that is predicted, which is what it is without a role, or `context` for one
        whose answer may be known.

        Raises:
            HumanDataError: If a column is missing, an id stands twice, an item has an option twice or fewer than two,
                or no item is predicted.
        """
        missing = [name for name in ("id", "text", "options") if name not in table.columns]
        if missing:
            raise HumanDataError(f"{where} has no column {missing[0]!r}.", "It needs id, text and options.")
        items, roles = [], {}
        for line, row in enumerate(table.iter_rows(named=True), 2):
            values = {name: str(value if value is not None else "").strip() for name, value in row.items()}
            item = _item(values, f"{where}, line {line}")
            if item.id in roles:
                raise HumanDataError(f"{where}, line {line}: the item {item.id!r} stands twice.")
            roles[item.id] = values.get("role", "") or "target"
            if roles[item.id] not in ("target", "context"):
                raise HumanDataError(
                    f"{where}, line {line}: the role {roles[item.id]!r} of item {item.id!r} is not known.",
                    "It is target or context.",
                )
            items.append(item)
        targets = tuple(name for name, role in roles.items() if role == "target")
        if not targets:
            raise HumanDataError(f"{where} has no item that is predicted.", "Give one the role target.")
        return cls(tuple(items), targets, tuple(name for name, role in roles.items() if role == "context"))


def read_panel(
    path: str | Path,
    items: PanelItems | Sequence[EvaluationItem],
    *,
    wave: str | int,
    retest: str | int,
    person: str = "person",
    wave_column: str = "wave",
    profiles: str | Path | None = None,
    about: Sequence[str] | None = None,
    source: str = "",
    licence: str = "",
) -> HumanAnswers:
    """The answers of a panel in one wave, with those of another wave as the retest.

    Args:
        path: The file.
        items: The items; an item without a column is an error.
        wave: The wave that is predicted, and whose columns describe people.
        retest: The wave that serves as the retest.
        person: The column that identifies a person.
        wave_column: The column that holds the wave.
        profiles: In the long form, a table with the column `person` and what is known of each.
        about: The columns that describe people; in the wide form all that are not items by default.
        source: Where the data come from; the name of the file by default.
        licence: What may be done with them.

    Raises:
        HumanDataError: If the file cannot be read, a column is missing, a person has two rows in a wave or no id, an
            answer is not an option, a wave is not there, or nobody answered an item in both waves.
    """
    path = Path(path)
    if path.is_file() and path.stat().st_size > MAX_PANEL_BYTES:
        raise HumanDataError(f"{path} has more than {MAX_PANEL_BYTES:,} bytes.", "Divide it by items.")
    table = read_answer_table(path)
    for name in (person, wave_column):
        if name not in table.columns:
            raise HumanDataError(f"{path} has no column {name!r}.", f"It has: {', '.join(table.columns[:12])} …")
    table = table.rename({person: "person", wave_column: "wave"}).with_columns(pl.col("person", "wave").cast(pl.String))
    nobody = table["person"].null_count()
    if nobody:
        raise HumanDataError(f"{path}: {nobody} of {table.height} rows have no person.", "Fill the column.")
    listed = items.items if isinstance(items, PanelItems) else tuple(items)
    if {"item", "answer"} <= set(table.columns):
        people = None if profiles is None else read_answer_table(Path(profiles))
        if people is not None and about is not None and "person" in people.columns:
            people = people.select("person", *about)
    else:
        table, people = _from_wide(table, listed, str(wave), about, path)
    return HumanAnswers.from_waves(
        table, listed, first=wave, second=retest, profiles=people, source=source or path.name, licence=licence
    )


def _item(values: dict[str, str], where: str) -> EvaluationItem:
    options = tuple(part.strip() for part in values["options"].split(_SEPARATOR) if part.strip())
    if not values["id"] or not values["text"]:
        raise HumanDataError(f"{where}: an item has no id or no text.")
    if len(options) < 2 or len(set(options)) < len(options):
        raise HumanDataError(
            f"{where}: item {values['id']!r} needs at least two options, each of them once.",
            f"Separate them by {_SEPARATOR}.",
        )
    ordered = values.get("ordered", "").lower()
    if ordered not in _YES:
        raise HumanDataError(f"{where}: item {values['id']!r}: ordered is {ordered!r}.", "Write yes or no.")
    return EvaluationItem(
        values["id"], values["text"], options, _YES[ordered], values.get("topic", ""), values.get("title", "")
    )


def _from_wide(
    table: pl.DataFrame, items: Sequence[EvaluationItem], wave: str, about: Sequence[str] | None, path: Path
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The long form of a wide table, and what is known of people in one wave."""
    names = [item.id for item in items]
    lacking = [name for name in (*names, *(about or ())) if name not in table.columns]
    if lacking:
        raise HumanDataError(f"{path} has no column {lacking[0]!r}.", f"It has: {', '.join(table.columns[:12])} …")
    twice = table.filter(table.select("person", "wave").is_duplicated())
    if twice.height:
        raise HumanDataError(f"{path}: person {twice['person'][0]!r} has two rows in wave {twice['wave'][0]!r}.")
    answers = table.select("person", "wave", pl.col(names).cast(pl.String))
    long = answers.unpivot(names, index=["person", "wave"], variable_name="item", value_name="answer")
    columns = [name for name in table.columns if name not in (*names, "wave")] if about is None else ["person", *about]
    # People who were not there in this wave have no answers in it either.
    return long.filter(pl.col("answer").is_not_null()), table.filter(pl.col("wave") == wave).select(columns)
