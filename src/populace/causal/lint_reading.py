"""What a prompt says about the source of a treatment's level: chance, a decision from outside, or the world as it is.

The rules read English wording. They look for phrases (`lint_phrases.toml`) of three kinds, and weigh signs
(`lint_signs.toml`) where no phrase settles the matter:

* chance: a device or a procedure that draws. It counts where it is said of the level or of the act of giving levels
  out, unless the sentence says it of something else: who takes part, the order of answers, a random passer-by;
* a hand from outside: somebody sets the level, and a sentence says that the rest stays as it is; or versions that
  differ in the treatment alone;
* the world as it is found.
"""

import functools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.causal.lint_signs import settling_signs

_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")
_CLAUSE = re.compile(r"(?<=[:;])\s+")
_WORD = re.compile(r"[a-z]{3,}")
_POINTS_BACK = re.compile(r"^(?:it|its|this|that|yours|the one|by that|by this|according|so)\b", re.IGNORECASE)
_RECEIVES = re.compile(r"^you (?:got|were|fell|are in)\b", re.IGNORECASE)
_STOP = frozenset(
    "the and for you your that this with from was were are has have had will would not can any all its his her their "
    "they them what which who how one two than then there here per each every more most much many some such other "
    "others been being does did done get gets got into onto over under out off who whom whose about after before "
    "week weeks day days month months year years today tomorrow people person percent dollars euros cents now "
    "because when where while said say says".split()
)
_DECIDES = re.compile(
    r"\b(?:decide|determine|choose|pick|select|fix|settle)[sd]? (?:as \w+ |then |always |again )?"
    r"(?<!could choose )(?<!can choose )(?P<what>(?:which|what|whether|who|whom|whose|how|the)\b[^.?!:;]*)",
    re.IGNORECASE,
)
"""What chance is said to decide."""
_WHO_WHAT = re.compile(r"^(?:who|which \w+)\b.*\b(?:what|which|where|how)\b", re.IGNORECASE)
"""Who gets what is decided: something is given out."""
_TRIAL = re.compile(
    r"\brandomi[sz]ed (?:\w+ )?(?:trial|experiment|study|test) (?:of|on|about) (?P<what>[^.?!:;,]*)", re.IGNORECASE
)
_IS_PICKED = re.compile(
    r"^(?:(?:the|a|an|our|your|all|these|this) )?(?P<what>(?!it\b|they\b|which\b|who\b|what\b)[\w'-]+(?: [\w'-]+)?)"
    r"(?: (?:in|of|on|at|for|that|who|which)\b[^.?!:;,]*?)? (?:is|are|was|were|has been|have been) (?:\w+ )?"
    r"(?:picked|chosen|selected|drawn|moved|taken|decided|determined|settled)\b",
    re.IGNORECASE,
)
"""The subject of a sentence in which something is picked."""
_FOR_ALL = re.compile(r"\b(?:each|every|everybody|everyone|participants)\b", re.IGNORECASE)
_ASKS = re.compile(r"^(?:do|does|did|will|would|is|are|how|should)\b(?!.*\bif\b).*\?$", re.IGNORECASE)
"""A sentence that asks for the answer, and says nothing about the level."""
_RANDOM_THING = re.compile(
    r"\brandom(?:ly (?:chosen|selected|picked|drawn|sampled))? (?P<what>\w+)(?P<rest>[^.?!:;]*)", re.IGNORECASE
)
_ONE_OF_MANY = re.compile(r"\b(?:a|an|some|any|another)\s*$", re.IGNORECASE)
"""What stands before a thing that was picked from many of its kind, as in "a random stranger"."""
_YOU = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_FOR_EACH = re.compile(r"\b(?:you|your|yours|each|every|everybody|everyone)\b", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\b\w+ or (?:a |an |the |in )?\w+")
_ENDINGS = ("ing", "ies", "es", "ed", "s", "y")


@dataclass(frozen=True)
class SourceReading:
    """What a prompt says about where the level of its treatment comes from.

    Attributes:
        intervention: The phrase that says that the level was set independently of everything else; empty where
            nothing does.
        observation: The phrase that says that the question is about the world as it is found; empty where nothing does.

    Example:
        >>> prompt = "Your price was drawn at random. It is $3. Do you buy?"
        >>> read_source(prompt, "price", "$3", ["$2", "$3"]).intervention
        'random'
    """

    intervention: str
    observation: str


def read_source(prompt: str, treatment: str, level: str, levels: Sequence[str]) -> SourceReading:
    """Read how a prompt says that the level of the treatment came about.

    Args:
        prompt: The whole prompt, as it is sent.
        treatment: What is varied, in words.
        level: How the level is written in this prompt; empty where the prompt states all levels, or none.
        levels: How all levels are written.
    """
    sentences, whole = _clauses(prompt)
    places = [place for place, sentence in enumerate(sentences) if _states(sentence, level, levels, treatment)]
    if not places:
        places = list(range(len(sentences)))
    known = set().union(*(_stems(sentences[place]) for place in places), _names(treatment))
    near = {whole[p] for p in range(len(sentences)) if _linked(p, sentences, places, treatment, levels)}
    linked = [sentence for place, sentence in enumerate(sentences) if whole[place] in near]
    rests = [_without_others(sentence, known, levels, _names(treatment)) for sentence in sentences]
    about_level = [rest for place, rest in enumerate(rests) if whole[place] in near]
    last = max(places, default=0)
    before = [p for p in range(last) if whole[p] not in near and not _about_survey(sentences[p], treatment)]
    giving = [rests[place] for place in before if _gives_out(rests[place], sentences[place], levels)]
    by_lot = _first("chance", about_level + giving) or _first("drawn", about_level)
    statements = [sentence for sentence in sentences if not _ASKS.search(sentence)]
    held = _first("constant", sentences) or _first("decree", sentences)
    imposed = held if _first("imposed", [sentence for sentence in linked if sentence in statements]) else ""
    by_hand = _first("decree", linked) or imposed or _first("contrast", sentences)
    claims = [rest for rest, sentence in zip(rests, sentences, strict=True) if rest and sentence in statements]
    hints = [rest for place, rest in enumerate(rests) if rest in claims and (whole[place] in near or place in before)]
    signs = settling_signs("mechanism", hints) or settling_signs("equality", claims)
    return SourceReading(by_lot or by_hand or signs, _first("observation", statements))


def holds_all_levels(prompt: str, levels: Sequence[str]) -> bool:
    """Whether a prompt states every level, so that whoever reads it sees the whole comparison."""
    return len(levels) > 1 and all(_written(prompt, level) for level in levels)


def says_constant(prompt: str) -> str:
    """The phrase that says that nothing but the treatment differs; empty where nothing does."""
    return _first("constant", [prompt]) or _first("contrast", [prompt])


@functools.cache
def _phrases() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("lint_phrases.toml").read_text("utf-8"))


