"""From one run to a conclusion: designs, arms, seeds, effects with intervals, and what they are worth."""

from populace.experiments.arms import Arm
from populace.experiments.designs import Design
from populace.experiments.experiment import Experiment, Stop
from populace.experiments.outcomes import Outcome
from populace.experiments.reporting import Report, report
from populace.experiments.results import Results
from populace.experiments.running import Onlooker
from populace.experiments.validation import Check, ValidityCard, validity

__all__ = [
    "Arm",
    "Check",
    "Design",
    "Experiment",
    "Onlooker",
    "Outcome",
    "Report",
    "Results",
    "Stop",
    "ValidityCard",
    "report",
    "validity",
]
