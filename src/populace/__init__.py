"""Populace: study societies of language-model agents, and trust what you see.

Public names are resolved on first use, so that `import populace` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from populace.base.errors import PopulaceError
    from populace.broker import Budget
    from populace.journal.interventions import (
        AddPeople,
        Announce,
        ChangeParameters,
        RemovePeople,
        Selection,
        SetColumns,
        SwapModel,
    )
    from populace.engine.run import Run, simulate
    from populace.engine.scenario import Field, ReportTable, Scenario, metric
    from populace.models import Scripted
    from populace.people import Network, People, Person, draw_column
    from populace.questions import Answers, Choice, Form, Number, Rating, Text, Utterance

_HOMES = {
    "populace.broker": ("Budget",),
    "populace.base.errors": ("PopulaceError",),
    "populace.journal.interventions": (
        "AddPeople",
        "Announce",
        "ChangeParameters",
        "RemovePeople",
        "Selection",
        "SetColumns",
        "SwapModel",
    ),
    "populace.models": ("Scripted",),
    "populace.people": ("Network", "People", "Person", "draw_column"),
    "populace.questions": ("Answers", "Choice", "Form", "Number", "Rating", "Text", "Utterance"),
    "populace.engine.run": ("Run", "simulate"),
    "populace.engine.scenario": ("Field", "ReportTable", "Scenario", "metric"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AddPeople",
    "Announce",
    "Answers",
    "Budget",
    "ChangeParameters",
    "Choice",
    "Field",
    "Form",
    "Network",
    "Number",
    "People",
    "Person",
    "PopulaceError",
    "Rating",
    "RemovePeople",
    "ReportTable",
    "Run",
    "Scenario",
    "Scripted",
    "Selection",
    "SetColumns",
    "SwapModel",
    "Text",
    "Utterance",
    "draw_column",
    "metric",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'populace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
