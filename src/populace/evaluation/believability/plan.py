"""The plan of a believability study as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic
from pydantic import BeforeValidator

from populace.base.document_lines import add_line, at_entry
from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import ParameterError, PopulaceError, UnknownNameError, UsageError
from populace.evaluation.believability.conditions import PEOPLE, STANDARD, Condition, read_conditions


class BelievabilityPlan(pydantic.BaseModel):
    """Who is interviewed about what, under which conditions, and who judges.

    Attributes:
        name: The name of the study, and of its folder.
        runs: The runs whose residents are interviewed.
        step: After which step; the end of the run if left out.
        residents: Only these, by id or name; everybody if left out.
        conditions: What of their mind they may use; the full mind and three ablations if left out.
        people: A CSV file with answers that people wrote in the place of residents: columns resident, question, answer.
        questions: A TOML file of questions in place of those that ship.
        model: Who answers; the model of the run if left out.
        judges: Models that rank the answers.
        words: About how long an answer may be.
        seed: Fixes the order in which answers are shown to judges.

    Example:
        >>> plan = BelievabilityPlan(name="town", runs=["party-1"])
        >>> plan.condition_names
        ['full mind', 'no reflection', 'neither reflection nor plans', 'no memory']
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][\w.-]*$", max_length=80)]
    runs: Annotated[list[str], pydantic.Field(min_length=1)]
    step: Annotated[int | None, pydantic.Field(ge=0)] = None
    residents: list[str | int] | None = None
    conditions: Annotated[list[Condition], BeforeValidator(read_conditions)] = list(STANDARD)
    people: str | None = None
    questions: str | None = None
    model: str | None = None
    judges: list[str] = []
    words: Annotated[int, pydantic.Field(ge=5, le=400)] = 60
    seed: int = 0

    def __init__(self, **data: Any) -> None:
        unknown = next((name for name in data if name not in type(self).model_fields), None)
        if unknown is not None:
            raise UnknownNameError("key of a believability study", unknown, type(self).model_fields)
        try:
            super().__init__(**data)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            message = first["msg"].removeprefix("Value error, ")
            raise ParameterError(f"the study's {where}: {message[:1].lower()}{message[1:]}.") from error
        names = self.condition_names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            with at_entry("conditions", len(names) - 1 - names[::-1].index(twice)):
                raise UsageError(f"two conditions have the name {twice!r}.")
        if len(names) < 2:
            with at_entry("conditions"):
                raise UsageError("a study needs two conditions or more, as they are ranked against each other.")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A plan from a YAML file; files that it names are found beside it."""
        path = Path(path)
        try:
            data = read_yaml(path)
        except OSError as error:
            raise UsageError(f"the study {path} cannot be read: {error.strerror}.") from error
        except DocumentError as error:
            raise UsageError(f"{path} cannot be read: {error}.") from error
        if not isinstance(data, dict):
            raise UsageError(f"{path} holds no study.", "Write name, runs and judges as keys.")
        data = {"name": path.stem} | {str(key): value for key, value in data.items()}
        for name in ("people", "questions"):
            if isinstance(data.get(name), str) and (path.parent / data[name]).is_file():
                data[name] = str(path.parent / data[name])
        try:
            return cls(**data)
        except PopulaceError as error:
            add_line(error, path)
            raise

    @property
    def condition_names(self) -> list[str]:
        """The names of all conditions, with that of people where they wrote answers."""
        return [condition.name for condition in self.conditions] + ([PEOPLE] if self.people else [])

    def data(self) -> dict[str, Any]:
        """The plan as plain data."""
        return self.model_dump(mode="json")

    def identity(self) -> str:
        """A hash of what the answers depend on; judges may be added later."""
        substance = self.data()
        for name in ("judges", "people"):
            del substance[name]
        return hashlib.blake2b(json.dumps(substance, sort_keys=True).encode(), digest_size=8).hexdigest()


def study_name(runs: Sequence[str]) -> str:
    """The name of a study of some runs, where none is given.

    Example:
        >>> study_name(["runs/party-1a2b"])
        'party-1a2b'
    """
    return Path(runs[0]).name
