"""A picture of the grid before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from populace.runs.charts import PALETTE
from populace.runs.reader import RunReader


def draw_grids(run: RunReader, path: Path) -> Path:
    """Draw who lives where, at the beginning and at the end.

    Args:
        run: A run of the scenario.
        path: The file to write; its suffix says in which format.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    parameters = run.manifest.regimes[0].parameters
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    colours = ListedColormap(["#f2f2f2", *PALETTE[: parameters["groups"]]])
    for axes, at in zip(figure.subplots(1, 2), (0, run.steps[-1]), strict=True):
        people = run.people(at)
        cells = np.zeros(parameters["width"] * parameters["height"])
        cells[people["cell"].to_numpy()] = people["group"].to_numpy() + 1
        image = cells.reshape(parameters["height"], parameters["width"])
        axes.imshow(image, cmap=colours, vmin=0, vmax=parameters["groups"], interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(f"step {at}", loc="left", fontsize=10)
    figure.suptitle(f"{run.name} · seed {run.manifest.regime.seed}", fontsize=10)
    figure.savefig(path, dpi=150)
    return path
