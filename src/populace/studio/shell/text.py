"""Text that somebody else wrote, as an element of a page: always text, never markup."""

from __future__ import annotations

from nicegui import ui

from populace.community.display import safe_text

CUT_LENGTH = 2_000
MAX_LENGTH = 200_000
"""More characters than this are never sent to a browser at once."""


def display_text(text: object, limit: int = CUT_LENGTH) -> str:
    """Text fit to be shown: nothing in it acts, and what is too long is cut and says so.

    Example:
        >>> display_text("a" * 5, limit=3)
        'aaa… (2 more characters)'
        >>> display_text("turned \\u202e round \\x00")
        'turned � round �'
    """
    whole = str(text)
    cut = safe_text(whole[:limit])
    return cut if len(whole) <= limit else f"{cut}… ({len(whole) - limit:,} more characters)"


def prose(text: object, limit: int = CUT_LENGTH, *, fixed: bool = False) -> ui.column:
    """Foreign text in its own lines, each in its own direction; what is long opens on a click.

    Args:
        text: The text.
        limit: How many characters are shown at first.
        fixed: In letters of one width, as prompts are.
    """
    whole = str(text)
    with ui.column().classes("w-full gap-1 min-w-0") as made:
        body = (
            ui.label(display_text(whole, limit))
            .classes("foreign fixed-width" if fixed else "foreign")
            .props("dir=auto")
        )
        if len(whole) > limit:

            def open_all() -> None:
                body.set_text(display_text(whole, MAX_LENGTH))
                more.delete()

            more = ui.button("Show all", on_click=open_all).props("flat dense no-caps size=sm")
    return made
