"""The clauses of a prompt, and what each has to do with the level of the treatment.

The words of chance are not enough to know where a level comes from: chance may have picked the people who are asked, or
the order of the answers. So each clause is read for what it is about: whether it states the level, whether it is linked
with it, and what is left of it without what it says about the chance of something else.
"""

import functools
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SENTENCE = re.compile(r"(?<=[.?!])\s+|\n+")
_CLAUSE = re.compile(r"(?<=[:;])\s+")
_LONGEST = 500
"""A longer clause is read in parts: the time that phrases take grows with the square of its length."""
_REMEMBERED = 4096
"""How many clauses are remembered: most of them stand in the prompts of every level and design."""
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
_IS_DECIDED = re.compile(
    r"\b(?P<what>(?:who|whom|whose \w+|which \w+|what \w+|the (?:order|winner|turn))\b[^.?!:;,]*?) "
    r"(?:is|are|was|were|gets?|got|has been|have been|will be) (?:\w+ )?"
    r"(?:decided|determined|settled|chosen|picked|selected|drawn|fixed|left)\b|"
    r"\b(?:toss|flip|throw|roll|draw|spin)\w*\b[^.?!:;,]{0,30} (?:for|to (?:see|decide|determine|settle|find out)) "
    r"(?P<prize>(?:who|whom|whose|which|what)\b[^.?!:;,]*)",
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
_ENDINGS = ("ing", "ied", "ie", "ed", "y", "e")


@dataclass(frozen=True)
class Clause:
    """A part of a prompt, up to a full stop or a colon, or up to 500 characters where that is not reached.

    Attributes:
        text: The words of the clause.
        rest: The same without what is said about the chance of something else; empty where that is all.
        states: Whether it states the level of this prompt.
        near: Whether its sentence is about the level: it states it, leads to it, shares a word with it or names the
            design.
        asks: Whether it asks for the answer, and so says nothing about the level.
        gives: Whether it stands before the level, shares no word with it, and is about giving something out.
    """

    text: str
    rest: str
    states: bool
    near: bool
    asks: bool
    gives: bool


def clauses(prompt: str, treatment: str, level: str, levels: Sequence[str]) -> list[Clause]:
    """The clauses of a prompt.

    Args:
        prompt: The whole prompt, as it is sent.
        treatment: What is varied, in words.
        level: How the level is written in this prompt; empty where the prompt states all levels, or none.
        levels: How all levels are written.

    Example:
        >>> [clause.states for clause in clauses("You see tea. It costs $3.", "price", "$3", ["$2", "$3"])]
        [False, True]
    """
    texts, whole = _split(prompt)
    stated = [place for place, text in enumerate(texts) if _states(text, level, levels)]
    places = stated or list(range(len(texts)))
    names = treatment_stems(treatment)
    known = frozenset[str]().union(*(_stems(texts[place]) for place in places), names)
    near = {whole[place] for place in range(len(texts)) if _linked(place, texts, places, treatment, levels)}
    last = max(places, default=0)
    read = []
    for place, text in enumerate(texts):
        rest = _without_others(text, known, levels, names)
        before = place < last and whole[place] not in near and not _about_survey(text, treatment)
        gives = before and _gives_out(rest, text, levels)
        asks = _ASKS.search(text) is not None
        read.append(Clause(text, rest, place in stated, whole[place] in near, asks, gives))
    return read


def first_phrase(kind: str, texts: Sequence[str]) -> str:
    """The first words of texts that belong to a group of `lint_phrases.toml`; empty where there are none."""
    matches = [match for text in texts if (match := _first_match(kind, text)) is not None]
    return min(matches, key=lambda match: match[0])[1] if matches else ""


def kinds_of_phrases(kind: str, texts: Sequence[str]) -> list[str]:
    """The first words of texts for each pattern of a group of `lint_phrases.toml` that they match."""
    matches = (next((match.group() for text in texts if (match := p.search(text))), "") for p in _patterns(kind))
    return [match for match in matches if match]


def holds_all_levels(prompt: str, levels: Sequence[str]) -> bool:
    """Whether a prompt states every level, so that whoever reads it sees the whole comparison."""
    return len(levels) > 1 and all(_written(prompt, level) for level in levels)


@functools.lru_cache(maxsize=64)
def treatment_stems(treatment: str) -> frozenset[str]:
    """The stems of the words by which a treatment may be called."""
    words = _stems(treatment)
    groups = [{stem(word) for word in group} for group in _phrases()["synonyms"]["groups"]]
    return words.union(*(group for group in groups if group & words))


def stem(word: str) -> str:
    """A word without its ending, so that its forms are one word.

    Example:
        >>> [stem(word) for word in ("fare", "fares", "sitting", "sittings", "city", "cities", "dropped", "drop")]
        ['far', 'far', 'sit', 'sit', 'cit', 'cit', 'drop', 'drop']
    """
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


@functools.cache
def _phrases() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("lint_phrases.toml").read_text("utf-8"))


@functools.cache
def _patterns(kind: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in _phrases()[kind]["patterns"]]


