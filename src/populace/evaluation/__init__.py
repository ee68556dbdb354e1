"""How like people: human answers, predictions in their place, and scores with floor, ceiling and intervals."""

from populace.evaluation.curve_distances import CurveDistance, curve_distances
from populace.evaluation.decision_tasks import DecisionTask, read_decision_tasks
from populace.evaluation.fidelity_report import FidelityReport
from populace.evaluation.floors import cross_fitted_floor, fit_floor
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers
from populace.evaluation.human_curves import HumanCurve
from populace.evaluation.human_decisions import DecisionSplit, HumanDecisions
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import cluster_estimate
from populace.evaluation.scores import (
    Cells,
    Fidelity,
    calibration,
    fidelity,
    population_distances,
    score_cells,
)

__all__ = [
    "Cells",
    "CurveDistance",
    "DecisionSplit",
    "DecisionTask",
    "EvaluationItem",
    "Fidelity",
    "FidelityReport",
    "HumanAnswers",
    "HumanCurve",
    "HumanDecisions",
    "Predictions",
    "calibration",
    "cluster_estimate",
    "cross_fitted_floor",
    "curve_distances",
    "fidelity",
    "fit_floor",
    "population_distances",
    "read_decision_tasks",
    "score_cells",
]
