"""What a survey gave: a row for each respondent, marginals and crosstabs with intervals."""

import functools

import numpy as np
import polars as pl

from populace.base.errors import QuestionnaireError, UnknownNameError
from populace.engine.report_table import ReportTable
from populace.questions import VALID
from populace.runs.reader import RunReader
from populace.runs.settings_text import parameters_of_run
from populace.statistics.intervals import t_quantile, wilson
from populace.statistics.values import constant
from populace.surveys.open_answers import OTHER, answer_groups
from populace.surveys.questionnaire import Questionnaire
from populace.surveys.respondents import Respondents, check_weights
from populace.surveys.variables import PROFILE_TEXT, Variable
from populace.surveys.weights import effective_size

MARGINALS_NOTE = (
    "Shares of valid answers with 95 % intervals. The intervals say how far other respondents like these would differ; "
    "they do not say how similar the answers of the model are to those of people. Intervals of means hold for many "
    "answers, or for few that are about symmetric."
)
CROSSTAB_NOTE = "Shares of valid answers within each group, with 95 % intervals; means where there are many numbers."
OPEN_NOTE = (
    "Answers in own words, grouped by a word that they share; the example is the first of its group. Words are "
    "compared, not meanings."
)
_FEWEST = 1.5
"""Fewer people, as weights count them, show no spread: one of them has nearly all the weight."""
_MANY_VALUES = 12
"""A column of numbers with more values than this is summed up by its mean in place of a row for each value."""


