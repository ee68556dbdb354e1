"""Deciders answer a question: a model, a rule or a recording, chosen for each person by a column."""

from populace.deciders.decide import decide
from populace.deciders.decision import PROMPT_SCHEMA, InquiryResult, apply_temperature, draw_options, rejected_prompts
from populace.deciders.recorded import RecordedAsk, RecordedStep, replay

__all__ = [
    "PROMPT_SCHEMA",
    "InquiryResult",
    "RecordedAsk",
    "RecordedStep",
    "apply_temperature",
    "decide",
    "draw_options",
    "rejected_prompts",
    "replay",
]
