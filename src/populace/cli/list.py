"""list: the runs of the workspace."""

from __future__ import annotations

from typing import Any

import polars as pl

from populace.base.errors import PopulaceError
from populace.base.formatting import percent
from populace.cli.options import command, common_options
from populace.cli.output import emit, out, table
from populace.engine.workspace import Workspace
from populace.runs import charts
from populace.runs.overview import overview
from populace.runs.reader import RunReader


@command("list")
@common_options
def list_command(workspace: str | None, as_json: bool) -> None:
    place = Workspace(workspace)
    rows, damaged = [], []
    for name in place.names():
        try:
            run = RunReader(place.open(name))
            rows.append(_row(run))
        except PopulaceError as error:
            damaged.append(f"{name}: {error.what}")
    rows.sort(key=lambda row: row["created"], reverse=True)
    if as_json:
        emit(rows, damaged)
        return
    if not rows and not damaged:
        out.print(f"There are no runs in {place.runs}. Begin with: populace run norms")
        return
    if rows:
        table(pl.DataFrame(rows).drop("created"), limit=200)
    for text in damaged:
        out.print(f"  [yellow]not readable[/yellow]  {text}")


def _row(run: RunReader) -> dict[str, Any]:
    summary, metrics = overview(run), run.metrics
    numeric = [n for n in metrics.columns if n != "step" and metrics[n].dtype.is_numeric()]
    return {
        "run": run.name,
        "state": summary.state,
        "steps": f"{summary.steps} of {summary.planned}" if summary.planned else str(summary.steps),
        "model": summary.decided_by,
        "seed": summary.regime.seed,
        "invalid": percent(summary.invalid_share),
        "calls": summary.usage.calls,
        "parent": f"{summary.parent.run} at {summary.parent.at}" if summary.parent else "",
        "metric": f"{numeric[0]} {charts.sparkline(metrics[numeric[0]].tail(24))}" if numeric else "",
        "created": summary.created,
    }
