"""Respondents: the people who answer a survey, as a table from a file.

The table of a run is kept as a Parquet file in the workspace, named by its content, so that a survey can be resumed
although the file that it came from has changed.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl
import pydantic
from pydantic import Field

from populace.base.document_lines import add_line, at_entry, csv_line
from populace.base.documents import DocumentError, parse_json_object, read_bytes
from populace.base.errors import PeopleError, QuestionnaireError
from populace.base.formatting import shortened
from populace.base.table_files import MAX_TABLE_BYTES, UNREADABLE, read_plain_table, reading_problem, to_numbers
from populace.engine.scenario import Scenario
from populace.people import People
from populace.tools.population import population

_MAX_CSV_BYTES = 500_000_000
FILE_ENDINGS = (".csv", ".parquet", ".sav", ".zsav", ".dta")
"""How the name of a file of respondents ends."""


class Respondents(pydantic.BaseModel):
    """The table of respondents that a run uses: a Parquet file and the hash of its content.

    Attributes:
        name: Where they come from, such as the name of a file.
        file: The Parquet file.
        sha256: The hash of its content.
        weight: The column that holds weights; empty where everybody counts the same.
        about: The columns that people's profiles are made of; all others are only kept.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)
    metavar: ClassVar[str] = "FILE"

    name: str = "respondents"
    file: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    weight: str = ""
    about: tuple[str, ...] = ()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _parse(cls, value: Any) -> Any:
        # Reports write the respondents of a run as JSON into the command that repeats it.
        try:
            return parse_json_object(value) if isinstance(value, str) else value
        except DocumentError:
            raise ValueError("it is no table that a survey kept; start the survey with `populace survey`") from None

    @classmethod
    def keep(
        cls,
        frame: pl.DataFrame,
        folder: Path,
        *,
        name: str = "respondents",
        weight: str = "",
        about: tuple[str, ...] | None = None,
    ) -> Self:
        """Write a table of respondents into a folder, named by its content.

        Args:
            frame: The table, with a column `id`.
            folder: The folder.
            name: Where the table comes from.
            weight: The column that holds weights.
            about: The columns that profiles are made of; all but ids and weights by default.
        """
        check_weights(frame, weight)
        columns = tuple(name for name in frame.columns if name not in ("id", weight, "model", "decider"))
        missing = next((column for column in about or () if column not in frame.columns), None)
        if missing is not None:
            raise QuestionnaireError(
                f"the respondents have no column {missing!r}.", f"They have: {', '.join(columns)}."
            )
        buffer = io.BytesIO()
        frame.write_parquet(buffer, statistics=False)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{digest[:32]}.parquet"
        if not target.is_file():
            temporary = target.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_bytes(buffer.getvalue())
            os.replace(temporary, target)
        about = columns if about is None else about
        return cls(name=name, file=str(target.resolve()), sha256=digest, weight=weight, about=about)

    def read(self) -> pl.DataFrame:
        """The table; QuestionnaireError if the file is missing or was changed."""
        path = Path(self.file)
        try:
            content = read_bytes(path, most=MAX_TABLE_BYTES)
        except (OSError, DocumentError) as error:
            problem = getattr(error, "strerror", None) or error
            raise QuestionnaireError(
                f"the respondents of this survey are not at {path} any more: {problem}.",
                "Put the file back, or begin the survey again.",
            ) from error
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise QuestionnaireError(
                f"{path} is not the table of respondents that this survey began with.", "Begin the survey again."
            )
        try:
            return read_plain_table(path)
        except UNREADABLE as error:
            raise QuestionnaireError(f"{path} could not be read: {reading_problem(error)}.") from error


def read_respondents(source: Any, *, id: str = "id") -> pl.DataFrame:
    """A table of respondents from a CSV, Parquet, SPSS or Stata file, a table, a population or a scenario.

    Values of SPSS and Stata files with labels become the labels. People without the id column are numbered from 0, as
    in `People`.

    Args:
        source: A path, a mapping of columns, a polars or pandas table, People, or a scenario, whose people are asked.
        id: The column that identifies a respondent.

    Example:
        >>> read_respondents({"age": [41, 29]})["id"].to_list()
        [0, 1]
    """
    with naming_the_row(source):
        return _identified(_frame(source), id)


@contextlib.contextmanager
def naming_the_row(source: Any) -> Iterator[None]:
    """Errors about a row of a table say in which file it stands, and in a CSV file on which line."""
    try:
        yield
    except QuestionnaireError as error:
        if isinstance(source, (str, Path)) and error.entry and isinstance(error.entry[0], int):
            path, row = Path(source), error.entry[0]
            with contextlib.suppress(OSError, DocumentError):  # The error at hand says what is wrong.
                line = csv_line(path, row, blank=True, most=_MAX_CSV_BYTES) if path.suffix.lower() == ".csv" else None
                _add_row(error, path, row, line)
        raise


def _add_row(error: QuestionnaireError, path: Path, row: int, line: int | None) -> None:
    if line is not None:
        add_line(error, path, line)
    else:
        error.what = f"{path.name}, row {row + 1}: {error.what}"
        error.args = (error.what,)


