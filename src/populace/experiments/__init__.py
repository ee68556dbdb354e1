"""Experiments: designs, arms and seeds; effects with intervals; validity cards and reports."""

from populace.experiments.analyses import Analysis
from populace.experiments.analysis_plan import AnalysisPlan, Exclusion, PlanContrast, PlanRecord
from populace.experiments.arms import Arm
from populace.experiments.calibration import Calibration, calibrate
from populace.experiments.designs import Design
from populace.experiments.execution import ExperimentObserver
from populace.experiments.experiment import Experiment
from populace.experiments.export import export_results
from populace.experiments.factorials import factorial_effects
from populace.experiments.families import family_effects
from populace.experiments.methods import methods_text
from populace.experiments.outcomes import Outcome
from populace.experiments.panel import experiment_run, metric_panel, people_panel
from populace.experiments.plan import ExperimentPlan, StoppingRule
from populace.experiments.plan_file import shipped_experiments
from populace.experiments.planned import planned_effects
from populace.experiments.reports import Report, report
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, check_robustness
from populace.experiments.specifications import SpecificationCurve, specification_curve
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureDesign, StructureSettings, design_structure
from populace.experiments.validation import Check, ValidityCard, validity

__all__ = [
    "Analysis",
    "AnalysisPlan",
    "Arm",
    "Calibration",
    "Check",
    "Design",
    "Exclusion",
    "Experiment",
    "ExperimentObserver",
    "ExperimentPlan",
    "Outcome",
    "PlanContrast",
    "PlanRecord",
    "Report",
    "Results",
    "Robustness",
    "SpecificationCurve",
    "StoppingRule",
    "StructureDesign",
    "StructureSettings",
    "StructureStudy",
    "ValidityCard",
    "calibrate",
    "check_robustness",
    "design_structure",
    "experiment_run",
    "export_results",
    "factorial_effects",
    "family_effects",
    "methods_text",
    "metric_panel",
    "people_panel",
    "planned_effects",
    "report",
    "shipped_experiments",
    "specification_curve",
    "structure_or_data",
    "validity",
]
