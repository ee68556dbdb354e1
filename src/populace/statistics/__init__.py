"""Estimates with their intervals, from tables to tables, independent of runs and scenarios."""

from populace.statistics.agreement import Agreement, agreement
from populace.statistics.anova import Anova, one_way, tukey
from populace.statistics.contrasts import contrast, marginal_weights
from populace.statistics.crossed import CrossedFit, crossed_logit, crossed_means
from populace.statistics.decomposition import Decomposition, decompose
from populace.statistics.effects import Effect, adjust, difference, p_text
from populace.statistics.effects_over import effect_over
from populace.statistics.ensembles import Fluctuation, PathDependence, fluctuation, path_dependence
from populace.statistics.equivalence import Equivalence, equivalence
from populace.statistics.factorial_tests import factorial_tests
from populace.statistics.intervals import Estimate, mean, mean_share, proportion
from populace.statistics.mixed_model import Coefficient, MixedModel, fit_mixed_model
from populace.statistics.power import power, replicates_for_effect, replicates_for_width
from populace.statistics.rankings import KruskalWallis, dunn, kendall_w, kruskal_wallis, within_blocks
from populace.statistics.regression import Regression, fit_regression
from populace.statistics.resampling import bootstrap
from populace.statistics.sensitivity import Sensitivity, sobol_indices, sobol_sample
from populace.statistics.sequential import look_levels
from populace.statistics.skill import SkillScale, true_skill, update_skills

__all__ = [
    "Agreement",
    "Anova",
    "Coefficient",
    "CrossedFit",
    "Decomposition",
    "Effect",
    "Equivalence",
    "Estimate",
    "Fluctuation",
    "KruskalWallis",
    "MixedModel",
    "PathDependence",
    "Regression",
    "Sensitivity",
    "SkillScale",
    "adjust",
    "agreement",
    "bootstrap",
    "contrast",
    "crossed_logit",
    "crossed_means",
    "decompose",
    "difference",
    "dunn",
    "effect_over",
    "equivalence",
    "factorial_tests",
    "fit_mixed_model",
    "fit_regression",
    "fluctuation",
    "kendall_w",
    "kruskal_wallis",
    "look_levels",
    "marginal_weights",
    "mean",
    "mean_share",
    "one_way",
    "p_text",
    "path_dependence",
    "power",
    "proportion",
    "replicates_for_effect",
    "replicates_for_width",
    "sobol_indices",
    "sobol_sample",
    "true_skill",
    "tukey",
    "update_skills",
    "within_blocks",
]
