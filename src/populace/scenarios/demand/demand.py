"""Everyday goods at eleven prices: does the share of shoppers who buy fall with the price, as it does among people?"""

from populace.causal.scenario import CausalScenario
from populace.causal.study import CausalStudy
from populace.engine.scenario import Field
from populace.scenarios.demand.study import demand_study, shipped_shoppers


def _small_study() -> CausalStudy:
    return demand_study(shoppers=None)


class Demand(CausalScenario):
    """Shoppers meet products at 0 to 200 % of their regular price, and buy or do not buy."""

    study: CausalStudy = Field(default_factory=_small_study, description="The declaration of the study: a YAML file.")

    @classmethod
    def title(cls) -> str:
        """The name in run names."""
        return "demand"
