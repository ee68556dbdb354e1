"""Answers an inquiry by the decider of each person."""

from populace.base.errors import InvalidAnswerError, PeopleError, QuestionError, UsageError
from populace.broker import Broker
from populace.deciders.decision import InquiryResult, merge
from populace.deciders.recorded import RecordedStep, decide_recorded
from populace.deciders.rule import decide_by_rule
from populace.deciders.sampled import decide_sampled
from populace.deciders.scored import decide_scored
from populace.prompting import Inquiry
from populace.questions import Finite


async def decide(inquiry: Inquiry, broker: Broker, recording: RecordedStep | None = None) -> InquiryResult:
    """Answer an inquiry by model, by rule and from a recording, as the population says.

    Args:
        inquiry: What is asked, of whom.
        broker: Calls the models.
        recording: The same step of another run, for people whose decider is a recording.
    """
    if not len(inquiry.people):
        raise QuestionError(f"{inquiry.question.text!r} was put to nobody.", "Check first whether anybody is selected.")
    parts = []
    for rows, decider, part in inquiry.by_decider():
        if decider == "rule":
            parts.append((rows, decide_by_rule(part)))
        elif decider == "replay":
            parts.append((rows, decide_recorded(part, recording)))
    for rows, spec, part in inquiry.by_model():
        parts.append((rows, await decide_by_model(part, spec, broker)))
    result = merge(inquiry, parts)
    broker.usage.decisions += len(inquiry.people)
    if inquiry.invalid == "raise":
        _refuse_invalid(inquiry, result)
    return result


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
