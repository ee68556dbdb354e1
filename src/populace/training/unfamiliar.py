"""Questions to which no answer of people is known: a model keeps to what its base says, only less surely.

A small model that learned a thousand questions well is sure of itself in others, too, and wrongly so. These questions
are made up, in many words and forms, and no answer to them is assumed: the target is the distribution of the base,
flattened, or one that prefers no option. So an adapter is least sure where it knows nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.engine.session import run_to_end
from populace.evaluation.human_decisions import HumanDecisions
from populace.minds import Mind
from populace.models import Model, Reply, Request
from populace.people import People
from populace.prompting import Inquiry, Situation
from populace.prompting.variation import Variation
from populace.questions import Choice
from populace.training.examples import SCHEMA, TrainingExamples
from populace.training.profile_styles import Facts, write_profile
from populace.training.recombined_questions import Recombination, learned_questions
from populace.training.rendering import render_shares
from populace.training.sequences import ModelVocabulary
from populace.training.survey_questions import survey_forms, survey_question
from populace.training.unfamiliar_texts import (
    ACTIVITIES,
    BRANDS,
    CURRENCIES,
    FACTS,
    HABIT_STEMS,
    OPINION_STEMS,
    PRODUCTS,
    PURCHASE_STEMS,
    SCALES,
    SUBJECTS,
    VOTE_STEMS,
    VOTES,
    YES_NO_STEMS,
)

FLATTENING = 1.5
"""The temperature at which the distribution of the base is the target: it is too sure of itself as well."""
_EXAMPLES, _PROFILES = 1_920, 160
"""How many examples a part has, and how many profiles they share."""
_ASKED, _ASKED_OF_MANY = 12, 3
"""How many people are asked a question: fewer where there are so many questions that few are drawn twice."""
_TOP = 200
_WORDINGS = ("", "", "", "", "polite", "headed", "asked first")
_ORDERS = ("", "", "reversed", "random")
_Question = tuple[str, Sequence[str]]
Draw = Callable[[np.random.Generator], _Question]
"""Draws a question: its text and its options."""
Asked = Literal["everyday", "survey", "recombined"]


@dataclass(frozen=True)
class UnfamiliarSource:
    """Training examples in a file, as `write_unfamiliar` writes it.

    Attributes:
        file: The file.
        parts: How many parts it has.
    """

    file: Path
    parts: int

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The examples of a part, the same in each pass."""
        rows = pl.scan_parquet(self.file, glob=False, hive_partitioning=False).filter(pl.col("part") == part).collect()
        return TrainingExamples(rows.select(*SCHEMA))


def question_draw(asked: Asked, decisions: Sequence[HumanDecisions]) -> Draw | None:
    """What draws unfamiliar questions; None for those of everyday life, also where no form of a survey is known.

    Args:
        asked: As in everyday life, in the forms of a survey, or put together from learned questions.
        decisions: The decisions that are learned from.
    """
    if asked == "survey":
        forms = survey_forms(task for each in decisions for task in each.tasks.values())
        return functools.partial(survey_question, forms=forms) if forms else None
    if asked == "recombined":
        return Recombination([question for each in decisions for question in learned_questions(each)]).question
    return None


def write_unfamiliar(
    file: Path,
    model: Model | None,
    vocabulary: ModelVocabulary,
    parts: int,
    seed: int,
    *,
    people: Sequence[Facts] = (),
    draw: Draw | None = None,
    licence: str = "CC0-1.0",
    flattening: float = FLATTENING,
) -> UnfamiliarSource:
    """Make questions up, ask the base, and write both to a file; a file that is there already is taken as it is.

    Args:
        file: The file; its name has to say what decides its content.
        model: The base, which gives distributions; without it, every option has the same share.
        vocabulary: Its tokens.
        parts: How many parts there are.
        seed: The seed of questions and people.
        people: What is known of the people of the data; half of those who are asked are among them.
        draw: Draws a question; by default one as in everyday life.
        licence: The licence of what is drawn.
        flattening: The temperature at which the distribution of the base is the target.
    """
    if not file.is_file():
        tables = [
            unfamiliar_questions(vocabulary, part, seed, people=people, draw=draw, licence=licence)
            for part in range(parts)
        ]
        write_answered(file, tables, model, vocabulary, flattening)
    return UnfamiliarSource(file, parts)


