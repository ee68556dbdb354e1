"""An experiment as files for others: tables, the plan, and scripts in Python and R that compute the effects again."""

import json
from importlib.resources import files
from pathlib import Path

import polars as pl

from populace.base.errors import PopulaceError, UsageError
from populace.base.foreign_columns import csv_table
from populace.experiments.methods import methods_text
from populace.experiments.results import Results

SCRIPTS = ("effects.py", "effects.R")
"""Scripts that need no Populace: they read runs.csv and comparisons.csv, and write effects_again.csv."""


def export_results(results: Results, folder: str | Path) -> list[Path]:
    """Write the runs, the effects on every outcome, and scripts that compute the effects again from the runs.

    The files are `runs.csv` (a row for each run), `effects.csv` (the table of `Results.effects` for every outcome that
    is a number), `comparisons.csv` (what the scripts need to know), `experiment.json`, `methods.md` with citations,
    `effects.py` (needs numpy and scipy) and `effects.R` (needs no package).

    Args:
        results: The results of an experiment.
        folder: Where to write; it is made if it is not there.

    Returns:
        The files.

    Raises:
        UsageError: No outcome is a number, or the plan asks for a method that draws random numbers.
    """
    place = Path(folder)
    tables, comparisons = [], []
    runs = results.runs.drop("run")
    for outcome in results.experiment.outcomes:
        try:
            effects = results.effects(outcome.name)
            values = results.values(outcome.name)
        except PopulaceError:
            continue  # a text, or an outcome that no run has
        how = results.comparison(outcome.name)
        if how.method != "t":
            raise UsageError(f"the scripts compute effects by t, and the plan asks for {how.method}.")
        runs = runs.with_columns(values[outcome.name])
        effects = effects.filter(pl.col("effect").is_not_null())  # The scripts compute what can be compared.
        tables.append(effects.drop("seeds").insert_column(0, pl.lit(outcome.name).alias("outcome")))
        settings = {"paired": how.paired, "share": how.share, "level": how.level, "correction": how.correction}
        columns = {name: pl.lit(value) for name, value in settings.items()}
        comparisons.append(tables[-1].select("outcome", "arm", "baseline").with_columns(**columns))
    if not tables:
        raise UsageError(f"{results.name} has no outcome that is a number in two arms.")
    place.mkdir(parents=True, exist_ok=True)
    names = [str(table["outcome"][0]) for table in tables]
    texts = {
        "runs.csv": csv_table(runs.select("arm", "replicate", "seed", "status", *names)).write_csv(),
        "effects.csv": csv_table(pl.concat(tables)).write_csv(),
        "comparisons.csv": csv_table(pl.concat(comparisons)).write_csv(),
        "experiment.json": json.dumps(results.folder.manifest.model_dump(mode="json"), indent=2, ensure_ascii=False),
        "methods.md": methods_text(results) + "\n",
    }
    for script in SCRIPTS:
        source = files("populace.experiments") / "scripts" / f"{script}.txt"
        texts[script] = source.read_text(encoding="utf-8")
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    return [place / name for name in texts]
