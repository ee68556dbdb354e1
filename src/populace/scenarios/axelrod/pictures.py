"""A picture of the lattice over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from populace.runs.charts import PALETTE
from populace.runs.reader import RunReader
from populace.scenarios.axelrod.wordings import MOVES

KINDS = ("cooperates", "defects", "now cooperates", "now defects")


def draw_lattice(run: RunReader, path: Path) -> Path:
    """Draw who cooperates at the beginning, in the middle and at the end, and who has just changed.

    Args:
        run: A run of the scenario.
        path: The file to write; its suffix says in which format.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    parameters = run.manifest.regimes[0].parameters
    colours = [PALETTE[0], PALETTE[1], PALETTE[5], PALETTE[4]]
    figure = Figure(figsize=(10, 4.1), layout="constrained")
    times = (0, run.steps[-1] // 2, run.steps[-1])
    for axes, at in zip(figure.subplots(1, 3), times, strict=True):
        now, before = ((run.people(step)["move"] == MOVES[0]).to_numpy() for step in (at, max(at - 1, 0)))
        kind = np.where(now, 0, 1) + np.where(now != before, 2, 0)
        image = kind.reshape(parameters["height"], parameters["width"])
        axes.imshow(image, cmap=ListedColormap(colours), vmin=0, vmax=3, interpolation="nearest")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(f"round {at}: {now.mean():.0%} cooperate", loc="left", fontsize=10)
    patches = [Patch(color=colour, label=label) for colour, label in zip(colours, KINDS, strict=True)]
    figure.legend(handles=patches, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.suptitle(f"{run.name} · seed {run.manifest.regime.seed}", fontsize=10)
    figure.savefig(path, dpi=150)
    return path
