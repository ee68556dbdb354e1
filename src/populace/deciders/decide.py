"""Answers an inquiry by the decider of each person."""

import asyncio

import numpy as np
import numpy.typing as npt

from populace.base.errors import InvalidAnswerError, PeopleError, QuestionError, UsageError
from populace.broker import Broker
from populace.deciders.decision import InquiryResult, merge
from populace.deciders.desk import DeskReplies
from populace.deciders.human import decide_by_hand
from populace.deciders.recorded import RecordedStep, decide_recorded
from populace.deciders.rule import decide_by_rule
from populace.deciders.sampled import decide_sampled
from populace.deciders.scored import decide_scored
from populace.prompting import Inquiry
from populace.questions import Finite


async def decide(
    inquiry: Inquiry,
    broker: Broker,
    recording: RecordedStep | None = None,
    replies: DeskReplies | None = None,
) -> InquiryResult:
    """Answer an inquiry by model, by rule, from a recording and by hand, as the population says.

    Args:
        inquiry: What is asked, of whom.
        broker: Calls the models.
        recording: The same step of another run, for people whose decider is a recording.
        replies: Asks somebody at a desk, for people whom somebody plays.
    """
    if not len(inquiry.people):
        raise QuestionError(f"{inquiry.question.text!r} was put to nobody.", "Check first whether anybody is selected.")
    parts, played = [], False
    for rows, decider, part in inquiry.by_decider():
        played = played or decider == "human"
        if decider == "rule":
            parts.append((rows, decide_by_rule(part)))
        elif decider == "replay":
            parts.append((rows, decide_recorded(part, recording)))
    if played:
        parts += await _by_model_and_hand(inquiry, broker, replies)
    else:
        for rows, spec, part in inquiry.by_model():
            parts.append((rows, await decide_by_model(part, spec, broker)))
    result = merge(inquiry, parts)
    broker.usage.decisions += len(inquiry.people)
    if inquiry.invalid == "raise":
        _refuse_invalid(inquiry, result)
    return result


async def _by_model_and_hand(
    inquiry: Inquiry, broker: Broker, replies: DeskReplies | None
) -> list[tuple[npt.NDArray[np.int64], InquiryResult]]:
    """Answer by model and by hand; whoever sits at a desk is asked while models work for the others."""
    by_hand = asyncio.ensure_future(decide_by_hand(inquiry, replies))
    try:
        parts = [(rows, await decide_by_model(part, spec, broker)) for rows, spec, part in inquiry.by_model()]
        return [*parts, *await by_hand]
    finally:
        by_hand.cancel()
        await asyncio.gather(by_hand, return_exceptions=True)


async def decide_by_model(inquiry: Inquiry, spec: str, broker: Broker) -> InquiryResult:
    """Answer by one model: with a distribution where the question and the model allow it."""
    try:
        model = await broker.model(spec)
    except UsageError as error:
        if "model" not in inquiry.people:
            raise
        raise PeopleError(
            f"the column 'model' of the people says which language model answers for a person, and {spec!r} is none: "
            f"{error.what}",
            "If your column means something else, give it another name.",
        ) from error
    question = inquiry.question
    if isinstance(question, Finite) and model.capabilities.top_tokens:
        return await decide_scored(inquiry, question, model, broker)
    return await decide_sampled(inquiry, model, broker)


def _refuse_invalid(inquiry: Inquiry, result: InquiryResult) -> None:
    bad = result.answers.frame.filter(~result.answers.valid)
    if bad.height:
        raise InvalidAnswerError(
            f"{inquiry.path}: the answer of person {bad['id'][0]!r} to {inquiry.question.text!r} is "
            f"{bad['status'][0]}, one of {bad.height} invalid answers, and the scenario says invalid='raise'.",
        )
