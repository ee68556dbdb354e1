"""Runs side by side, experiments and feedback, as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import polars as pl
from fastapi import APIRouter
from fastapi.responses import FileResponse

from populace.base.errors import RunNotFoundError
from populace.feedback import Feedback
from populace.studio.studio import Studio
from populace.studio.views import compare, experiment

_STILL = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def router(studio: Studio) -> APIRouter:
    """`/api/compare`, `/api/experiments/NAME` and `/api/feedback`."""
    made = APIRouter()

    @made.get("/compare")
    def compared(runs: str, at: int | None = None) -> Any:
        """Runs by name with commas between them; the first is the reference."""
        library = studio.library
        side = compare.together([name for name in runs.split(",") if name], library.run, library.metrics)
        found: dict[str, Any] = {
            "runs": [run.name for run in side.runs],
            "missing": [asdict(each) for each in side.missing],
            "groups": [{"label": group.label, "runs": [run.name for run in group.runs]} for group in side.groups],
            "relations": [asdict(each) for each in compare.relations(side.runs)],
            "remarks": compare.remarks(side),
        }
        if side.runs:
            step = compare.last_shared(side.runs) if at is None else at
            overlays = {name: compare.overlay(side, name) for name in compare.metrics_shared(side)}
            found["metrics"] = {name: _overlay(each) for name, each in overlays.items()}
            found["settings"] = compare.settings_table(side.runs).to_dicts()
            found["at"] = step
            found["differences"] = compare.differences(side, side.runs[0].name, step).to_dicts()
            found["partings"] = [asdict(each) for each in compare.partings(side.runs[0], side.runs[1:])]
        return _finite(found)

    @made.get("/experiments/{name}")
    def one_experiment(name: str, reference: str | None = None) -> Any:
        """An experiment: where it stands, its arms, outcomes, effects and validity."""
        results = experiment.opened(studio.workspace, name)
        overview = experiment.overview(results)
        card = experiment.card(results)
        found = asdict(overview) | {
            "arms": results.arms.to_dicts(),
            "summaries": {each: _found(experiment.summary(results, each)) for each in overview.outcomes},
            "effects": {each: _found(experiment.effects(results, each, reference)) for each in overview.outcomes},
            "precision": _found(experiment.precision(results, overview.primary, reference)),
            "over_time": {metric: _overlay(each) for metric, each in experiment.over_time(results).items()},
            "failures": results.failures.to_dicts(),
            "kept": experiment.kept(results).to_dicts(),
            "validity": {"verdict": card.verdict, "checks": card.table().to_dicts(), "warnings": list(card.warnings)}
            if card
            else None,
        }
        return _finite(found)

    @made.get("/experiments/{name}/report")
    def report(name: str) -> FileResponse:
        """The report that `populace report` wrote; whatever it holds may neither run nor ask anybody for anything."""
        file = experiment.report_file(studio.workspace, name)
        if not file.is_file():
            raise RunNotFoundError(f"{name} has no report yet.", f"Write it with: populace report {name}")
        return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": _STILL})

    @made.get("/feedback")
    def feedback() -> Any:
        """How much every rater judged, and how far they agree; neither answers nor runs are told, so it is blind."""
        said = Feedback(studio.workspace)
        accord = said.agreement()
        measures = accord.found.table().to_dicts() if accord.found else []
        return _finite({"raters": said.counts().to_dicts(), "agreement": measures, "note": accord.note})

    return made


def _overlay(found: compare.Overlay) -> dict[str, Any]:
    return {
        "table": found.table.to_dict(as_series=False),
        "lines": found.lines,
        "bands": found.bands,
        "note": found.note,
    }


def _found(found: experiment.Found) -> dict[str, Any]:
    return {"table": _rows(found.table), "note": found.note}


def _rows(table: pl.DataFrame | None) -> list[dict[str, Any]]:
    return table.to_dicts() if table is not None else []


def _finite(value: Any) -> Any:
    """Plain data without numbers that JSON does not know."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
