"""The response curves of a probe as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from populace.runs.charts import PALETTE, new_figure, save
from populace.tools.probe import Probe


def draw_probe(probe: Probe, path: Path) -> Path:
    """The response curves of a probe: the first thing varied along the axis, a line for each other combination."""
    curve = probe.curve()
    axis, *others = probe.varied or ("model",)
    lines = [*others, "model"] if curve["model"].n_unique() > 1 or not others else others
    options = probe.options if len(probe.options) > 2 else probe.options[:1]
    figure, panels = new_figure(len(options), height=3.2)
    for option, axes in zip(options, panels, strict=True):
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
    return save(figure, path)
