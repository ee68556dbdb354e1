"""Estimates with their intervals, from tables to tables; nothing here knows of runs."""

from __future__ import annotations

from populace.statistics.agreement import Agreement, agreement
from populace.statistics.anova import Anova, one_way, tukey
from populace.statistics.correction import adjust
from populace.statistics.decomposition import Decomposition, decompose
from populace.statistics.effects import Effect, difference
from populace.statistics.equivalence import Equivalence, equivalent
from populace.statistics.intervals import Estimate, bootstrap, mean, proportion
from populace.statistics.mixed import Coefficient, Mixed, mixed
from populace.statistics.outcomes import (
    EndStates,
    Fluctuation,
    PathDependence,
    end_states,
    fluctuation,
    path_dependence,
)
from populace.statistics.power import power, replicates_for_width, replicates_needed
from populace.statistics.sensitivity import Sensitivity, sobol_indices, sobol_sample

__all__ = [
    "Agreement",
    "Anova",
    "Coefficient",
    "Decomposition",
    "Effect",
    "EndStates",
    "Equivalence",
    "Estimate",
    "Fluctuation",
    "Mixed",
    "PathDependence",
    "Sensitivity",
    "adjust",
    "agreement",
    "bootstrap",
    "decompose",
    "difference",
    "end_states",
    "equivalent",
    "fluctuation",
    "mean",
    "mixed",
    "one_way",
    "path_dependence",
    "power",
    "proportion",
    "replicates_for_width",
    "replicates_needed",
    "sobol_indices",
    "sobol_sample",
    "tukey",
]
