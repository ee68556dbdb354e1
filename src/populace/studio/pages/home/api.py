"""The runs, experiments and scenarios of the workspace as JSON."""

from dataclasses import asdict
from typing import Any

from populace.studio.catalogue import Catalogue
from populace.studio.shell.parameters import PageNumber, PageSize
from populace.studio.studio import Studio


def get_runs(studio: Studio, search: str = "", page: PageNumber = 1, size: PageSize = 50) -> dict[str, Any]:
    """Runs, the newest first."""
    names = studio.library.matching(search)
    first = (page - 1) * size
    cards = [asdict(studio.library.card(name)) for name in names[first : first + size]]
    return {"count": len(names), "runs": cards}


def get_experiments(studio: Studio) -> list[dict[str, Any]]:
    """Experiments, the newest first."""
    return [asdict(card) for card in studio.library.experiments()]


def get_scenarios(studio: Studio) -> list[dict[str, Any]]:
    """All scenarios that can be chosen, with a sentence each."""
    return [asdict(offer) for offer in Catalogue(studio.jobs).offers()]


async def get_scenario(studio: Studio, name: str) -> dict[str, Any]:
    """One scenario with all its parameters."""
    return await Catalogue(studio.jobs).description(name)


ROUTES = {
    "/runs": get_runs,
    "/experiments": get_experiments,
    "/scenarios": get_scenarios,
    "/scenarios/{name:path}": get_scenario,
}
