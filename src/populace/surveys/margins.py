"""Margins: the known shares of groups, from a YAML file, to which respondents are raked."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.document_lines import add_line, at_entry
from populace.base.documents import DocumentError, read_yaml
from populace.base.errors import QuestionnaireError
from populace.surveys.weights import rake

Margins = Mapping[str, Mapping[Any, float]]
"""For each column the share of each of its values."""

_SHAPE = "Write it as `sex: {female: 0.51, male: 0.49}`."


def read_margins(path: str | Path) -> dict[str, dict[str, float]]:
    """The margins in a YAML file: for each column the share of each value.

    Raises:
        QuestionnaireError: If the file holds no margins; the text names the file and the line.
    """
    path = Path(path)
    try:
        content = read_yaml(path, words=True)
    except (OSError, DocumentError) as error:
        raise QuestionnaireError(f"{path} could not be read: {error}.", "Write it as UTF-8 YAML.") from error
    if not isinstance(content, dict) or not content:
        raise QuestionnaireError(f"{path} holds no margins.", _SHAPE)
    try:
        return {str(column): _shares(str(column), shares) for column, shares in content.items()}
    except QuestionnaireError as error:
        add_line(error, path)
        raise


def rake_to(frame: pl.DataFrame, margins: Margins | str | Path, *, weight: str = "") -> pl.Series:
    """Weights with which the margins of a table are those of a mapping or a file; see `rake`.

    Raises:
        QuestionnaireError: If they cannot be met; where they come from a file, the text names the file and the line.
    """
    if not isinstance(margins, (str, Path)):
        return rake(frame, {column: {str(k): v for k, v in shares.items()} for column, shares in margins.items()},
                    weight=weight)  # fmt: skip
    shares = read_margins(margins)
    try:
        return rake(frame, shares, weight=weight)
    except QuestionnaireError as error:
        add_line(error, Path(margins))
        raise


def _shares(column: str, shares: Any) -> dict[str, float]:
    with at_entry(column):
        if not isinstance(shares, dict) or not shares:
            raise QuestionnaireError(f"{column!r} has no shares.", _SHAPE)
        for value, share in shares.items():
            with at_entry(str(value)):
                if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < math.inf:
                    hint = "Leave out a group of share 0." if share == 0 else _SHAPE
                    raise QuestionnaireError(f"the share of {column} = {value!r} is {share!r}.", hint)
        return {str(value): float(share) for value, share in shares.items()}
