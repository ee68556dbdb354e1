"""The picture of a piece of news: the tree of who told whom, and how many know, over time."""

from pathlib import Path
from typing import Any

from populace.base.foreign import for_figure
from populace.people import Id
from populace.runs.charts import PALETTE, save
from populace.scenarios.party.diffusion import Diffusion
from populace.scenarios.party.occasion import Occasion

HOUR = 3600


def draw_diffusion(
    news: Diffusion, occasion: Occasion, names: dict[Id, str], came: set[Id], path: Path, *, title: str, end: int
) -> Path:
    """Draw the tree and the timeline into one picture.

    Args:
        news: How everybody who knows came to know.
        occasion: The event that the news is about.
        names: The names of the people by id.
        came: The ids of the people who knew and came.
        path: The file to write; its suffix says in which format.
        title: The title.
        end: The end of the timeline in simulated seconds.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    order, knows, parents = news.by_branch(), news.knows, news.parents()
    unsure = [who for who in news.hearings if who not in knows]
    height = max(2.4, 0.26 * (len(order) + len(unsure)) + 1.4)
    figure = Figure(figsize=(10, height + 2.2), layout="constrained")
    tree, line = figure.subplots(2, 1, height_ratios=[height, 2.0], sharex=True)
    rows = {who: row for row, who in enumerate([*order, *unsure])}
    for who, row in rows.items():
        hearing = news.hearings[who][-1]
        at = (knows[who].time if who in knows else hearing.time) / HOUR
        parent = parents[who] if who in knows else hearing.source
        if parent is not None and parent in knows:
            x = [knows[parent].time / HOUR, at, at]
            style = "-" if who in knows else ":"
            tree.plot(x, [rows[parent], rows[parent], row], color="#999999", linewidth=1, zorder=1, linestyle=style)
        colour = PALETTE[2] if who in came else PALETTE[0]
        face = colour if who in knows else "white"
        mark = "X" if hearing.status == "wrong" else "o"
        edge = "#b03030" if hearing.status == "wrong" else colour
        tree.scatter(
            [at], [row], facecolors=[edge if mark == "X" else face], edgecolors=[edge], s=28, zorder=2, marker=mark
        )
        tree.annotate(for_figure(names[who]), (at, row), xytext=(6, 3), textcoords="offset points", fontsize=8)
    tree.set_yticks([])
    tree.set_ylim(len(rows) - 0.4, -0.9)
    tree.set_title(
        f"{for_figure(title)}\nWho was told of the {for_figure(occasion.event.what)}, by whom", loc="left", fontsize=10
    )
    _legend(
        tree,
        Line2D,
        occasion.begins is not None and occasion.begins < end,
        {news.hearings[who][-1].status for who in unsure},
        bool(came),
    )
    times = sorted(source.time / HOUR for source in knows.values())
    line.step([*times, end / HOUR], [*range(1, len(times) + 1), len(times)], where="post", color=PALETTE[1])
    line.set_ylabel("people who know")
    line.set_ylim(0, len(names) + 1)
    line.axhline(len(names), color="#bbbbbb", linewidth=0.8, linestyle="--")
    for axes in (tree, line):
        if occasion.begins is not None and occasion.ends is not None:
            axes.axvspan(occasion.begins / HOUR, occasion.ends / HOUR, color=PALETTE[2], alpha=0.12, linewidth=0)
    ticks: Any = range(0, end // HOUR + 1, 6)
    line.set_xticks(ticks, [f"day {t // 24 + 1}\n{t % 24:02d}:00" for t in ticks])
    line.set_xlim(min(times, default=0) - 0.5, end / HOUR + 4)
    line.grid(alpha=0.3)
    tree.grid(alpha=0.2, axis="x")
    return save(figure, path)


def _legend(axes: Any, mark: Any, dated: bool, statuses: set[str], came: bool) -> None:
    """Say what the marks mean, as far as they occur."""
    forms = [(PALETTE[0], PALETTE[0], "o", "knows")]
    forms += [(PALETTE[2], PALETTE[2], "o", "knew and came")] if came else []
    forms += [(PALETTE[0], "white", "o", "was told a part")] if "partial" in statuses else []
    forms += [("#b03030", "#b03030", "X", "was told another time or place")] if "wrong" in statuses else []
    handles = [
        mark([], [], linestyle="", marker=shape, markeredgecolor=edge, markerfacecolor=face, label=text)
        for edge, face, shape, text in forms
    ]
    if dated:
        shade = {"marker": "s", "markersize": 10, "alpha": 0.25, "markeredgewidth": 0}
        handles.append(mark([], [], linestyle="", color=PALETTE[2], label="during the event", **shade))
    axes.legend(handles=handles, loc="lower left", fontsize=8, frameon=False)
