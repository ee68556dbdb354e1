"""Made-up situations whose answers follow stated response functions, each after published human results.

A model that learns from them acts by assumption: what others do, what a thing costs, how one feels and who one is move
it as much as is written here. None of the stories, goods or wordings is one of a shipped scenario. `ASSUMPTIONS` lists
the functions with their sources; sizes that no source gives are marked as ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.randomness import stream
from populace.minds import Mind
from populace.people import People
from populace.people.names import FEMALE, MALE
from populace.prompting import Inquiry, Situation
from populace.prompting.variation import Variation
from populace.questions import Choice
from populace.training.examples import SCHEMA, TrainingExamples
from populace.training.rendering import Vocabulary, render_shares
from populace.training.situation_texts import (
    ADJECTIVES,
    CONFORMITY,
    COUNT_SENTENCES,
    ERRANDS,
    GOODS,
    GROCERIES,
    ILLNESS_QUESTIONS,
    NEWS_SENTENCES,
    OWN_SENTENCES,
    PAIRS,
    PICK_QUESTIONS,
    PLACES,
    PRICE_SENTENCES,
    SETTINGS,
    SHOPPING_SENTENCES,
    SYMPTOMS,
    THRIFT,
    WHO,
)

Floats = npt.NDArray[np.float64]
SituationKind = Literal["others", "prices", "illness", "traits", "distance"]
"""What a made-up situation is about."""

_NAMES = (*FEMALE, *MALE)
_RATIOS = (0, 0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 0.8, 0.9, 1, 1, 1.1, 1.2, 1.25, 1.4, 1.5, 1.75, 2, 2.5, 3)
"""Prices as shares of the usual price."""
_ROWS = 48
"""How many situations share one question."""


@dataclass(frozen=True)
class Assumption:
    """A response function that is put into a model.

    Attributes:
        name: What moves people.
        function: How the chance of an answer depends on it.
        source: The published results behind it.
        ours: What no source gives and was set here.
    """

    name: str
    function: str
    source: str
    ours: str


ASSUMPTIONS = (
    Assumption(
        "what others chose",
        "log-odds = 5.2 × conformity × (share of others − 0.5), + 1 for what one chose oneself the last time",
        "Bond and Smith (1996), Psychological Bulletin 119, 111–137: people move towards a majority, more where it is "
        "larger; MacCoun (2012), Psychological Review 119, 345–372: a logistic curve in the share of others.",
        "The steepness 5.2, the weight 1 of one's own habit, and the factor of each trait word (2.2 for extremely "
        "conformist, 1 without a trait, 0.1 for non-conformist).",
    ),
    Assumption(
        "prices",
        "log-odds of buying = −0.4 − 4.4 × thrift × ln(price / usual price)",
        "Bijmolt, van Heerde and Pieters (2005), Journal of Marketing Research 42, 141–156: a mean price elasticity of "
        "−2.62, which is the slope of this curve at the usual price; Shampanier, Mazar and Ariely (2007), Marketing "
        "Science 26, 742–757: nearly everybody takes what is free.",
        "The share of buyers at the usual price (0.40) and the factor of each trait word.",
    ),
    Assumption(
        "symptoms and news of an illness",
        "log-odds of staying in = symptom (−2.2 well, 0 cough, 2 fever) + up to 2.2 with the share of ill people",
        "Rubin and others (2009), BMJ 339, b2651, and Bish and Michie (2010), British Journal of Health Psychology 15, "
        "797–824: people protect themselves more the more they feel ill or threatened.",
        "All sizes; the sources give the direction.",
    ),
    Assumption(
        "traits",
        "log-odds = ±1.4 × degree (0.6 rather, 1 plain, 1.4 very, 1.8 extremely, −0.8 not)",
        "Fleeson and Gallagher (2009), Journal of Personality and Social Psychology 97, 1097–1114: traits predict how "
        "people act on average.",
        "All sizes; the source gives correlations over many acts.",
    ),
    Assumption(
        "distance",
        "log-odds of going = 1.5 − 0.055 × minutes on the way",
        "Fotheringham (1981), Annals of the Association of American Geographers 71, 425–436, on distance decay: the "
        "farther, the fewer go.",
        "All sizes.",
    ),
)
"""What a calibrated model assumes."""


@dataclass(frozen=True)
class _Story:
    """Situations that share a question: who one is, what is told, and the chance of the first option."""

    profiles: list[str]
    texts: list[str]
    question: str
    options: tuple[str, str]
    chances: Floats


class SituationSource:
    """Training examples from made-up situations, with the assumed shares as targets.

    Args:
        vocabulary: The tokens of the model that is trained.
        parts: How many parts a pass has.
        stories: How many questions a part has; each comes with 48 situations.
        seed: The seed of the situations.
        kinds: Which kinds there are, in their usual proportion: `others`, `prices`, `illness`, `traits` and `distance`;
            all by default.
    """

    origin = "made-up situations"

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        parts: int = 100,
        stories: int = 60,
        seed: int = 0,
        kinds: Sequence[SituationKind] = (),
    ) -> None:
        self.parts, self._vocabulary, self._stories, self._seed = parts, vocabulary, stories, seed
        self._kinds = [kind for kind in _KINDS if not kinds or kind[0] in kinds]

    def examples(self, part: int, pass_number: int = 0) -> TrainingExamples:
        """The situations of a part; each pass has others."""
        rng = stream(self._seed, f"situations/{pass_number}/{part}")
        shares = np.array([share for _, _, share in self._kinds])
        kinds = rng.choice(len(self._kinds), self._stories, p=shares / shares.sum())
        tables = []
        for kind in kinds.tolist():
            name, tell, _ = self._kinds[kind]
            table = self._rendered(tell(rng), rng).with_columns(task=pl.lit(f"situation_{name}"))
            tables.append(table)
        table = pl.concat(tables)
        return TrainingExamples(table[rng.permutation(table.height)])

    def _rendered(self, story: _Story, rng: np.random.Generator) -> pl.DataFrame:
        chances, options = story.chances, story.options
        if rng.random() < 0.5:
            chances, options = 1 - chances, options[::-1]
        people = People(pl.DataFrame({"name": [f"p{row}" for row in range(_ROWS)], "profile_text": story.profiles}))
        labels = rng.random() < 0.1
        question = Choice(story.question, options=options, scoring="labels" if labels else "auto")
        situation = Situation.from_fields(question, "{text}", {"text": story.texts}, people.ids)
        wording = str(rng.choice(("", "", "", "", "headed", "polite")))
        inquiry = Inquiry("training", people, Mind("{profile_text}"), situation, self._seed)
        inquiry = Variation(wording=wording).apply(inquiry)
        rendered = render_shares(inquiry, np.column_stack([chances, 1 - chances]), self._vocabulary)
        return rendered.with_columns(
            weight=pl.lit(1.0),
            person=pl.lit(""),
            task=pl.lit(""),
            origin=pl.lit(self.origin),
            licence=pl.lit("CC0-1.0"),
        ).select(*SCHEMA)


def _chance(log_odds: Floats | list[float]) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.asarray(log_odds, float))))


def _person(rng: np.random.Generator, description: str = "") -> str:
    """Who one is: often nothing but a name, or not even that."""
    name = str(rng.choice(_NAMES))
    if description:
        forms = (f"You are {name}, {description} person.", f"You are {description} person.")
        return forms[int(rng.integers(2))]
    age = int(rng.integers(18, 85))
    return ("", f"You are {name}.", f"You are {name}, {age} years old.")[int(rng.integers(3))]


def _article(words: str) -> str:
    return ("an " if words[0] in "aeiou" else "a ") + words


def _trait(rng: np.random.Generator, words: dict[str, float]) -> tuple[str, float]:
    """A profile with a trait and its factor; two in five have none, with the factor 1."""
    if rng.random() < 0.4:
        return _person(rng), 1.0
    word = str(rng.choice(list(words)))
    return _person(rng, _article(word)), words[word]


def _others(rng: np.random.Generator) -> _Story:
    """How many others chose what."""
    first, second = (str(word) for word in PAIRS[int(rng.integers(len(PAIRS)))])
    if rng.random() < 0.5:
        first, second = second, first
    count_forms = rng.integers(len(COUNT_SENTENCES), size=3)
    setting, who = str(rng.choice(SETTINGS)), str(rng.choice(WHO))
    profiles, texts, odds = [], [], []
    for _ in range(_ROWS):
        profile, factor = _trait(rng, CONFORMITY)
        number = int(rng.choice((5, 8, 10, 12, 15, 20, 20, 25, 30, 40, 50, 100)))
        chosen = int(rng.integers(0, number + 1)) if rng.random() < 0.75 else int(rng.choice((0, number)))
        values = {"k": chosen, "m": number - chosen, "n": number, "a": first, "b": second, "who": who}
        if rng.random() < 0.5:
            values |= {"k": number - chosen, "m": chosen, "a": second, "b": first}
        percent = round(100 * values["k"] / number) if isinstance(values["k"], int) else 0
        sentence = COUNT_SENTENCES[int(rng.choice(count_forms))].format(**values, p=percent, q=100 - percent)
        own = int(rng.integers(3))
        habit = "" if not own else str(rng.choice(OWN_SENTENCES)).format(x=(first, second)[own - 1])
        parts = [setting.format(n=number - 1, a=values["a"], b=values["b"]), habit, sentence]
        if rng.random() < 0.4:
            parts[1:] = parts[:0:-1]
        profiles.append(profile)
        texts.append(" ".join(part for part in parts if part))
        odds.append(5.2 * factor * (chosen / number - 0.5) + (0.0, 1.0, -1.0)[own])
    return _Story(profiles, texts, str(rng.choice(PICK_QUESTIONS)), (first, second), _chance(odds))


def _prices(rng: np.random.Generator) -> _Story:
    """What a thing costs, and what it usually costs."""
    tell = _goods(rng) if rng.random() < 0.5 else _groceries(rng)
    usual = float(rng.choice((1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 40, 60, 80, 120, 200)))
    profiles, texts, odds = [], [], []
    for _ in range(_ROWS):
        profile, factor = _trait(rng, THRIFT)
        ratio = float(rng.choice(_RATIOS))
        texts.append(tell(usual * ratio, usual))
        profiles.append(profile)
        odds.append(-0.4 - 4.4 * factor * np.log(max(ratio, 0.03)))
    question = str(
        rng.choice(("Do you buy it?", "Do you buy it at this price?", "Would you buy it?", "Do you take it?"))
    )
    return _Story(profiles, texts, question, ("yes", "no"), _chance(odds).clip(0.01, 0.98))


def _goods(rng: np.random.Generator) -> Callable[[float, float], str]:
    """How a price and the usual one are told, with the currency in words."""
    good, sentence = str(rng.choice(GOODS)), PRICE_SENTENCES[int(rng.integers(len(PRICE_SENTENCES)))]
    currency = str(rng.choice(("dollars", "euros", "pounds", "francs")))

    def tell(price: float, usual: float) -> str:
        now, before = (f"{value:.2f}".removesuffix(".00") for value in (price, usual))
        return sentence.format(good=good, Good=_capital(good), p=now, u=before, c=currency)

    return tell


def _groceries(rng: np.random.Generator) -> Callable[[float, float], str]:
    """The same for packed goods of a shop, with the sign of a currency and an earlier price."""
    good, size = GROCERIES[int(rng.integers(len(GROCERIES)))]
    sentence = SHOPPING_SENTENCES[int(rng.integers(len(SHOPPING_SENTENCES)))]
    form = str(rng.choice(("${:.2f}", "${:.2f}", "€{:.2f}", "£{:.2f}", "{:.2f} dollars")))

    def tell(price: float, usual: float) -> str:
        now, before = form.format(price), form.format(usual)
        return sentence.format(good=good, Good=_capital(good), size=size, p=now, u=before)

    return tell


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _illness(rng: np.random.Generator) -> _Story:
    """How one feels, and what is said about an illness."""
    question, options, stays = ILLNESS_QUESTIONS[int(rng.integers(len(ILLNESS_QUESTIONS)))]
    errand = str(rng.choice(ERRANDS))
    news = NEWS_SENTENCES[int(rng.integers(len(NEWS_SENTENCES)))]
    profiles, texts, odds = [], [], []
    for _ in range(_ROWS):
        words, strength = SYMPTOMS[int(rng.integers(len(SYMPTOMS)))]
        news_text, alarm = "", 0.0
        if rng.random() < 0.7:
            share = float(rng.choice((0, 0, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 14)))
            news_text = news.format(p=f"{share:.1f}" if rng.random() < 0.6 else f"{share:g}")
            alarm = min(2.2, 0.95 * float(np.log1p(2.5 * share)))
        description, shift = ("", 0.0)
        if rng.random() < 0.3:
            description, shift = (("a cautious", 0.7), ("an anxious", 0.8), ("a careless", -0.8), ("a calm", -0.3))[
                int(rng.integers(4))
            ]
        parts = [errand, words, news_text] if rng.random() < 0.7 else [words, errand, news_text]
        profiles.append(_person(rng, description))
        texts.append(" ".join(part for part in parts if part))
        odds.append((strength + alarm + shift) * (1 if stays else -1))
    return _Story(profiles, texts, question, options, _chance(odds))


def _traits(rng: np.random.Generator) -> _Story:
    """What kind of person one is."""
    high, low, text, question = ADJECTIVES[int(rng.integers(len(ADJECTIVES)))]
    degrees = (("", 1.0), ("very ", 1.4), ("rather ", 0.6), ("extremely ", 1.8))
    profiles, odds = [], []
    for _ in range(_ROWS):
        words, strength = degrees[int(rng.integers(len(degrees)))]
        side = int(rng.integers(3))
        if side == 2:
            profiles.append(_person(rng))
            odds.append(0.0)
            continue
        word = (high, low)[side]
        name = str(rng.choice(_NAMES))
        negated = rng.random() < 0.1
        if negated:
            profiles.append(f"You are {name}. You are not {word}.")
        else:
            description = _article(f"{words}{word}")
            profiles.append(
                (f"You are {name}, {description} person.", f"You are {name}. You are {words}{word}.",
                 f"{name} is {words}{word}. You are {name}.")[int(rng.integers(3))]
            )  # fmt: skip
        odds.append((1.4, -1.4)[side] * (-0.8 if negated else strength))
    return _Story(profiles, [text] * _ROWS, question, ("yes", "no"), _chance(odds))


def _distance(rng: np.random.Generator) -> _Story:
    """How far it is."""
    place = str(rng.choice(PLACES))
    way = str(rng.choice(("on foot", "by bus", "by bicycle", "by car")))
    minutes = rng.choice((2, 5, 8, 10, 15, 20, 25, 30, 40, 50, 60, 75, 90, 120), _ROWS)
    texts = [f"You would like to go to {place}. It takes {each} minutes {way}." for each in minutes.tolist()]
    profiles = [_person(rng) for _ in range(_ROWS)]
    return _Story(profiles, texts, "Do you go there today?", ("yes", "no"), _chance(1.5 - 0.055 * minutes))


_KINDS: tuple[tuple[SituationKind, Callable[[Any], _Story], float], ...] = (
    ("others", _others, 0.46),
    ("prices", _prices, 0.18),
    ("illness", _illness, 0.2),
    ("traits", _traits, 0.12),
    ("distance", _distance, 0.04),
)
"""The kinds of situations, and the share of each."""
