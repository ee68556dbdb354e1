"""From one run to a conclusion: designs, arms, seeds, effects with intervals, and what they are worth."""

from populace.experiments.arms import Arm
from populace.experiments.calibration import Calibration, calibrate
from populace.experiments.designs import Design
from populace.experiments.experiment import Experiment, Stop
from populace.experiments.outcomes import Outcome
from populace.experiments.results import Results
from populace.experiments.robustness import Robustness, robust
from populace.experiments.running import Onlooker
from populace.experiments.structure import StructureStudy, structure_or_data
from populace.experiments.structure_design import StructureDesign, design_structure

__all__ = [
    "Arm",
    "Calibration",
    "Design",
    "Experiment",
    "Onlooker",
    "Outcome",
    "Results",
    "Robustness",
    "Stop",
    "StructureDesign",
    "StructureStudy",
    "calibrate",
    "design_structure",
    "robust",
    "structure_or_data",
]
