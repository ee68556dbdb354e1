"""Question types, and how replies are read as answers."""

from populace.questions.allocation import Allocation
from populace.questions.answers import Answers
from populace.questions.base import STATUS_DTYPE, STATUSES, VALID, Answer, AnswerStatus, Question
from populace.questions.finite import LABELS, Arrangement, Choice, Finite, Rating
from populace.questions.form import Form
from populace.questions.number import Number
from populace.questions.scoring import (
    LOW_MASS,
    NO_MASS,
    Mode,
    Scores,
    TokenOwners,
    is_one,
    mode_of,
    score,
    tally,
    tally_all,
    tell_ten_from_one,
    token_owner,
)
from populace.questions.speech import Speech
from populace.questions.text import Text
from populace.questions.utterance import Utterance, cleaning_counts

__all__ = [
    "LABELS",
    "LOW_MASS",
    "NO_MASS",
    "STATUSES",
    "STATUS_DTYPE",
    "VALID",
    "Allocation",
    "Answer",
    "AnswerStatus",
    "Answers",
    "Arrangement",
    "Choice",
    "Finite",
    "Form",
    "Mode",
    "Number",
    "Question",
    "Rating",
    "Scores",
    "Speech",
    "Text",
    "TokenOwners",
    "Utterance",
    "cleaning_counts",
    "is_one",
    "mode_of",
    "score",
    "tally",
    "tally_all",
    "tell_ten_from_one",
    "token_owner",
]