def _identified(frame: pl.DataFrame, id: str) -> pl.DataFrame:
    """A table whose column `id` identifies its rows."""
    if not frame.height:
        raise QuestionnaireError("there are no respondents.", "The table needs at least one row.")
    if id != "id" and id not in frame.columns:
        raise QuestionnaireError(f"the respondents have no column {id!r}.", f"They have: {', '.join(frame.columns)}.")
    if id != "id" and "id" in frame.columns:
        frame = frame.rename({"id": "id_in_file"})
    frame = frame.rename({id: "id"}) if id != "id" else frame
    if "id" in frame.columns:
        _check_ids(frame["id"])
    try:
        return People(frame).frame
    except PeopleError as error:
        raise QuestionnaireError(f"the table of respondents: {error.what}", error.hint) from error


def _check_ids(ids: pl.Series) -> None:
    """Refuse an id that is missing, blank or not a number, and one that stands twice."""
    lacking = ids.is_null()
    if ids.dtype == pl.String():
        lacking |= ids.str.strip_chars() == ""
    elif ids.dtype.is_float():
        lacking |= ids.is_nan()
    lacking = lacking.fill_null(True)
    if lacking.any():
        with at_entry(int(lacking.arg_max() or 0)):
            raise QuestionnaireError(
                f"{int(lacking.sum())} of {ids.len()} respondents have no id.",
                "Fill the id column, or name another one.",
            )
    later = ~ids.is_first_distinct()
    if later.any():
        row = int(later.arg_max() or 0)
        with at_entry(row):
            name = shortened(repr(ids[row]))
            raise QuestionnaireError(f"the id {name} stands for another respondent already.", "Ids must differ.")


def check_weights(frame: pl.DataFrame, weight: str) -> None:
    """Raise QuestionnaireError unless a column of weights holds finite numbers, none negative and not all zero."""
    if not weight:
        return
    if weight not in frame.columns:
        raise QuestionnaireError(
            f"there is no column of weights {weight!r}.", f"There are: {', '.join(frame.columns)}."
        )
    column = frame[weight]
    values = to_numbers(column)
    usable = values.is_finite().fill_null(False) & (values >= 0).fill_null(False)
    if not usable.all():
        row = int((~usable).arg_max() or 0)
        who = f"respondent {shortened(repr(frame['id'][row]))}" if "id" in frame.columns else f"row {row + 1}"
        with at_entry(row):
            if column[row] is None:
                raise QuestionnaireError(f"{who} has no weight in the column {weight!r}.", "Give everybody a weight.")
            raise QuestionnaireError(
                f"the weight of {who} in the column {weight!r} is {shortened(repr(column[row]))}.",
                "Weights are numbers, 0 or more.",
            )
    if not (values > 0).any():
        raise QuestionnaireError(f"all weights in the column {weight!r} are zero.", "Give somebody a weight above 0.")


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, People):
        return source.frame
    if isinstance(source, Scenario):
        return population(source).frame
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, Mapping):
        return pl.DataFrame(dict(source))
    if isinstance(source, (str, Path)):
        return _read_file(Path(source))
    if hasattr(source, "to_dict") and hasattr(source, "columns"):
        return pl.DataFrame({str(name): source[name].to_list() for name in source.columns})
    raise QuestionnaireError(
        f"respondents cannot be read from {type(source).__name__}.", "Give a file, a table or a population."
    )


def _read_file(path: Path) -> pl.DataFrame:
    ending = path.suffix.lower()
    if ending not in FILE_ENDINGS:
        raise QuestionnaireError(
            f"{path} is no file of respondents.", f"Its name must end in {', '.join(FILE_ENDINGS)}."
        )
    if not path.is_file():
        raise QuestionnaireError(f"there is no file {path}.")
    try:
        if ending == ".csv":
            return _with_commas(read_plain_table(path, most=_MAX_CSV_BYTES, infer_schema_length=None), path)
        return read_plain_table(path, flat=True) if ending == ".parquet" else _read_statistical(path, ending)
    except (UnicodeDecodeError, *UNREADABLE) as error:
        raise QuestionnaireError(f"{path} could not be read: {reading_problem(error)}.") from error


def _with_commas(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The table of a CSV file; refused where its columns are separated by something else."""
    sign = next((sign for sign in ";\t|" if sign in frame.columns[0]), None) if frame.width == 1 else None
    if sign is not None:
        raise QuestionnaireError(
            f"{path}: its only column is {frame.columns[0]!r}.", f"Separate columns by commas, not by {sign!r}."
        )
    return frame


def _read_statistical(path: Path, ending: str) -> pl.DataFrame:
    """An SPSS or Stata file, with labels in place of codes."""
    try:
        import pyreadstat
    except ImportError:
        raise QuestionnaireError(
            f"{path} needs the package pyreadstat.", "Install it with: pip install 'populace[survey]'"
        ) from None
    read = pyreadstat.read_dta if ending == ".dta" else pyreadstat.read_sav
    try:
        frame, meta = read(str(path), output_format="polars")
    except pyreadstat.ReadstatError as error:
        raise QuestionnaireError(f"{path} could not be read: {error}.") from error
    labels = meta.variable_value_labels
    table: pl.DataFrame = frame.with_columns(_labelled(frame[name], labels.get(name, {})) for name in frame.columns)
    return table


def _labelled(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """A column with labels in place of codes; codes without a label stay, in digits, and whole numbers are whole."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        if (column.drop_nulls() == column.drop_nulls().floor()).all():
            column = column.cast(pl.Int64)
    elif column.dtype == pl.String():
        # These formats know no missing text, only an empty one.
        column = column.replace("", None)
    if not labels:
        return column
    texts = {_code_text(code): label for code, label in labels.items()}
    return column.cast(pl.String).replace(texts)


def _code_text(code: Any) -> str:
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
