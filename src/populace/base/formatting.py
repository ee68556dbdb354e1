"""Numbers and data as text, for people and for other programs."""

import json
import math
from typing import Any

import numpy as np
import polars as pl


def percent(share: float) -> str:
    """A share in per cent, never rounding something to nothing.

    Example:
        >>> percent(0.5), percent(0.1234), percent(0.00001)
        ('50 %', '12.3 %', '< 0.1 %')
    """
    if share and share < 0.001:
        return "< 0.1 %"
    return f"{share * 100:.1f} %".replace(".0 %", " %")


def sentence(text: str) -> str:
    """A text with a full stop at its end, unless it ends as a sentence does.

    Example:
        >>> sentence("it is missing"), sentence("Is it?")
        ('it is missing.', 'Is it?')
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."


def duration(seconds: float) -> str:
    """Seconds as a person reads them.

    Example:
        >>> duration(2.25), duration(75), duration(7300)
        ('2.2 s', '1 min 15 s', '2 h 01 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def plural(count: int, noun: str, several: str = "") -> str:
    """A count with its noun.

    Args:
        count: The count.
        noun: The noun for one.
        several: The noun for another count than one; with an s by default.

    Example:
        >>> plural(1, "replicate"), plural(1200, "run"), plural(2, "person", "people")
        ('1 replicate', '1,200 runs', '2 people')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def shortened(text: object, most: int = 80) -> str:
    """A text as a message quotes it: its beginning, where it is long.

    Example:
        >>> shortened("yes"), shortened("a long answer", 6)
        ('yes', 'a long…')
    """
    string = str(text)
    return string if len(string) <= most else f"{string[:most]}…"


def time_of_day(seconds: int) -> str:
    """The time of day of a number of seconds since any midnight.

    Example:
        >>> time_of_day(7 * 3600 + 30 * 60), time_of_day(86_400 + 60)
        ('07:30', '00:01')
    """
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}"


def compact_json(data: Any) -> str:
    """Data as one line of JSON; values of numpy become those of Python, other kinds of values text.

    Example:
        >>> compact_json({"share": np.float64(0.5), "who": "Zoë"})
        '{"share":0.5,"who":"Zoë"}'
    """
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=_python_value)


def _python_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def json_data(value: Any) -> Any:
    """Data that JSON can hold: tables become rows, what is no number becomes null, other kinds of values text.

    Example:
        >>> json_data({"a": float("nan"), "b": pl.DataFrame({"c": [1]})})
        {'a': None, 'b': [{'c': 1}]}
    """
    if isinstance(value, pl.DataFrame):
        return [json_data(row) for row in value.iter_rows(named=True)]
    if isinstance(value, dict):
        return {str(name): json_data(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_data(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)
