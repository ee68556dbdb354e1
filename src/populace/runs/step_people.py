"""The people of a run at a step: searched, filtered, sorted and paged without reading more than is shown."""

import re
from dataclasses import dataclass

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.runs import step_cache
from populace.runs.reader import RunReader

_OPERATORS = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "~": "contains"}
_CONDITION = re.compile(
    r"""\s*(?P<name>\w+)\s*(?P<operator>==|!=|<=|>=|=|<|>|~)\s*
        (?:"(?P<quoted>[^"]*)"|(?P<plain>.*?))\s*(?:,|\band\b|$)""",
    re.VERBOSE | re.IGNORECASE,
)
_HINT = 'Write conditions such as: age >= 30 and shirt = blue, name ~ "ann". Signs: = != < <= > >= ~ (contains).'


@dataclass(frozen=True)
class TablePage:
    """One page of a table, and how many rows there are on all pages."""

    table: pl.DataFrame
    total: int


def people_page(
    run: RunReader,
    step: int,
    *,
    search: str = "",
    where: str = "",
    sort: str = "",
    descending: bool = False,
    page: int = 1,
    size: int = 25,
) -> TablePage:
    """A page of the population after a step.

    Args:
        run: The run.
        step: The step.
        search: Words that must stand in a column of text, or the id, in any case of letters.
        where: Conditions such as `age >= 30 and shirt = blue`.
        sort: The column to sort by; the order of the population by default.
        descending: Whether the largest comes first. People without a value always come last.
        page: Which page, from 1.
        size: How many rows a page has.
    """
    names = list(run.record.people_columns(step))
    if sort and sort not in names:
        raise UnknownNameError("column", sort, names)
    keep = _matches(run, step, names, search.strip(), where.strip())
    if sort:
        order = step_cache.order(run, step, sort, descending)
        rows = order if keep is None else order.filter(keep.gather(order))
    elif keep is None:
        rows = pl.int_range(int(run.record.facts(step)["people"]["count"]), eager=True, dtype=pl.UInt32)
    else:
        rows = keep.arg_true()
    rows_of_page = rows.slice(max(page - 1, 0) * size, size)
    return TablePage(step_cache.people(run, step, names)[rows_of_page], rows.len())


def parse_conditions(text: str) -> list[tuple[str, str, str]]:
    """The conditions that a text holds, as column, comparison and value.

    Example:
        >>> parse_conditions('age >= 30 and shirt = blue, name ~ "ann, b"')
        [('age', 'ge', '30'), ('shirt', 'eq', 'blue'), ('name', 'contains', 'ann, b')]
    """
    conditions, place = [], 0
    while place < len(text):
        match = _CONDITION.match(text, place)
        if match is None or match.end() == place:
            raise UsageError(f"{text[place:].strip()!r} is not a condition.", _HINT)
        value = match["plain"] if match["quoted"] is None else match["quoted"]
        if match["plain"] == "":
            what = f"{match['name']} {match['operator']}"
            raise UsageError(f"{what} … needs a value.", f"Write {what} none for people who have no value.")
        conditions.append((match["name"], _OPERATORS[match["operator"]], value))
        place = match.end()
    return conditions


def _matches(run: RunReader, step: int, names: list[str], search: str, where: str) -> pl.Series | None:
    """Who fits the words and the conditions; None where everybody does."""
    keep: pl.Series | None = None
    for name, operator, value in parse_conditions(where):
        if name not in names:
            raise UnknownNameError("column", name, names)
        fits = _comparison(step_cache.people(run, step, [name])[name], operator, value)
        keep = fits if keep is None else keep & fits
    if search:
        hits = pl.zeros(int(run.record.facts(step)["people"]["count"]), pl.Boolean, eager=True)
        for column in step_cache.people(run, step, names).get_columns():
            if _is_text(column.dtype) or column.name == "id":
                hits = hits | _contains(column, search)
        keep = hits if keep is None else keep & hits
    return keep


def _is_text(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.String | pl.Enum | pl.Categorical)


def _contains(column: pl.Series, words: str) -> pl.Series:
    pattern = f"(?i){re.escape(words)}"
    if isinstance(column.dtype, pl.Enum):
        # Of an enumeration only the few values need to be searched.
        fits = [value for value in column.dtype.categories if words.lower() in value.lower()]
        return column.is_in(pl.Series(fits, dtype=column.dtype).implode()).fill_null(False)
    return column.cast(pl.String).str.contains(pattern).fill_null(False)


def _comparison(column: pl.Series, operator: str, value: str) -> pl.Series:
    if column.dtype.is_nested():
        raise UsageError(f"{column.name} holds lists or records, which cannot be compared.", _HINT)
    if operator == "contains":
        return _contains(column, value)
    if value.lower() in ("", "none") and operator in ("eq", "ne"):
        return column.is_null() if operator == "eq" else column.is_not_null()
    if column.dtype.is_numeric():
        column, target = column.cast(pl.Float64), pl.lit(_number(column.name, value))
    elif column.dtype == pl.Boolean:
        target = pl.lit(_truth(column.name, value))
    else:
        column, target = column.cast(pl.String), pl.lit(value)
    fits: pl.Series = pl.select(getattr(pl.lit(column), operator)(target)).to_series()
    return fits.fill_null(False)


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{name} holds numbers, and {value!r} is not a number.", _HINT) from None


def _truth(name: str, value: str) -> bool:
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if value.lower() not in known:
        raise UsageError(f"{name} is true or false, not {value!r}.", _HINT)
    return known[value.lower()]
