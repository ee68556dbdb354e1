"""Causal designs: a treatment in a question, declared once, asked in every design.

The modules stand in the order in which a study comes about: `study` (the declaration), `wording` (what each design
says), `participants` (who meets what, as columns), `lint` (what prompts leave open), `scenario` (a run of one design),
`responses` (its answers as arrays), `estimates`, `diagnostics`, `results` (all designs beside each other) and
`execution` (asking a whole study).
"""

from populace.causal.covariate import Covariate
from populace.causal.diagnostics import (
    Drift,
    Focalism,
    RangeEffect,
    covariate_effects,
    drifts,
    focalism,
    range_effect,
    range_halves,
)
from populace.causal.estimates import DesignDistance, DesignEstimate, design_distance, design_estimate
from populace.causal.execution import ask_causal_study, recorded_causal_results
from populace.causal.lint import LevelPrompt, LintFinding, lint_prompts, lint_study
from populace.causal.participants import forecasters, participants
from populace.causal.responses import Cost, Responses
from populace.causal.results import CausalResults
from populace.causal.scenario import CausalScenario, DesignScenario
from populace.causal.study import CausalStudy, Treatment
from populace.causal.wording import DESIGNS, CausalDesign, DesignWording, design_wording, drift_wording

__all__ = [
    "DESIGNS",
    "CausalDesign",
    "CausalResults",
    "CausalScenario",
    "CausalStudy",
    "Cost",
    "Covariate",
    "DesignDistance",
    "DesignEstimate",
    "DesignScenario",
    "DesignWording",
    "Drift",
    "Focalism",
    "LevelPrompt",
    "LintFinding",
    "RangeEffect",
    "Responses",
    "Treatment",
    "ask_causal_study",
    "covariate_effects",
    "design_distance",
    "design_estimate",
    "design_wording",
    "drift_wording",
    "drifts",
    "focalism",
    "forecasters",
    "lint_prompts",
    "lint_study",
    "participants",
    "range_effect",
    "range_halves",
    "recorded_causal_results",
]
