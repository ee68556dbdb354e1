"""The design of a community: a goal, rules, a few personas, and settings.

A design is a small YAML file or a mapping. It becomes part of the run's manifest, so that two
designs can be compared later.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import pydantic
from pydantic import Field

from populace.base.document_lines import add_line, at_entry
from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import ParameterError, PopulaceError, UnknownNameError
from populace.base.formatting import plural
from populace.base.plain_data import plain_message

Kind = Literal["prescriptive", "restrictive"]
Power = Literal["warn", "remove", "lock", "ban"]

_STOP_WORDS = frozenset(
    "a an the and or of to in on at for with by from as is are be been it its this that these those you your we our "
    "they their any all every each other others here there please always must should may can will do does".split()
)
_NEGATIONS = frozenset(
    "no not never nobody none nothing don't dont doesn't won't cannot can't without avoid refrain stop ban".split()
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OVERLAP = 0.6
"""Two rules are about the same thing where they share this part of the content words of the shorter one."""


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class CommunityRule(_Part):
    """One rule of a community.

    Attributes:
        text: The rule.
        kind: `prescriptive` for what posts should be, `restrictive` for what they must not be.
    """

    text: str = Field(min_length=1)
    kind: Kind = "prescriptive"


class Trigger(_Part):
    """Words that make a moderator act, where moderators act by rule.

    Attributes:
        words: The words; one of them is enough, as a whole word in upper or lower case.
        power: What the moderator does.
        rule: The number of the rule that such a post breaks, from 1.
    """

    words: tuple[str, ...] = Field(min_length=1)
    power: Power = "remove"
    rule: int | None = Field(None, ge=1)


_PEOPLE = "people get their roles and personas"
_SETTLED = {
    "posts": "the threads are counted",
    "replies": "the replies of a thread are limited",
    **dict.fromkeys(("people", "personas", "newcomers", "trolls", "moderators"), _PEOPLE),
}
"""Entries that have an effect only at the beginning of a run, and why."""


class ForumDesign(_Part):
    """The design of a community.

    Attributes:
        name: The name of the community.
        goal: Its purpose.
        rules: What posts should be, and what they must not be.
        personas: A few people to begin with, in a sentence or two each.
        posts: The number of threads.
        together: How many threads are opened in one step; writers of later ones may have read earlier ones.
        people: The number of people.
        replies: The most replies to a thread.
        reply_chance: The chance that a thread gets one more reply.
        new_chance: The chance that a reply is by somebody new to the thread.
        aside_chance: The chance that a reply is to an earlier post instead of the latest.
        newcomers: The share of people who are new and read the front page before they write.
        trolls: The number of people who come to provoke, in place of the persona that they would have.
        moderators: The number of moderators.
        moderate_by: Whether moderators act by the triggers (`rule`), by the model's judgement, or not at all.
        triggers: The words on which moderators act by rule.
        sorting: The order of the front page.
        front: The number of threads on the front page.
        votes: The number of people who read and vote in a step.
        length: The most characters of a post.
        room: The most characters of a thread that a writer is shown.

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
    trolls: int = Field(0, ge=0)
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
    def _parse(cls, value: Any) -> Any:
        if isinstance(value, (str, Path)):
            path = _path(value)
            content = _read(path)
            try:
                entries = _entries(cls, content)
                cls.model_validate(entries)
                return entries
            except PopulaceError as error:
                add_line(error, path)
                raise
            except pydantic.ValidationError as error:
                raise _invalid(error, path) from error
        return _entries(cls, value) if isinstance(value, Mapping) else value

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A design from a YAML file, or by the name of one that ships."""
        return cls.model_validate(str(path))

    def check_change(self, later: "ForumDesign") -> None:
        """Raise ParameterError where a later design of the same run differs in what is settled at the beginning."""
        settled = next((name for name in _SETTLED if getattr(self, name) != getattr(later, name)), None)
        if settled is not None:
            raise ParameterError(
                f"{settled} of a design cannot change while the community runs: {_SETTLED[settled]} at the beginning.",
                "Leave it as it was. Rules, moderation, chances, votes and sorting can change; people join and leave "
                "by interventions of the kinds add and remove.",
            )

    def contradictions(self) -> list[str]:
        """A sentence for each pair of rules that may contradict each other.

        The check compares words, not meanings: it finds two rules that share most of their content words, where one
        asks for what the other forbids. It misses contradictions in different words.
        """
        return [
            f"rule {number} ({first.text!r}) and rule {other} ({second.text!r}) may contradict "
            "each other: they say nearly the same words, and one asks for what the other forbids."
            for (number, first), (other, second) in itertools.combinations(enumerate(self.rules, 1), 2)
            if _opposed(first, second)
        ]


def shipped_designs() -> dict[str, Path]:
    """The files of the designs that ship, by name.

    Example:
        >>> list(shipped_designs())
        ['repair-bench', 'shared-garden']
    """
    folder = Path(str(resources.files("populace.scenarios.forum"))) / "designs"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _path(source: str | Path) -> Path:
    shipped = shipped_designs()
    path = shipped.get(str(source), Path(source))
    if not path.is_file():
        raise ParameterError(
            f"there is no design {source}.",
            f"Name a YAML file, or a design that ships: {', '.join(shipped)}.",
        )
    return path


def _invalid(error: pydantic.ValidationError, path: Path) -> ParameterError:
    """What is wrong with a value in the file of a design."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    hint = "`populace new NAME --community` writes a design whose entries are explained."
    wrong = ParameterError(f"{name} = {first['input']!r}: {plain_message(first)}.", hint)
    wrong.entry = tuple(first["loc"])
    add_line(wrong, path)
    return wrong