@functools.cache
def _patterns(kind: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in _phrases()[kind]["patterns"]]


def _first(kind: str, texts: Sequence[str]) -> str:
    for pattern in _patterns(kind):
        for text in texts:
            if match := pattern.search(text):
                return match.group()
    return ""


def _without(text: str, kind: str) -> str:
    for pattern in _patterns(kind):
        text = pattern.sub(" ", text)
    return text


def _written(text: str, level: str) -> bool:
    return bool(level) and re.search(rf"(?<![\w.]){re.escape(level)}(?![\w]|\.\d)", text, re.IGNORECASE) is not None


def _states(sentence: str, level: str, levels: Sequence[str], treatment: str) -> bool:
    """Whether a sentence states the level of this prompt rather than the list of all levels."""
    if not level or not _written(sentence, level):
        return False
    return len(levels) < 2 or not holds_all_levels(sentence, levels)


def _clauses(text: str) -> tuple[list[str], list[int]]:
    """The clauses of a text, and for each the number of its sentence."""
    clauses, whole = [], []
    for number, sentence in enumerate(_SENTENCE.split(text)):
        parts = [part.strip() for part in _CLAUSE.split(sentence) if part.strip()]
        clauses += parts
        whole += [number] * len(parts)
    return clauses, whole


def _about_survey(sentence: str, treatment: str) -> bool:
    """Whether a sentence is about the means of a survey, and these are not what is varied."""
    means = _first("apparatus", [sentence])
    return bool(means) and not _stems(means) & _names(treatment)


