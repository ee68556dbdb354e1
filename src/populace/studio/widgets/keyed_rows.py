"""A list whose rows stay as they are while nothing about them changes."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from nicegui import ui


class KeyedRows:
    """Rows by key: a row is drawn when its key is new, and again when its value is another one.

    Drawing a whole list again would close menus, lose typed text, and let a click fall on a button that is just
    being replaced.

    Args:
        draw: Draws the row of a value; the elements that it creates become the row.
        classes: The classes of the container.
    """

    def __init__(self, draw: Callable[[Any], None], classes: str = "w-full gap-3") -> None:
        self._draw = draw
        self._values: dict[Hashable, Any] = {}
        self._rows: dict[Hashable, ui.element] = {}
        self.element = ui.column().classes(classes)

    def show(self, values: Mapping[Hashable, Any]) -> None:
        """Show these rows, in this order."""
        for key in [key for key in self._rows if key not in values]:
            self._rows.pop(key).delete()
            del self._values[key]
        for place, (key, value) in enumerate(values.items()):
            if key not in self._rows:
                with self.element:
                    self._rows[key] = ui.column().classes("w-full gap-2 min-w-0")
            elif self._values[key] == value:
                self._put(key, place)
                continue
            self._values[key] = value
            row = self._rows[key]
            row.clear()
            with row:
                self._draw(value)
            self._put(key, place)

    def _put(self, key: Hashable, place: int) -> None:
        children = self.element.default_slot.children
        if children[place] is not self._rows[key]:
            self._rows[key].move(target_index=place)
