"""Questions put together from those of the data: their form is familiar, and what they ask about is not.

A model that learned a thousand questions knows their forms and many of their words, and answers a new question of the
same form as surely as the old ones. In these questions some of the words that few questions have are exchanged: for
words of a similar question, so that tuna is sold under brands of yogurt, or for words of any other. Or a sentence
begins as one question begins and ends as another ends. Nobody was asked them, and what people would say is not known.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from populace.base.errors import QuestionError, TrainingError
from populace.evaluation.human_decisions import HumanDecisions
from populace.questions import Choice
from populace.training.decision_examples import asking_problem

_WORD = re.compile(r"[^\W\d_][^\W\d_'’-]{2,}")
"""A word that may be exchanged; shorter ones mostly say how the others belong together."""
_SENTENCE_END = re.compile(r"(?<=[.?!:…])\s+")
_COMMON = 0.03
"""A word that is in more tasks than this share belongs to the form, and is left alone."""
_SPLICED = 0.25
"""How often a question is made of two halves, where its last sentence is the longer part of it; other questions have
exchanged words."""
_EXCHANGED = (0.5, 1.0)
"""What share of a question's rare words is exchanged for words of any others."""
_EXCHANGED_FOR_SIMILAR = (0.3, 0.7)
"""The same where the words are those of one similar question: with all of them, it would be that question."""
_SIMILAR = 0.5
"""How often words are exchanged for those of a similar question."""
_CANDIDATES = 16
"""Of how many questions of the same family the most similar one is taken."""
_TRIES = 50
_OTHER_OPTIONS = 0.15
"""How often the options of any other question are offered."""
_MOST_LETTERS = 900
"""Longer questions are left out."""
_PROMPTS_OF_TASK = 24
"""How many prompts of a task are taken in which people saw different things."""


@dataclass(frozen=True)
class LearnedQuestion:
    """A question of the data as somebody was asked it.

    Attributes:
        task: The task that it belongs to.
        text: What was said.
        options: The possible answers.
        family: What kind of task it is.
    """

    task: str
    text: str
    options: tuple[str, ...]
    family: str = ""

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """Its different words, in their order, those of the options last."""
        texts = (self.text, *self.options)
        return tuple(dict.fromkeys(word.lower() for text in texts for word in _WORD.findall(text)))


def learned_questions(decisions: HumanDecisions) -> list[LearnedQuestion]:
    """The questions with options that are learned from; several of a task in which people saw different things.

    Args:
        decisions: The decisions that may be learned from.
    """
    questions = []
    for name, task in decisions.tasks.items():
        if not task.options or asking_problem(task):
            continue
        texts = [task.question]
        if task.fields:
            prompts = decisions.prompts(name).unique().sort()
            texts = prompts.sample(min(_PROMPTS_OF_TASK, len(prompts)), seed=0).to_list()
        # Braces would be fields of a template.
        questions += [
            LearnedQuestion(name, text.strip(), task.options, task.family)
            for text in texts
            if text.strip() and len(text) <= _MOST_LETTERS and not set("{}") & set(text)
        ]
    return questions