def write_answered(
    file: Path,
    tables: Sequence[pl.DataFrame],
    model: Model | None,
    vocabulary: ModelVocabulary,
    flattening: float = FLATTENING,
) -> None:
    """Ask the base, and write questions with its answers to a file.

    Args:
        file: The file.
        tables: The questions of each part, as `unfamiliar_questions` gives them.
        model: The base, which gives distributions; without it, every option has the same share.
        vocabulary: Its tokens.
        flattening: The temperature at which the distribution of the base is the target.
    """
    table = pl.concat(each.with_columns(part=pl.lit(part)) for part, each in enumerate(tables))
    if model is not None:
        shares = flattened_shares(model, vocabulary, table, flattening)
        table = table.with_columns(shares=pl.Series(shares, dtype=pl.List(pl.Float64)))
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    table.filter(pl.col("shares").list.sum() > 0).write_parquet(beside)
    beside.replace(file)


def unfamiliar_questions(
    vocabulary: ModelVocabulary,
    part: int,
    seed: int,
    *,
    people: Sequence[Facts] = (),
    draw: Draw | None = None,
    licence: str = "CC0-1.0",
) -> pl.DataFrame:
    """The questions of a part, as training examples in which every option has the same share.

    Args:
        vocabulary: The tokens of the model that is trained.
        part: The number of the part.
        seed: The seed of questions and people.
        people: What is known of people, of whom half of those are taken who are asked.
        draw: Draws a question; by default one as in everyday life.
        licence: The licence of what is drawn.
    """
    rng = stream(seed, f"unfamiliar/{part}")
    kinds = tuple(_KINDS)
    shares = np.array([_KINDS[kind] for kind in kinds])
    texts = [_profile(rng, people) for _ in range(_PROFILES)]
    asked = _ASKED_OF_MANY if draw else _ASKED
    tables = []
    for number in rng.choice(len(kinds), _EXAMPLES // asked, p=shares / shares.sum()).tolist():
        text, options = draw(rng) if draw else kinds[number](rng)
        profiles = [texts[place] for place in rng.choice(len(texts), asked, replace=False)]
        tables.append(_rendered(text, options, profiles, vocabulary, rng))
    return pl.concat(tables).with_columns(licence=pl.lit(licence))


def _rendered(
    text: str, options: Sequence[str], profiles: list[str], vocabulary: ModelVocabulary, rng: np.random.Generator
) -> pl.DataFrame:
    labels = rng.random() < 0.25
    question = Choice(text, options=tuple(options), scoring="labels" if labels else "auto")
    people = People(pl.DataFrame({"name": [f"p{row}" for row in range(len(profiles))], "profile_text": profiles}))
    situation = Situation.from_fields(question, "", {}, people.ids)
    inquiry = Inquiry("training", people, Mind("{profile_text}"), situation, int(rng.integers(2**31)))
    variation = Variation(wording=str(rng.choice(_WORDINGS)), order=str(rng.choice(_ORDERS)))
    equal = np.full((len(profiles), len(options)), 1 / len(options))
    return (
        render_shares(variation.apply(inquiry), equal, vocabulary)
        .with_columns(
            weight=pl.lit(1.0),
            person=pl.lit(""),
            task=pl.lit("unfamiliar"),
            origin=pl.lit("questions without answers"),
            licence=pl.lit("CC0-1.0"),
        )
        .select(*SCHEMA)
    )


def flattened_shares(
    model: Model, vocabulary: ModelVocabulary, table: pl.DataFrame, flattening: float = FLATTENING
) -> list[list[float]]:
    """What a model says to each example, flattened; zeros where it says nothing of any option.

    Args:
        model: The model.
        vocabulary: Its tokens.
        table: Training examples.
        flattening: The temperature at which its distribution is taken.
    """
    rows = table.select("system", "user", "lead", "answers").iter_rows()
    requests, tokens = [], []
    for system, user, lead, answers in rows:
        messages = (("system", system), ("user", user)) if system else (("user", user),)
        words = tuple(answer.strip() for answer in answers)
        requests.append(Request(messages, lead, 1, _TOP, options=words))
        tokens.append([vocabulary.tokenizer.texts[vocabulary.answer(answer)[0]] for answer in answers])
    replies = run_to_end(_replies(model, requests))
    return [_flattened(reply, mine, flattening) for reply, mine in zip(replies, tokens, strict=True)]


async def _replies(model: Model, requests: list[Request]) -> list[Reply]:
    replies: dict[int, Reply] = {}
    await model.start()
    try:
        async for batch in model.replies(requests):
            for number, reply in batch:
                if not isinstance(reply, Reply):
                    raise TrainingError(f"the model does not answer a made-up question: {reply.detail}.")
                replies[number] = reply
    finally:
        await model.close()
    return [replies[number] for number in range(len(requests))]


def _flattened(reply: Reply, tokens: list[str], flattening: float) -> list[float]:
    logs = dict(reply.tokens)
    chances: npt.NDArray[np.float64] = np.exp([logs.get(token, -np.inf) / flattening for token in tokens])
    total = float(chances.sum())
    shares: list[float] = (chances / total if total else chances).tolist()
    return shares


def _profile(rng: np.random.Generator, people: Sequence[Facts]) -> str:
    """Who one is, in one of the forms of training; of made-up people often hardly anything is known."""
    if people and rng.random() < 0.5:
        return write_profile(people[int(rng.integers(len(people)))], rng)
    facts = {} if rng.random() < 0.15 else {"age": str(int(rng.integers(18, 90)))}
    if facts:
        chosen = sorted(rng.choice(len(FACTS), int(rng.integers(0, len(FACTS) + 1)), replace=False).tolist())
        facts |= {FACTS[place][0]: str(rng.choice(FACTS[place][1])) for place in chosen}
    return write_profile(facts, rng)


def _pick(rng: np.random.Generator, words: Sequence[str]) -> str:
    return words[int(rng.integers(len(words)))]


def _opinion(rng: np.random.Generator) -> _Question:
    return _pick(rng, OPINION_STEMS).format(x=_pick(rng, SUBJECTS)), SCALES[int(rng.integers(len(SCALES)))]


def _habit(rng: np.random.Generator) -> _Question:
    stem, options = HABIT_STEMS[int(rng.integers(len(HABIT_STEMS)))]
    return stem.format(x=_pick(rng, ACTIVITIES)), options


def _purchase(rng: np.random.Generator) -> _Question:
    brands = [str(each) for each in rng.choice(BRANDS, int(rng.integers(2, 6)), replace=False)]
    usual, currency = float(rng.choice((0.8, 1.5, 3, 8, 20, 45))), _pick(rng, CURRENCIES)
    prices = [f"{brand} for {usual * float(rng.uniform(0.6, 1.5)):.2f} {currency}" for brand in brands]
    stem = _pick(rng, PURCHASE_STEMS).format(x=_pick(rng, PRODUCTS), offers=", ".join(prices))
    return stem, ([*brands, "none of them"] if rng.random() < 0.3 else brands)


def _yes_no(rng: np.random.Generator) -> _Question:
    amount = int(rng.choice((2, 5, 10, 25, 50, 100)))
    text = _pick(rng, YES_NO_STEMS).format(x=_pick(rng, SUBJECTS), n=amount, c=_pick(rng, CURRENCIES))
    return text, ("yes", "no") if rng.random() < 0.5 else ("no", "yes")


def _vote(rng: np.random.Generator) -> _Question:
    place = int(rng.integers(len(VOTE_STEMS)))
    if place < 2:
        return VOTE_STEMS[place].format(x=_pick(rng, SUBJECTS)), VOTES[int(rng.integers(len(VOTES)))]
    names = [str(each) for each in rng.choice(BRANDS, int(rng.integers(2, 5)), replace=False)]
    return VOTE_STEMS[place], ([*names, "nobody"] if rng.random() < 0.4 else names)


def _comparison(rng: np.random.Generator) -> _Question:
    first, second, *rest = [str(each) for each in rng.choice(SUBJECTS, int(rng.integers(2, 5)), replace=False)]
    options = (first, second, *rest)
    return (
        "Which of these matters most to you?" if rng.random() < 0.5 else "Which do you hear about most often?",
        options,
    )


_KINDS: dict[Callable[[np.random.Generator], _Question], float] = {
    _opinion: 0.42,
    _habit: 0.24,
    _purchase: 0.12,
    _yes_no: 0.08,
    _vote: 0.08,
    _comparison: 0.06,
}
"""The kinds of questions, and the share of each."""
