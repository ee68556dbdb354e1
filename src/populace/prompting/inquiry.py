"""One question to some people, with everything that a decider may need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import ScenarioError, UnknownNameError
from populace.base.randomness import Keys, path_key, person_keys
from populace.base.templates import Template
from populace.journal import DECIDERS, OnFailure
from populace.minds import Mind, Recollection
from populace.people import People
from populace.people.columns import to_column
from populace.questions import Question

if TYPE_CHECKING:
    from populace.prompting.variation import Rewriting

Invalid = Literal["keep", "resample", "raise"]
Rule = Callable[[People], Any]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Situation:
    """What is put to people: the question, and what they are told before it.

    Attributes:
        question: What is asked.
        given: What is said before the question, with fields.
        constants: Values for fields, the same for everybody.
        columns: Values for fields, one for each person asked.
        memories: What comes to each person's mind, where anything does.
        memories_first: Whether the memories stand before what is said; otherwise a field shows them.
    """

    question: Question
    given: Template
    constants: Mapping[str, Any]
    columns: Mapping[str, pl.Series]
    memories: Recollection | None = None
    memories_first: bool = False

    @classmethod
    def from_fields(cls, question: Question, given: str, fields: Mapping[str, Any], ids: pl.Series) -> Situation:
        """A situation from values by name: one for everybody, or a list, column or recollection with one for each.

        Args:
            question: What is asked.
            given: What is said before the question, with fields.
            fields: The values for fields.
            ids: Who is asked.
        """
        constants: dict[str, Any] = {}
        columns: dict[str, pl.Series] = {}
        recollections = [value for value in fields.values() if isinstance(value, Recollection)]
        if len(recollections) > 1:
            raise ScenarioError("two fields of a question hold memories.", "Put all memories into one Recollection.")
        for name, value in fields.items():
            values = value.texts if isinstance(value, Recollection) else value
            column = to_column(name, values, ids, f"the field {name!r}", ScenarioError)
            if isinstance(column, pl.Series):
                columns[name] = column
            else:
                constants[name] = column
        return cls(question, Template(given), constants, columns, recollections[0] if recollections else None)


INNER_PURPOSES = ("importance", "reflection", "relationship", "personas")
"""What a mind does by itself: the model answers these also for people whom somebody plays."""


@dataclass(frozen=True)
class Inquiry:
    """One question to some people.

    Attributes:
        path: The place in the run, which keys every random number.
        people: Who is asked.
        mind: What they bring to it.
        situation: What they are told and asked.
        seed: The seed of the run.
        temperature: Applied to distributions after the fact, and to sampling.
        model: The model for people whom no column gives another.
        decider: Who decides for people whom no column gives another.
        rule: The rule that stands in for a model, where there is one.
        invalid: What becomes of an invalid answer.
        on_failure: What happens where the service of a model fails.
        purpose: What the calls are counted under.
        play: The names or ids of people whom somebody at a desk plays, whatever their column says.
        rewriting: How a variation rewrites the prompts; None leaves them as the scenario words them.
        verbatim: A whole `system` or `user` text that replaces the composed one, word for word.
    """

    path: str
    people: People
    mind: Mind
    situation: Situation
    seed: int
    temperature: float = 1.0
    model: str = "embedded"
    decider: str = "model"
    rule: Rule | None = None
    invalid: Invalid = "keep"
    on_failure: OnFailure = "stop"
    purpose: str = "decision"
    play: tuple[str, ...] = ()
    rewriting: Rewriting | None = None
    verbatim: Mapping[str, str] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        """What is asked."""
        return self.situation.question

    @property
    def key(self) -> int:
        """The key of every draw made for this question."""
        return path_key(self.seed, self.path)

    def person_keys(self) -> Keys:
        """The keys of the people asked."""
        return person_keys(self.people.ids)

    def by_decider(self) -> list[tuple[Rows, str, Inquiry]]:
        """The inquiry split by who decides: rows of the people, the decider, and their part of the inquiry."""
        if self.decider != "human" and self.purpose.partition(":")[0] in INNER_PURPOSES:
            parts = self._split("decider", self.decider)
            return [(rows, "model" if name == "human" else name, part) for rows, name, part in parts]
        if not self.play:
            return self._split("decider", self.decider)
        people = self.people
        ids = people.ids.cast(pl.String)
        names = people["name"].cast(pl.String) if "name" in people else ids
        deciders = people["decider"].cast(pl.String) if "decider" in people else ids.clear(len(ids))
        played = ids.is_in(self.play) | names.is_in(self.play)
        deciders = deciders.fill_null(self.decider).set(played.fill_null(value=False), "human")
        playing = replace(self, people=people.with_columns(decider=deciders), play=())
        return [(rows, name, self.for_rows(rows)) for rows, name, _ in playing._split("decider", self.decider)]

    def by_model(self) -> list[tuple[Rows, str, Inquiry]]:
        """The part of the inquiry that models decide, split by model."""
        parts = []
        for rows, decider, part in self.by_decider():
            if decider == "model":
                parts += [(rows[inner], spec, share) for inner, spec, share in part._split("model", self.model)]
        return parts

    def _split(self, column: str, default: str) -> list[tuple[Rows, str, Inquiry]]:
        everybody = np.arange(len(self.people))
        if column not in self.people:
            return [(everybody, default, self)]
        values = self.people[column].cast(pl.String).fill_null(default)
        names = values.unique(maintain_order=True).to_list()
        if column == "decider":
            for name in names:
                if name not in DECIDERS:
                    hint = "The column 'decider' of the people says who decides for a person."
                    raise UnknownNameError("decider", name, DECIDERS, hint)
        if len(names) == 1:
            return [(everybody, names[0], self)]
        parts = [(np.flatnonzero((values == name).to_numpy()), name) for name in names]
        return [(rows, name, self.for_rows(rows)) for rows, name in parts]

    def for_rows(self, rows: Rows, **changes: Any) -> Inquiry:
        """The same question to some of the people only."""
        columns = {name: column[rows] for name, column in self.situation.columns.items()}
        memories = None if self.situation.memories is None else self.situation.memories.rows(rows)
        return replace(
            self,
            people=self.people.rows(rows),
            situation=replace(self.situation, columns=columns, memories=memories),
            **changes,
        )
