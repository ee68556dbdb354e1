"""A parameter as a field of a form: an input of its kind, with what it means and, where it will not do, why."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from populace.studio.shell.frame import test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.form_values import format_value, input_error
from populace.tools.describe import Parameter

OnInput = Callable[[str, str], None]
"""Called with the name of a parameter and what was typed for it."""


def field(parameter: Parameter, text: str | None, typed: OnInput, *, name: str = "") -> ui.element:
    """A field for one parameter; returns the element that is typed into.

    Args:
        parameter: The parameter.
        text: What it holds at first; the default where nothing was typed.
        typed: Told of every change.
        name: Under which tests find it; the parameter's own by default.
    """
    held = format_value(parameter.default) if text is None else text
    with ui.column().classes("field gap-0"):
        element = _element(parameter, held, typed)
        meaning = " ".join(part for part in (parameter.help, _limits(parameter)) if part)
        if meaning:
            ui.label(display_text(meaning)).classes("soft small foreign")
    return test_id(element, name or f"parameter-{parameter.name}")


def field_grid() -> ui.element:
    """Where fields stand: side by side where there is room, below each other on a phone."""
    return ui.element("div").classes("fields")


def add_form_style() -> None:
    """How forms look, for a page that has one."""
    ui.add_head_html('<link rel="stylesheet" href="/studio-static/widgets/forms.css">')


def _element(parameter: Parameter, held: str, typed: OnInput) -> ui.element:
    name, label = parameter.name, display_text(parameter.name, 80) + (" *" if parameter.required else "")

    def check(value: str | None) -> str | None:
        return input_error(parameter, value or "") or None

    match parameter.kind:
        case "bool":
            switch = ui.switch(label, value=held.strip().lower() in ("true", "yes"))
            switch.on_value_change(lambda event: typed(name, "true" if event.value else "false"))
            return switch
        case "choice" if held in map(str, parameter.choices) or not held:
            choices = {str(choice): display_text(choice, 80) for choice in parameter.choices}
            select = ui.select(choices, label=label, value=held or None, validation=check)
            select.on_value_change(lambda event: typed(name, event.value or ""))
            return select.classes("w-full").props("dense outlined options-dense")
        case "json":
            area = ui.textarea(label, value=held, validation=check)
            area.on_value_change(lambda event: typed(name, event.value or ""))
            return area.classes("w-full").props("dense outlined autogrow input-class=commandfont")
        case _:
            made = ui.input(label, value=held, validation=check)
            made.on_value_change(lambda event: typed(name, event.value or ""))
            made.classes("w-full").props("dense outlined")
            if parameter.kind in ("int", "number"):
                made.props(f"type=number step={1 if parameter.kind == 'int' else 'any'}")
                least, most = parameter.ge if parameter.gt is None else parameter.gt, parameter.le
                if least is not None:
                    made.props(f"min={least:g}")
                if most is not None:
                    made.props(f"max={most:g}")
            if held and input_error(parameter, held):
                made.validate()
            return made


def _limits(parameter: Parameter) -> str:
    parts = list(parameter.bounds)
    if parameter.default is not None and parameter.kind not in ("bool", "json") and parameter.default != "":
        parts.append(f"default {format_value(parameter.default)}")
    return f"({', '.join(parts)})" if parts else ""
