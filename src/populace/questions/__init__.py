"""What can be asked, and how replies are read."""

from populace.questions.answers import Answers
from populace.questions.base import STATUS_DTYPE, STATUSES, VALID, Answer, Question, Status
from populace.questions.finite import LABELS, Arrangement, Choice, Finite, Rating
from populace.questions.form import Form
from populace.questions.number import Number
from populace.questions.scoring import LOW_MASS, NO_MASS, Mode, Scores, mode_for, owner_of, score, tally
from populace.questions.text import Text
from populace.questions.utterance import Utterance, cleanings

__all__ = [
    "LABELS",
    "LOW_MASS",
    "NO_MASS",
    "STATUSES",
    "STATUS_DTYPE",
    "VALID",
    "Answer",
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
    "Status",
    "Text",
    "Utterance",
    "cleanings",
    "mode_for",
    "owner_of",
    "score",
    "tally",
]
