"""The population of a scenario, without running it."""

from populace.base.errors import ScenarioError
from populace.engine.scenario import Scenario
from populace.engine.scopes import Driver, Scope, call_and_wait
from populace.engine.session import Session
from populace.engine.stage import Stage
from populace.journal import RunSettings
from populace.people import People
from populace.prompting import Inquiry
from populace.questions import Answers


def population(scenario: Scenario, *, seed: int = 0) -> People:
    """The people with whom a run of a scenario begins.

    Args:
        scenario: The scenario with its parameters.
        seed: The seed of the run.

    Raises:
        ScenarioError: If the scenario asks a model before its first step.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> len(population(Norms(workers=4)))
        4
    """
    session = Session()

    async def refuse(_inquiries: list[Inquiry]) -> list[Answers]:
        raise ScenarioError(
            f"{type(scenario).title()} asks a model before its first step, so its people are not known before a run.",
            "Run it, and name the run.",
        )

    async def people() -> People:
        driver = Driver[Inquiry](refuse)
        stage = Stage(scenario, driver, RunSettings(seed=seed), session)
        stage.people = await driver.run(call_and_wait(scenario.setup), Scope("0"))
        return stage.people

    return session.finish(people())
