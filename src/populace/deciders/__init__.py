"""Deciders answer a question: a model, a rule, a recording or somebody at a desk, as a column says for each person."""

from populace.deciders.decide import decide
from populace.deciders.decision import PROMPT_SCHEMA, InquiryResult, apply_temperature, draw_options, rejected_prompts
from populace.deciders.desk import Desk, DeskQuestion, DeskReplies, FunctionDesk
from populace.deciders.recorded import RecordedAsk, RecordedStep, replay

__all__ = [
    "PROMPT_SCHEMA",
    "Desk",
    "DeskQuestion",
    "DeskReplies",
    "FunctionDesk",
    "InquiryResult",
    "RecordedAsk",
    "RecordedStep",
    "apply_temperature",
    "decide",
    "draw_options",
    "rejected_prompts",
    "replay",
]