class SurveyResults:
    """The answers of a survey.

    Args:
        run: The run of the survey.
        weight: A column of weights that replaces the one that the survey was started with.

    Example:
        >>> import populace as pc
        >>> items = [{"id": "tea", "type": "single", "text": "Tea?", "options": ["yes", "no"]}]
        >>> survey = pc.Survey.read({"items": items})
        >>> model = pc.Scripted(lambda request: {"yes": 1.0, "no": 0.0})
        >>> results = survey.ask({"age": [20, 40]}, model=model, keep="nothing")
        >>> results.marginals("tea").select("value", "n", "share").rows()
        [('yes', 2, 1.0), ('no', 0, 0.0)]
    """

    def __init__(self, run: RunReader, *, weight: str | None = None) -> None:
        parameters = parameters_of_run(run)
        if "questionnaire" not in parameters or "respondents" not in parameters:
            raise QuestionnaireError(f"{run.name} is not a survey.", "Surveys are started with `populace survey`.")
        self.run = run
        self.questionnaire = Questionnaire.read(parameters["questionnaire"])
        self.respondents = Respondents.model_validate(parameters["respondents"])
        self.weight = self.respondents.weight if weight is None else weight
        check_weights(self.table, self.weight)

    def __repr__(self) -> str:
        return f"<{self.questionnaire.title}: {self.table.height} respondents, {len(self.variables)} variables>"

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    @functools.cached_property
    def table(self) -> pl.DataFrame:
        """A row for each respondent: their own columns, their answers, and how far they came.

        An answer is null where the item was not shown and where the answer was invalid; `statuses` tells these apart.
        """
        return self.run.people().frame.drop(PROFILE_TEXT)

    @property
    def variables(self) -> list[Variable]:
        """The columns that the items fill."""
        return self.questionnaire.variables

    @property
    def statuses(self) -> pl.DataFrame:
        """For each item: how many people were asked, and how many answers had each status."""
        answers = self.run.answers()
        ids = pl.DataFrame({"item": [item.id for item in self.questionnaire.items]})
        if not answers.height:
            return ids.with_columns(answers=pl.lit(0), valid=pl.lit(0), invalid=pl.lit(0))
        counts = answers.group_by(pl.col("purpose").alias("item")).agg(
            pl.len().alias("answers"),
            pl.col("status").is_in(list(VALID)).sum().alias("valid"),
            (~pl.col("status").is_in(list(VALID))).sum().alias("invalid"),
        )
        return ids.join(counts, on="item", how="left", maintain_order="left").fill_null(0)

    def marginals(self, *names: str) -> pl.DataFrame:
        """The share of each answer with its 95 % interval; a mean for numbers.

        Intervals say how far the shares of other respondents like these would differ. They do not say how
        similar the answers of the model are to those of people.

        Args:
            names: Items or variables; all by default, but open answers, which are summed up by their groups.
        """
        tables = [self._summary(variable, self._grouped) for variable in self._selected(names)]
        return pl.concat(tables) if tables else pl.DataFrame()

    @property
    def marginals_note(self) -> str:
        """What the marginals say, and how many respondents of equal weight tell as much as these."""
        if not self.weight:
            return MARGINALS_NOTE
        people, size = self.table.height, effective_size(self._weights(self.table))
        return f"{MARGINALS_NOTE} With weights, {people} respondents tell as much as {size:.1f} of equal weight (Kish)."

    @property
    def open_items(self) -> list[str]:
        """The items that are answered in own words."""
        return [variable.item for variable in self.variables if _is_open(variable)]

    def open_answers(self, name: str) -> pl.DataFrame:
        """The answers to an item in own words, in groups that share a word; see `answer_groups`.

        Args:
            name: The item.

        Returns:
            A row for each group: `group`, `n`, `share` with its 95 % interval, and `example`, its first answer.
        """
        if name not in self.open_items:
            raise UnknownNameError("item in own words", name, self.open_items)
        pairs = pl.DataFrame({"value": self._grouped[name], "example": self.table[name]}).drop_nulls()
        examples = pairs.group_by("value", maintain_order=True).first()
        table = self.marginals(name).join(examples, on="value", how="left", maintain_order="left")
        return table.drop("variable").rename({"value": "group"})

    @functools.cached_property
    def _grouped(self) -> pl.DataFrame:
        """The table with the group of each answer in own words in its place."""
        texts = {item.id: item.text for item in self.questionnaire.items}
        open_variables = [variable for variable in self.variables if _is_open(variable)]
        return self.table.with_columns(answer_groups(self.table[v.name], texts[v.item]) for v in open_variables)

    def marginals_text(self) -> pl.DataFrame:
        """The marginals to be read: a column that is about an option or a row is named by it."""
        return self._with_titles(self.marginals())

    def crosstab(self, name: str, by: str) -> pl.DataFrame:
        """The share of each answer within each group, with its 95 % interval.

        Args:
            name: An item or a variable.
            by: The column that makes the groups: of the respondents, or a variable.
        """
        table = self._grouped
        if by not in table.columns:
            raise UnknownNameError("column", by, table.columns)
        tables = []
        for group in table[by].unique(maintain_order=True).sort(nulls_last=True).to_list():
            rows = table.filter(pl.col(by).is_null() if group is None else pl.col(by) == group)
            text = "(none)" if group is None else str(group)
            for variable in self._selected((name,)):
                tables.append(self._summary(variable, rows).select(pl.lit(text).alias(by), pl.all()))
        return pl.concat(tables) if tables else pl.DataFrame()

    def crosstab_tables(self, by: str) -> list[ReportTable]:
        """A crosstab of every item by a column, for a report."""
        tables = [(item.id, self.crosstab_text(item.id, by)) for item in self.questionnaire.items]
        return [ReportTable(f"{name} by {by}", table, CROSSTAB_NOTE) for name, table in tables if table.height]

    def crosstab_text(self, name: str, by: str) -> pl.DataFrame:
        """A crosstab to be read: a row for each answer, a column for each group, with `share % [low, high]`."""
        long = self.crosstab(name, by)
        if not long.height:
            return long
        groups = long[by].unique(maintain_order=True).to_list()
        counts = long.group_by(by, "variable").agg(pl.sum("n")).group_by(by).agg(pl.max("n"))
        sizes: dict[str, int] = dict(counts.iter_rows())
        is_mean = pl.col("value") == "mean"
        shares = pl.format(
            "{} % [{}, {}]", *((pl.col(c) * 100).round(0).cast(pl.Int64) for c in ("share", "low", "high"))
        )
        means = pl.format("{} [{}, {}]", *(pl.col(c).round(2) for c in ("share", "low", "high")))
        bare = pl.format("{}", pl.col("share").round(2))  # One person has a mean, and no interval.
        texts = long.with_columns(text=pl.when(is_mean).then(pl.coalesce(means, bare)).otherwise(shares).fill_null("–"))
        wide = texts.pivot(on=by, index=["variable", "value"], values="text", maintain_order=True)
        wide = wide.rename({group: f"{group} (n = {sizes[group]})" for group in groups})
        return self._with_titles(wide.with_columns(pl.exclude("variable", "value").fill_null("–")))

    def means(self, figures: pl.DataFrame) -> pl.DataFrame:
        """The mean of each column of figures about the respondents, such as scales, with its 95 % interval.

        Args:
            figures: A row for each respondent, in the order of `table`.
        """
        rows = []
        for name in figures.columns:
            known = figures[name].is_not_null()
            weights = self._weights(self.table.filter(known))
            rows.append((name, *_mean_row(figures[name].drop_nulls().cast(pl.Float64).to_numpy(), weights)[1:]))
        names = {"scale": pl.String, "n": pl.Int64, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.selectors.float().fill_nan(None))

    def _with_titles(self, table: pl.DataFrame) -> pl.DataFrame:
        titles = {variable.name: variable.title for variable in self.variables}
        return table.with_columns(pl.col("variable").replace(titles)) if table.height else table

    def _selected(self, names: tuple[str, ...]) -> list[Variable]:
        known = self.variables
        if not names:
            return [variable for variable in known if not _is_open(variable)]
        selected = [variable for variable in known for name in names if name in (variable.name, variable.item)]
        for name in names:
            if not any(name in (variable.name, variable.item) for variable in known):
                raise UnknownNameError("item", name, [variable.item for variable in known])
        return selected

    def _weights(self, rows: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if not self.weight:
            return np.ones(rows.height)
        weights: np.ndarray[tuple[int], np.dtype[np.float64]] = rows[self.weight].cast(pl.Float64).to_numpy()
        return weights

    def _summary(self, variable: Variable, table: pl.DataFrame) -> pl.DataFrame:
        """One variable over some rows; all groups list the same values, those that anybody gave."""
        everybody = self._grouped[variable.name].drop_nulls()
        rows = table.filter(pl.col(variable.name).is_not_null())
        column, weights = rows[variable.name], self._weights(rows)
        total, size = float(weights.sum()), effective_size(weights)
        values: list[tuple[str, int, float, float, float]] = []
        if variable.dtype.is_numeric() and (not everybody.dtype.is_integer() or everybody.n_unique() > _MANY_VALUES):
            values = [_mean_row(column.cast(pl.Float64).to_numpy(), weights)] if everybody.len() else []
        else:
            for value, text in _values(variable, everybody):
                mask = (column == value).to_numpy()
                share = float(weights[mask].sum()) / total if total else float("nan")
                low, high = wilson(share, size) if size else (float("nan"), float("nan"))
                values.append((text, int(mask.sum()), share, low, high))
        names, counts, shares, lows, highs = zip(*values, strict=True) if values else ((), (), (), (), ())
        return pl.DataFrame(
            {
                "variable": [variable.name] * len(values),
                "value": list(names),
                "n": list(counts),
                "share": list(shares),
                "low": list(lows),
                "high": list(highs),
            },
            schema={
                "variable": pl.String, "value": pl.String, "n": pl.Int64,
                "share": pl.Float64, "low": pl.Float64, "high": pl.Float64,
            },
        ).with_columns(pl.col("share", "low", "high").fill_nan(None))  # fmt: skip


def _is_open(variable: Variable) -> bool:
    """Whether people answer in own words."""
    return variable.dtype == pl.String() and not variable.categories


def _values(variable: Variable, column: pl.Series) -> list[tuple[object, str]]:
    """The values of a variable in their order, and each in words."""
    if variable.categories:
        return [(value, value) for value in variable.categories]
    if variable.dtype == pl.Boolean():
        return [(True, "yes"), (False, "no")]
    if _is_open(variable):
        counts = column.value_counts(name="n").with_columns(last=pl.col(column.name) == OTHER)
        groups = counts.sort("last", "n", column.name, descending=[False, True, False])[column.name]
        return [(group, group) for group in groups.to_list()]
    return [(value, str(value)) for value in column.drop_nulls().unique().sort().to_list()]


def _mean_row(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], weights: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[str, int, float, float, float]:
    """The weighted mean of numbers with an interval of t; there is none for fewer than two people, or equal answers."""
    size = effective_size(weights)
    if size <= 0:  # All of them have a weight of zero.
        return "mean", len(values), float("nan"), float("nan"), float("nan")
    mean = float(np.average(values, weights=weights))
    if size < _FEWEST or constant(values[weights > 0]):  # Equal answers show no precision.
        return "mean", len(values), mean, float("nan"), float("nan")
    variance = float(np.average((values - mean) ** 2, weights=weights)) * size / (size - 1)
    half = t_quantile(0.95, size - 1) * (variance / size) ** 0.5
    return "mean", len(values), mean, mean - half, mean + half
