"""The runs and experiments of the workspace."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from populace.studio.studio import Studio


def router(studio: Studio) -> APIRouter:
    """`/api/runs` and `/api/experiments`."""
    made = APIRouter()

    @made.get("/runs")
    def runs(search: str = "", page: int = 1, size: int = 50) -> dict[str, Any]:
        """Runs, the newest first."""
        names = studio.library.matching(search)
        first = (max(page, 1) - 1) * min(size, 200)
        cards = [asdict(studio.library.card(name)) for name in names[first : first + min(size, 200)]]
        return {"count": len(names), "runs": cards}

    @made.get("/experiments")
    def experiments() -> list[dict[str, Any]]:
        """Experiments, the newest first."""
        return [asdict(card) for card in studio.library.experiments()]

    return made
