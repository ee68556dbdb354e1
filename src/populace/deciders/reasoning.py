"""Reasoning in words before the answer, in a turn of its own."""

from dataclasses import replace

from populace.broker import Broker
from populace.deciders.decision import final_status
from populace.models import ChatMessage, Failure, Model, Request
from populace.prompting import Conversations, Inquiry, rows_for_sampling, turn
from populace.questions import Finite

_REASONING_TOKENS = 120


async def think_aloud(inquiry: Inquiry, rows: Conversations, model: Model, broker: Broker) -> Conversations:
    """Let every row think aloud first, and ask for the answer in a second turn."""
    rows = rows_for_sampling(inquiry, rows)
    requests = [
        Request(messages, max_tokens=_REASONING_TOKENS, temperature=inquiry.temperature, seed=seed)
        for messages, seed in zip(rows.messages(), rows.seeds or [], strict=True)
    ]
    purpose = f"{inquiry.purpose}: reasoning"
    _, outcomes = await broker.fetch(model, requests, purpose, on_failure=inquiry.on_failure)
    question = inquiry.question
    labels = rows.mode == "labels"
    instruction = question.instruction(labels) if isinstance(question, Finite) else question.instruction()
    thoughts = [None if isinstance(outcome, Failure) else outcome.text.strip() for outcome in outcomes]
    second = turn("user", f"Now give your answer. {instruction}")
    turns: list[tuple[ChatMessage, ...]] = [(turn("assistant", thought or "…"), second) for thought in thoughts]
    return replace(rows, turns=turns, reasoning=thoughts, failures=[final_status(outcome) for outcome in outcomes])
