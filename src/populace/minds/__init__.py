"""What a person brings to a question: who they are, and what they remember, conclude, plan and say."""

from populace.minds.agenda import Action, Agenda, clock
from populace.minds.asking import Asks
from populace.minds.dialogue import Dialogue, alternate
from populace.minds.forgetting import Capacity, Decay, Forgetting, Summarise, replace
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory import MemoryStream
from populace.minds.mind import Mind
from populace.minds.parts import Converses, Plans, Reflects, Remembers
from populace.minds.personas import elaborate, expand
from populace.minds.planning import Planning
from populace.minds.reflection import Reflection
from populace.minds.remembering import Memory
from populace.minds.retrieval import RETRIEVALS, Retrieval, retrieval
from populace.minds.shelf import KINDS
from populace.minds.talk import Line, Talk

__all__ = [
    "KINDS",
    "RETRIEVALS",
    "Action",
    "Agenda",
    "Asks",
    "Capacity",
    "Converses",
    "Decay",
    "Dialogue",
    "Forgetting",
    "Line",
    "Memory",
    "MemoryStream",
    "Mind",
    "Planning",
    "Plans",
    "Reflection",
    "Reflects",
    "Remembers",
    "Retrieval",
    "Summarise",
    "Talk",
    "alternate",
    "clock",
    "elaborate",
    "expand",
    "importance_question",
    "rate_by_rule",
    "replace",
    "retrieval",
]
