"""Interventions as data: what is done to a society from outside, and when.

They are part of the manifest, so a run with interventions repeats, forks and compares like any
other. An intervention acts at the beginning of its step, before anybody decides. Each kind applies,
checks and describes itself.
"""

import json
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
import pydantic

from populace.base.errors import InterventionError, PopulaceError, UnknownNameError
from populace.journal.intervention import Intervention, Target
from populace.journal.selection import Selection
from populace.models import check_model
from populace.people import HEARD, People

NOBODY_SELECTED = "nobody selected"
"""The kind of the event of an intervention whose conditions nobody meets."""


Importance = Annotated[float, pydantic.Field(ge=1, le=10, allow_inf_nan=False)]
"""How important a memory is to a person, from 1 to 10."""


_ANNOUNCED = 6.0
"""How important an announcement is to those who hear it."""


class Announce(Intervention):
    """Tell people something; it stands before all that they are asked, for `steps` steps or until the end.

    People with a memory also remember it.

    Example:
        >>> Announce(at=3, text="Wear green.", steps=2).describe()
        'At step 3, tell everybody: “Wear green.”, for 2 steps'
    """

    kind: Literal["announce"] = "announce"
    text: str = pydantic.Field(min_length=1)
    to: Selection = Selection()
    steps: Annotated[int | None, pydantic.Field(ge=1)] = None

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Put the words after what people heard before, and into their memories."""
        people = target.people
        selected = self.to.of(people, rng)
        old = people[HEARD] if HEARD in people else pl.Series(HEARD, [None] * len(people), dtype=pl.String)
        table = pl.DataFrame({"old": old, "selected": _mask(selected, people)})
        more = pl.when(pl.col("old").is_null()).then(pl.lit(self.text)).otherwise(pl.col("old") + "\n" + self.text)
        people[HEARD] = table.select(pl.when("selected").then(more).otherwise("old")).to_series()
        if target.has_memory and len(selected):
            target.remember(selected, f"It was announced: {self.text}", kind="announcement", importance=_ANNOUNCED)

    def end(self, target: Target, step: int) -> None:
        """Take the words out of what people heard, once their time is over."""
        people = target.people
        if self.steps is None or self.at + self.steps != step or HEARD not in people:
            return
        lines = people[HEARD].str.split("\n")
        rest = lines.list.eval(pl.element().filter(pl.element() != self.text)).list.join("\n")
        people[HEARD] = pl.select(pl.when(rest != "").then(rest)).to_series()

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """What is announced to whom, and for how long."""
        duration = f", for {_count(self.steps, 'step', 'steps')}" if self.steps else ""
        return f"At step {self.at}, tell {self.to.describe(selected, total)}: “{self.text}”{duration}"


class InnerVoice(Intervention):
    """Put a thought into the memories of people, as if it were their own. People need a memory for it.

    Example:
        >>> InnerVoice(at=3, text="You want to run for mayor.", to=Selection(ids=[4])).describe(1, 25)
        'At step 3, put a thought into the memories of 1 of 25 people (id 4): “You want to run for mayor.”'
    """

    kind: Literal["think"] = "think"
    text: str = pydantic.Field(min_length=1)
    to: Selection = Selection()
    importance: Importance = 8

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Store the thought."""
        if not target.has_memory:
            raise InterventionError(
                "an inner voice becomes a memory, and the people of this scenario have none.",
                "Use an announcement, or a scenario in which people remember, such as party or discussion.",
            )
        selected = self.to.of(target.people, rng)
        if len(selected):
            target.remember(selected, self.text, kind="thought", importance=self.importance)

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Who thinks what."""
        return (
            f"At step {self.at}, put a thought into the memories of {self.to.describe(selected, total)}: “{self.text}”"
        )


class ChangeThing(Intervention):
    """Let a thing of the world be in another state, for people to notice. The world needs things for it.

    Example:
        >>> ChangeThing(at=30, place="Kettle & Crumb > kitchen > oven", state="burning").describe()
        'At step 30, Kettle & Crumb > kitchen > oven is now burning'
    """

    kind: Literal["thing"] = "thing"
    place: str = pydantic.Field(min_length=1)
    state: str = pydantic.Field(min_length=1)

    def check_names(self, target: Target) -> None:
        """Raise an error where the world has no such thing."""
        target.check_thing(self.place)

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Change the state of the thing."""
        target.change_thing(self.place, self.state)

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Which thing is in which state."""
        return f"At step {self.at}, {self.place} is now {self.state}"


class SetColumns(Intervention):
    """Set columns of the selected people to given values.

    Example:
        >>> SetColumns(at=2, values={"shirt": "green"}, to=Selection(share=0.5)).describe(10, 20)
        'At step 2, set shirt to green for 10 of 20 people (50% of them at random)'
    """

    kind: Literal["set"] = "set"
    values: dict[str, Any] = pydantic.Field(min_length=1)
    to: Selection = Selection()

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Set the columns."""
        people = target.people
        selected = _mask(self.to.of(people, rng), people)
        for column, value in self.values.items():
            # Who decides for a person may be set for some before any column says it of anybody.
            missing = column in ("decider", "model") and column not in people
            old = pl.Series([None] * len(people), dtype=pl.String) if missing else people[column]
            try:
                new = pl.select(pl.when(selected).then(pl.lit(value).cast(old.dtype)).otherwise(old)).to_series()
            except pl.exceptions.PolarsError as error:
                raise InterventionError(f"column {column!r} cannot be set to {value!r}: {error}.") from error
            people[column] = new

    def models(self) -> list[str]:
        """The model that it sets."""
        return [str(self.values["model"])] if self.values.get("model") else []

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Which columns are set to what, for whom."""
        values = ", ".join(f"{name} to {_value_text(value) or 'nothing'}" for name, value in self.values.items())
        return f"At step {self.at}, set {values} for {self.to.describe(selected, total)}"


class AddPeople(Intervention):
    """New people join, each a mapping from columns to values; people without an id get the next number.

    Example:
        >>> AddPeople(at=4, people=[{"name": "Ada"}]).describe()
        'At step 4, 1 person joins: Ada'
    """

    kind: Literal["add"] = "add"
    people: list[dict[str, Any]] = pydantic.Field(min_length=1)

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Add the people."""
        people = target.people
        rows = [dict(row) for row in self.people]
        number = people.next_id() if people.ids.dtype.is_integer() else None
        for row in rows:
            if "id" not in row:
                if number is None:
                    raise InterventionError("ids are strings here, so people who join need ids of their own.")
                row["id"], number = number, number + 1
        unknown = {name for row in rows for name in row} - set(people.columns)
        if unknown:
            column = UnknownNameError("column", sorted(unknown)[0], people.columns)
            raise InterventionError(
                f"people who join have {column.name!r}, which is not a column of the population.", column.hint
            )
        names = [name for name in people.columns if any(name in row for row in rows)]
        columns = [self._column([row.get(name) for row in rows], people[name]) for name in names]
        try:
            people.add(People(pl.DataFrame(columns)))
        except (pl.exceptions.PolarsError, TypeError, PopulaceError) as error:
            raise InterventionError(f"people could not join at step {self.at}: {error}") from error

    def _column(self, values: list[Any], present: pl.Series) -> pl.Series:
        """The values of people who join, in the type of the column, which holds those of the people who are there."""
        name, dtype = present.name, present.dtype
        try:
            return pl.Series(name, values, dtype=dtype)
        except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
            value = next((each for each in values if not _fits(each, dtype)), values[0])
            raise InterventionError(
                f"people could not join at step {self.at}: {value!r} does not fit the column {name!r}, "
                f"which holds {_KINDS.get(type(dtype), str(dtype))}.",
                f"Somebody who is there has {example[0]!r}." if len(example := present.drop_nulls().head(1)) else None,
            ) from error

    def models(self) -> list[str]:
        """The models of the people who join."""
        return [str(row["model"]) for row in self.people if row.get("model")]

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """How many people join, and the first names."""
        names = [str(row["name"]) for row in self.people if row.get("name")]
        text = f"At step {self.at}, {_count(len(self.people), 'person joins', 'people join')}"
        return text + (f": {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "")


class RemovePeople(Intervention):
    """The selected people leave.

    Example:
        >>> RemovePeople(at=5, to=Selection(ids=[3])).describe(1, 20)
        'At step 5, 1 of 20 people (id 3) leave'
    """

    kind: Literal["remove"] = "remove"
    # Run folders that were written before call it `who`.
    to: Selection = pydantic.Field(validation_alias=pydantic.AliasChoices("to", "who"))

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Remove the people."""
        target.people.remove(self.to.of(target.people, rng))

    def check(self, target: Target, rng: np.random.Generator) -> str:
        """As for any intervention; somebody must be left."""
        if len(self.to.of(target.people, rng)) == len(target.people):
            raise InterventionError("nobody would be left.", "Select fewer people.")
        return super().check(target, rng)

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Who leaves."""
        return f"At step {self.at}, {self.to.describe(selected, total)} leave"


class ChangeParameters(Intervention):
    """Change parameters of the scenario.

    Example:
        >>> ChangeParameters(at=3, parameters={"days": 9}).describe()
        'At step 3, days becomes 9'
    """

    kind: Literal["change"] = "change"
    parameters: dict[str, Any] = pydantic.Field(min_length=1)

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Set the parameters."""
        target.change(self.parameters)

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Which parameters change, and to what."""
        values = ", ".join(f"{name} becomes {_value_text(value)}" for name, value in self.parameters.items())
        return f"At step {self.at}, {values}"


class SwapModel(Intervention):
    """Let another model decide, for everybody or for the selected people.

    Example:
        >>> SwapModel(at=3, model="embedded").describe()
        'At step 3, embedded decides for everybody'
    """

    kind: Literal["swap"] = "swap"
    model: str
    to: Selection | None = None

    def apply(self, target: Target, rng: np.random.Generator) -> None:
        """Change the model of the run, or the column that gives the selected people a model of their own."""
        if self.to is None:
            target.use_model(self.model)
            return
        people = target.people
        old = people["model"] if "model" in people else pl.Series([None] * len(people), dtype=pl.String)
        selected = _mask(self.to.of(people, rng), people)
        people["model"] = pl.select(pl.when(selected).then(pl.lit(self.model)).otherwise(old)).to_series()

    def models(self) -> list[str]:
        """The model that decides from then on."""
        return [self.model]

    def check(self, target: Target, rng: np.random.Generator) -> str:
        """As for any intervention; the model string must be of a known form. Whether the model exists is not tried."""
        check_model(self.model)
        return super().check(target, rng)

    def describe(self, selected: int | None = None, total: int = 0) -> str:
        """Which model decides for whom."""
        people = "everybody" if self.to is None else self.to.describe(selected, total)
        return f"At step {self.at}, {self.model} decides for {people}"


def _mask(selected: People, people: People) -> pl.Series:
    return people.ids.is_in(selected.ids.implode())


_KINDS: dict[type[pl.DataType], str] = {pl.String: "texts", pl.Boolean: "yes or no", pl.Int64: "whole numbers"}


def _fits(value: Any, dtype: pl.DataType) -> bool:
    try:
        pl.Series([value], dtype=dtype)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        return False
    return True


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
