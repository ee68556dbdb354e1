"""The code that an experiment names: its scenario, its models and its measures."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from populace.base.trust import Code, TrustFile, module_code
from populace.engine.discovery import scenario_code
from populace.models import model_code

_MEASURE = re.compile(r"[\w.]+:\w+")


def require_trust(data: Mapping[str, Any], trusted: TrustFile, subject: str) -> None:
    """Raise UntrustedCodeError if the data of an experiment names code that is not trusted."""
    trusted.require(list(dict.fromkeys(plan_code(data))), subject)


def plan_code(data: Mapping[str, Any]) -> Iterator[Code]:
    """All code that an experiment would import, and the servers that it would call.

    Example:
        >>> data = {"scenario": "norms", "model": "scripted:uniform", "outcomes": ["my_measures:spread"]}
        >>> [code.name for code in plan_code(data)]
        ['my_measures:spread']
    """
    scenario = data.get("scenario")
    if isinstance(scenario, str):
        yield from scenario_code(scenario)
    outcomes = data.get("outcomes")
    for outcome in outcomes if isinstance(outcomes, list) else [outcomes]:
        measure = outcome.get("measure") if isinstance(outcome, Mapping) else outcome
        if isinstance(measure, str) and _MEASURE.fullmatch(measure.strip()):
            yield module_code(measure.strip(), measure.strip().partition(":")[0])
    for name, text in _texts(data, ()):
        # An address is only called as a model; a script is recognised anywhere.
        if "model" in name or "models" in name or text.startswith("scripted:"):
            yield from model_code(text)


def _texts(value: Any, name: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text in the data with the keys that lead to it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(part, (*name, str(key)))
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _texts(part, name)
    elif isinstance(value, str):
        yield name, value
