"""Next actions in web sessions: predicted from what people saw and did, and scored against what they did then."""

from populace.evaluation.next_action.answered_questions import answered_questions, shuffle_reasoning
from populace.evaluation.next_action.asking import predict_actions
from populace.evaluation.next_action.cases import NextActionCases
from populace.evaluation.next_action.comparison import compare_sessions
from populace.evaluation.next_action.predictions import (
    NextActionPredictions,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
)
from populace.evaluation.next_action.reasoning import ReasoningTraces, synthesise_reasoning
from populace.evaluation.next_action.report import NextActionReport
from populace.evaluation.next_action.scores import NextActionScores, accuracy_difference, score_next_actions

__all__ = [
    "NextActionCases",
    "NextActionPredictions",
    "NextActionReport",
    "NextActionScores",
    "ReasoningTraces",
    "accuracy_difference",
    "answered_questions",
    "compare_sessions",
    "known_preferences",
    "majority_predictions",
    "page_majority_predictions",
    "predict_actions",
    "score_next_actions",
    "shuffle_reasoning",
    "synthesise_reasoning",
]
