"""How an experiment stands: state, runs, progress; its elements stay while their values change."""

from nicegui import ui

from populace.studio.pages.experiment.data import ExperimentOverview
from populace.studio.shell.frame import chip, figure, section, test_id
from populace.studio.shell.text import date_text, prose
from populace.studio.widgets.elements import set_spoken_value
from populace.studio.widgets.part_list import PartList


class StatePanel:
    """The panel at the head of the page of an experiment."""

    def __init__(self) -> None:
        with section("State"):
            self._question = PartList()
            with ui.row().classes("items-center gap-6"):
                self._state = test_id(chip(""), "state")
                names = ("runs ended", "failed", "arms", "replicates in each arm")
                self._figures = [figure("", name) for name in names]
            self._progress = ui.linear_progress(0, show_value=False).props('rounded aria-label="Runs ended"')
            self._progress.classes("w-full")
            self._notes = PartList("w-full gap-1")

    def show(self, overview: ExperimentOverview) -> None:
        """Show another state."""
        with self._question.drawing():
            if overview.question:
                self._question.custom("question", overview.question, lambda: prose(overview.question))
        self._state.set_text(overview.state)
        self._state.classes(replace=f"chip chip-{overview.state}")
        counts = (f"{overview.done:,} of {overview.total:,}", overview.failed, overview.arms, overview.replicates)
        for label, count in zip(self._figures, counts, strict=True):
            label.set_text(count if isinstance(count, str) else f"{count:,}")
        self._progress.set_visibility(overview.total > 0)
        self._progress.set_value(min(1.0, overview.done / max(overview.total, 1)))
        set_spoken_value(self._progress, counts[0])
        with self._notes.drawing():
            self._notes.note(overview.reason, 400)
            if overview.state == "died":
                text = "Its process ended without recording an end. Runs that ended are kept."
                self._notes.note(text, classes="small", colour="bad")
            pairs = "replicate by replicate, as they share their seeds" if overview.paired else "as independent groups"
            self._notes.note(
                f"{overview.scenario} · {overview.design} design · arms are compared {pairs} · it ends "
                f"{overview.stop} · kept of its runs: {overview.keep} · begun {date_text(overview.created)}",
                800,
            )
