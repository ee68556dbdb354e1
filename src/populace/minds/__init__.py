"""How a person becomes a prompt, and what they remember, conclude, plan and say."""

from populace.minds.dialogue import Dialogue, Line, Talk, alternate
from populace.minds.forgetting import Capacity, Decay, Forgetting, Summarise, replace
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory import MemoryStream
from populace.minds.mind import HEARD, Mind, Prompts, Situation
from populace.minds.personas import elaborate, expand
from populace.minds.planning import Action, Agenda, Planning, clock
from populace.minds.reflection import Reflection
from populace.minds.remembering import Asks, Memory
from populace.minds.retrieval import RETRIEVALS, Retrieval, retrieval
from populace.minds.shelf import KINDS

__all__ = [
    "HEARD",
    "KINDS",
    "RETRIEVALS",
    "Action",
    "Agenda",
    "Asks",
    "Capacity",
    "Decay",
    "Dialogue",
    "Forgetting",
    "Line",
    "Memory",
    "MemoryStream",
    "Mind",
    "Planning",
    "Prompts",
    "Reflection",
    "Retrieval",
    "Situation",
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
