"""A picture of the party: the tree of who told whom, and the times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from populace.people import Id
from populace.runs.charts import PALETTE
from populace.scenarios.party.diffusion import Diffusion

HOUR, DAY = 3600, 86_400


def draw_diffusion(news: Diffusion, names: dict[Id, str], came: set[Id], path: Path, *, title: str, end: int) -> Path:
    """Draw the tree and the timeline into one picture.

    Args:
        news: How everybody who knows came to know.
        names: The names of the people by id.
        came: The ids of the people who came to the party.
        path: The file to write; its suffix says in which format.
        title: The title.
        end: The end of the timeline in simulated seconds.
    """
    from matplotlib.figure import Figure

    order = news.by_branch()
    height = max(3.0, 0.26 * len(order) + 1.6)
    figure = Figure(figsize=(10, height + 2.2), layout="constrained")
    tree, line = figure.subplots(2, 1, height_ratios=[height, 2.0], sharex=True)
    rows = {who: row for row, who in enumerate(order)}
    for who in order:
        origin = news.knows[who]
        at = origin.time / HOUR
        if origin.source is not None:
            x = [news.knows[origin.source].time / HOUR, at, at]
            tree.plot(x, [rows[origin.source], rows[origin.source], rows[who]], color="#999999", linewidth=1, zorder=1)
        colour = PALETTE[2] if who in came else PALETTE[0]
        tree.scatter([at], [rows[who]], color=colour, s=28, zorder=2)
        tree.annotate(names[who], (at, rows[who]), xytext=(6, 3), textcoords="offset points", fontsize=8)
    tree.set_yticks([])
    tree.invert_yaxis()
    tree.set_title(f"{title}\nWho heard of it from whom; green came to the party", loc="left", fontsize=10)
    times = sorted(origin.time / HOUR for origin in news.knows.values())
    line.step([*times, end / HOUR], [*range(1, len(times) + 1), len(times)], where="post", color=PALETTE[1])
    line.set_ylabel("people who know")
    line.set_ylim(0, len(names) + 1)
    line.axhline(len(names), color="#bbbbbb", linewidth=0.8, linestyle="--")
    ticks: Any = range(0, end // HOUR + 1, 6)
    line.set_xticks(ticks, [f"day {t // 24 + 1}\n{t % 24:02d}:00" for t in ticks])
    line.set_xlim(min(times, default=0) - 0.5, end / HOUR + 4)
    line.grid(alpha=0.3)
    tree.grid(alpha=0.2, axis="x")
    figure.savefig(path, dpi=150)
    return path
