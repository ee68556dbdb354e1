"""Text from models, users and files on a page: always text, never markup."""

from datetime import datetime

from nicegui import ui

from populace.base.foreign import for_terminal

CUT_LENGTH = 2_000
"""How many characters of a text are shown at first."""
MAX_LENGTH = 200_000
"""The most characters of one text that are sent to a browser."""


def display_text(text: object, limit: int = CUT_LENGTH) -> str:
    """A text as a page shows it: control characters replaced, and cut where it is longer than the limit.

    Example:
        >>> display_text("a" * 5, limit=3)
        'aaa… (2 more characters)'
        >>> display_text("turned \\u202e round \\x00")
        'turned � round �'
    """
    whole = str(text)
    cut = for_terminal(whole[:limit])
    return cut if len(whole) <= limit else f"{cut}… ({len(whole) - limit:,} more characters)"


def date_text(iso: str) -> str:
    """A time of the wall clock, by the zone of this machine, as `16 Nov 2026, 01:33`.

    Example:
        >>> date_text("soon")
        'at an unknown time'
    """
    try:
        time = datetime.fromisoformat(iso).astimezone()
    except ValueError:
        return "at an unknown time"
    return f"{time.day} {time:%b %Y, %H:%M}"


def prose(text: object, limit: int = CUT_LENGTH, *, fixed: bool = False) -> ui.column:
    """A text in its own lines, each in its own direction; a button shows all of a long one.

    Args:
        text: The text.
        limit: How many characters are shown at first.
        fixed: Whether to use a font of fixed width, as for prompts.
    """
    whole = str(text)
    with ui.column().classes("w-full gap-1 min-w-0") as element:
        body = (
            ui.label(display_text(whole, limit))
            .classes("foreign fixed-width" if fixed else "foreign")
            .props("dir=auto")
        )
        if len(whole) > limit:

            def show_all() -> None:
                body.set_text(display_text(whole, MAX_LENGTH))
                more.delete()

            more = ui.button("Show all", on_click=show_all).props("flat dense no-caps size=sm")
    return element
