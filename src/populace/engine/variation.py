"""A variation changes how a question reads and nothing else: it rewrites what leaves the scenario, and answers come
back in the scenario's own values.

It belongs to the settings of a run, like the temperature, so it works for every scenario without its help, and runs
under a variation repeat, replay and fork like any other. Rules never see it: they read columns, not words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic

from populace.base.errors import ParameterError, UnknownNameError
from populace.base.templates import Template
from populace.deciders import Decided, Inquiry
from populace.minds import Mind, Prompts, Situation
from populace.people import People
from populace.people.names import FEMALE, MALE
from populace.questions import Choice, Finite, Form, Question

_WORDS_TOO = frozenset({"Mark", "Frank", "Grace", "Rose", "Lan"})
"""First names that are also words; they stay, so that no sentence is changed by mistake."""


def _polite(prompts: Prompts) -> Prompts:
    return replace(prompts, wording="Please answer this question: " + prompts.wording)


def _headed(prompts: Prompts) -> Prompts:
    told = prompts.situation
    headed = pl.select(pl.when(told == "").then(told).otherwise("Situation: " + told)).to_series()
    return replace(prompts, situation=headed, wording="Question: " + prompts.wording)


def _asked_first(prompts: Prompts) -> Prompts:
    """The question stands before what is told, and what is told before the options."""
    told, asked = prompts.situation, prompts.wording
    first = pl.select(pl.when(told == "").then(told).otherwise(asked)).to_series()
    last = pl.select(pl.when(told == "").then(asked).otherwise(told)).to_series()
    return replace(prompts, situation=first, wording=last)


def _role(prompts: Prompts) -> Prompts:
    who = prompts.system
    part = pl.select(pl.when(who == "").then(who).otherwise("Take the part of this person. " + who)).to_series()
    return replace(prompts, system=part)


WORDINGS: dict[str, Callable[[Prompts], Prompts]] = {
    "polite": _polite,
    "headed": _headed,
    "asked first": _asked_first,
    "role": _role,
}
"""Paraphrases that are made by rule: a polite opening, headings, the question first, a part to take."""


class Variation(pydantic.BaseModel):
    """Another way to ask the same.

    Attributes:
        wording: A paraphrase made by rule: `polite`, `headed`, `asked first` or `role`.
        phrases: Paraphrases of your own: from words in the templates of the scenario (fields included) to others.
        order: The order of options, for questions that leave it fixed: `reversed`, `random` or `rotate`.
        labels: Exchange the names of options wherever they stand, each for the next one's. This is done only where
            people are told of every option by its name, as of blue and green shirts; yes and no mean what they say.
        space: White space: each sentence on a line of its own (`lines`), or two spaces between them (`double`).
        names: Other first names of the same sex, so many places further in the list of names; replies are read back.
            Only names that Populace itself gives are changed.

    Example:
        >>> Variation(order="reversed").data()
        {'order': 'reversed'}
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    wording: str = ""
    phrases: dict[str, str] = {}
    order: Literal["", "reversed", "random", "rotate"] = ""
    labels: bool = False
    space: Literal["", "lines", "double"] = ""
    names: int = pydantic.Field(default=0, ge=0)

    def __init__(self, **data: Any) -> None:
        for name in data:
            if name not in type(self).model_fields:
                raise UnknownNameError("part of a variation", name, type(self).model_fields)
        try:
            super().__init__(**data)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ParameterError(f"the variation's {where} = {first['input']!r}: {first['msg'].lower()}.") from error
        if self.wording and self.wording not in WORDINGS:
            raise UnknownNameError(
                "wording", self.wording, WORDINGS, "Paraphrases of your own are given as phrases: {words: others}."
            )

    @classmethod
    def read(cls, given: Variation | Mapping[str, Any] | None) -> Variation:
        """A variation from plain data; None for none."""
        return given if isinstance(given, Variation) else cls(**(given or {}))

    def data(self) -> dict[str, Any]:
        """What it changes, as plain data; nothing where it changes nothing."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def of(self, inquiry: Inquiry) -> Inquiry:
        """The inquiry as it is put to a model."""
        if self == _AS_WRITTEN:
            return inquiry
        question = inquiry.question
        swapped = _exchanged(inquiry) if self.labels else {}
        renamed = self._names(question)
        if isinstance(question, Choice) and (swapped or renamed):
            words = [_put(swapped.get(word, word), renamed) for word in question.words]
            question = replace(question, wordings=dict(zip(question.options, words, strict=True)))
        if isinstance(question, Finite) and self.order and question.order == "fixed":
            question = replace(question, order=self.order)
        mind = _Reworded(inquiry.mind, self, swapped, renamed, inquiry.question)
        return replace(inquiry, mind=mind, situation=replace(inquiry.situation, question=question))

    def back(self, decided: Decided) -> Decided:
        """Replies in words, with the names that the scenario knows."""
        values = decided.answers.values
        old = {new: name for name, new in self._names(decided.answers.question).items()}
        if not old or values.dtype != pl.String:
            return decided
        told = pl.Series(values.name, [None if text is None else _put(text, old) for text in values], dtype=pl.String)
        return replace(decided, answers=replace(decided.answers, values=told))

    def _names(self, question: Question) -> dict[str, str]:
        """Old names and new ones; none where the options of a form name people, who must stay recognisable."""
        if not self.names:
            return {}
        names = _renamed(self.names)
        parts = question.questions.values() if isinstance(question, Form) else ()
        named = any(_put(word, names) != word for part in parts if isinstance(part, Choice) for word in part.words)
        return {} if named else names


_AS_WRITTEN = Variation()


class _Reworded(Mind):
    """A mind whose prompts are put in other words."""

    def __init__(
        self, mind: Mind, variation: Variation, swapped: dict[str, str], renamed: dict[str, str], asked: Question
    ) -> None:
        super().__init__(mind.profile)
        self._variation, self._swapped, self._renamed, self._asked = variation, swapped, renamed, asked

    def compose(self, people: People, situation: Situation, variant: npt.NDArray[np.int32] | None = None) -> Prompts:
        phrases = self._variation.phrases
        profile = Template(_rephrased(self.profile.text, phrases))
        asked = replace(self._asked, text=_rephrased(self._asked.text, phrases))
        given = Template(_rephrased(situation.given.text, phrases))
        prompts = Mind(profile).compose(people, replace(situation, question=asked, given=given), variant)
        for table in (self._swapped, self._renamed):
            if table:
                prompts = _texts(prompts, lambda text, table=table: _put(text, table))  # type: ignore[misc]
        if self._variation.wording:
            prompts = WORDINGS[self._variation.wording](prompts)
        if self._variation.space:
            gap = "\n" if self._variation.space == "lines" else "  "
            prompts = _texts(prompts, lambda text: re.sub(r"(?<=[.!?]) +", gap, text))
        return prompts


def _texts(prompts: Prompts, change: Callable[[str], str]) -> Prompts:
    def changed(column: pl.Series) -> pl.Series:
        return pl.Series(column.name, [change(text) for text in column], dtype=pl.String)

    system, situation, wording = map(changed, (prompts.system, prompts.situation, prompts.wording))
    return replace(prompts, system=system, situation=situation, wording=wording)


def _rephrased(text: str, phrases: Mapping[str, str]) -> str:
    for words, others in phrases.items():
        text = text.replace(words, others)
    return text


def _exchanged(inquiry: Inquiry) -> dict[str, str]:
    """From the word of each option to that of the next, where every option is told of by its name."""
    question, situation = inquiry.question, inquiry.situation
    if not isinstance(question, Choice):
        return {}
    told = " ".join(
        [inquiry.mind.profile.text, situation.given.text, question.text, *map(str, situation.constants.values())]
    )
    if not all(re.search(_whole(word), told, re.IGNORECASE) for word in question.words):
        return {}
    return dict(zip(question.words, (*question.words[1:], question.words[0]), strict=True))


def _put(text: str, table: Mapping[str, str]) -> str:
    """The text with words exchanged all at once; a capital stays one."""
    if not table:
        return text
    pattern = _pattern(tuple(table))
    return pattern.sub(lambda found: _like(found.group(), table), text)


def _like(found: str, table: Mapping[str, str]) -> str:
    if found in table:
        return table[found]
    made = table.get(found[:1].lower() + found[1:])
    return found if made is None else made[:1].upper() + made[1:]


@functools.lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    spelled = {form for word in words for form in (word, word[:1].upper() + word[1:])}
    return re.compile("|".join(_whole(word) for word in sorted(spelled, key=lambda word: (-len(word), word))))


def _whole(word: str) -> str:
    return rf"(?<!\w){re.escape(word)}(?!\w)"


@functools.cache
def _renamed(places: int) -> dict[str, str]:
    """Every first name that Populace gives, and another of the same sex."""
    made: dict[str, str] = {}
    for listed in (FEMALE, MALE):
        names = [name for name in listed if name not in _WORDS_TOO]
        made |= {name: names[(at + places) % len(names)] for at, name in enumerate(names)}
    return made