class Recombination:
    """Puts new questions together from learned ones.

    Args:
        questions: The learned questions.
        common: A word in more tasks than this share is not exchanged.

    Raises:
        TrainingError: If the questions have too few words to put others together.

    Example:
        >>> cats = LearnedQuestion("cats", "Do you like striped cats at home?", ("yes", "no"))
        >>> bread = LearnedQuestion("bread", "Would you buy brown bread here?", ("yes", "no"))
        >>> Recombination([cats, bread]).question(np.random.default_rng(1))[1]
        ('yes', 'no')
    """

    def __init__(self, questions: Sequence[LearnedQuestion], *, common: float = _COMMON) -> None:
        self.questions = tuple(questions)
        if not self.questions:
            raise TrainingError("no questions can be put together: the data has none with options that can be asked.")
        self._texts = frozenset(each.text for each in self.questions)
        tasks: dict[str, set[str]] = {}
        self._families: dict[str, list[LearnedQuestion]] = {}
        for each in self.questions:
            tasks.setdefault(each.task, set()).update(each.words)
            self._families.setdefault(each.family, []).append(each)
        counts = Counter(word for words in tasks.values() for word in words)
        most = max(1.0, common * len(tasks))
        self._rare = sorted(word for word, count in counts.items() if count <= most)
        self._is_rare = frozenset(self._rare)

    def question(self, rng: np.random.Generator) -> tuple[str, tuple[str, ...]]:
        """A new question: its text and its options.

        Args:
            rng: Draws the questions and what is exchanged.
        """
        for _ in range(_TRIES):
            first, second = (self._any(rng) for _ in range(2))
            spliced = _spliced(first.text, second.text) if rng.random() < _SPLICED else None
            new = self._exchanged(first, rng) if spliced is None else (spliced, first.options)
            if new is not None and new[0] not in self._texts:
                text, options = new
                options = self._any(rng).options if rng.random() < _OTHER_OPTIONS else options
                with contextlib.suppress(QuestionError):  # Exchanged options may be too much alike.
                    Choice(text, options=options)
                    return text, options
        raise TrainingError(
            f"no new questions can be put together from {len(self.questions)} questions: they have too few words.",
            "Leave `asked: recombined` out.",
        )

    def _any(self, rng: np.random.Generator) -> LearnedQuestion:
        return self.questions[int(rng.integers(len(self.questions)))]

    def _exchanged(self, question: LearnedQuestion, rng: np.random.Generator) -> tuple[str, tuple[str, ...]] | None:
        """A question with other words, the same ones in its text and in its options; None where too few are rare."""
        rare = self._rare_words(question)
        if rng.random() < _SIMILAR:
            others, share = self._rare_words(self._similar(question, rng)), rng.uniform(*_EXCHANGED_FOR_SIMILAR)
        else:
            others, share = self._rare, rng.uniform(*_EXCHANGED)
        if len(others) < 100:
            others = [word for word in others if word not in rare]
        count = max(2, round(len(rare) * share))
        if min(len(rare), len(others)) < count:
            return None
        # In their order: what is sold stands before what it costs.
        places, chosen = (np.sort(rng.choice(len(words), count, replace=False)).tolist() for words in (rare, others))
        exchange = {rare[place]: others[other] for place, other in zip(places, chosen, strict=True)}
        return _with_words(question.text, exchange), tuple(_with_words(each, exchange) for each in question.options)

    def _rare_words(self, question: LearnedQuestion) -> list[str]:
        return [word for word in question.words if word in self._is_rare]

    def _similar(self, question: LearnedQuestion, rng: np.random.Generator) -> LearnedQuestion:
        """Of some questions of its family, the one that has most words in common with it."""
        family: list[LearnedQuestion] = self._families[question.family]
        mine = set(question.words)
        places = rng.integers(len(family), size=_CANDIDATES).tolist()
        candidates: list[LearnedQuestion] = [
            family[place] for place in places if family[place].task != question.task
        ] or [self._any(rng)]
        return max(candidates, key=lambda each: len(mine & set(each.words)) / max(1, len(mine | set(each.words))))


def _with_words(text: str, exchange: dict[str, str]) -> str:
    """A text with some words exchanged; a capital letter at the beginning of a word stays one."""

    def other(match: re.Match[str]) -> str:
        word = match.group()
        replacement = exchange.get(word.lower(), word)
        return replacement.capitalize() if word[0].isupper() else replacement

    return _WORD.sub(other, text)


def _spliced(first: str, second: str) -> str | None:
    """A text whose last sentence goes on, from its middle, as the last sentence of another one does.

    None where the last sentence is the smaller part of the first text, or is the same.
    """
    *before, start = _SENTENCE_END.split(first)
    last = _SENTENCE_END.split(second)[-1]
    begins, ends = start.split(), last.split()
    if len(start) * 2 < len(first) or start == last or len(begins) < 4 or len(ends) < 4:
        return None
    return " ".join([*before, *begins[: (len(begins) + 1) // 2], *ends[len(ends) // 2 :]])
