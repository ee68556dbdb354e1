"""The comparisons of an analysis plan, as they were planned."""

from typing import Any

import polars as pl

from populace.base.errors import PopulaceError
from populace.experiments.analysis_plan import PlanContrast
from populace.experiments.comparisons import ComparisonSettings
from populace.experiments.results import Results
from populace.statistics import adjust

_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("outcome", "contrast"), pl.String),
    **dict.fromkeys(("effect", "low", "high", "p", "p_adjusted", "low_all", "high_all"), pl.Float64),
    **dict.fromkeys(("n", "missing"), pl.Int64),
    **dict.fromkeys(("planned", "warning"), pl.String),
}


def planned_effects(results: Results) -> pl.DataFrame:
    """The comparisons that the analysis plan names, and no others; without a plan there are none.

    `p_adjusted` counts all planned comparisons on an outcome, and `low_all` to `high_all` hold for all of them
    together: they have the size of the plan also where it compares several factors.

    Args:
        results: The results of an experiment.

    Returns:
        A row for each comparison: outcome, contrast, effect with its interval, p, n, missing values, whether it was
        planned before there were data, and `warning`, which also says why a comparison cannot be made.

    Example:
        >>> import populace as pc
        >>> results = pc.Experiment(name="starts", scenario="norms", factors={"initial_share": [0.3, 0.7]},
        ...     parameters={"workers": 4, "days": 2}, decider="rule", replicates=3, outcomes=["share_blue"],
        ...     analysis_plan={"contrasts": [{"outcome": "share_blue", "factor": "initial_share"}]},
        ... ).run(workers=1)
        >>> planned_effects(results)["contrast"].to_list()
        ['initial_share: 0.7 against 0.3']
    """
    plan = results.analysis_plan
    if plan is None:
        return pl.DataFrame(schema=_COLUMNS)
    level = _level_of(results)
    tables = []
    for outcome in dict.fromkeys(each.outcome for each in plan.plan.contrasts):
        contrasts = [each for each in plan.plan.contrasts if each.outcome == outcome]
        rows = _rows(results, contrasts, level)
        count = sum(row["effect"] is not None for row in rows)
        together = _rows(results, contrasts, 1 - (1 - level) / max(1, count))
        for row, wide in zip(rows, together, strict=True):
            row |= {"low_all": wide["low"], "high_all": wide["high"]}
        table = pl.DataFrame(rows, schema=_COLUMNS)
        adjusted = pl.Series(adjust(table["p"], plan.plan.correction), dtype=pl.Float64).fill_nan(None)
        tables.append(table.with_columns(p_adjusted=adjusted))
    return pl.concat(tables)


def level_text(results: Results) -> str:
    """The confidence level of comparisons in words, such as `95 %`: the plan's, where there is one."""
    return f"{100 * _level_of(results):.4g} %"


def _level_of(results: Results) -> float:
    return ComparisonSettings.of(results.folder.manifest, results.experiment.paired).level


def _rows(results: Results, contrasts: list[PlanContrast], level: float) -> list[dict[str, Any]]:
    """A row for each comparison, each once."""
    rows: dict[str, dict[str, Any]] = {}
    for contrast in contrasts:
        what = contrast.factor or "arms"
        try:
            baseline = _level(results, contrast.factor, contrast.baseline)
            table = results.effects(contrast.outcome, baseline, factor=contrast.factor, level=level)
        except PopulaceError as error:
            name = f"{what}: {contrast.of or 'all'} against {contrast.baseline or 'the first'}"
            rows[name] = dict.fromkeys(_COLUMNS) | {"outcome": contrast.outcome, "contrast": name}
            rows[name] |= {"planned": "planned", "warning": error.what}
            continue
        for row in table.iter_rows(named=True):
            of = row[contrast.factor or "arm"]
            if contrast.of is not None and of != _level(results, contrast.factor, contrast.of):
                continue
            name = f"{what}: {of} against {row['baseline']}"
            rows[name] = {key: row.get(key) for key in _COLUMNS} | {"outcome": contrast.outcome, "contrast": name}
    return list(rows.values())


def _level(results: Results, factor: str | None, name: str | None) -> str | None:
    """An arm or a level as tables write it: plans say yes and no for truth values."""
    if factor is None or results.runs[factor].dtype != pl.Boolean or name is None:
        return name
    return {"yes": "true", "no": "false"}.get(name, name)
