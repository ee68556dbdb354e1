"""What the page of fidelity reports shows, read from the figures that the workspace keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import UnknownNameError
from populace.runs.fidelity_figures import kept_figures

_FIGURES = ("accuracy", "majority", "retest", "normalised", "gap_closed", "log_loss")


def report_names(workspace: Path) -> dict[str, dict[str, Any]]:
    """The figures of every report in a workspace, by the name of its file."""
    return {path.stem: figures for path, figures in kept_figures(workspace)}


def report_figures(workspace: Path, name: str) -> dict[str, Any]:
    """The figures of one report; nothing outside of the workspace can be named."""
    reports = report_names(workspace)
    if name not in reports:
        raise UnknownNameError("fidelity report", name, reports, "Write one with: populace panel")
    return reports[name]


def report_list(workspace: Path) -> pl.DataFrame:
    """A row for each report."""
    rows = [
        (name, _word(each, "model"), _word(each, "subject"), str(each.get("people", "")), _word(each, "headline"))
        for name, each in report_names(workspace).items()
    ]
    return pl.DataFrame(rows, schema=["report", "model", "subject", "people", "headline"], orient="row")


def arm_table(figures: Mapping[str, Any]) -> pl.DataFrame:
    """A row for each arm and floor, with its figures and their intervals as text."""
    rows = []
    for name, arm in figures.get("arms", {}).items():
        if isinstance(arm, Mapping):
            rows.append({"arm": str(name), "kind": _word(arm, "kind"), **{f: _interval(arm.get(f)) for f in _FIGURES}})
    return pl.DataFrame(rows, schema=dict.fromkeys(["arm", "kind", *_FIGURES], pl.String))


def accuracy_table(figures: Mapping[str, Any]) -> pl.DataFrame:
    """The accuracy of every arm and floor, of the majority of others, and of the retest."""
    rows: list[tuple[str, float]] = []
    ends: dict[str, float] = {}
    for name, arm in figures.get("arms", {}).items():
        if not isinstance(arm, Mapping):
            continue
        value = _value(arm.get("accuracy"))
        if value is not None:
            rows.append((str(name), value))
        for label, figure in (("majority of others", "majority"), ("retest (ceiling)", "retest")):
            end = _value(arm.get(figure))
            if end is not None:
                ends.setdefault(label, end)
    rows += list(ends.items())
    return pl.DataFrame(rows, schema={"arm": pl.String, "accuracy": pl.Float64}, orient="row")


def group_tables(figures: Mapping[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Sensitivity and parity, a row for each column of the profiles."""
    moved = [
        (_word(each, "column"), " → ".join(map(str, each.get("groups", []))), _interval(each.get("slope")),
         _interval(each.get("correlation")))
        for each in figures.get("sensitivity", []) if isinstance(each, Mapping)
    ]  # fmt: skip
    equal = [
        (_word(each, "column"), str(each.get("largest", "")), ", ".join(map(str, each.get("unequal", []))) or "none")
        for each in figures.get("parity", [])
        if isinstance(each, Mapping)
    ]
    return (
        pl.DataFrame(
            moved, schema=dict.fromkeys(["column", "groups", "slope", "correlation"], pl.String), orient="row"
        ),
        pl.DataFrame(equal, schema=dict.fromkeys(["column", "largest", "unequal"], pl.String), orient="row"),
    )


def _word(each: Mapping[str, Any], name: str) -> str:
    value = each.get(name)
    return value if isinstance(value, str) else ""


def _value(figure: object) -> float | None:
    value = figure.get("value") if isinstance(figure, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _interval(figure: object) -> str:
    value = _value(figure)
    if value is None or not isinstance(figure, Mapping):
        return "–"
    ends = [figure.get(end) for end in ("low", "high")]
    numbers = [f"{end:.3f}" for end in ends if isinstance(end, (int, float))]
    return f"{value:.3f} [{', '.join(numbers)}]" if len(numbers) == 2 else f"{value:.3f}"
