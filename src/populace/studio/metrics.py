"""The metrics of a run over its steps, and which of them a scenario wants in its charts."""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import polars as pl
from cachetools import LRUCache

from populace.base.errors import PopulaceError
from populace.engine.discovery import find_scenario, known_scenarios
from populace.runs.reader import RunReader
from populace.studio.step_cache import size_bytes


class MetricInfo(NamedTuple):
    """What a scenario says about its metrics.

    Attributes:
        chart: The metrics to draw first.
        summaries: The first line about each metric.
    """

    chart: tuple[str, ...] = ()
    summaries: Mapping[str, str] = MappingProxyType({})


class _Metrics(NamedTuple):
    table: pl.DataFrame
    last: int
    digest: str


_METRICS: LRUCache[str, _Metrics] = LRUCache(32_000_000, lambda metrics: size_bytes(metrics.table))
_LOCK = threading.Lock()


def metrics_table(run: RunReader) -> pl.DataFrame:
    """All metrics, a row for each step. Only steps that were committed since the last call are read."""
    steps, key = run.steps, str(run.folder.resolve())
    with _LOCK:
        known = _METRICS.get(key)
    if known is None or known.last not in steps or run.journal.commit_of(known.last).digest != known.digest:
        known = _Metrics(pl.DataFrame(), -1, "")
    if not steps or steps[-1] == known.last:
        return known.table
    table = pl.concat([known.table, run.rows("metrics", since=known.last + 1)], how="diagonal_relaxed")
    latest = _Metrics(table, steps[-1], run.journal.commit_of(steps[-1]).digest)
    if size_bytes(table) <= _METRICS.maxsize:
        with _LOCK:
            _METRICS[key] = latest
    return table


def chart_metrics(run: RunReader, table: pl.DataFrame) -> tuple[list[str], list[str]]:
    """The metrics to draw: those that the scenario names, and the other ones that are numbers."""
    numeric = [name for name in table.columns if name != "step" and table[name].dtype.is_numeric()]
    numeric = [name for name in numeric if table[name].null_count() < table.height]
    main = [name for name in metric_info(run.manifest.scenario).chart if name in numeric]
    main = main or numeric[:4]
    return main, [name for name in numeric if name not in main]


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
        tree = ast.parse(path.read_text())
    except (OSError, ValueError, SyntaxError):
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