@functools.lru_cache(maxsize=_REMEMBERED)
def _first_match(kind: str, text: str) -> tuple[int, str] | None:
    """The number of the first pattern of a group that a text matches, and the words; None where there is none."""
    for number, pattern in enumerate(_patterns(kind)):
        if match := pattern.search(text):
            return number, match.group()
    return None


@functools.lru_cache(maxsize=_REMEMBERED)
def _without(text: str, kind: str) -> str:
    for pattern in _patterns(kind):
        text = pattern.sub(" ", text)
    return text


def _written(text: str, level: str) -> bool:
    return bool(level) and re.search(rf"(?<![\w.]){re.escape(level)}(?![\w]|\.\d)", text, re.IGNORECASE) is not None


def _states(sentence: str, level: str, levels: Sequence[str]) -> bool:
    """Whether a sentence states the level of this prompt rather than the list of all levels."""
    if not level or not _written(sentence, level):
        return False
    return len(levels) < 2 or not holds_all_levels(sentence, levels)


def _split(text: str) -> tuple[list[str], list[int]]:
    """The clauses of a text, and for each the number of its sentence."""
    parts, whole = [], []
    for number, sentence in enumerate(_SENTENCE.split(text)):
        pieces = [part for clause in _CLAUSE.split(sentence) for part in _parts(clause.strip())]
        parts += pieces
        whole += [number] * len(pieces)
    return parts, whole


def _parts(clause: str) -> Iterator[str]:
    """A clause in parts that can be read, divided between words where it has any; nothing of an empty one."""
    while len(clause) > _LONGEST:
        end = clause.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
        yield clause[:end].rstrip()
        clause = clause[end:].lstrip()
    if clause:
        yield clause


def _about_survey(sentence: str, treatment: str) -> bool:
    """Whether a sentence is about the means of a survey, and these are not what is varied."""
    means = first_phrase("apparatus", [sentence])
    return bool(means) and not _stems(means) & treatment_stems(treatment)


def _gives_out(rest: str, sentence: str, levels: Sequence[str]) -> bool:
    """Whether a sentence that shares no word with the level is about giving something out."""
    return bool(first_phrase("gives", [rest])) and not _names_others(sentence, levels)


def _without_others(sentence: str, known: frozenset[str], levels: Sequence[str], names: frozenset[str]) -> str:
    """A sentence without what it says about the chance of something else; empty where that is all it is about."""
    if _decides_other(sentence, known) or _tries_other(sentence, known) or _picks_other(sentence, known):
        return ""
    rest = _without(sentence, "elsewhere") if not _names_order(sentence, names) else sentence
    thing = _RANDOM_THING.search(rest)
    if (
        thing is None
        or thing["what"].isdigit()
        or first_phrase("devices", [thing["what"]])
        or first_phrase("parts", [thing["what"]])
    ):
        return rest
    one = _ONE_OF_MANY.search(rest[: thing.start()]) is not None and not _stems(thing["what"]) & names
    if not one and (_stems(rest) & known or any(_written(rest, level) for level in levels)):
        return rest
    return rest[: thing.start()] + rest[thing.end("what") :]


def _names_order(sentence: str, names: frozenset[str]) -> bool:
    """Whether a sentence is about an order that is varied itself, and not that of questions or answers."""
    return "order" in sentence and bool(_stems(sentence) & names)


def _decides_other(sentence: str, known: frozenset[str]) -> bool:
    """Whether chance is said to decide something that is neither the treatment nor about whoever is asked."""
    match = _DECIDES.search(sentence) or _IS_DECIDED.search(sentence)
    if match is None:
        return False
    what = next(text for text in match.groupdict().values() if text)
    if (
        _FOR_EACH.search(what)
        or _FOR_EACH.search(sentence[match.end() :])
        or first_phrase("parts", [what])
        or _WHO_WHAT.search(what)
    ):
        return False
    stems = _stems(what)
    return bool(stems) and not stems & known


def _tries_other(sentence: str, known: frozenset[str]) -> bool:
    """Whether chance is in the name of a trial of something else, and nowhere besides."""
    match = _TRIAL.search(sentence)
    if match is None or _stems(match["what"]) & known or first_phrase("parts", [match["what"]]):
        return False
    rest = sentence.replace(match.group(), " ")
    return not first_phrase("chance", [rest])


def _picks_other(sentence: str, known: frozenset[str]) -> bool:
    """Whether a thing of which the sentence of the level does not speak was picked, such as a jury or a sample."""
    match = _IS_PICKED.search(sentence)
    if match is None or _FOR_EACH.search(sentence[match.end() :]):
        return False
    head = match["what"].split()[-1].lower()
    return not (
        _stems(head) & known or head in _STOP or first_phrase("parts", [head]) or first_phrase("shares", [head])
    )


def _linked(place: int, sentences: Sequence[str], places: Sequence[int], treatment: str, levels: Sequence[str]) -> bool:
    """Whether a sentence is about the level: it states it, leads to it, shares a word with it or names the design."""
    sentence = sentences[place]
    if place in places or holds_all_levels(sentence, levels):
        return True
    words = _stems(sentence)
    if words & treatment_stems(treatment) or first_phrase("parts", [sentence]):
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


@functools.lru_cache(maxsize=_REMEMBERED)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)
