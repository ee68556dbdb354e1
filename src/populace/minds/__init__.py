"""What a person brings to a question: who they are, and what they remember, conclude, plan and say."""

from populace.minds.agenda import Action, Agenda
from populace.minds.dialogue import Dialogue, next_in_turn
from populace.minds.forgetting import Capacity, Decay, ForgettingPolicy, Summaries, replace_with_summaries
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory import Memory
from populace.minds.memory_columns import KINDS
from populace.minds.memory_stream import MemoryStream
from populace.minds.mind import Mind
from populace.minds.parts import (
    Asker,
    DialoguePart,
    Line,
    MemoryPart,
    PlanningPart,
    ReflectionPart,
    ReflectiveMemory,
    Talk,
)
from populace.minds.personas import elaborate, expand
from populace.minds.planning import Planning
from populace.minds.recollection import Recollection
from populace.minds.reflection import Reflection
from populace.minds.retrieval import RETRIEVALS, Retrieval, retrieval_preset

__all__ = [
    "KINDS",
    "RETRIEVALS",
    "Action",
    "Agenda",
    "Asker",
    "Capacity",
    "Decay",
    "Dialogue",
    "DialoguePart",
    "ForgettingPolicy",
    "Line",
    "Memory",
    "MemoryPart",
    "MemoryStream",
    "Mind",
    "Planning",
    "PlanningPart",
    "Recollection",
    "Reflection",
    "ReflectionPart",
    "ReflectiveMemory",
    "Retrieval",
    "Summaries",
    "Talk",
    "elaborate",
    "expand",
    "importance_question",
    "next_in_turn",
    "rate_by_rule",
    "replace_with_summaries",
    "retrieval_preset",
]
