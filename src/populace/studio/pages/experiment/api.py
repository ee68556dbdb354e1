"""Experiments as JSON."""

from dataclasses import asdict
from typing import Any

from fastapi.responses import FileResponse

from populace.base.errors import RunNotFoundError
from populace.studio.pages.compare.api import overlay_data
from populace.studio.pages.experiment import data
from populace.studio.studio import Studio

_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def get_experiment(studio: Studio, name: str, reference: str | None = None) -> dict[str, Any]:
    """An experiment: its state, arms, outcomes, effects and validity."""
    results = data.open_results(studio.workspace, name)
    overview = data.experiment_overview(results)
    card = data.validity_card(results)
    validity = card and {"verdict": card.verdict, "checks": card.table().to_dicts(), "warnings": list(card.warnings)}
    return asdict(overview) | {
        "arms": results.arms.to_dicts(),
        "summaries": {each: _plain(data.summary(results, each)) for each in overview.outcomes},
        "effects": {each: _plain(data.effects(results, each, reference)) for each in overview.outcomes},
        "precision": _plain(data.precision(results, overview.primary, reference)),
        "over_time": {metric: overlay_data(each) for metric, each in data.over_time(results).items()},
        "failures": results.failures.to_dicts(),
        "kept": data.kept_runs(results).to_dicts(),
        "validity": validity,
    }


def get_report(studio: Studio, name: str) -> FileResponse:
    """The report that `populace report` wrote; its scripts are not run, and it may load nothing."""
    file = data.report_file(studio.workspace, name)
    if not file.is_file():
        raise RunNotFoundError(f"{name} has no report yet.", f"Write it with: populace report {name}")
    return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": _REPORT_POLICY})


def _plain(result: data.ResultTable) -> dict[str, Any]:
    return {"table": result.table.to_dicts() if result.table is not None else [], "note": result.note}


ROUTES = {
    "/experiments/{name}": get_experiment,
    "/experiments/{name}/report": get_report,
}
