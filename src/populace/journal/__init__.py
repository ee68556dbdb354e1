"""The run folder: manifest, settings, interventions, committed steps, forks."""

from populace.journal.binding import check_end, damage, verify_journal
from populace.journal.intervention import Intervention, Target
from populace.journal.intervention_list import AnyIntervention, read_interventions
from populace.journal.interventions import (
    NOBODY_SELECTED,
    AddPeople,
    Announce,
    ChangeParameters,
    ChangeThing,
    InnerVoice,
    RemovePeople,
    SetColumns,
    SwapModel,
)
from populace.journal.journal import Journal, append_line
from populace.journal.manifest import Manifest, Parent, Status, Stop, StopKind, author, environment, now
from populace.journal.record import MemoryRecord, Record
from populace.journal.segments import READ_ERRORS
from populace.journal.selection import Selection
from populace.journal.settings import DECIDERS, Decider, OnFailure, Regime, RunSettings

__all__ = [
    "DECIDERS",
    "NOBODY_SELECTED",
    "READ_ERRORS",
    "AddPeople",
    "Announce",
    "AnyIntervention",
    "ChangeParameters",
    "ChangeThing",
    "Decider",
    "InnerVoice",
    "Intervention",
    "Journal",
    "Manifest",
    "MemoryRecord",
    "OnFailure",
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
    "append_line",
    "author",
    "check_end",
    "damage",
    "environment",
    "now",
    "read_interventions",
    "verify_journal",
]
