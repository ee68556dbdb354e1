"""What stands beside the map of a town: the one followed, what is said, where time is spent, who knows the news."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from nicegui import ui

from populace.studio.pages.town.data import TownRun, said_time
from populace.studio.pages.town.heat import Heat
from populace.studio.pages.town.talk import Resident
from populace.studio.shell.frame import run_address, section, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import bar_chart, bar_options

LINES = 12
_HOTTEST = 10


class Followed:
    """The panel of the person that the map follows."""

    def __init__(self, town: TownRun, leave: Callable[[], None]) -> None:
        self._town = town
        self._seen: Resident | None = None
        with section("Followed") as self._panel:
            with ui.row().classes("w-full items-center justify-between no-wrap"):
                self._name = test_id(ui.link("", "#").classes("plain"), "town-person")
                close = ui.button(on_click=leave).props(
                    'flat round dense size=sm icon=close aria-label="Stop following"'
                )
                test_id(close, "town-unfollow")
            self._about = ui.label().classes("soft small foreign")
            self._now = test_id(ui.label().classes("foreign"), "town-doing")
            self._said = test_id(ui.label().classes("foreign small").props("dir=auto"), "town-last-said")
            with ui.expansion("Plan of the day", value=True).props("dense").classes("w-full"):
                self._plan = test_id(ui.label().classes("foreign small"), "town-plan")
        self._panel.set_visibility(False)

    def show(self, person: Resident | None, step: int) -> None:
        """Show somebody at a step, or nobody."""
        self._panel.set_visibility(person is not None)
        if person is None:
            self._seen = None
            return
        target = run_address(self._town.run.name, "person", person.id, step=step)
        if self._name.props["href"] != target:
            self._name.props["href"] = target
            self._name.update()
        if person == self._seen:
            return
        self._seen = person
        self._name.set_text(display_text(person.name, 80))
        self._about.set_text(display_text(person.about, 200))
        where = "on the way" if person.place == "on the way" else f"at {display_text(person.place, 200)}"
        self._now.set_text(f"{display_text(person.doing, 300)}, {where}")
        self._said.set_text(f"Said last, {display_text(person.said, 400)}" if person.said else "Has said nothing yet.")
        self._plan.set_text(display_text("\n".join(person.plan), 1500) if person.plan else "No plan yet today.")


class Transcript:
    """The last things that were said, the newest at the top."""

    def __init__(self, town: TownRun) -> None:
        self._names = town.names
        self._lines: list[tuple[ui.column, ui.label, ui.label]] = []
        with section("What is said"):
            self._none = ui.label("Nobody has said anything yet.").classes("soft")
            with test_id(ui.column().classes("town-talk"), "town-talk").props('aria-label="What is said" tabindex=0'):
                for _ in range(LINES):
                    with ui.column().classes("town-line") as line:
                        head = ui.label().classes("soft small foreign")
                        text = ui.label().classes("foreign").props("dir=auto")
                    line.set_visibility(False)
                    self._lines.append((line, head, text))

    def show(self, said: pl.DataFrame) -> None:
        """Show these utterances."""
        self._none.set_visibility(not said.height)
        rows = said.reverse().select("time", "name", "to", "text").rows()
        for number, (line, head, text) in enumerate(self._lines):
            line.set_visibility(number < len(rows))
            if number < len(rows):
                time, name, to, words = rows[number]
                hearers = ", ".join(display_text(self._names[row], 40) for row in to[:4]) or "nobody"
                head.set_text(f"{said_time(time)} · {display_text(name, 40)} to {hearers}{' …' if len(to) > 4 else ''}")
                text.set_text(display_text(words, 500))


class Warmest:
    """The places where most time is spent."""

    def __init__(self, name: str) -> None:
        self._chart = bar_chart(
            "Person-hours by building", _chosen(None), "place", ["person-hours"], unit="h", name=name
        )
        self._note = test_id(ui.label().classes("soft small"), "town-heat-note")

    def show(self, found: Heat) -> None:
        """Show a span."""
        table = _chosen(found)
        self._chart.show(bar_options(table, "place", ["person-hours"], unit="h"), table)
        outdoors = found.streets["person_hours"].sum()
        self._note.set_text(
            f"{said_time(found.begins)} to {said_time(found.ends)}: {found.person_hours:,.0f} person-hours, of which "
            f"{outdoors:,.1f} on the way. Colours grow with the root of the time; streets have their own scale."
        )


def _chosen(found: Heat | None) -> pl.DataFrame:
    """The warmest buildings, for a chart."""
    if found is None:
        return pl.DataFrame({"place": [], "person-hours": []}, schema={"place": pl.String, "person-hours": pl.Float64})
    most = found.buildings.sort("person_hours", descending=True).head(_HOTTEST)
    return most.select(pl.col("name").alias("place"), pl.col("person_hours").round(1).alias("person-hours"))
