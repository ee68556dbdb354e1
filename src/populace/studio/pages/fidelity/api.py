"""Fidelity reports as JSON."""

from typing import Any

from populace.studio.pages.fidelity import data
from populace.studio.studio import Studio


def get_reports(studio: Studio) -> dict[str, Any]:
    """All fidelity reports of the workspace."""
    return {"reports": data.report_list(studio.workspace.folder).to_dicts()}


def get_fidelity(studio: Studio, name: str) -> dict[str, Any]:
    """The figures of one fidelity report."""
    return data.report_figures(studio.workspace.folder, name)


ROUTES = {"/fidelity": get_reports, "/fidelity/{name}": get_fidelity}
