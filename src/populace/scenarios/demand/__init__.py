"""The demand study: everyday goods at many prices, in every design, beside human demand curves."""

from populace.scenarios.demand.demand import Demand
from populace.scenarios.demand.distances import CurveDistance, curve_distances
from populace.scenarios.demand.human_curve import HumanCurve
from populace.scenarios.demand.study import demand_study

__all__ = ["CurveDistance", "Demand", "HumanCurve", "curve_distances", "demand_study"]
