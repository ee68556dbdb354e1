"""Runs side by side, as JSON."""

from dataclasses import asdict
from typing import Any

from populace.runs import side_by_side as data
from populace.studio.shell.parameters import StepNumber
from populace.studio.studio import Studio


def get_comparison(studio: Studio, runs: str, at: StepNumber = None) -> dict[str, Any]:
    """Runs by name with commas between them; the first is the reference."""
    library = studio.library
    side = data.side_by_side([name for name in runs.split(",") if name], library.run)
    comparison: dict[str, Any] = {
        "runs": [run.name for run in side.runs],
        "missing": [asdict(each) for each in side.missing],
        "groups": [{"label": group.label, "runs": [run.name for run in group.runs]} for group in side.groups],
        "relations": [asdict(each) for each in data.fork_relations(side.runs)],
        "remarks": data.remarks(side),
    }
    if side.runs:
        step = data.last_common_step(side.runs) if at is None else at
        overlays = {name: data.overlay(side, name) for name in data.common_metrics(side)}
        comparison["metrics"] = {name: overlay_data(each) for name, each in overlays.items()}
        comparison["settings"] = data.settings_table(side.runs).to_dicts()
        comparison["at"] = step
        comparison["differences"] = data.metric_differences(side, side.runs[0].name, step).to_dicts()
        comparison["partings"] = [
            {"run": each.run, "parting": asdict(each.difference) if each.difference else None, "note": each.note}
            for each in data.differences_from(side.runs[0], side.runs[1:])
        ]
    return comparison


def overlay_data(overlay: data.Overlay) -> dict[str, Any]:
    """An overlay of several lines as plain data."""
    return {
        "table": overlay.table.to_dict(as_series=False),
        "lines": overlay.lines,
        "bands": overlay.bands,
        "note": overlay.note,
    }


ROUTES = {"/compare": get_comparison}
