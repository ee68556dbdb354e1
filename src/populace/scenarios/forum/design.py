"""A community as its designer writes it down: a goal, rules, a handful of people, and a few knobs.

A design is a small YAML file or a mapping. It becomes part of the run's manifest, so that two
designs can be compared later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import pydantic
import yaml
from pydantic import Field

from populace.base.errors import ParameterError, UnknownNameError

Kind = Literal["prescriptive", "restrictive"]
Power = Literal["warn", "remove", "lock", "ban"]

_EMPTY = frozenset(
    "a an the and or of to in on at for with by from as is are be been it its this that these those you your we our "
    "they their any all every each other others here there please always must should may can will do does".split()
)
_NEGATIONS = frozenset(
    "no not never nobody none nothing don't dont doesn't won't cannot can't without avoid refrain stop ban".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_MOST = 0.6
"""Two rules speak of the same thing where they share this part of the content words of the shorter one."""


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class CommunityRule(_Part):
    """One rule of a community.

    Attributes:
        text: The rule.
        kind: `prescriptive` for what is wanted, `restrictive` for what is not.
    """

    text: str = Field(min_length=1)
    kind: Kind = "prescriptive"


class Trigger(_Part):
    """Words on which a moderator who acts by rule acts.

    Attributes:
        words: Any of them, whole and in any case.
        power: What is done.
        rule: The number of the rule that such a post breaks, from 1.
    """

    words: tuple[str, ...] = Field(min_length=1)
    power: Power = "remove"
    rule: int | None = Field(None, ge=1)


class ForumDesign(_Part):
    """A community before it opens.

    Attributes:
        name: What it is called.
        goal: What it is for.
        rules: What is wanted there and what is not.
        personas: A handful of people to begin with, a sentence or two each.
        posts: How many threads are opened.
        together: How many of them in one step; later ones are written by people who may have read earlier ones.
        people: How many people there are.
        replies: How many replies a thread takes at most.
        reply_chance: The chance that one more reply comes.
        new_chance: The chance that it comes from somebody new to the thread.
        aside_chance: The chance that it answers an earlier utterance rather than the latest.
        newcomers: The share of people who are new and read the front page before they post.
        moderators: How many people watch over it.
        moderate_by: Whether moderators act by the triggers, by their own judgement, or not at all.
        triggers: On which words moderators act who act by rule.
        sorting: The order of the front page.
        front: How many threads the front page shows.
        votes: How many people read and vote in a step.
        length: How many characters a post may have.
        room: How many characters of a thread a writer is shown.

    Example:
        >>> seeds = ["keeps bees on a roof", "sells honey at a market"]
        >>> ForumDesign(name="Hives", goal="help each other keep bees", personas=seeds).replies
        8
    """

    metavar: ClassVar[str] = "FILE"

    name: str = Field(min_length=1)
    goal: str = Field(min_length=1)
    rules: tuple[CommunityRule, ...] = ()
    personas: tuple[str, ...] = Field(min_length=2)
    posts: int = Field(10, ge=1)
    together: int = Field(5, ge=1)
    people: int = Field(30, ge=3)
    replies: int = Field(8, ge=0, le=60)
    reply_chance: float = Field(0.65, ge=0, le=1)
    new_chance: float = Field(0.5, ge=0, le=1)
    aside_chance: float = Field(0.2, ge=0, le=1)
    newcomers: float = Field(0.2, ge=0, le=1)
    moderators: int = Field(0, ge=0)
    moderate_by: Literal["rule", "model", "nobody"] = "nobody"
    triggers: tuple[Trigger, ...] = ()
    sorting: Literal["new", "top", "hot"] = "hot"
    front: int = Field(3, ge=1)
    votes: int = Field(0, ge=0)
    length: int = Field(600, ge=40)
    room: int = Field(3000, ge=200)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _from_anything(cls, given: Any) -> Any:
        if isinstance(given, (str, Path)):
            return _checked(cls, _read(given), str(given))
        return _checked(cls, given, "the design") if isinstance(given, Mapping) else given

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A design from a YAML file, or by name where it ships."""
        return cls.model_validate(str(path))

    def contradictions(self) -> list[str]:
        """Pairs of rules that may contradict each other, each as a sentence.

        The check knows words, not meanings: two rules that share most of their content words, one of which asks for
        what the other forbids. It misses rules that contradict each other in other words.
        """
        found = []
        for place, first in enumerate(self.rules):
            for further, second in enumerate(self.rules[place + 1 :], place + 1):
                if _opposed(first, second):
                    found.append(
                        f"rule {place + 1} ({first.text!r}) and rule {further + 1} ({second.text!r}) may contradict "
                        "each other: they say nearly the same words, and one asks for what the other forbids."
                    )
        return found


