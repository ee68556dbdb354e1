"""The demand study: everyday goods at many prices, in every design of a causal study."""

from populace.scenarios.demand.demand import Demand
from populace.scenarios.demand.study import demand_study

__all__ = ["Demand", "demand_study"]
