"""Populace: study societies of language-model agents, and trust what you see.

`import populace as pc` is enough for writing a scenario, running it and reading what came of it. Public names are
resolved on first use, so that the import stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from populace.base.errors import PopulaceError
    from populace.broker import CallSettings
    from populace.engine.ask_again import DecisionChanges
    from populace.engine.run import Run, open_run, simulate
    from populace.engine.scenario import Field, ReportTable, Scenario, metric
    from populace.engine.session import Session, in_thread
    from populace.engine.simulation import Observer
    from populace.engine.society import Society
    from populace.engine.workspace import Workspace
    from populace.experiments import Experiment, Outcome, Results, report, validity
    from populace.journal import (
        AddPeople,
        Announce,
        ChangeParameters,
        RemovePeople,
        RunSettings,
        Selection,
        SetColumns,
        SwapModel,
    )
    from populace.minds import Memory, Mind
    from populace.models import Model, Scripted, open_model
    from populace.people import Network, People, Person, draw_column
    from populace.prompting import Variation
    from populace.questions import Answers, Choice, Form, Number, Rating, Text, Utterance
    from populace.runs.compare import compare
    from populace.runs.export import export
    from populace.runs.overview import overview
    from populace.runs.reader import RunReader
    from populace.tools.estimate import estimate
    from populace.tools.probe import probe

_HOMES = {
    "populace.base.errors": ("PopulaceError",),
    "populace.broker": ("CallSettings",),
    "populace.engine.ask_again": ("DecisionChanges",),
    "populace.engine.run": ("Run", "open_run", "simulate"),
    "populace.engine.scenario": ("Field", "ReportTable", "Scenario", "metric"),
    "populace.engine.session": ("Session", "in_thread"),
    "populace.engine.simulation": ("Observer",),
    "populace.engine.society": ("Society",),
    "populace.engine.workspace": ("Workspace",),
    "populace.experiments": ("Experiment", "Outcome", "Results", "report", "validity"),
    "populace.journal": (
        "AddPeople",
        "Announce",
        "ChangeParameters",
        "RemovePeople",
        "RunSettings",
        "Selection",
        "SetColumns",
        "SwapModel",
    ),
    "populace.minds": ("Memory", "Mind"),
    "populace.models": ("Model", "Scripted", "open_model"),
    "populace.people": ("Network", "People", "Person", "draw_column"),
    "populace.prompting": ("Variation",),
    "populace.questions": ("Answers", "Choice", "Form", "Number", "Rating", "Text", "Utterance"),
    "populace.runs.compare": ("compare",),
    "populace.runs.export": ("export",),
    "populace.runs.overview": ("overview",),
    "populace.runs.reader": ("RunReader",),
    "populace.tools.estimate": ("estimate",),
    "populace.tools.probe": ("probe",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AddPeople",
    "Announce",
    "Answers",
    "CallSettings",
    "ChangeParameters",
    "Choice",
    "DecisionChanges",
    "Experiment",
    "Field",
    "Form",
    "Memory",
    "Mind",
    "Model",
    "Network",
    "Number",
    "Observer",
    "Outcome",
    "People",
    "Person",
    "PopulaceError",
    "Rating",
    "RemovePeople",
    "ReportTable",
    "Results",
    "Run",
    "RunReader",
    "RunSettings",
    "Scenario",
    "Scripted",
    "Selection",
    "Session",
    "SetColumns",
    "Society",
    "SwapModel",
    "Text",
    "Utterance",
    "Variation",
    "Workspace",
    "compare",
    "draw_column",
    "estimate",
    "export",
    "in_thread",
    "metric",
    "open_model",
    "open_run",
    "overview",
    "probe",
    "report",
    "simulate",
    "validity",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'populace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