def shipped_designs() -> dict[str, Path]:
    """The designs that ship, by name."""
    folder = Path(str(resources.files("populace.scenarios.forum"))) / "designs"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _read(source: str | Path) -> Any:
    known = shipped_designs()
    path = known.get(str(source), Path(source))
    if not path.is_file():
        raise ParameterError(
            f"there is no design {source}.",
            f"Name a YAML file, or a design that ships: {', '.join(known)}.",
        )
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        said = getattr(error, "problem", None) or str(error)
        raise ParameterError(f"{path}{where}: the design is not YAML: {said}.") from error


def _checked(model: type[pydantic.BaseModel], given: Any, where: str) -> dict[str, Any]:
    """The mapping, once what is commonly wrong with a design is ruled out."""
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: a design is a mapping with a name, a goal and personas.")
    design = dict(given)
    for key in design:
        if key not in model.model_fields:
            raise UnknownNameError(f"entry of a design ({where})", str(key), model.model_fields)
    for entry, wanted in (("name", "Say what the community is called."), ("goal", "Say what the community is for.")):
        if not isinstance(design.get(entry), str) or not design[entry].strip():
            raise ParameterError(f"{where}: the design has no {entry}.", wanted)
    personas = design.get("personas")
    if not isinstance(personas, (list, tuple)) or len([p for p in personas if str(p or "").strip()]) < 2:
        count = len(personas) if isinstance(personas, (list, tuple)) else 0
        raise ParameterError(
            f"{where}: the design has {count} personas; it needs at least two.",
            "List people who might come, a sentence each, the unwelcome ones too.",
        )
    design["personas"] = [" ".join(str(p).split()) for p in personas if str(p or "").strip()]
    design["rules"] = [_rule(rule, place, where) for place, rule in enumerate(design.get("rules") or (), 1)]
    _rule_numbers(design, where)
    if design.get("moderate_by", "nobody") != "nobody" and not design.get("moderators"):
        raise ParameterError(f"{where}: nobody can moderate, because there are no moderators.", "Write moderators: 1.")
    return design


def _rule(rule: Any, place: int, where: str) -> Any:
    """A rule as text alone, as `kind: text`, or with both named."""
    if isinstance(rule, str):
        return {"text": rule, "kind": "restrictive" if _negations(rule) else "prescriptive"}
    if isinstance(rule, Mapping) and len(rule) == 1 and next(iter(rule)) in ("prescriptive", "restrictive"):
        ((kind, text),) = rule.items()
        return {"text": text, "kind": kind}
    if isinstance(rule, Mapping):
        for key in rule:
            if key not in CommunityRule.model_fields:
                raise UnknownNameError(f"entry of rule {place} ({where})", str(key), CommunityRule.model_fields)
    return rule


def _rule_numbers(design: Mapping[str, Any], where: str) -> None:
    for trigger in design.get("triggers") or ():
        number = trigger.get("rule") if isinstance(trigger, Mapping) else None
        if isinstance(number, int) and number > len(design["rules"]):
            raise ParameterError(f"{where}: a trigger names rule {number}; there are {len(design['rules'])} rules.")


def _words(text: str) -> set[str]:
    return {word.casefold().replace("’", "'") for word in _WORD.findall(text)}


def _negations(text: str) -> set[str]:
    return _words(text) & _NEGATIONS


def _content(text: str) -> set[str]:
    return _words(text) - _EMPTY - _NEGATIONS


def _opposed(first: CommunityRule, second: CommunityRule) -> bool:
    one, two = _content(first.text), _content(second.text)
    if not one or not two:
        return False
    if first.kind == second.kind:
        # Of two prescriptive rules one may be the other negated; two restrictive ones agree, negated or not.
        negated = [bool(_negations(rule.text)) for rule in (first, second)]
        return one == two and first.kind == "prescriptive" and negated[0] != negated[1]
    return len(one & two) >= _MOST * min(len(one), len(two)) and not _negated(first, second)


def _negated(first: CommunityRule, second: CommunityRule) -> bool:
    """Whether the prescriptive one of two rules is itself a prohibition, and so agrees with the other."""
    wanted = first if first.kind == "prescriptive" else second
    return bool(_negations(wanted.text))
