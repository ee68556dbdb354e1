"""The scenarios as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from populace.studio.catalogue import Catalogue
from populace.studio.studio import Studio


def get_scenarios(studio: Studio) -> list[dict[str, Any]]:
    """All scenarios that can be chosen, with a sentence each."""
    return [asdict(offer) for offer in Catalogue(studio.jobs).offers()]


async def get_scenario(studio: Studio, name: str) -> dict[str, Any]:
    """One scenario with all its parameters."""
    return await Catalogue(studio.jobs).description(name)


ROUTES = {
    "/scenarios": get_scenarios,
    "/scenarios/{name:path}": get_scenario,
}
"""The functions behind the paths below `/api`."""
