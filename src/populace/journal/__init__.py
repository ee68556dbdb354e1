"""The run folder: manifest, settings, interventions, committed steps, forks."""

from populace.journal.interventions import (
    AddPeople,
    Announce,
    AnyIntervention,
    ChangeParameters,
    Intervention,
    RemovePeople,
    Selection,
    SetColumns,
    SwapModel,
    Target,
    read_interventions,
)
from populace.journal.journal import Journal, MemoryRecord, Record
from populace.journal.manifest import Manifest, Parent, Status, Stop, StopKind, author, environment, now
from populace.journal.settings import DECIDERS, Decider, Regime, RunSettings

__all__ = [
    "DECIDERS",
    "AddPeople",
    "Announce",
    "AnyIntervention",
    "ChangeParameters",
    "Decider",
    "Intervention",
    "Journal",
    "Manifest",
    "MemoryRecord",
    "Parent",
    "Record",
    "Regime",
    "RemovePeople",
    "RunSettings",
    "Selection",
    "SetColumns",
    "Status",
    "Stop",
    "StopKind",
    "SwapModel",
    "Target",
    "author",
    "environment",
    "now",
    "read_interventions",
]