def _read(path: Path) -> Any:
    try:
        return read_yaml(path)
    except (OSError, DocumentError) as error:
        raise ParameterError(f"the design {path} cannot be read: {error}.") from error


def _entries(model: type[pydantic.BaseModel], value: Any) -> dict[str, Any]:
    """The entries of a design in full form, after checks for common mistakes with clear messages."""
    if not isinstance(value, Mapping):
        raise ParameterError("a design is a mapping with a name, a goal and personas.")
    design = dict(value)
    for key in design:
        if key not in model.model_fields:
            raise UnknownNameError("entry of a design", str(key), model.model_fields)
    for entry, advice in (("name", "Write the name of the community."), ("goal", "Write what the community is for.")):
        with at_entry(entry):
            if not isinstance(design.get(entry), str) or not design[entry].strip():
                raise ParameterError(f"the design has no {entry}.", advice)
    personas = _items(design, "personas")
    design["personas"] = [" ".join(str(persona).split()) for persona in personas if str(persona or "").strip()]
    with at_entry("personas"):
        if len(design["personas"]) < 2:
            raise ParameterError(
                f"the design has {plural(len(design['personas']), 'persona')}; it needs at least two.",
                "List people who might come, in a sentence each, unwelcome ones too.",
            )
    design["rules"] = [_rule(rule, number) for number, rule in enumerate(_items(design, "rules"), 1)]
    _check_rule_numbers(design)
    with at_entry("moderate_by"):
        if design.get("moderate_by", "nobody") != "nobody" and not design.get("moderators"):
            raise ParameterError("nobody can moderate, because there are no moderators.", "Write moderators: 1.")
        if design.get("moderate_by") == "rule" and not design.get("triggers"):
            raise ParameterError(
                "moderators who act by rule act on triggers, and there are none.",
                "Write triggers: [{words: [scam, idiot], power: remove}], or moderate_by: model.",
            )
    _check_roles(model, design)
    return design


def _check_roles(model: type[pydantic.BaseModel], design: Mapping[str, Any]) -> None:
    """Raise ParameterError where nobody but trolls and moderators would be left."""
    counts = [design.get(role, model.model_fields[role].default) for role in ("people", "moderators", "trolls")]
    if not all(type(count) is int for count in counts):
        return
    people, moderators, trolls = counts
    if trolls and moderators + trolls >= people:
        with at_entry("trolls"):
            raise ParameterError(
                f"{plural(people, 'person', 'people')} cannot be {plural(trolls, 'troll')} and "
                f"{plural(moderators, 'moderator')}: somebody else must be left.",
                f"Write trolls: {max(1, people // 8)}, or more people.",
            )


def _items(design: Mapping[str, Any], entry: str) -> Sequence[Any]:
    """The items of a list in a design; none where it is left out."""
    items = design.get(entry)
    if items is None or isinstance(items, (list, tuple)):
        return items or ()
    with at_entry(entry):
        raise ParameterError(f"{entry} of a design are a list, not {type(items).__name__}.", f"Write {entry}: [ … ].")


def _rule(rule: Any, number: int) -> Any:
    """A rule in full form, from text alone, `kind: text`, or a mapping with both."""
    if isinstance(rule, str):
        return {"text": rule, "kind": "restrictive" if _negations(rule) else "prescriptive"}
    if isinstance(rule, Mapping) and len(rule) == 1 and next(iter(rule)) in ("prescriptive", "restrictive"):
        ((kind, text),) = rule.items()
        return {"text": text, "kind": kind}
    if isinstance(rule, Mapping):
        for key in rule:
            if key not in CommunityRule.model_fields:
                with at_entry("rules", number - 1):
                    known = (*get_args(Kind), *CommunityRule.model_fields)
                    raise UnknownNameError(f"entry of rule {number}", str(key), known)
    return rule


def _check_rule_numbers(design: Mapping[str, Any]) -> None:
    for place, trigger in enumerate(_items(design, "triggers")):
        number = trigger.get("rule") if isinstance(trigger, Mapping) else None
        if isinstance(number, int) and number > len(design["rules"]):
            with at_entry("triggers", place, "rule"):
                raise ParameterError(f"a trigger names rule {number}; there are {len(design['rules'])} rules.")


def _words(text: str) -> set[str]:
    return {word.casefold().replace("’", "'") for word in _WORD.findall(text)}


def _negations(text: str) -> set[str]:
    return _words(text) & _NEGATIONS


def _content_words(text: str) -> set[str]:
    return _words(text) - _STOP_WORDS - _NEGATIONS


def _opposed(first: CommunityRule, second: CommunityRule) -> bool:
    one, two = _content_words(first.text), _content_words(second.text)
    if not one or not two:
        return False
    if first.kind == second.kind:
        # One of two prescriptive rules may be the negation of the other; two restrictive ones always agree.
        negated = [bool(_negations(rule.text)) for rule in (first, second)]
        return one == two and first.kind == "prescriptive" and negated[0] != negated[1]
    # A prescriptive rule that is itself a prohibition agrees with a restrictive one.
    prescriptive = first if first.kind == "prescriptive" else second
    return len(one & two) >= _OVERLAP * min(len(one), len(two)) and not _negations(prescriptive.text)
