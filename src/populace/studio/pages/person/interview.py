"""Asks a person questions at a step, outside of the run."""

from collections.abc import Callable
from typing import Any

from nicegui import ui

from populace.base.errors import UsageError
from populace.runs.biography import Biography, interviews_with
from populace.runs.clock import step_time
from populace.studio.shell.frame import chip, empty_state, notify_errors, test_id
from populace.studio.shell.text import prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import action, note, outline, refill
from populace.studio.widgets.side_form import SideForm

KINDS = {
    "talk": "In a conversation",
    "text": "In their own words",
    "options": "One of some options",
    "scale": "A point on a scale",
    "number": "A number",
}


class InterviewPanel(SideForm):
    """The form, its command, and earlier interviews.

    Args:
        studio: The Studio.
        name: The run.
        person: The person.
        step: Returns the step that the page shows.
    """

    def __init__(self, studio: Studio, name: str, person: Biography, step: Callable[[], int]) -> None:
        super().__init__(studio.jobs)
        self.studio, self.name, self.person, self.step = studio, name, person, step
        self._interviews: list[dict[str, Any]] | None = None
        self._conversation = 1
        text = "This is not part of the run: nobody else hears it, and nothing in the run changes."
        with self._panel("Ask this person", text):
            self.history = test_id(ui.column().classes("w-full gap-2"), "interviews")
            self._form()

    def _form(self) -> None:
        with ui.row().classes("w-full items-end gap-2"):
            self.question = self._input("Question", "ask-question", "flex: 1 1 260px").props("maxlength=4000")
            self.question.on("keydown.enter", notify_errors(self._ask))
            self.kind = ui.select(KINDS, value="talk", label="How they answer").style("min-width: 190px")
            outline(self.kind, "ask-kind", "")
            self.options = self._input("Options, separated by commas", "ask-options", "flex: 1 1 200px")
            self.options.bind_visibility_from(self.kind, "value", value="options")
            self.scale = self._input("From-to", "ask-scale", "width: 110px", "1-7")
            self.scale.bind_visibility_from(self.kind, "value", value="scale")
        with ui.row().classes("w-full items-end gap-2"):
            self.given = self._input("Text before the question (optional)", "ask-given", "flex: 2 1 260px")
            self.given.bind_visibility_from(self.kind, "value", backward=lambda kind: kind != "talk")
            self.model = self._input("Model (the run's own)", "ask-model", "flex: 1 1 180px")
            self._button("Ask", self._ask, "ask-send")
            self._new = action("New conversation", self._begin, "ask-new", look="flat")
            self._new.bind_visibility_from(self.kind, "value", value="talk")
        self._follow("ask-command", self.question, self.kind, self.options, self.scale, self.given, self.model)

    def _input(self, label: str, name: str, style: str, value: str = "") -> ui.input:
        return outline(ui.input(label, value=value).style(style), name, "")

    def arguments(self) -> tuple[str, ...]:
        """The command of the form."""
        text = (self.question.value or "").strip()
        # A leading dash would be parsed as an option; a blank in front of it is harmless.
        arguments = ["interview", self.name, f" {text}" if text.startswith("-") else text]
        arguments += ["--person", str(self.person.id), "--step", str(self.step())]
        if self.kind.value == "options":
            arguments += ["--options", self.options.value or ""]
        elif self.kind.value == "scale":
            arguments += ["--scale", self.scale.value or ""]
        elif self.kind.value == "number":
            arguments.append("--number")
        elif self.kind.value == "talk":
            arguments += ["--conversation", str(self._conversation)]
        for flag, field in (("--given", self.given), ("--model", self.model)):
            if (field.value or "").strip() and not (flag == "--given" and self.kind.value == "talk"):
                arguments += [flag, field.value.strip()]
        return tuple(arguments)

    def show(self, person: Biography, step: int) -> None:
        """Show the interviews so far, and ask from now on as of another step."""
        self.person = person
        self._follow_conversation()
        self._show_command()
        self._list()

    def _follow_conversation(self) -> None:
        """Go on with the latest conversation with this person as of this step; a new one where there is none."""
        mine = [
            entry["conversation"]
            for entry in interviews_with(self.studio.library.run(self.name), self.person.id)
            if entry["conversation"] is not None and entry["step"] == self.step()
        ]
        self._conversation = mine[-1] if mine else self._next_number()

    def _next_number(self) -> int:
        entries = self.studio.library.run(self.name).interviews()
        return max([int(entry.get("conversation") or 0) for entry in entries], default=0) + 1

    def _begin(self) -> None:
        """Begin a new conversation, in which the person knows nothing of earlier ones."""
        self._conversation = self._next_number()
        self._show_command()
        ui.notify("The next question begins a new conversation.")

    def _list(self) -> None:
        run = self.studio.library.run(self.name)
        interviews = interviews_with(run, self.person.id)
        if interviews == self._interviews:
            return
        self._interviews = interviews
        with refill(self.history):
            if not interviews:
                empty_state("This person has not been interviewed yet. Ask below: they answer as of the step above.")
            for entry in interviews[-30:]:
                with ui.column().classes("bubble gap-1"):
                    number = entry["conversation"]
                    where = "" if number is None else f"conversation {number}, "
                    note(f"{where}asked as of {step_time(run, entry['step'])}")
                    if entry["given"]:
                        prose(entry["given"], 400).classes("soft")
                    prose(entry["question"], 800)
                with ui.column().classes("bubble theirs gap-1"):
                    with ui.row().classes("items-center gap-2"):
                        note(f"{self.person.name}, by {entry['model']}", 120)
                        if entry["status"] != "ok":
                            chip(entry["status"])
                    prose("no answer" if entry["value"] is None else entry["value"], 1200)

    async def _ask(self) -> None:
        if not (self.question.value or "").strip():
            raise UsageError("there is no question yet.", "Write one, then ask.")
        if self.kind.value == "options" and not (self.options.value or "").strip():
            raise UsageError("there are no options yet.", "Write them, separated by commas.")
        await self._call()
        self.question.set_value("")
        self._list()
