"""From one run to a conclusion: designs, arms, seeds, effects with intervals, and what they are worth."""

from populace.experiments.arms import Arm
from populace.experiments.calibration import Calibration, calibrate
from populace.experiments.designs import Design
from populace.experiments.experiment import Experiment, Stop
from populace.experiments.outcomes import Outcome
from populace.experiments.reporting import Report, report
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, robust
from populace.experiments.running import Onlooker
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureDesign, design_structure
from populace.experiments.validation import Check, ValidityCard, validity

__all__ = [
    "Arm",
    "Calibration",
    "Check",
    "Design",
    "Experiment",
    "Onlooker",
    "Outcome",
    "Report",
    "Results",
    "Robustness",
    "Stop",
    "StructureDesign",
    "StructureStudy",
    "ValidityCard",
    "calibrate",
    "design_structure",
    "report",
    "robust",
    "structure_or_data",
    "validity",
]
