"""Pictures of runs and probes.

Colours are the Okabe–Ito palette, which colour-blind readers can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from populace.errors import UsageError
from populace.probe import Probe
from populace.reading import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_TICKS = "▁▂▃▄▅▆▇█"


def available() -> bool:
    """Whether pictures can be drawn here."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def draw_run(run: Reading, path: Path, wanted: Sequence[str] = ()) -> Path:
    """The metrics of a run over its steps, one panel for each.

    Args:
        run: The run.
        path: The picture to write; its ending says in which format.
        wanted: The metrics to draw; all of them by default.
    """
    metrics = run.metrics
    names = [name for name in metrics.columns if name != "step" and metrics[name].dtype.is_numeric()]
    names = [name for name in names if name in wanted] or names
    names = [name for name in names if metrics[name].null_count() < metrics.height]
    if not names:
        raise UsageError(f"{run.name} has no numeric metric to draw.")
    figure, panels = _figure(len(names))
    for index, (name, axes) in enumerate(zip(names, panels, strict=True)):
        shown = metrics.select("step", name).drop_nulls()
        axes.plot(shown["step"], shown[name], marker="o", markersize=4, color=PALETTE[index % len(PALETTE)])
        axes.set_ylabel(name.replace("_", " "))
        low, high = float(shown[name].min() or 0), float(shown[name].max() or 0)  # type: ignore[arg-type]
        if low >= 0 and high <= 1:
            axes.set_ylim(-0.03, 1.03)
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("step")
    regime = run.manifest.regime
    who = regime.model if regime.decider == "model" else f"decided by {regime.decider}"
    panels[0].set_title(f"{run.name} · {who} · seed {regime.seed}", loc="left", fontsize=10)
    return _saved(figure, path)


def draw_probe(probe: Probe, path: Path) -> Path:
    """The response curves of a probe: the first thing varied along the axis, a line for each other combination."""
    curve = probe.curve()
    axis, *others = probe.varied or ("model",)
    lines = [*others, "model"] if curve["model"].n_unique() > 1 or not others else others
    shown = probe.options if len(probe.options) > 2 else probe.options[:1]
    figure, panels = _figure(len(shown), height=3.2)
    for option, axes in zip(shown, panels, strict=True):
        for index, (key, part) in enumerate(curve.group_by(lines, maintain_order=True)):
            pairs = zip(lines, key, strict=True)
            label = ", ".join(str(value) if name == "model" else f"{name}={value}" for name, value in pairs)
            x: Any = part[axis].to_list()
            if not part[axis].dtype.is_numeric():
                x = [str(value) for value in x]
            axes.plot(x, part[option], marker="o", markersize=4, color=PALETTE[index % len(PALETTE)], label=label)
        axes.set_ylim(-0.03, 1.03)
        axes.set_ylabel(f"P({option})")
        axes.grid(alpha=0.3)
        if curve.height > 1:
            axes.legend(fontsize=8)
    panels[0].set_title(probe.question, loc="left", fontsize=10)
    panels[-1].set_xlabel(axis.replace("_", " "))
    return _saved(figure, path)


def sparkline(values: pl.Series) -> str:
    """A column of numbers as one line of blocks; empty values leave a gap.

    Example:
        >>> sparkline(pl.Series([0.0, 0.5, None, 1.0]))
        '▁▅ █'
    """
    low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    span = (high - low) or 1.0
    marks = [" " if value is None else _TICKS[round((value - low) / span * 7)] for value in values]
    return "".join(marks)


def _figure(count: int, height: float = 2.0) -> tuple[Figure, list[Axes]]:
    if not available():
        raise UsageError("pictures need matplotlib.", "Install it with: pip install 'populace[analysis]'")
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(7.5, 0.6 + height * count), layout="constrained")
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in panels]


def _saved(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=150)
    return path
