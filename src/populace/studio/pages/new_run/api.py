"""The scenarios that can be run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from populace.studio.catalogue import Catalogue
from populace.studio.studio import Studio


def router(studio: Studio) -> APIRouter:
    """`/api/scenarios`."""
    made = APIRouter()
    catalogue = Catalogue(studio.jobs)

    @made.get("/scenarios")
    def scenarios() -> list[dict[str, Any]]:
        """Everything that can be picked, with a sentence each."""
        return [asdict(offer) for offer in catalogue.offers()]

    @made.get("/scenarios/{name:path}")
    async def scenario(name: str) -> dict[str, Any]:
        """One scenario with all its parameters."""
        return await catalogue.description(name)

    return made
