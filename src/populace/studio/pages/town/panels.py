"""The panels beside the map of a town: the person followed, the latest speech, where time is spent."""

from collections.abc import Callable

import polars as pl
from nicegui import ui

from populace.studio.pages.town.data import TownRun, time_label
from populace.studio.pages.town.heat import Heat
from populace.studio.pages.town.talk import Resident
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import section, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import bar_chart, bar_options
from populace.studio.widgets.elements import QUIET, icon_button, note

LINES = 12
_BUILDINGS = 10


class PersonPanel:
    """The panel of the person that the map follows."""

    def __init__(self, town: TownRun, leave: Callable[[], None]) -> None:
        self._run = town.run.name
        with section("Followed") as self._panel:
            with ui.row().classes("w-full items-center justify-between no-wrap"):
                self._name = test_id(ui.link("", "#").classes("plain"), "town-person")
                icon_button("close", "Stop following", leave, "town-unfollow")
            self._about = note("")
            self._now = test_id(ui.label().classes("foreign"), "town-doing")
            self._utterance = test_id(ui.label().classes("foreign small").props("dir=auto"), "town-last-said")
            with ui.expansion("Plan of the day", value=True).props("dense").classes("w-full"):
                self._plan = test_id(ui.label().classes("foreign small"), "town-plan")
        self._panel.set_visibility(False)

    def show(self, person: Resident | None, step: int) -> None:
        """Show a person at a step, or nobody."""
        self._panel.set_visibility(person is not None)
        if person is None:
            return
        target = run_address(self._run, "person", person.id, step=step)
        if self._name.props["href"] != target:
            self._name.props["href"] = target
            self._name.update()
        place = "on the way" if person.place == "on the way" else f"at {display_text(person.place, 200)}"
        words = display_text(person.utterance, 400)
        self._name.set_text(display_text(person.name, 80))
        self._about.set_text(display_text(person.about, 200))
        now = f"{display_text(person.doing, 300)}, {place}" if person.present else "Not in the town at this time."
        self._now.set_text(now)
        self._utterance.set_text(f"Said last, {words}" if words else "Has said nothing yet.")
        self._plan.set_text(display_text("\n".join(person.plan), 1500) or "No plan yet today.")


class SpeechPanel:
    """The latest utterances, the newest at the top."""

    def __init__(self, town: TownRun) -> None:
        self._names = town.names
        self._lines: list[tuple[ui.column, ui.label, ui.label]] = []
        with section("What is said"):
            self._empty = ui.label("Nobody has said anything yet.").classes("soft")
            with test_id(ui.column().classes("town-talk"), "town-talk").props('aria-label="What is said" tabindex=0'):
                for _ in range(LINES):
                    with ui.column().classes("town-line") as line:
                        head = ui.label().classes(QUIET)
                        text = ui.label().classes("foreign").props("dir=auto")
                    line.set_visibility(False)
                    self._lines.append((line, head, text))

    def show(self, speech: pl.DataFrame) -> None:
        """Show these utterances."""
        self._empty.set_visibility(not speech.height)
        rows = speech.reverse().select("time", "name", "to", "text").rows()
        for number, (line, head, text) in enumerate(self._lines):
            line.set_visibility(number < len(rows))
            if number < len(rows):
                time, name, to, words = rows[number]
                hearers = ", ".join(display_text(self._names[row], 40) for row in to[:4]) or "nobody"
                more = " …" if len(to) > 4 else ""
                head.set_text(f"{time_label(time)} · {display_text(name, 40)} to {hearers}{more}")
                text.set_text(display_text(words, 500))


class PresencePanel:
    """The buildings where most time is spent."""

    def __init__(self, name: str) -> None:
        table = pl.DataFrame(schema={"place": pl.String, "person-hours": pl.Float64})
        self._chart = bar_chart("Person-hours by building", table, "place", ["person-hours"], unit="h", name=name)
        self._note = test_id(note(""), "town-heat-note")

    def show(self, heat: Heat) -> None:
        """Show the presence over a span of time."""
        busiest = heat.buildings.sort("person_hours", descending=True).head(_BUILDINGS)
        table = busiest.select(place="name", **{"person-hours": pl.col("person_hours").round(1)})
        self._chart.show(bar_options(table, "place", ["person-hours"], unit="h"), table)
        outdoors = heat.streets["person_hours"].sum()
        self._note.set_text(
            f"{time_label(heat.begins)} to {time_label(heat.ends)}: {heat.person_hours:,.0f} person-hours, of which "
            f"{outdoors:,.1f} on the way. Colours grow with the root of the time; streets have their own scale."
        )
