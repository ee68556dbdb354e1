"""Ways to write a profile: the same facts in many forms, so that the person is learned and not the form."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from populace.people.names import FEMALE, MALE

Facts = Mapping[str, str]
"""What is known of a person, by the name of the field."""

_DROPPED = 0.1
_SPARSE = 0.06
_NAMES = (*FEMALE, *MALE)
_NOBODY = ("", "You are {name}.", "You are a person taking part in a study.", "You are {name}, a person like others.")


def _label(field: str) -> str:
    return field.replace("_", " ")


def as_list(name: str, facts: Facts) -> str:
    """A line for each fact, as a survey writes the respondents of a file."""
    return "About you:" + "".join(f"\n- {_label(field)}: {value}" for field, value in facts.items())


def as_sentences(name: str, facts: Facts) -> str:
    """A name, and a short sentence for each fact."""
    return f"You are {name}. " + " ".join(f"{_label(field).capitalize()}: {value}." for field, value in facts.items())


def as_your_sentences(name: str, facts: Facts) -> str:
    """A name with an age, and `Your …` for each other fact."""
    age = f", {facts['age']} years old" if "age" in facts else ""
    rest = "".join(f" Your {_label(field)}: {value}." for field, value in facts.items() if field != "age")
    return f"You are {name}{age}.{rest}"


def as_one_line(name: str, facts: Facts) -> str:
    """All facts in one line."""
    return "You are a person. " + "; ".join(f"{_label(field)}: {value}" for field, value in facts.items()) + "."


def as_named_line(name: str, facts: Facts) -> str:
    """The name, the facts, and who is spoken to."""
    return f"{name}: " + ", ".join(f"{_label(field)} {value}" for field, value in facts.items()) + f". You are {name}."


STYLES: tuple[Callable[[str, Facts], str], ...] = (
    as_list,
    as_sentences,
    as_your_sentences,
    as_one_line,
    as_named_line,
)
"""The forms among which a style is drawn."""


def write_profile(facts: Facts, rng: np.random.Generator) -> str:
    """A profile in a random form, with a few facts left out at random and their order changed half of the time.

    Example:
        >>> write_profile({"age": "40"}, np.random.default_rng(1)) != ""
        True
    """
    known = [field for field, value in facts.items() if value]
    share = rng.random()
    if share < _SPARSE:
        known = [known[place] for place in rng.permutation(len(known))[: int(rng.integers(0, 4))]]
    else:
        known = [field for field in known if rng.random() >= _DROPPED]
        if rng.random() < 0.5:
            known = [known[place] for place in rng.permutation(len(known))]
    name = str(rng.choice(_NAMES))
    if not known:
        return str(rng.choice(_NOBODY)).format(name=name)
    style = STYLES[int(rng.integers(len(STYLES)))]
    return style(name, {field: facts[field] for field in known})