def _gives_out(rest: str, sentence: str, levels: Sequence[str]) -> bool:
    """Whether a sentence that shares no word with the level is about giving something out."""
    return bool(_first("gives", [rest])) and not _names_others(sentence, levels)


def _without_others(sentence: str, known: set[str], levels: Sequence[str], names: set[str]) -> str:
    """A sentence without what it says about the chance of something else; empty where that is all it is about."""
    if _decides_other(sentence, known) or _tries_other(sentence, known) or _picks_other(sentence, known):
        return ""
    rest = _without(sentence, "elsewhere") if not _names_order(sentence, known) else sentence
    thing = _RANDOM_THING.search(rest)
    if thing is None or _first("devices", [thing["what"]]) or _first("parts", [thing["what"]]):
        return rest
    one = _ONE_OF_MANY.search(rest[: thing.start()]) is not None and not _stems(thing["what"]) & names
    if not one and (_stems(rest) & known or any(_written(rest, level) for level in levels)):
        return rest
    return rest[: thing.start()] + rest[thing.end("what") :]


def _names_order(sentence: str, known: set[str]) -> bool:
    """Whether a sentence is about the order of what the level belongs to, and not of questions or answers."""
    return "order" in sentence and bool(_stems(sentence) & known)


def _decides_other(sentence: str, known: set[str]) -> bool:
    """Whether chance is said to decide something that is neither the treatment nor about whoever is asked."""
    match = _DECIDES.search(sentence)
    if match is None or _FOR_EACH.search(match["what"]) or _first("parts", [match["what"]]):
        return False
    if _WHO_WHAT.search(match["what"]):
        return False
    stems = _stems(match["what"])
    return bool(stems) and not stems & known


def _tries_other(sentence: str, known: set[str]) -> bool:
    """Whether chance is in the name of a trial of something else, and nowhere besides."""
    match = _TRIAL.search(sentence)
    if match is None or _stems(match["what"]) & known or _first("parts", [match["what"]]):
        return False
    rest = sentence.replace(match.group(), " ")
    return not _first("chance", [rest])


def _picks_other(sentence: str, known: set[str]) -> bool:
    """Whether a thing of which the sentence of the level does not speak was picked, such as a jury or a sample."""
    match = _IS_PICKED.search(sentence)
    if match is None:
        return False
    head = match["what"].split()[-1].lower()
    return not (_stems(head) & known or head in _STOP or _first("parts", [head]) or _first("shares", [head]))


def _linked(place: int, sentences: Sequence[str], places: Sequence[int], treatment: str, levels: Sequence[str]) -> bool:
    """Whether a sentence is about the level: it states it, leads to it, shares a word with it or names the design."""
    sentence = sentences[place]
    if place in places or holds_all_levels(sentence, levels):
        return True
    words = _stems(sentence)
    if words & _names(treatment) or _first("parts", [sentence]):
        return True
    for stated in places:
        leads = _POINTS_BACK.search(sentences[stated]) or _RECEIVES.search(sentences[stated])
        leads = leads or (_FOR_ALL.search(sentence) and _YOU.search(sentences[stated]))
        if (stated - place == 1 and leads) or words & _stems(sentences[stated]):
            return True
    return False


def _names_others(sentence: str, levels: Sequence[str]) -> bool:
    """Whether a sentence lists alternatives that are not the levels: then something else was assigned."""
    return _ALTERNATIVES.search(sentence) is not None and not any(_written(sentence, level) for level in levels)


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP}


def _names(treatment: str) -> set[str]:
    """The stems of the words by which a treatment may be called."""
    words = _stems(treatment)
    groups = [{_stem(word) for word in group} for group in _phrases()["synonyms"]["groups"]]
    return words.union(*(group for group in groups if group & words))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
