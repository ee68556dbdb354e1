"""Pictures of runs.

Colours are the Okabe–Ito palette, which colour-blind readers can tell apart.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign import for_figure
from populace.journal.segments import writing
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_TICKS = "▁▂▃▄▅▆▇█"


def available() -> bool:
    """Whether pictures can be drawn here."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def draw_run(run: RunReader, path: Path, chosen: Sequence[str] = ()) -> Path:
    """Draw the metrics of a run over its steps, one panel for each; returns the path.

    Args:
        run: The run.
        path: The picture to write; its suffix is its format.
        chosen: The metrics to draw; all of them by default.
    """
    metrics = run.metrics
    names = [name for name in metrics.columns if name != "step" and metrics[name].dtype.is_numeric()]
    names = [name for name in names if name in chosen] or names
    names = [name for name in names if metrics[name].null_count() < metrics.height]
    if not names:
        raise UsageError(f"{run.name} has no numeric metric to draw.")
    figure, panels = new_figure(len(names))
    for index, (name, axes) in enumerate(zip(names, panels, strict=True)):
        points = metrics.select("step", name).drop_nulls()
        axes.plot(points["step"], points[name], marker="o", markersize=4, color=PALETTE[index % len(PALETTE)])
        axes.set_ylabel(for_figure(name.replace("_", " ")))
        low, high = float(points[name].min() or 0), float(points[name].max() or 0)  # type: ignore[arg-type]
        if low >= 0 and high <= 1:
            axes.set_ylim(-0.03, 1.03)
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("step")
    regime = run.manifest.regime
    who = decider_text(regime.decider, regime.model)
    panels[0].set_title(for_figure(f"{run.name} · {who} · seed {regime.seed}"), loc="left", fontsize=10)
    return save(figure, path)


def sparkline(values: pl.Series, width: int = 72) -> str:
    """A column of numbers as one line of blocks; empty and endless values leave a gap.

    Args:
        values: The numbers.
        width: The most blocks; of more numbers so many are shown, evenly over all, the first and the last among them.

    Example:
        >>> sparkline(pl.Series([0.0, 0.5, None, 1.0]))
        '▁▅ █'
        >>> sparkline(pl.Series([0, 0, 0, 1, 1]), 3)
        '▁▁█'
    """
    last = values.len() - 1
    if last >= width:
        values = values.gather([round(place * last / (width - 1)) for place in range(width)])
    numbers = values.cast(pl.Float64)
    values = pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()
    low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    span = (high - low) or 1.0
    marks = [" " if value is None else _TICKS[round((value - low) / span * 7)] for value in values]
    return "".join(marks)


def new_figure(count: int, height: float = 2.0) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, one above the other."""
    if not available():
        raise UsageError("pictures need matplotlib.", "Install it with: pip install 'populace[analysis]'")
    from matplotlib.figure import Figure as NewFigure

    figure = NewFigure(figsize=(7.5, 0.6 + height * count), layout="constrained")
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in panels]


@contextlib.contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Say nothing of characters that the font of a picture lacks: names may be of any script."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from")
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
        yield


def save(figure: Figure, path: Path) -> Path:
    """Write a figure to a file, and return its path; an error of the disk is a StorageError."""
    with writing(path), without_glyph_warnings():
        figure.savefig(path, dpi=150)
    return path
