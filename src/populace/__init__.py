"""Populace: study societies of language-model agents, and trust what you see.

Public names are resolved on first use, so that `import populace` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from populace.broker import Budget
    from populace.errors import PopulaceError
    from populace.interventions import Add, Announce, Change, Remove, Selection, Set, Swap
    from populace.models import Scripted
    from populace.people import Network, People, Person, mix
    from populace.questions import Answers, Choice, Form, Number, Rating, Text, Utterance
    from populace.run import Run, simulate
    from populace.scenario import Field, Finding, Scenario, metric

_HOMES = {
    "populace.broker": ("Budget",),
    "populace.errors": ("PopulaceError",),
    "populace.interventions": ("Add", "Announce", "Change", "Remove", "Selection", "Set", "Swap"),
    "populace.models": ("Scripted",),
    "populace.people": ("Network", "People", "Person", "mix"),
    "populace.questions": ("Answers", "Choice", "Form", "Number", "Rating", "Text", "Utterance"),
    "populace.run": ("Run", "simulate"),
    "populace.scenario": ("Field", "Finding", "Scenario", "metric"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Add",
    "Announce",
    "Answers",
    "Budget",
    "Change",
    "Choice",
    "Field",
    "Finding",
    "Form",
    "Network",
    "Number",
    "People",
    "Person",
    "PopulaceError",
    "Rating",
    "Remove",
    "Run",
    "Scenario",
    "Scripted",
    "Selection",
    "Set",
    "Swap",
    "Text",
    "Utterance",
    "metric",
    "mix",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'populace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
