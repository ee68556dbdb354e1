"""Ask again: the same question with something changed, beside the recorded one."""

from __future__ import annotations

from typing import Any

import polars as pl
from nicegui import ui

from populace.base.errors import UsageError
from populace.runs.decision import Decision
from populace.runs.decision_details import DecisionDetails, replaced_decision, setting_differences
from populace.studio.jobs import command
from populace.studio.pages.decision.panels import draw_line, probability_chart, prompt_text, value_text
from populace.studio.shell.frame import CommandLine, chip, notify_errors, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio

_ORDERS = {"": "as it was", "reversed": "reversed", "given": "as declared", "own": "an order of my own"}
_LONGEST = 20_000
"""So many characters of a text can be edited here."""


class AskAgain:
    """The form, the command that it makes, and the result beside the record.

    Args:
        studio: The Studio.
        name: The run.
        opened: The recorded decision.
    """

    def __init__(self, studio: Studio, name: str, opened: DecisionDetails) -> None:
        self.studio, self.name, self.opened = studio, name, opened
        decision = opened.decision
        first = decision.prompts[0] if decision.prompts else {}
        self.was = {
            "--wording": display_text(decision.question["text"], _LONGEST),
            "--given": display_text(opened.given, _LONGEST),
            "--system": display_text(first.get("system") or "", _LONGEST),
            "--text": display_text(first.get("user") or "", _LONGEST),
            "--model": display_text(first.get("model") or ""),
            "--temperature": f"{decision.temperature:g}",
        }
        with section("Ask again with this changed") as panel:
            panel.classes("aside")
            with ui.row().classes("items-center gap-2"):
                ui.label("On the side").classes("chip aside-note")
                ui.label(
                    "It never changes the run: the record stays as it is, and known replies cost nothing."
                ).classes("small")
            self._form(decision, bool(first))
            self.result = test_id(ui.column().classes("w-full gap-3"), "again-result")

    def _form(self, decision: Decision, prompted: bool) -> None:
        self.fields: dict[str, Any] = {}
        self.part = ui.toggle({"parts": "Change parts", "whole": "Write the whole text"}, value="parts")
        test_id(self.part.props("no-caps dense"), "again-part")
        self.part.set_visibility(prompted)
        with ui.column().classes("w-full gap-2").bind_visibility_from(self.part, "value", value="parts"):
            self._text("--wording", "Wording of the question; {fields} may stand in it", "again-wording")
            self._text("--given", "Told before it; {fields} may stand in it", "again-given")
            if decision.question.get("values"):
                self._orders([str(value) for value in decision.question["values"]])
        with ui.column().classes("w-full gap-2").bind_visibility_from(self.part, "value", value="whole"):
            self._text("--text", "The whole user text, word for word", "again-text")
        self._text("--system", "The whole system text: who they are, word for word", "again-system")
        with ui.row().classes("w-full items-end gap-2"):
            model = ui.input("Model", value=self.was["--model"]).props("outlined dense").style("flex: 1 1 220px")
            self.fields["--model"] = test_id(model, "again-model")
            degree = ui.number("Temperature", value=decision.temperature, min=0, step=0.1).props("outlined dense")
            self.fields["--temperature"] = test_id(degree.style("width: 130px"), "again-temperature")
            self.send = test_id(
                ui.button("Ask again", on_click=notify_errors(self._ask)).props("no-caps"), "again-send"
            )
            self.busy = ui.spinner(size="sm")
            self.busy.set_visibility(False)
        self.line = CommandLine("again-command")
        for field in (self.part, *self.fields.values()):
            field.on_value_change(self._say)
        self._say()

    def _text(self, flag: str, label: str, marker: str) -> None:
        field = ui.textarea(label, value=self.was[flag]).props(
            "outlined dense autogrow input-style='max-height: 14rem'"
        )
        self.fields[flag] = test_id(field.classes("w-full"), marker)

    def _orders(self, values: list[str]) -> None:
        with ui.row().classes("w-full items-end gap-2"):
            order = ui.select(_ORDERS, value="", label="Order of the options").props("outlined dense")
            self.fields["order"] = test_id(order.style("min-width: 190px"), "again-order")
            joint = "|" if any("," in value for value in values) else ","
            own = ui.input(f"All options, with {joint} between", value=joint.join(values)).props("outlined dense")
            own.style("flex: 1 1 220px").bind_visibility_from(order, "value", value="own")
            self.fields["own"] = test_id(own, "again-own-order")

    def arguments(self) -> tuple[str, ...]:
        """The command that asks what the form says: only what differs from the record is named."""
        decision = self.opened.decision
        made = ["ask-again", self.name, "--step", str(decision.step), "--person", str(decision.person["id"])]
        made += ["--path", decision.path]
        left_out = ("--wording", "--given") if self.part.value == "whole" else ("--text",)
        for flag, was in self.was.items():
            now = self.fields[flag].value
            text = f"{now:g}" if isinstance(now, int | float) else str(now or "")
            if flag not in left_out and text.strip() != was.strip():
                made += [flag, text]
        order = self.fields["order"].value if "order" in self.fields and self.part.value == "parts" else ""
        if order:
            made += ["--order", self.fields["own"].value if order == "own" else order]
        return tuple(made)

    def _say(self) -> None:
        self.line.show(command(*self.arguments()))

    async def _ask(self) -> None:
        if self.fields["--temperature"].value is None:
            raise UsageError("there is no temperature.", "Write a number from 0 on.")
        self.send.disable()
        self.busy.set_visibility(True)
        try:
            found = await self.studio.jobs.call(*self.arguments())
        finally:
            self.send.enable()
            self.busy.set_visibility(False)
        self.result.clear()
        with self.result:
            self._show(found)

    def _show(self, found: dict[str, Any]) -> None:
        recorded, asked = self.opened.decision, replaced_decision(self.opened.decision, found["asked"])
        same = "They would have answered the same." if found["same_answer"] else "They would have answered otherwise."
        paid = "no call was needed" if not found["calls"] else f"{found['calls']} call{'s' * (found['calls'] > 1)} made"
        test_id(ui.label(f"{same} ({paid}, {found['reused']} reused)").classes("panel-title"), "again-outcome")
        self._chart(recorded, asked)
        with ui.element("div").classes("sides"):
            for decision, name, marker in ((recorded, "As recorded", "recorded"), (asked, "Asked again", "asked")):
                with test_id(ui.column().classes("w-full gap-2"), f"again-{marker}"):
                    ui.label(name).classes("panel-title").props("role=heading aria-level=3")
                    with ui.row().classes("items-center gap-3"):
                        value_text(decision)
                        chip(decision.status)
                    if decision.has_draw:
                        draw_line(decision, "The draw", f"draw-{marker}")
                    elif decision.prompts and decision.prompts[0]["replies"]:
                        prose(decision.prompts[0]["replies"][-1], 2000, fixed=True)
        with ui.column().classes("w-full gap-1"):
            ui.label("What changed").classes("panel-title").props("role=heading aria-level=3")
            for name, then, now in setting_differences(recorded, asked):
                ui.label(display_text(f"{name}: {then}  →  {now}", 300)).classes("small")
            if not found["lines"]:
                ui.label("Not a word: the prompt is the same.").classes("soft")
            for line in found["lines"][:200]:
                ui.label(display_text(line, 1000)).classes("diff come" if line.startswith("+") else "diff gone").props(
                    "dir=auto"
                )
        with ui.expansion("The new prompt, exactly").classes("w-full"):
            for at, prompt in enumerate(asked.prompts):
                prompt_text(prompt, f"again-prompt-{at}")

    def _chart(self, recorded: Decision, asked: Decision) -> None:
        before, after = recorded.draw_distribution or {}, asked.draw_distribution or {}
        if not before and not after:
            return
        options = list(before or after)
        table = pl.DataFrame(
            {
                "option": options,
                "recorded": [before.get(option) for option in options],
                "asked again": [after.get(option) for option in options],
            }
        )
        probability_chart("Probability as drawn from", table, "again")
