"""Everyday goods at eleven prices: does the share of shoppers who buy fall with the price, as it does among people?"""

import numpy as np
import polars as pl

from populace.causal.estimates import design_estimate
from populace.causal.monotonicity import monotonicity
from populace.causal.responses import Responses
from populace.causal.results import estimate_text
from populace.causal.scenario import DesignScenario
from populace.causal.study import CausalStudy
from populace.engine.scenario import Field, ReportTable
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run
from populace.scenarios.demand.products import read_products
from populace.scenarios.demand.study import PROFILE, default_shoppers, demand_study


class Demand(DesignScenario):
    """Shoppers meet everyday goods at 0 to 200 % of their regular price, and buy them or not.

    Example:
        >>> from populace import simulate
        >>> run = simulate(Demand(products=2, shoppers=3), model="scripted:cast", keep="nothing")
        >>> shares = run.metrics["mean_answer"].drop_nans().drop_nulls()
        >>> shares[0] > shares[5] > shares[-1]
        True
    """

    products: int = Field(40, ge=1, le=40, description="How many of the 40 products are sold.")
    shoppers: int = Field(20, ge=1, le=500, description="How many of the 500 shoppers are asked.")
    points: int = Field(11, ge=2, le=41, description="How many prices there are, from 0 to 200 % of the regular one.")

    @classmethod
    def title(cls) -> str:
        """The name in run names."""
        return "demand"

    def declaration(self) -> CausalStudy:
        """The demand study with as many products, shoppers and prices as the parameters say."""
        points = tuple(round(float(point), 6) for point in np.linspace(0, 2, self.points))
        return demand_study(
            read_products().head(self.products), default_shoppers(self.shoppers), points=points, profile=PROFILE
        )

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """Whether demand falls with the price; *uninformative* comes first where it does not."""
        scenario = cls(**parameters_of_run(run))
        if scenario.drift or run.steps[-1] < scenario.length():
            return []
        responses = Responses.read(scenario.causal_study, scenario.design, run)
        estimate = design_estimate(responses)
        if estimate.response == "not measured":
            rows = {"verdict": "not measured: a price has no valid answer"}
        else:
            shape = monotonicity(responses)
            falls = "demand falls with the price"
            rows = {
                "verdict": falls if estimate.informative else f"uninformative: {estimate.response}",
                "slope in log-odds for the regular price": estimate_text(estimate.slope),
                "share at the lowest minus the highest price": estimate_text(estimate.fall),
                "steps at which it falls": f"{shape.falling_steps} of {shape.steps}",
                "steps at which it rises beyond chance": str(shape.certain_rises),
                "products whose own curve falls": f"{shape.falling_items} of {shape.items}",
            }
        table = pl.DataFrame({"what": list(rows), "value": list(rows.values())})
        note = f"Design: {scenario.design}. Intervals are clustered by shopper and by product. Compare the designs: "
        return [ReportTable("Does demand fall?", table, f"{note}`populace demand` runs them all.")]
