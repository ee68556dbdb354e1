"""Interventions as data: what is done to a society from outside, and when.

They are part of the manifest, so a run with interventions repeats, forks and compares like any
other. An intervention acts at the beginning of its step, before anybody decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pydantic

from populace.base.errors import InterventionError, PopulaceError
from populace.people import People
from populace.prompting import HEARD


class Selection(pydantic.BaseModel):
    """Who is meant: by conditions on columns, by ids, or a share drawn at random; everybody by default."""

    model_config = pydantic.ConfigDict(extra="forbid")

    where: dict[str, Any] = {}
    ids: list[int | str] | None = None
    share: Annotated[float | None, pydantic.Field(gt=0, le=1)] = None

    def of(self, people: People, rng: Any) -> People:
        """The people meant."""
        chosen = people.where(**self.where) if self.ids is None else people.take(self.ids).where(**self.where)
        if self.share is not None:
            chosen = chosen.sample(round(len(chosen) * self.share), seed=rng)
        return chosen


class _Intervention(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    at: int = pydantic.Field(ge=1, description="The step at whose beginning it happens.")


class Announce(_Intervention):
    """Tell people something; it stands first in whatever they are asked, for `steps` steps or for good."""

    kind: Literal["announce"] = "announce"
    text: str = pydantic.Field(min_length=1)
    to: Selection = Selection()
    steps: Annotated[int | None, pydantic.Field(ge=1)] = None


class SetColumns(_Intervention):
    """Set columns of the people meant to given values."""

    kind: Literal["set"] = "set"
    values: dict[str, Any] = pydantic.Field(min_length=1)
    to: Selection = Selection()


class AddPeople(_Intervention):
    """New people join, each a mapping from columns to values; ids are given where they have none."""

    kind: Literal["add"] = "add"
    people: list[dict[str, Any]] = pydantic.Field(min_length=1)


class RemovePeople(_Intervention):
    """The people meant leave."""

    kind: Literal["remove"] = "remove"
    # Run folders of format 1 call it `who`.
    to: Selection = pydantic.Field(validation_alias=pydantic.AliasChoices("to", "who"))


class ChangeParameters(_Intervention):
    """Change parameters of the scenario."""

    kind: Literal["change"] = "change"
    parameters: dict[str, Any] = pydantic.Field(min_length=1)


class SwapModel(_Intervention):
    """Let another model decide, for everybody or for the people meant."""

    kind: Literal["swap"] = "swap"
    model: str
    to: Selection | None = None


Intervention = Annotated[
    Announce | SetColumns | AddPeople | RemovePeople | ChangeParameters | SwapModel,
    pydantic.Field(discriminator="kind"),
]
_LIST: pydantic.TypeAdapter[list[Intervention]] = pydantic.TypeAdapter(list[Intervention])


def read_interventions(source: str | Path | list[Mapping[str, Any]]) -> list[Intervention]:
    """Interventions from JSON text, a JSON file or plain data; a single one may stand without brackets.

    Example:
        >>> read_interventions('{"kind": "announce", "at": 3, "text": "Wear green."}')[0].at
        3
    """
    data: Any = source
    if isinstance(source, (str, Path)):
        text = str(source)
        named = not text.lstrip().startswith(("{", "["))
        try:
            data = json.loads(Path(text).read_text() if named else text)
        except OSError as error:
            raise InterventionError(f"the interventions in {text} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise InterventionError(
                f"the interventions {'in ' + text if named else ''} are not JSON: {error}."
            ) from error
    try:
        return _LIST.validate_python(data if isinstance(data, list) else [data])
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InterventionError(f"the intervention at {where or 'the top'}: {first['msg']}.") from error


def announced(people: People, intervention: Announce, chosen: People) -> None:
    """Put the words of an announcement into what people heard, after what they heard before."""
    old = people[HEARD] if HEARD in people else pl.Series(HEARD, [None] * len(people), dtype=pl.String)
    meant = people.ids.is_in(chosen.ids.implode())
    table = pl.DataFrame({"old": old, "meant": meant})
    heard = (
        pl.when(pl.col("old").is_null())
        .then(pl.lit(intervention.text))
        .otherwise(pl.col("old") + "\n" + intervention.text)
    )
    people[HEARD] = table.select(pl.when("meant").then(heard).otherwise("old")).to_series()


def forgotten(people: People, intervention: Announce) -> None:
    """Take the words of an announcement out of what people heard, once its time is over."""
    if HEARD not in people:
        return
    lines = people[HEARD].str.split("\n")
    kept = lines.list.eval(pl.element().filter(pl.element() != intervention.text)).list.join("\n")
    people[HEARD] = pl.select(pl.when(kept != "").then(kept)).to_series()


def set_columns(people: People, intervention: SetColumns, chosen: People) -> None:
    """Set the columns of an intervention for the people meant."""
    meant = people.ids.is_in(chosen.ids.implode())
    for column, value in intervention.values.items():
        # Who decides for a person may be said of some before it was said of anybody.
        missing = column in ("decider", "model") and column not in people
        old = pl.Series([None] * len(people), dtype=pl.String) if missing else people[column]
        try:
            people[column] = pl.select(pl.when(meant).then(pl.lit(value).cast(old.dtype)).otherwise(old)).to_series()
        except pl.exceptions.PolarsError as error:
            raise InterventionError(f"column {column!r} cannot be set to {value!r}: {error}.") from error


def joined(people: People, intervention: AddPeople) -> None:
    """Add the people of an intervention."""
    rows = [dict(row) for row in intervention.people]
    number = people.next_id() if people.ids.dtype.is_integer() else None
    for row in rows:
        if "id" not in row:
            if number is None:
                raise InterventionError("ids are strings here, so people who join need ids of their own.")
            row["id"], number = number, number + 1
    unknown = {name for row in rows for name in row} - set(people.columns)
    if unknown:
        raise InterventionError(
            f"people who join have {sorted(unknown)[0]!r}, which is not a column of the population."
        )
    schema = {name: people.frame.schema[name] for name in people.columns if any(name in row for row in rows)}
    try:
        people.add(People(pl.DataFrame(rows, schema=schema)))
    except (pl.exceptions.PolarsError, TypeError, PopulaceError) as error:
        raise InterventionError(f"people could not join at step {intervention.at}: {error}") from error
