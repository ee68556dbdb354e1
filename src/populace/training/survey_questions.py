"""Made-up questions in the form of a survey: the scales and introductions of learned questions, about other things.

A model that learned a survey knows its form well, and is sure of itself in every question that has this form. In these
questions the form is familiar and the content is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from populace.evaluation.decision_tasks import DecisionTask
from populace.training.survey_texts import ACTIVITIES, SELF_STATEMENTS, STATEMENTS, THINGS, YES_NO

_SENTENCE_END = re.compile(r"(?<=[.?!:…])\s+")
_MOST_INTRODUCTION = 500
"""Characters of the longest introduction that is used: longer ones are mostly notes for interviewers."""
_WITHOUT_INTRODUCTION = 0.5


@dataclass(frozen=True)
class _Kind:
    """A kind of survey questions: by which words its scales are recognised, and how it asks about what."""

    scale: re.Pattern[str]
    stems: tuple[str, ...]
    content: Sequence[str]


def _kind(scale: str, stems: Sequence[str], content: Sequence[str]) -> _Kind:
    return _Kind(re.compile(scale), tuple(stems), content)


_KINDS = (
    _kind(r"\bagree\b", ("{x}.", "{x}", "Do you agree or disagree? {x}."), (*STATEMENTS, *SELF_STATEMENTS)),
    _kind(r"\b(true|false|untrue)\b", ("{x}.", "Is this true or not true of you? {x}."), SELF_STATEMENTS),
    _kind(r"^(yes / no|no / yes)$", ("{x}",), YES_NO),
    _kind(
        r"\b(often|rarely|every day|almost daily|once a (day|week|month)|(some|most) of the time)\b",
        ("How often do you {x}?", "During the past 12 months, how often did you {x}?", "(How often do you ...) {x}?"),
        ACTIVITIES,
    ),
    _kind(
        r"\b(important|essential)\b",
        ("How important is this to you? {x}.", "Please tell me how important each of these is. {x}", "What about {x}?"),
        THINGS,
    ),
    _kind(r"\binterested\b", ("How interested are you in {x}?", "Issues about {x}."), THINGS),
    _kind(
        r"\b(a great deal|hardly any|a fair amount)\b",
        ("How much do you trust what you hear about {x}?", "How much do you know about {x}?", "And {x}?"),
        THINGS,
    ),
    _kind(
        r"\b(very|somewhat|fairly) likely\b",
        ("How likely is it that within a month you will {x}?", "How likely would you be to {x} on a free day?"),
        ACTIVITIES,
    ),
    _kind(
        r"\b(favor|oppose|against)\b",
        ("Do you favor or oppose more public money for {x}?", "More rules by the state about {x}."),
        THINGS,
    ),
    _kind(
        r"\b(should be|should have|too much|too little|spend)\b",
        ("What do you think about public money for {x}?", "Should the government care for {x}?"),
        THINGS,
    ),
    _kind(
        r"\b(excellent|very good|quite good|fair|poor|positive|negative|dangerous|satisfied|scientific|well)\b",
        ("How would you rate {x} where you live?", "What do you think of {x}?", "And your view of {x}?"),
        THINGS,
    ),
    _kind(
        r"\b(wrong|allowed|good idea|bad idea|better|worse)\b",
        ("What if somebody were to {x} in a public place? What do you think?", "To {x} on a working day?"),
        ACTIVITIES,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class SurveyForm:
    """The form of a learned question.

    Attributes:
        kind: The number of its kind.
        introduction: What it says before its last sentence; empty where there is nothing, or too much.
        options: Its options.
    """

    kind: int
    introduction: str
    options: tuple[str, ...]


def survey_forms(tasks: Iterable[DecisionTask]) -> tuple[SurveyForm, ...]:
    """The forms of the questions about attitudes and habits in which everybody saw the same.

    Args:
        tasks: The tasks that are learned from.

    Example:
        >>> card = DecisionTask("pets", "attitude", "About pets. I like cats.", "CC0", ("agree", "disagree"))
        >>> survey_forms([card])
        (SurveyForm(kind=0, introduction='About pets.', options=('agree', 'disagree')),)
    """
    forms = []
    for task in tasks:
        if task.family != "attitude" or task.fields or not task.options:
            continue
        scale = " / ".join(task.options).lower()
        kind = next((number for number, kind in enumerate(_KINDS) if kind.scale.search(scale)), None)
        if kind is not None:
            *before, _ = _SENTENCE_END.split(task.question.strip())
            introduction = " ".join(before)
            if len(introduction) > _MOST_INTRODUCTION:
                introduction = ""
            forms.append(SurveyForm(kind, introduction, task.options))
    return tuple(dict.fromkeys(forms))


def survey_question(rng: np.random.Generator, forms: Sequence[SurveyForm]) -> tuple[str, tuple[str, ...]]:
    """A made-up question in one of the forms: its text and its options.

    Args:
        rng: Draws the form, the introduction and the content.
        forms: The forms of learned questions.
    """
    form = forms[int(rng.integers(len(forms)))]
    kind = _KINDS[form.kind]
    stem = kind.stems[int(rng.integers(len(kind.stems)))]
    content = kind.content[int(rng.integers(len(kind.content)))]
    text = stem.format(x=content)
    text = text[0].upper() + text[1:]
    introduction = "" if rng.random() < _WITHOUT_INTRODUCTION else form.introduction
    return f"{introduction} {text}".strip(), form.options
