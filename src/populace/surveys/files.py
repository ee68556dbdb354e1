"""Survey data as files for other programs: CSV, Parquet, SPSS and Stata, with labels where the format has them."""

from pathlib import Path

import polars as pl

from populace.base.errors import QuestionnaireError, StorageError, UsageError
from populace.base.foreign_columns import csv_table
from populace.surveys.results import SurveyResults

ENDINGS = (".csv", ".parquet", ".sav", ".dta")


def write_results(results: SurveyResults, path: str | Path, scores: pl.DataFrame | None = None) -> Path:
    """Write the table of a survey; the ending of the name says the format.

    SPSS and Stata files hold codes (1, 2, 3 …) with the words as value labels, and the questions as variable labels.

    Args:
        results: The survey.
        path: A file that ends in .csv, .parquet, .sav or .dta and does not exist yet.
        scores: Further columns with a row for each respondent, such as the scales of an instrument; a column of a name
            that the table has already is called `NAME_score`.
    """
    path = Path(path)
    ending = path.suffix.lower()
    check_results_file(path)
    table = with_scores(results.table, scores)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == ".csv":
            csv_table(table).write_csv(path)
        elif ending == ".parquet":
            table.write_parquet(path)
        else:
            _write_statistical(results, scores, path, ending)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path


def check_results_file(path: str | Path) -> None:
    """Raise UsageError unless results can be written to a file: the format is known, and nothing is there yet."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path.name} does not say a format.", f"Its name must end in {', '.join(ENDINGS)}.")
    if path.exists():
        raise UsageError(f"{path} exists already.", "Name another file, or remove it first.")


def with_scores(table: pl.DataFrame, scores: pl.DataFrame | None) -> pl.DataFrame:
    """A table with further columns; one of a name that is taken is called `NAME_score`."""
    if scores is None or not scores.width:
        return table
    return table.hstack(scores.rename(lambda name: f"{name}_score" if name in table.columns else name))


def _write_statistical(results: SurveyResults, scores: pl.DataFrame | None, path: Path, ending: str) -> None:
    try:
        import pyreadstat
    except ImportError:
        raise QuestionnaireError(
            f"{path.name} needs the package pyreadstat.", "Install it with: pip install 'populace[survey]'"
        ) from None
    frame, labels, value_labels = coded_table(results, scores)
    try:
        if ending == ".sav":
            pyreadstat.write_sav(frame, str(path), column_labels={**labels}, variable_value_labels=value_labels)
        else:
            pyreadstat.write_dta(
                frame,
                str(path),
                column_labels=[labels[name][:80] for name in frame.columns],
                variable_value_labels=value_labels,
                version=15,
            )
    except pyreadstat.PyreadstatError as error:
        raise QuestionnaireError(f"{path.name} cannot be written: {error}.") from error


def coded_table(
    results: SurveyResults, scores: pl.DataFrame | None = None
) -> tuple[pl.DataFrame, dict[str, str], dict[str, dict[int | float, str]]]:
    """The table with codes in place of words, the label of each column, and the labels of codes."""
    table = with_scores(results.table, scores)
    labels = {name: name.replace("_", " ") for name in table.columns}
    value_labels: dict[str, dict[int | float, str]] = {}
    columns: list[pl.Expr] = []
    for variable in results.variables:
        labels[variable.name] = " ".join(variable.label.split())[:250]
        if variable.categories:
            codes = {value: code for code, value in enumerate(variable.categories, 1)}
            value_labels[variable.name] = {code: value[:120] for value, code in codes.items()}
            columns.append(pl.col(variable.name).replace_strict(codes, default=None, return_dtype=pl.Int64))
        elif variable.dtype == pl.Boolean():
            value_labels[variable.name] = {0: "no", 1: "yes"}
            columns.append(pl.col(variable.name).cast(pl.Int64))
    return table.with_columns(columns), labels, value_labels
