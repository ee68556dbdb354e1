"""Causal designs: a treatment in a question, declared once, asked in every design.

The modules stand in the order in which a study comes about: `study` (the declaration), `wording` (what each design
says), `participants` (who meets what, as columns), `lint` (what prompts
leave open), `scenario` (a run of one design).
"""

from populace.causal.lint import LevelPrompt, LintFinding, lint_prompts, lint_study
from populace.causal.participants import forecasters, participants
from populace.causal.scenario import CausalScenario, DesignScenario
from populace.causal.study import CausalStudy, Covariate, Treatment
from populace.causal.wording import DESIGNS, CausalDesign, DesignWording, design_wording, drift_wording

__all__ = [
    "DESIGNS",
    "CausalDesign",
    "CausalScenario",
    "CausalStudy",
    "Covariate",
    "DesignScenario",
    "DesignWording",
    "LevelPrompt",
    "LintFinding",
    "Treatment",
    "design_wording",
    "drift_wording",
    "forecasters",
    "lint_prompts",
    "lint_study",
    "participants",
]
