"""Pictures of cells on a grid, one beside the other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from populace.base.foreign import for_figure
from populace.runs.charts import save
from populace.runs.reader import RunReader


def draw_cells(
    run: RunReader,
    path: Path,
    panels: Sequence[tuple[str, npt.NDArray[Any]]],
    colours: Sequence[str],
    *,
    size: tuple[float, float],
    labels: Sequence[str] = (),
) -> Path:
    """Draw grids of cells beside each other, and return the path.

    Args:
        run: The run, which the title names.
        path: The file to write; its suffix says in which format.
        panels: The title of each grid, and the value of every cell.
        colours: The colour of each value, from 0.
        size: The width and the height in inches.
        labels: What the colours mean, for a legend.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    width, height = (run.manifest.regimes[0].parameters[name] for name in ("width", "height"))
    figure = Figure(figsize=size, layout="constrained")
    for axes, (title, cells) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        image = cells.reshape(height, width)
        axes.imshow(image, cmap=ListedColormap(colours), vmin=0, vmax=len(colours) - 1, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(title, loc="left", fontsize=10)
    if labels:
        patches = [Patch(color=colour, label=label) for colour, label in zip(colours, labels, strict=True)]
        figure.legend(handles=patches, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    figure.suptitle(for_figure(f"{run.name} · seed {run.manifest.regime.seed}"), fontsize=10)
    return save(figure, path)
