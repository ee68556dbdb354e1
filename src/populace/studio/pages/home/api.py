"""The runs and experiments of the workspace as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from populace.studio.studio import Studio


def get_runs(studio: Studio, search: str = "", page: int = 1, size: int = 50) -> dict[str, Any]:
    """Runs, the newest first."""
    names = studio.library.matching(search)
    first = (max(page, 1) - 1) * min(size, 200)
    cards = [asdict(studio.library.card(name)) for name in names[first : first + min(size, 200)]]
    return {"count": len(names), "runs": cards}


def get_experiments(studio: Studio) -> list[dict[str, Any]]:
    """Experiments, the newest first."""
    return [asdict(card) for card in studio.library.experiments()]


ROUTES = {
    "/runs": get_runs,
    "/experiments": get_experiments,
}
"""The functions behind the paths below `/api`."""
