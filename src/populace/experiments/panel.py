"""Panels over all runs of an experiment: metrics by step, and people."""

import polars as pl

from populace.base.errors import UsageError
from populace.engine.workspace import Workspace
from populace.experiments.results import Results
from populace.runs.reader import RunReader


def experiment_run(results: Results, arm: str | int, replicate: int) -> RunReader:
    """A run whose folder was kept, opened like any other run.

    Args:
        results: The results of an experiment that was run with `keep="run"`.
        arm: The arm, by name or number.
        replicate: The number of the replicate.
    """
    number = results.arm(arm).number
    row = next((row for row in results.rows if (row["arm"], row["replicate"]) == (number, replicate)), None)
    if row is None or not row.get("run"):
        raise UsageError(
            f"the folder of {results.arm(arm).name}, replicate {replicate}, was not kept.",
            "Run the experiment again with keep='run'; replies in the call store cost nothing.",
        )
    return RunReader(Workspace(results.folder.path.parent.parent).open(f"{results.name}/{row['run']}"))


def metric_panel(results: Results) -> pl.DataFrame:
    """A row for each run and step: arm, levels, replicate, seed, step and metrics.

    Runs whose folder was kept have all metrics at every step. Of others the metrics of the outcomes are known, at no
    more than 200 steps.

    Args:
        results: The results of an experiment.
    """
    parts = []
    for row in results.rows:
        if row["status"] != "complete":
            continue
        if row.get("run"):
            metrics = experiment_run(results, row["arm"], row["replicate"]).metrics
        elif paths := row.get("paths", {}):
            steps = next(iter(paths.values()))[0]
            metrics = pl.DataFrame({"step": steps} | {name: path[1] for name, path in paths.items()}, strict=False)
        else:
            continue
        parts.append(_labelled(results, row["arm"], row["replicate"], metrics))
    return _joined(parts, results)


def people_panel(results: Results, step: int | None = None) -> pl.DataFrame:
    """A row for each run and person: arm, levels, replicate, seed and the columns of people after a step.

    Args:
        results: The results of an experiment that was run with `keep="run"`.
        step: The step; the last of each run by default.
    """
    parts = []
    for row in results.rows:
        if row["status"] == "complete" and row.get("run"):
            run = experiment_run(results, row["arm"], row["replicate"])
            parts.append(_labelled(results, row["arm"], row["replicate"], run.record.people(step or run.steps[-1])))
    return _joined(parts, results)


def _labelled(results: Results, arm: int, replicate: int, table: pl.DataFrame) -> pl.DataFrame:
    known = results.folder.arms[arm]
    leading = {"arm": known.name} | known.levels | {"replicate": replicate}
    leading["seed"] = results.experiment.seed_of(replicate, known)
    clash = [name for name in leading if name in table.columns]
    table = table.rename({name: f"{name}_of_person" for name in clash})
    return pl.select([pl.lit(value).alias(str(name)) for name, value in leading.items()]).join(table, how="cross")


def _joined(parts: list[pl.DataFrame], results: Results) -> pl.DataFrame:
    if not parts:
        raise UsageError(f"no run of {results.name} was kept with what this panel needs.", "Run it with keep='run'.")
    return pl.concat(parts, how="diagonal_relaxed")
