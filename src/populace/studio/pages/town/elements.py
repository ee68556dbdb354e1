"""The two elements of the town page that are drawn in the browser: the map that plays, and the tree of the news."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
from nicegui import ui

STATIC = Path(__file__).parent / "static"
SPEEDS = (1, 10, 60, 300, 600, 1800, 3600)
"""Simulated seconds a second."""


class TownMap(ui.element, component=STATIC / "town_map.js", esm={"populace-town": str(STATIC)}):
    """The map. It fetches its data and keeps its own time; `run_method` calls the methods of its component.

    Args:
        api: Where the data of the run are.
        time: The time to begin with, in simulated seconds.
        speed: Simulated seconds a second.
        follow: The row of the person to follow; -1 for nobody.
        layer: `people`, `heat` or `news`.
        live: Whether the run goes on.
    """

    def __init__(self, api: str, *, time: int, speed: int, follow: int, layer: str, live: bool) -> None:
        super().__init__()
        self._props.update(api=api, time=time, speed=speed, follow=follow, layer=layer, live=live, speeds=list(SPEEDS))

    def set_live(self, live: bool) -> None:
        """Set whether the run goes on."""
        if self._props["live"] != live:
            self._props["live"] = live
            self.update()


class TownTree(ui.element, component=STATIC / "town_tree.js"):
    """Who heard the news from whom; it grows with the time of the map.

    Args:
        time: The time to begin with.
        people: How many there are.
        on_follow: Called with the row of a person who was clicked.
    """

    def __init__(self, *, time: int, people: int, on_follow: Callable[[int], None]) -> None:
        super().__init__()
        self._props.update(nodes=[], time=time, all=people)
        self.on("follow", lambda event: on_follow(int(event.args["row"])))

    def show(self, news: pl.DataFrame) -> None:
        """Show the rows of `talk.news`."""
        cut = news.select("row", "name", "time", "depth", pl.col("text").str.slice(0, 300))
        self._props["nodes"] = cut.to_dicts()
        self.update()
