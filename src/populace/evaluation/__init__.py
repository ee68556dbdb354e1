"""How like people: human answers, predictions in their place, and scores with floor, ceiling and intervals."""

from populace.evaluation.human_answers import EvaluationItem, HumanAnswers
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
    "EvaluationItem",
    "Fidelity",
    "HumanAnswers",
    "Predictions",
    "calibration",
    "cluster_estimate",
    "fidelity",
    "population_distances",
    "score_cells",
]
