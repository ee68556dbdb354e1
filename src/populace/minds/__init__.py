"""How a person becomes a prompt, and what a person remembers."""

from populace.minds.forgetting import Capacity, Decay, Forgetting, Summarise, replace
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory import MemoryStream
from populace.minds.mind import HEARD, Mind, Prompts, Situation
from populace.minds.retrieval import RETRIEVALS, Retrieval, retrieval
from populace.minds.shelf import KINDS

__all__ = [
    "HEARD",
    "KINDS",
    "RETRIEVALS",
    "Capacity",
    "Decay",
    "Forgetting",
    "MemoryStream",
    "Mind",
    "Prompts",
    "Retrieval",
    "Situation",
    "Summarise",
    "importance_question",
    "rate_by_rule",
    "replace",
    "retrieval",
]
