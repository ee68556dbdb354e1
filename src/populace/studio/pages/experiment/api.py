"""Experiments as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl
from fastapi.responses import FileResponse

from populace.base.errors import RunNotFoundError
from populace.studio.pages.compare.api import overlay_data
from populace.studio.pages.experiment import data
from populace.studio.studio import Studio

_STILL = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def get_experiment(studio: Studio, name: str, reference: str | None = None) -> dict[str, Any]:
    """An experiment: where it stands, its arms, outcomes, effects and validity."""
    results = data.open_results(studio.workspace, name)
    overview = data.experiment_overview(results)
    card = data.card(results)
    found = asdict(overview) | {
        "arms": results.arms.to_dicts(),
        "summaries": {each: _found(data.summary(results, each)) for each in overview.outcomes},
        "effects": {each: _found(data.effects(results, each, reference)) for each in overview.outcomes},
        "precision": _found(data.precision(results, overview.primary, reference)),
        "over_time": {metric: overlay_data(each) for metric, each in data.over_time(results).items()},
        "failures": results.failures.to_dicts(),
        "kept": data.kept(results).to_dicts(),
        "validity": {"verdict": card.verdict, "checks": card.table().to_dicts(), "warnings": list(card.warnings)}
        if card
        else None,
    }
    return found


def get_report(studio: Studio, name: str) -> FileResponse:
    """The report that `populace report` wrote; whatever it holds may neither run nor ask anybody for anything."""
    file = data.report_file(studio.workspace, name)
    if not file.is_file():
        raise RunNotFoundError(f"{name} has no report yet.", f"Write it with: populace report {name}")
    return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": _STILL})


def _found(found: data.ResultTable) -> dict[str, Any]:
    return {"table": _rows(found.table), "note": found.note}


def _rows(table: pl.DataFrame | None) -> list[dict[str, Any]]:
    return table.to_dicts() if table is not None else []


ROUTES = {
    "/experiments/{name}": get_experiment,
    "/experiments/{name}/report": get_report,
}
"""The functions behind the paths below `/api`."""
