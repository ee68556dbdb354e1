"""The addresses of pages: how they are put together, and numbers in them."""

from urllib.parse import quote, urlencode

from populace.base.errors import UsageError

_MAX_DIGITS = 12
"""The most digits of a number in an address: more than any step or page has, and small enough for every library."""


def page_address(*path: object, **query: object) -> str:
    """The address of a page by the parts of its path; parts of the query that are None or empty are left out.

    Example:
        >>> page_address("run", "a/b", "person", 3, step=2, tab=None)
        '/run/a%2Fb/person/3?step=2'
    """
    address = "/" + "/".join(quote(str(part), safe="") for part in path)
    parts = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{address}?{urlencode(parts)}" if parts else address


def run_address(name: str, *more: object, **query: object) -> str:
    """The address of a run, or of a page below it."""
    return page_address("run", name, *more, **query)


def parse_number(text: str, name: str) -> int | None:
    """A whole number from the query of an address; None where it is empty.

    Example:
        >>> parse_number("12", "step")
        12
    """
    text = text.strip()
    if text and not (text.isascii() and text.isdecimal()):
        raise UsageError(f"the {name} in this address is {text[:40]!r}, which is not a number.")
    if len(text.lstrip("0")) > _MAX_DIGITS:
        raise UsageError(f"the {name} in this address has {len(text)} digits, which is too large a number.")
    return int(text) if text else None
