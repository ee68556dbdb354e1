"""Forms for changes, one for each kind of intervention."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nicegui import ui

from populace.base.errors import InterventionError
from populace.models import MODEL_SUMMARY
from populace.people import People
from populace.studio.pages.fork.data import ForkPoint
from populace.studio.pages.fork.selection import OPERATORS, ColumnCondition, column_value, selection
from populace.studio.shell.text import display_text
from populace.studio.widgets.elements import action, icon_button, note, outline
from populace.studio.widgets.fields import field, field_grid
from populace.studio.widgets.form_values import format_value, parse_value
from populace.tools.describe import Parameter

KINDS = {
    "announce": "Announce something",
    "think": "Put a thought into memories",
    "thing": "Change a thing",
    "set": "Set a column",
    "add": "Add people",
    "remove": "Remove people",
    "change": "Change a parameter",
    "swap": "Swap the model",
}
"""The names of the forms, by the kind of intervention."""

FormReader = Callable[[People], dict[str, Any]]
"""Returns the intervention in a form, without its step; raises a PopulaceError where the input is invalid."""


def change_form(kind: str, point: ForkPoint, parameters: tuple[Parameter, ...]) -> FormReader:
    """Build the form for one kind of change, and return the function that reads it."""
    if kind == "change":
        return _change(point, parameters)
    forms = {
        "announce": _announce,
        "think": _think,
        "thing": _thing,
        "set": _set,
        "add": _add,
        "remove": _remove,
        "swap": _swap,
    }
    return forms[kind](point)


def _announce(point: ForkPoint) -> FormReader:
    text = outline(ui.textarea("What people are told"), "announce-text").props("autogrow")
    duration = Parameter("steps", "int", optional=True, ge=1, help="For how many steps; empty: until the end.")
    texts: dict[str, str] = {}
    target = _PeopleForm(point)
    with field_grid():
        field(duration, "", texts.__setitem__, name="announce-steps")

    def read(people: People) -> dict[str, Any]:
        steps = parse_value(duration, texts.get("steps", ""))
        change = {"kind": "announce", "text": (text.value or "").strip(), "to": target.read(people)}
        return change | ({"steps": steps} if steps is not None else {})

    return read


def _think(point: ForkPoint) -> FormReader:
    text = outline(ui.textarea("What they think, in words to them"), "think-text").props("autogrow")
    note("It becomes a memory of theirs. The people of this scenario need a memory.")
    target = _PeopleForm(point, "Who thinks it?")
    return lambda people: {"kind": "think", "text": (text.value or "").strip(), "to": target.read(people)}


def _thing(point: ForkPoint) -> FormReader:
    with ui.row().classes("w-full gap-2 items-start"):
        place = outline(ui.input("Which thing, by its place"), "thing-place", "grow")
        state = outline(ui.input("Its new state, such as “burning”"), "thing-state", "grow")
    note("The world of this scenario needs things with a state, as in a town.")
    return lambda people: {
        "kind": "thing",
        "place": (place.value or "").strip(),
        "state": (state.value or "").strip(),
    }


def _set(point: ForkPoint) -> FormReader:
    columns = {each.name: each for each in point.columns if each.name != "id"}
    with ui.row().classes("w-full gap-2 items-start"):
        select = _select("Column", [*columns, *({"decider", "model"} - set(columns))], "set-column")
        value = outline(ui.input("Value"), "set-value", "grow")
    hint = note("")

    def follow() -> None:
        column = columns.get(select.value or "")
        kind = f"{column.kind}, {display_text(column.help, 80)}" if column and column.help else "text"
        hint.set_text(f"{kind}; an empty field empties the column" if select.value else "")

    select.on_value_change(follow)
    target = _PeopleForm(point)

    def read(people: People) -> dict[str, Any]:
        if not select.value:
            raise InterventionError("No column is chosen.", "Choose the column to set.")
        column = columns.get(select.value, Parameter(select.value, "text"))
        values = {column.name: column_value(column, value.value or "")}
        return {"kind": "set", "values": values, "to": target.read(people)}

    return read


def _add(point: ForkPoint) -> FormReader:
    columns = [each for each in point.columns if each.kind != "json" and (each.name != "id" or each.kind == "text")]
    count = Parameter("how_many", "int", 1, ge=1, le=100_000, help="How many people like this join.")
    texts: dict[str, str] = {}
    note("A person like this joins; an empty field stays empty. Ids are assigned.")
    with field_grid():
        for each in columns:
            column = replace(each, kind=each.kind if each.kind != "bool" else "text")
            field(column, "", texts.__setitem__, name=f"add-{each.name}")
        field(count, None, lambda _, text: texts.__setitem__("\0count", text), name="add-count")

    def read(people: People) -> dict[str, Any]:
        by_name = {each.name: each for each in columns}
        row = {
            name: column_value(by_name[name], text) for name, text in texts.items() if name in by_name and text.strip()
        }
        if not row:
            raise InterventionError("The new person has no columns.", "Fill in at least one.")
        number = parse_value(count, texts.get("\0count", "1"))
        rows = [dict(row) for _ in range(number)]
        if number > 1 and "name" in row:
            rows = [row | {"name": f"{row['name']} {place}"} for place, row in enumerate(rows, 1)]
        return {"kind": "add", "people": rows}

    return read


def _remove(point: ForkPoint) -> FormReader:
    target = _PeopleForm(point, "Who leaves?")
    return lambda people: {"kind": "remove", "to": target.read(people)}


def _change(point: ForkPoint, parameters: tuple[Parameter, ...]) -> FormReader:
    # The current value takes the place of the default, so that the form shows it.
    now = {each.name: replace(each, default=point.parameters.get(each.name, each.default)) for each in parameters}
    texts: dict[str, str] = {}
    select = _select("Parameter", list(now), "change-parameter")
    place = field_grid()

    def follow() -> None:
        place.clear()
        texts.clear()
        if select.value in now:
            with place:
                field(now[select.value], None, texts.__setitem__, name="change-value")

    select.on_value_change(follow)

    def read(people: People) -> dict[str, Any]:
        if select.value not in now:
            raise InterventionError("No parameter is chosen.", "Choose the parameter to change.")
        parameter = now[select.value]
        current = format_value(parameter.default)
        text = texts.get(parameter.name, current)
        value = parse_value(parameter, text)
        if text == current or value == parameter.default:
            raise InterventionError(f"{parameter.name} is {display_text(current, 200)} already.", "Type another value.")
        return {"kind": "change", "parameters": {parameter.name: value}}

    return read


def _swap(point: ForkPoint) -> FormReader:
    model = outline(ui.input("Model", placeholder=point.regime.model), "swap-model")
    model.set_autocomplete(["embedded", "scripted:cast", "scripted:uniform", "scripted:first"])
    note(MODEL_SUMMARY)
    target = _PeopleForm(point, "For whom?")

    def read(people: People) -> dict[str, Any]:
        if not (model.value or "").strip():
            raise InterventionError("No model is given.", "Type the name of the model that decides.")
        to = target.read(people)
        return {"kind": "swap", "model": model.value.strip()} | ({"to": to} if to else {})

    return read


class _PeopleForm:
    """The part of a form that selects people: everybody as long as it is empty."""

    def __init__(self, point: ForkPoint, title: str = "To whom?") -> None:
        self._columns = [each.name for each in point.columns if each.kind != "json"]
        self._rows: list[tuple[ui.select, ui.select, ui.input]] = []
        self._texts: dict[str, str] = {}
        with ui.column().classes("w-full gap-2"):
            with ui.row().classes("items-center gap-2"):
                ui.label(title).classes("small").style("font-weight: 600")
                note("Everybody, unless something is entered here.")
            self._place = ui.column().classes("w-full gap-2")
            action("Add a condition", self._add_condition, "whom-condition", look="flat dense icon=add")
            with field_grid():
                ids = Parameter("people", "text", "", help="Names or ids, with commas between.")
                share = Parameter("share", "number", optional=True, gt=0, le=1, help="Only a share of them, at random.")
                field(ids, "", self._texts.__setitem__, name="whom-people")
                field(share, "", self._texts.__setitem__, name="whom-share")

    def _add_condition(self) -> None:
        number = len(self._rows)
        with self._place, ui.row().classes("w-full gap-2 items-center") as row:
            column = _select("Column", self._columns, f"whom-column-{number}")
            operator = outline(ui.select(OPERATORS, value="eq"), f"whom-sign-{number}", "").props("options-dense")
            value = outline(ui.input("Value"), f"whom-value-{number}", "grow")
            entry = (column, operator, value)
            self._rows.append(entry)

            def remove() -> None:
                self._rows.remove(entry)
                row.delete()

            icon_button("close", "Remove this condition", remove)

    def read(self, people: People) -> dict[str, Any]:
        """The selection in the form."""
        conditions = [
            ColumnCondition(column.value, operator.value, value.value or "")
            for column, operator, value in self._rows
            if column.value
        ]
        return selection(conditions, self._texts.get("people", ""), self._texts.get("share", ""), people)


def _select(label: str, names: list[str], test: str) -> ui.select:
    select = ui.select({name: display_text(name, 80) for name in names}, label=label, with_input=len(names) > 12)
    return outline(select, test, "").props("options-dense").style("min-width: 180px")


_FORMS = {
    "announce": _announce,
    "think": _think,
    "thing": _thing,
    "set": _set,
    "add": _add,
    "remove": _remove,
    "swap": _swap,
}
