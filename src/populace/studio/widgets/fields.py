"""The field of a parameter in a form: an input of its kind, with its help and what is wrong with the input."""

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from populace.studio.shell.frame import test_id
from populace.studio.shell.text import CUT_LENGTH, display_text
from populace.studio.widgets.elements import note, outline
from populace.studio.widgets.form_values import format_value, input_error
from populace.tools.describe import Parameter

OnInput = Callable[[str, str], None]
"""Called with the name of a parameter and the text in its field."""


def field(parameter: Parameter, text: str | None, on_input: OnInput, *, name: str = "") -> ui.element:
    """A field for one parameter; returns the input element.

    Args:
        parameter: The parameter.
        text: The text at first; None for the default of the parameter.
        on_input: Called with every change.
        name: The name under which tests find it; made from the parameter's name by default.
    """
    value = format_value(parameter.default) if text is None else text
    with ui.column().classes("field gap-0"):
        element = _element(parameter, value, on_input)
        help_text = " ".join(part for part in (parameter.help, _limits(parameter)) if part)
        if help_text:
            note(help_text, CUT_LENGTH)
    return test_id(element, name or f"parameter-{parameter.name}")


def field_grid() -> ui.element:
    """A container of fields: side by side where there is room, below each other on a phone."""
    return ui.element("div").classes("fields")


def add_form_style() -> None:
    """Add the style sheet of forms to a page."""
    ui.add_head_html('<link rel="stylesheet" href="/studio-static/widgets/forms.css">')


def _element(parameter: Parameter, value: str, on_input: OnInput) -> ui.element:
    label = display_text(parameter.name.replace("_", " "), 80) + (" *" if parameter.required else "")
    name = parameter.name

    def check(text: str | None) -> str | None:
        return input_error(parameter, text or "") or None

    def send(event: events.ValueChangeEventArguments[Any]) -> None:
        on_input(name, event.value or "")

    match parameter.kind:
        case "bool":
            switch = ui.switch(label, value=value.strip().lower() in ("true", "yes"))
            switch.on_value_change(lambda event: on_input(name, "true" if event.value else "false"))
            return switch
        case "choice" if value in map(str, parameter.choices) or not value:
            choices = {str(choice): display_text(choice, 80) for choice in parameter.choices}
            select = ui.select(choices, label=label, value=value or None, validation=check, on_change=send)
            return outline(select).props("options-dense")
        case "json":
            area = ui.textarea(label, value=value, validation=check, on_change=send)
            return outline(area).props("autogrow input-class=commandfont")
        case _:
            box = outline(ui.input(label, value=value, validation=check, on_change=send))
            if parameter.kind in ("int", "number"):
                box.props(f"type=number step={1 if parameter.kind == 'int' else 'any'}")
                least = parameter.ge if parameter.gt is None else parameter.gt
                for name_of_limit, limit in (("min", least), ("max", parameter.le)):
                    if limit is not None:
                        box.props(f"{name_of_limit}={limit:g}")
            if value and input_error(parameter, value):
                box.validate()
            return box


def _limits(parameter: Parameter) -> str:
    parts = list(parameter.bounds)
    if parameter.default is not None and parameter.kind not in ("bool", "json") and parameter.default != "":
        parts.append(f"default {format_value(parameter.default)}")
    return f"({', '.join(parts)})" if parts else ""
