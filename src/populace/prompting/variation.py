"""A variation changes how a question reads and nothing else: it rewrites the prompts of a scenario, and answers come
back in the scenario's own values.

It belongs to the settings of a run, like the temperature, so it works for every scenario without its help, and runs
under a variation repeat, replay and fork like any other. Rules never see it: they read columns, not words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic

from populace.base.errors import ParameterError, UnknownNameError
from populace.base.templates import Template
from populace.people.names import FEMALE, MALE
from populace.prompting.composition import Prompts, compose
from populace.prompting.inquiry import Inquiry
from populace.questions import Answers, Choice, Finite, Form, Question

_WORDS_TOO = frozenset({"Mark", "Frank", "Grace", "Rose", "Lan"})
"""First names that are also words; they stay, so that no sentence is changed by mistake."""


def _polite(prompts: Prompts) -> Prompts:
    return replace(prompts, wording="Please answer this question: " + prompts.wording)


def _with_headings(prompts: Prompts) -> Prompts:
    situation = _unless_empty(prompts.situation, "Situation: " + prompts.situation)
    return replace(prompts, situation=situation, wording="Question: " + prompts.wording)


def _question_first(prompts: Prompts) -> Prompts:
    """The question stands before the situation, and the situation before the options."""
    situation, wording = prompts.situation, prompts.wording
    last = pl.select(pl.when(situation == "").then(wording).otherwise(situation)).to_series()
    return replace(prompts, situation=_unless_empty(situation, wording), wording=last)


def _role(prompts: Prompts) -> Prompts:
    return replace(prompts, system=_unless_empty(prompts.system, "Take the part of this person. " + prompts.system))


def _unless_empty(texts: pl.Series, others: pl.Series) -> pl.Series:
    """The other texts, but an empty text stays empty."""
    return pl.select(pl.when(texts == "").then(texts).otherwise(others)).to_series()


WORDINGS: dict[str, Callable[[Prompts], Prompts]] = {
    "polite": _polite,
    "headed": _with_headings,
    "asked first": _question_first,
    "role": _role,
}
"""Paraphrases that are made by rule: a polite opening, headings, the question first, a part to take."""


class Variation(pydantic.BaseModel):
    """Another way to ask the same.

    Attributes:
        wording: A paraphrase made by rule: `polite`, `headed`, `asked first` or `role`.
        phrases: Paraphrases of your own: a mapping from phrases in the templates of the scenario to other phrases.
        order: The order of options, for questions that leave it fixed: `reversed`, `random` or `rotate`.
        labels: Exchange the names of options wherever they stand, each for the next one's. This is done only if the
            text before the question names every option, such as blue and green shirts; yes and no are not exchanged.
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
    def read(cls, value: Variation | Mapping[str, Any] | None) -> Variation:
        """A variation from plain data; None for none."""
        return value if isinstance(value, Variation) else cls(**(value or {}))

    def data(self) -> dict[str, Any]:
        """What it changes, as plain data; nothing where it changes nothing."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def apply(self, inquiry: Inquiry) -> Inquiry:
        """The inquiry as it is put to a model."""
        if self == _NO_VARIATION:
            return inquiry
        question = inquiry.question
        labels = _exchange(inquiry) if self.labels else {}
        names = self._names(question)
        if isinstance(question, Choice) and (labels or names):
            words = [_substitute(labels.get(word, word), names) for word in question.words]
            question = replace(question, wordings=dict(zip(question.options, words, strict=True)))
        if isinstance(question, Finite) and self.order and question.order == "fixed":
            question = replace(question, order=self.order)
        rewriting = Rewriting(self, inquiry.question, labels, names)
        return replace(inquiry, rewriting=rewriting, situation=replace(inquiry.situation, question=question))

    def restore(self, answers: Answers) -> Answers:
        """The answers with the names that the scenario knows, where a reply in words has others."""
        values = answers.values
        names = {new: name for name, new in self._names(answers.question).items()}
        if not names or values.dtype != pl.String:
            return answers
        texts = [None if text is None else _substitute(text, names) for text in values]
        return replace(answers, values=pl.Series(values.name, texts, dtype=pl.String))

    def _names(self, question: Question) -> dict[str, str]:
        """Old names and new ones; none where the options of a form name people, who must stay recognisable."""
        if not self.names:
            return {}
        names = _other_names(self.names)
        parts = question.questions.values() if isinstance(question, Form) else ()
        names_people = any(
            _substitute(word, names) != word for part in parts if isinstance(part, Choice) for word in part.words
        )
        return {} if names_people else names


_NO_VARIATION = Variation()


@dataclass(frozen=True)
class Rewriting:
    """How the prompts of one inquiry are rewritten.

    Attributes:
        variation: What is to differ.
        question: The question as the scenario words it.
        labels: The word of each option and the one that takes its place.
        names: First names and those that take their place.
    """

    variation: Variation
    question: Question
    labels: Mapping[str, str]
    names: Mapping[str, str]

    def prompts(self, inquiry: Inquiry, variant: npt.NDArray[np.int32] | None) -> Prompts:
        """The prompts of the inquiry: templates rephrased, composed, and then rewritten as text."""
        phrases, situation = self.variation.phrases, inquiry.situation
        profile = Template(_rephrase(inquiry.mind.profile.text, phrases))
        question = replace(self.question, text=_rephrase(self.question.text, phrases))
        given = Template(_rephrase(situation.given.text, phrases))
        prompts = compose(profile, inquiry.people, replace(situation, question=question, given=given), variant)
        for table in (self.labels, self.names):
            if table:
                prompts = _map_texts(prompts, functools.partial(_substitute, table=table))
        if self.variation.wording:
            prompts = WORDINGS[self.variation.wording](prompts)
        if self.variation.space:
            gap = "\n" if self.variation.space == "lines" else "  "
            prompts = _map_texts(prompts, lambda text: re.sub(r"(?<=[.!?]) +", gap, text))
        return prompts


def _map_texts(prompts: Prompts, change: Callable[[str], str]) -> Prompts:
    def map_column(column: pl.Series) -> pl.Series:
        return pl.Series(column.name, [change(text) for text in column], dtype=pl.String)

    system, situation, wording = map(map_column, (prompts.system, prompts.situation, prompts.wording))
    return replace(prompts, system=system, situation=situation, wording=wording)


def _rephrase(text: str, phrases: Mapping[str, str]) -> str:
    for words, others in phrases.items():
        text = text.replace(words, others)
    return text


def _exchange(inquiry: Inquiry) -> dict[str, str]:
    """From the word of each option to that of the next, where the prompt mentions every option by its name."""
    question, situation = inquiry.question, inquiry.situation
    if not isinstance(question, Choice):
        return {}
    text = " ".join(
        [inquiry.mind.profile.text, situation.given.text, question.text, *map(str, situation.constants.values())]
    )
    if not all(re.search(_whole(word), text, re.IGNORECASE) for word in question.words):
        return {}
    return dict(zip(question.words, (*question.words[1:], question.words[0]), strict=True))


def _substitute(text: str, table: Mapping[str, str]) -> str:
    """The text with words exchanged all at once; a capital stays one."""
    if not table:
        return text
    pattern = _pattern(tuple(table))
    return pattern.sub(lambda match: _replacement(match.group(), table), text)


def _replacement(word: str, table: Mapping[str, str]) -> str:
    """The other word, with a capital where the word had one."""
    if word in table:
        return table[word]
    other = table.get(word[:1].lower() + word[1:])
    return word if other is None else other[:1].upper() + other[1:]


@functools.lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    spellings = {form for word in words for form in (word, word[:1].upper() + word[1:])}
    return re.compile("|".join(_whole(word) for word in sorted(spellings, key=lambda word: (-len(word), word))))


def _whole(word: str) -> str:
    return rf"(?<!\w){re.escape(word)}(?!\w)"


@functools.cache
def _other_names(places: int) -> dict[str, str]:
    """Every first name that Populace gives, and another of the same sex."""
    others: dict[str, str] = {}
    for group in (FEMALE, MALE):
        names = [name for name in group if name not in _WORDS_TOO]
        others |= {name: names[(at + places) % len(names)] for at, name in enumerate(names)}
    return others
