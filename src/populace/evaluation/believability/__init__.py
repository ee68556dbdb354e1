"""The believability protocol: residents are interviewed with and without parts of their mind, and judges rank them."""

from populace.evaluation.believability.analysis import Believability, PositionBias
from populace.evaluation.believability.conditions import ABLATIONS, PEOPLE, STANDARD, Condition
from populace.evaluation.believability.interview_questions import InterviewQuestion, interview_questions
from populace.evaluation.believability.interviews import Interviews, hold_interviews
from populace.evaluation.believability.plan import BelievabilityPlan
from populace.evaluation.believability.report import believability_report
from populace.evaluation.believability.study import BelievabilityStudy, StudyEstimate, believability_names

__all__ = [
    "ABLATIONS",
    "PEOPLE",
    "STANDARD",
    "Believability",
    "BelievabilityPlan",
    "BelievabilityStudy",
    "Condition",
    "InterviewQuestion",
    "Interviews",
    "PositionBias",
    "StudyEstimate",
    "believability_names",
    "believability_report",
    "hold_interviews",
    "interview_questions",
]
