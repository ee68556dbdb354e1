"""Forms for what can be done to a society from outside, one for each kind of intervention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nicegui import ui

from populace.base.errors import InterventionError
from populace.models import MODEL_FORMS
from populace.people import People
from populace.studio.pages.fork.data import Beginning
from populace.studio.pages.fork.selection import SIGNS, Column, ColumnCondition, column_value, selection
from populace.studio.shell.frame import test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.fields import field, field_grid
from populace.studio.widgets.form_values import format_value, parse_value
from populace.tools.describe import Parameter

KINDS = {
    "announce": "Announce something",
    "set": "Set a column",
    "add": "Add people",
    "remove": "Remove people",
    "change": "Change a parameter",
    "swap": "Swap the model",
}
"""What can be done, by the kind of intervention."""

Read = Callable[[People], dict[str, Any]]
"""Makes an intervention, without its step, of what was typed; raises one of our errors where that will not do."""


def change_form(kind: str, start: Beginning, parameters: tuple[Parameter, ...]) -> Read:
    """Build the form for one kind of change where the page stands, and return what reads it."""
    match kind:
        case "announce":
            return _announce(start)
        case "set":
            return _set(start)
        case "add":
            return _add(start)
        case "remove":
            return _remove(start)
        case "change":
            return _change(start, parameters)
        case _:
            return _swap(start)


def _announce(start: Beginning) -> Read:
    text = test_id(ui.textarea("What people are told"), "announce-text")
    text.classes("w-full").props("outlined dense autogrow")
    long = Parameter("steps", "int", optional=True, ge=1, help="For how many steps it is told; nothing: for good.")
    typed: dict[str, str] = {}
    whom = _Whom(start)
    with field_grid():
        field(long, "", typed.__setitem__, name="announce-steps")

    def read(people: People) -> dict[str, Any]:
        steps = parse_value(long, typed.get("steps", ""))
        made = {"kind": "announce", "text": (text.value or "").strip(), "to": whom.read(people)}
        return made | ({"steps": steps} if steps is not None else {})

    return read


def _set(start: Beginning) -> Read:
    columns = {each.name: each for each in start.columns if each.name != "id"}
    with ui.row().classes("w-full gap-2 items-start"):
        select = _choose("Column", [*columns, *({"decider", "model"} - set(columns))], "set-column")
        value = test_id(ui.input("Value"), "set-value").classes("grow").props("outlined dense")
    hint = ui.label("").classes("soft small foreign")

    def follow() -> None:
        column = columns.get(select.value or "")
        known = f"{column.kind}, such as {display_text(column.example, 80)}" if column and column.example else "text"
        hint.set_text(f"{known}; nothing typed empties it" if select.value else "")

    select.on_value_change(follow)
    whom = _Whom(start)

    def read(people: People) -> dict[str, Any]:
        if not select.value:
            raise InterventionError("Which column is to be set?", "Choose one.")
        column = columns.get(select.value, Column(select.value, "text", ""))
        values = {column.name: column_value(column, value.value or "")}
        return {"kind": "set", "values": values, "to": whom.read(people)}

    return read


def _add(start: Beginning) -> Read:
    columns = [each for each in start.columns if each.kind != "json" and (each.name != "id" or each.kind == "text")]
    count = Parameter("how_many", "int", 1, ge=1, le=100_000, help="How many people like this join.")
    typed: dict[str, str] = {}
    ui.label("A person like this joins; what is left empty is empty for them. Ids are given.").classes("soft small")
    with field_grid():
        for each in columns:
            parameter = Parameter(each.name, each.kind if each.kind != "bool" else "text", optional=True)
            example = replace(parameter, help=f"such as {each.example}" if each.example else "")
            field(example, "", typed.__setitem__, name=f"add-{each.name}")
        field(count, None, lambda _, text: typed.__setitem__("\0count", text), name="add-count")

    def read(people: People) -> dict[str, Any]:
        known = {each.name: each for each in columns}
        row = {name: column_value(known[name], text) for name, text in typed.items() if name in known and text.strip()}
        if not row:
            raise InterventionError("Who joins?", "Fill in at least one column.")
        number = parse_value(count, typed.get("\0count", "1"))
        rows = [dict(row) for _ in range(number)]
        if number > 1 and "name" in row:
            rows = [row | {"name": f"{row['name']} {place}"} for place, row in enumerate(rows, 1)]
        return {"kind": "add", "people": rows}

    return read


def _remove(start: Beginning) -> Read:
    whom = _Whom(start, "Who leaves?")
    return lambda people: {"kind": "remove", "to": whom.read(people)}


def _change(start: Beginning, parameters: tuple[Parameter, ...]) -> Read:
    # What holds now stands in the place of the default, so that one sees what is being changed.
    now = {each.name: replace(each, default=start.parameters.get(each.name, each.default)) for each in parameters}
    typed: dict[str, str] = {}
    select = _choose("Parameter", list(now), "change-parameter")
    place = field_grid()

    def follow() -> None:
        place.clear()
        typed.clear()
        if select.value in now:
            with place:
                field(now[select.value], None, typed.__setitem__, name="change-value")

    select.on_value_change(follow)

    def read(people: People) -> dict[str, Any]:
        if select.value not in now:
            raise InterventionError("Which parameter is to change?", "Choose one.")
        parameter = now[select.value]
        held = format_value(parameter.default)
        text = typed.get(parameter.name, held)
        value = parse_value(parameter, text)
        if text == held or value == parameter.default:
            raise InterventionError(f"{parameter.name} is {display_text(held, 200)} already.", "Type another value.")
        return {"kind": "change", "parameters": {parameter.name: value}}

    return read


def _swap(start: Beginning) -> Read:
    model = test_id(ui.input("Model", placeholder=start.model), "swap-model")
    model.classes("w-full").props("outlined dense").set_autocomplete(["embedded", "scripted:uniform", "scripted:first"])
    ui.label(", ".join(MODEL_FORMS)).classes("soft small")
    whom = _Whom(start, "For whom?")

    def read(people: People) -> dict[str, Any]:
        if not (model.value or "").strip():
            raise InterventionError("Which model is to decide?", "Type its name.")
        meant = whom.read(people)
        return {"kind": "swap", "model": model.value.strip()} | ({"to": meant} if meant else {})

    return read


class _Whom:
    """The part of a form that says who is meant: everybody until something is typed."""

    def __init__(self, start: Beginning, title: str = "To whom?") -> None:
        self._columns = [each.name for each in start.columns if each.kind != "json"]
        self._rows: list[tuple[ui.select, ui.select, ui.input]] = []
        self._typed: dict[str, str] = {}
        with ui.column().classes("w-full gap-2"):
            with ui.row().classes("items-center gap-2"):
                ui.label(title).classes("small").style("font-weight: 600")
                ui.label("Everybody, unless something is said here.").classes("soft small")
            self._place = ui.column().classes("w-full gap-2")
            more = ui.button("Add a condition", on_click=self._condition).props("flat dense no-caps icon=add")
            test_id(more, "whom-condition")
            with field_grid():
                ids = Parameter("people", "text", "", help="Names or ids, with commas between.")
                share = Parameter("share", "number", optional=True, gt=0, le=1, help="Only a share of them, at random.")
                field(ids, "", self._typed.__setitem__, name="whom-people")
                field(share, "", self._typed.__setitem__, name="whom-share")

    def _condition(self) -> None:
        number = len(self._rows)
        with self._place, ui.row().classes("w-full gap-2 items-center") as row:
            column = _choose("Column", self._columns, f"whom-column-{number}")
            sign = test_id(ui.select(SIGNS, value="eq"), f"whom-sign-{number}").props("outlined dense options-dense")
            value = test_id(ui.input("Value"), f"whom-value-{number}").classes("grow").props("outlined dense")
            entry = (column, sign, value)
            self._rows.append(entry)

            def drop() -> None:
                self._rows.remove(entry)
                row.delete()

            ui.button(on_click=drop).props('flat round dense icon=close aria-label="Remove this condition"')

    def read(self, people: People) -> dict[str, Any]:
        """The selection that was typed."""
        conditions = [ColumnCondition(c.value, s.value, v.value or "") for c, s, v in self._rows if c.value]
        return selection(conditions, self._typed.get("people", ""), self._typed.get("share", ""), people)


def _choose(label: str, names: list[str], test: str) -> ui.select:
    select = ui.select({name: display_text(name, 80) for name in names}, label=label, with_input=len(names) > 12)
    return test_id(select, test).props("outlined dense options-dense").style("min-width: 180px")
