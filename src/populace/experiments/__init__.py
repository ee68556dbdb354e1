"""Experiments: designs, arms and seeds; effects with intervals; validity cards and reports."""

from populace.experiments.analyses import Analysis
from populace.experiments.analysis_plan import AnalysisPlan, Exclusion, FrozenPlan, PlannedContrast
from populace.experiments.arms import Arm
from populace.experiments.calibration import Calibration, calibrate
from populace.experiments.designs import Design
from populace.experiments.execution import ExperimentObserver
from populace.experiments.experiment import Experiment
from populace.experiments.export import export_results
from populace.experiments.outcomes import Outcome
from populace.experiments.plan import ExperimentPlan, StoppingRule
from populace.experiments.plan_file import shipped_experiments
from populace.experiments.reports import Report, report
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, check_robustness
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
    "FrozenPlan",
    "Outcome",
    "PlannedContrast",
    "Report",
    "Results",
    "Robustness",
    "StoppingRule",
    "StructureDesign",
    "StructureSettings",
    "StructureStudy",
    "ValidityCard",
    "calibrate",
    "check_robustness",
    "design_structure",
    "export_results",
    "report",
    "shipped_experiments",
    "structure_or_data",
    "validity",
]
