"""Signs that the level of a treatment was set independently of everything else, and how much they weigh together.

A wording that says it outright ("drawn at random") is recognised by a phrase of `lint_phrases.toml`. Most wordings say
it with several hints instead: a machine or an irrelevant feature decides, somebody denies that anything was considered,
other people have other levels, the level is invented, the rest is the same. One hint is found in ordinary prompts too;
hints of several kinds are not. So the kinds are weighed (`lint_signs.toml`), separately for the two ways to set a
level: a mechanism, and a comparison in which all else is equal.
"""

import functools
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

SETTLED = 1.5
"""The weight of signs that settles where a level comes from."""

LEADING = 1.0
"""The weight that one of the kinds must have at least: kinds below it only support others."""

_CLASS = re.compile(r"<(\w+)>")


def settling_signs(way: Literal["mechanism", "equality"], texts: Sequence[str]) -> str:
    """The phrases that together say that a level was set in this way; empty where they weigh too little.

    Example:
        >>> settling_signs("mechanism", ["A clerk picked it by the weekday."])
        'picked it by the weekday'
    """
    weights, phrases = [0.0], []
    for kind, patterns in _kinds(way).items():
        phrase = next((match.group() for p in patterns for text in texts if (match := p.search(text))), "")
        if phrase:
            weights.append(_vocabulary()[way][kind]["weight"])
            phrases.append(phrase)
    return "; ".join(phrases) if sum(weights) >= SETTLED and max(weights) >= LEADING else ""


@functools.cache
def _vocabulary() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("lint_signs.toml").read_text("utf-8"))


@functools.cache
def _kinds(way: str) -> dict[str, list[re.Pattern[str]]]:
    words = _vocabulary()["words"]
    return {
        kind: [re.compile(_CLASS.sub(lambda name: words[name[1]], p), re.IGNORECASE) for p in entry["patterns"]]
        for kind, entry in _vocabulary()[way].items()
    }
