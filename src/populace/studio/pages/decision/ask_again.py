"""Asks the question of a decision again with changes, and shows the result beside the recorded one."""

from typing import Any

import polars as pl
from nicegui import ui

from populace.base.errors import UsageError
from populace.runs.decision import Decision
from populace.runs.decision_details import DecisionDetails, replaced_decision, setting_differences
from populace.studio.pages.decision.panels import draw_chart, probability_chart, show_prompt, show_value
from populace.studio.shell.frame import chip, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.elements import count_text, heading, note, outline, refill
from populace.studio.widgets.side_form import SideForm

_ORDERS = {"": "as it was", "reversed": "reversed", "given": "as declared", "own": "an order of my own"}
_MAX_LENGTH = 20_000
"""The most characters of a text that can be edited here."""


class AskAgain(SideForm):
    """The form, its command, and the result beside the recorded decision.

    Args:
        studio: The Studio.
        name: The run.
        details: The recorded decision.
    """

    def __init__(self, studio: Studio, name: str, details: DecisionDetails) -> None:
        super().__init__(studio.jobs)
        self.name, self.details = name, details
        decision = details.decision
        first = decision.prompts[0] if decision.prompts else {}
        self.recorded = {
            "--wording": display_text(decision.question["text"], _MAX_LENGTH),
            "--given": display_text(details.given, _MAX_LENGTH),
            "--system": display_text(first.get("system") or "", _MAX_LENGTH),
            "--text": display_text(first.get("user") or "", _MAX_LENGTH),
            "--model": display_text(first.get("model") or ""),
            "--temperature": f"{decision.temperature:g}",
        }
        text = "This never changes the run, and replies in the call store cost nothing."
        with self._panel("Ask again with this changed", text):
            self._form(decision, bool(first))
            self.result = test_id(ui.column().classes("w-full gap-3"), "again-result")

    def _form(self, decision: Decision, has_prompt: bool) -> None:
        self.fields: dict[str, Any] = {}
        self.part = ui.toggle({"parts": "Change parts", "whole": "Write the whole text"}, value="parts")
        test_id(self.part.props("no-caps dense"), "again-part")
        self.part.set_visibility(has_prompt)
        with ui.column().classes("w-full gap-2").bind_visibility_from(self.part, "value", value="parts"):
            self._text("--wording", "Wording of the question; it may contain {fields}", "again-wording")
            self._text("--given", "Text before the question; it may contain {fields}", "again-given")
            if decision.question.get("values"):
                self._orders([str(value) for value in decision.question["values"]])
        with ui.column().classes("w-full gap-2").bind_visibility_from(self.part, "value", value="whole"):
            self._text("--text", "The whole user text, word for word", "again-text")
        self._text("--system", "The whole system text: who they are, word for word", "again-system")
        with ui.row().classes("w-full items-end gap-2"):
            model = ui.input("Model", value=self.recorded["--model"]).style("flex: 1 1 220px")
            self.fields["--model"] = outline(model, "again-model", "")
            temperature = ui.number("Temperature", value=decision.temperature, min=0, step=0.1).style("width: 130px")
            self.fields["--temperature"] = outline(temperature, "again-temperature", "")
            self._button("Ask again", self._ask, "again-send")
        self._follow("again-command", self.part, *self.fields.values())

    def _text(self, flag: str, label: str, test_name: str) -> None:
        field = ui.textarea(label, value=self.recorded[flag]).props("autogrow input-style='max-height: 14rem'")
        self.fields[flag] = outline(field, test_name)

    def _orders(self, values: list[str]) -> None:
        with ui.row().classes("w-full items-end gap-2"):
            order = ui.select(_ORDERS, value="", label="Order of the options").style("min-width: 190px")
            self.fields["order"] = outline(order, "again-order", "")
            separator = "|" if any("," in value for value in values) else ","
            own = ui.input(f"All options, separated by {separator}", value=separator.join(values))
            own.style("flex: 1 1 220px").bind_visibility_from(order, "value", value="own")
            self.fields["own"] = outline(own, "again-own-order", "")

    def arguments(self) -> tuple[str, ...]:
        """The command of the form; it names only what differs from the recorded decision."""
        decision = self.details.decision
        arguments = ["ask-again", self.name, "--step", str(decision.step), "--person", str(decision.person["id"])]
        arguments += ["--path", decision.path]
        unused = ("--wording", "--given") if self.part.value == "whole" else ("--text",)
        for flag, recorded in self.recorded.items():
            now = self.fields[flag].value
            text = f"{now:g}" if isinstance(now, int | float) else str(now or "")
            if flag not in unused and text.strip() != recorded.strip():
                arguments += [flag, text]
        order = self.fields["order"].value if "order" in self.fields and self.part.value == "parts" else ""
        if order:
            arguments += ["--order", self.fields["own"].value if order == "own" else order]
        return tuple(arguments)

    async def _ask(self) -> None:
        if self.fields["--temperature"].value is None:
            raise UsageError("there is no temperature.", "Write a number that is at least 0.")
        result = await self._call()
        with refill(self.result):
            self._show(result)

    def _show(self, result: dict[str, Any]) -> None:
        recorded, repeated = self.details.decision, replaced_decision(self.details.decision, result["asked"])
        outcome = f"They would have answered {'the same' if result['same_answer'] else 'otherwise'}."
        cost = f"{count_text(result['calls'], 'call')} made" if result["calls"] else "no call was needed"
        test_id(ui.label(f"{outcome} ({cost}, {result['reused']} reused)").classes("panel-title"), "again-outcome")
        self._chart(recorded, repeated)
        with ui.element("div").classes("sides"):
            for decision, name, marker in ((recorded, "As recorded", "recorded"), (repeated, "Asked again", "asked")):
                with test_id(ui.column().classes("w-full gap-2"), f"again-{marker}"):
                    heading(name, level=3)
                    with ui.row().classes("items-center gap-3"):
                        show_value(decision)
                        chip(decision.status)
                    if decision.has_draw:
                        draw_chart(decision, "The draw", f"draw-{marker}")
                    elif decision.prompts and decision.prompts[0]["replies"]:
                        prose(decision.prompts[0]["replies"][-1], 2000, fixed=True)
        with ui.column().classes("w-full gap-1"):
            heading("What changed", level=3)
            for name, then, now in setting_differences(recorded, repeated):
                note(f"{name}: {then}  →  {now}", 300, classes="small")
            if not result["lines"]:
                ui.label("The prompt is the same.").classes("soft")
            for line in result["lines"][:200]:
                note(line, 1000, classes="diff come" if line.startswith("+") else "diff gone").props("dir=auto")
        with ui.expansion("The exact new prompt").classes("w-full"):
            for at, prompt in enumerate(repeated.prompts):
                show_prompt(prompt, f"again-prompt-{at}")

    def _chart(self, recorded: Decision, repeated: Decision) -> None:
        before, after = recorded.draw_distribution or {}, repeated.draw_distribution or {}
        if not before and not after:
            return
        options = list(before or after)
        sides = {"recorded": list(map(before.get, options)), "asked again": list(map(after.get, options))}
        probability_chart("Probability as drawn from", pl.DataFrame({"option": options, **sides}), "again")
