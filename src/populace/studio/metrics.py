"""The metrics of a run: which are drawn, their values at a step, and what the scenario says about them."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from populace.base.documents import read_text
from populace.base.errors import PopulaceError
from populace.engine.discovery import find_scenario, known_scenarios
from populace.runs.reader import RunReader

_MAX_SOURCE = 1_000_000


class MetricInfo(NamedTuple):
    """What a scenario says about its metrics.

    Attributes:
        chart: The metrics to draw first.
        summaries: The first line about each metric.
    """

    chart: tuple[str, ...] = ()
    summaries: Mapping[str, str] = MappingProxyType({})


def chart_metrics(run: RunReader) -> tuple[list[str], list[str]]:
    """The metrics to draw: those that the scenario names, and the other ones that are numbers."""
    table = run.metrics
    numeric = [name for name in table.columns if name != "step" and table[name].dtype.is_numeric()]
    numeric = [name for name in numeric if table[name].null_count() < table.height]
    main = [name for name in metric_info(run.manifest.scenario).chart if name in numeric]
    main = main or numeric[:4]
    return main, [name for name in numeric if name not in main]


def metrics_at(table: pl.DataFrame, step: int) -> pl.DataFrame:
    """The metrics at a step: `metric`, `value`, the value `before`, and the `change` of numbers since then."""
    now = table.filter(pl.col("step") == step).to_dicts() if table.width else []
    then = table.filter(pl.col("step") == step - 1).to_dicts() if table.width else []
    rows = []
    for name, value in now[0].items() if now else ():
        before = then[0].get(name) if then else None
        numbers = isinstance(value, float | int) and isinstance(before, float | int)
        if name != "step":
            rows.append((name, metric_text(value), metric_text(before), value - before if numbers else None))
    schema = {"metric": pl.String, "value": pl.String, "before": pl.String, "change": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def metric_text(value: Any) -> str:
    """A value as it is displayed.

    Example:
        >>> metric_text(0.123456), metric_text(1500.0), metric_text(None)
        ('0.1235', '1,500', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.4g}"
    return str(value)


def metric_info(scenario: str) -> MetricInfo:
    """What a scenario says about its metrics; nothing where the scenario is not there.

    The file of a scenario is parsed, and not run: Studio runs nobody's code in its own process.
    """
    if scenario in known_scenarios():
        return _shipped(scenario)
    where, _, class_name = scenario.rpartition(":")
    path = Path(where or scenario)
    if path.suffix != ".py" or not path.is_file():
        return MetricInfo()
    return _parsed(path, class_name, path.stat().st_mtime_ns)


@cache
def _shipped(scenario: str) -> MetricInfo:
    try:
        cls = find_scenario(scenario)
    except PopulaceError:
        return MetricInfo()
    return MetricInfo(cls.chart, {name: (f.__doc__ or "").split("\n")[0] for name, f in cls.metrics().items()})


@cache
def _parsed(path: Path, class_name: str, _changed: int) -> MetricInfo:
    try:
        tree = ast.parse(read_text(path, most=_MAX_SOURCE))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return MetricInfo()
    chart: tuple[str, ...] = ()
    summaries: dict[str, str] = {}
    for body in (node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                summaries[node.name] = (ast.get_docstring(node) or "").split("\n")[0]
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if any(isinstance(t, ast.Name) and t.id == "chart" for t in targets) and isinstance(value, ast.Tuple):
                chart = tuple(str(e.value) for e in value.elts if isinstance(e, ast.Constant))
    return MetricInfo(chart, summaries)
