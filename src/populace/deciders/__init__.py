"""Who answers: a model, a rule, a recording, mixed in one population by a column."""

from populace.deciders.decide import decide
from populace.deciders.decision import PROMPT_SCHEMA, Decided
from populace.deciders.draws import drawn, tempered
from populace.deciders.recorded import RecordedAsk, RecordedStep, replay
from populace.deciders.split import DECIDERS

__all__ = [
    "DECIDERS",
    "PROMPT_SCHEMA",
    "Decided",
    "RecordedAsk",
    "RecordedStep",
    "decide",
    "drawn",
    "replay",
    "tempered",
]
