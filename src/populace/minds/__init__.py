"""What a person brings to a question: who they are, and what they remember, conclude, plan and say."""

from populace.base.action_outcomes import ActionOutcome
from populace.minds.action_kinds import ActionAsker, ActionWorld, Actor, Acts, ActStatus, Among, BaseAction, Wait
from populace.minds.action_questions import ActionDraft, ActionRule
from populace.minds.actions import Actions
from populace.minds.agenda import Action, Agenda
from populace.minds.dialogue import AIM, Dialogue, next_in_turn
from populace.minds.everyday_actions import Give, Move, Post, Speak, Use
from populace.minds.forgetting import Capacity, Decay, ForgettingPolicy, Summaries, replace_with_summaries
from populace.minds.importance import importance_question, rate_by_rule
from populace.minds.memory import Memory
from populace.minds.memory_columns import KINDS
from populace.minds.memory_place import memories_on
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
from populace.minds.web_actions import WEB_ACTIONS, Click, Terminate, TypeAndSubmit

__all__ = [
    "AIM",
    "KINDS",
    "RETRIEVALS",
    "WEB_ACTIONS",
    "ActStatus",
    "Action",
    "ActionAsker",
    "ActionDraft",
    "ActionOutcome",
    "ActionRule",
    "ActionWorld",
    "Actions",
    "Actor",
    "Acts",
    "Agenda",
    "Among",
    "Asker",
    "BaseAction",
    "Capacity",
    "Click",
    "Decay",
    "Dialogue",
    "DialoguePart",
    "ForgettingPolicy",
    "Give",
    "Line",
    "Memory",
    "MemoryPart",
    "MemoryStream",
    "Mind",
    "Move",
    "Planning",
    "PlanningPart",
    "Post",
    "Recollection",
    "Reflection",
    "ReflectionPart",
    "ReflectiveMemory",
    "Retrieval",
    "Speak",
    "Summaries",
    "Talk",
    "Terminate",
    "TypeAndSubmit",
    "Use",
    "Wait",
    "elaborate",
    "expand",
    "importance_question",
    "memories_on",
    "next_in_turn",
    "rate_by_rule",
    "replace_with_summaries",
    "retrieval_preset",
]
