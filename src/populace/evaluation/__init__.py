"""How like people: human answers, predictions in their place, and scores with floor, ceiling and intervals."""

from populace.evaluation.arms import Arm, personas
from populace.evaluation.curve_distances import HumanDistance, curve_distances
from populace.evaluation.decision_tasks import DecisionTask, read_decision_tasks
from populace.evaluation.demand_report import DemandReport
from populace.evaluation.effects import ExperimentEffect, effect_agreement, experiment_effect
from populace.evaluation.fidelity_report import FidelityReport
from populace.evaluation.floors import cross_fitted_floor, fit_floor
from populace.evaluation.human_answers import EvaluationItem, HumanAnswers
from populace.evaluation.human_curves import HumanCurve
from populace.evaluation.human_decisions import DecisionSplit, HumanDecisions
from populace.evaluation.leakage import Leak, find_leaks
from populace.evaluation.panel_study import PanelStudy
from populace.evaluation.panels import PanelItems, read_panel
from populace.evaluation.parity import Parity, parity
from populace.evaluation.population import covariance_structure, distortions, order_effect, response_style
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
from populace.evaluation.sensitivity import GroupFlip, GroupSensitivity, PeopleGroup, group_sensitivity
from populace.evaluation.unit_scores import unit_scores

__all__ = [
    "Arm",
    "Cells",
    "DecisionSplit",
    "DecisionTask",
    "DemandReport",
    "EvaluationItem",
    "ExperimentEffect",
    "Fidelity",
    "FidelityReport",
    "GroupFlip",
    "GroupSensitivity",
    "HumanAnswers",
    "HumanCurve",
    "HumanDecisions",
    "HumanDistance",
    "Leak",
    "PanelItems",
    "PanelStudy",
    "Parity",
    "PeopleGroup",
    "Predictions",
    "calibration",
    "cluster_estimate",
    "covariance_structure",
    "cross_fitted_floor",
    "curve_distances",
    "distortions",
    "effect_agreement",
    "experiment_effect",
    "fidelity",
    "find_leaks",
    "fit_floor",
    "group_sensitivity",
    "order_effect",
    "parity",
    "personas",
    "population_distances",
    "read_decision_tasks",
    "read_panel",
    "response_style",
    "score_cells",
    "unit_scores",
]
