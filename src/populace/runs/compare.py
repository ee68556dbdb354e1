"""Two runs compared: the first decision that differs, and by how much their metrics differ."""

import json
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.journal import Journal
from populace.runs.reader import RunReader
from populace.runs.settings_text import settings_of


@dataclass(frozen=True)
class DecisionDifference:
    """The first decision in which two runs differ.

    Attributes:
        step: When.
        path: Where in the step.
        person: Who; None where the questions themselves differ.
        what: What differs: `question`, `people`, `prompt` or `answer`.
        first: How it is in the first run.
        second: How it is in the second run.
    """

    step: int
    path: str
    person: Any
    what: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """How two runs differ.

    Attributes:
        settings: Settings and parameters that differ, as pairs.
        first_difference: The first decision that differs; None where all recorded decisions are equal.
        metrics: For each step and metric, both values and their difference, where they differ.
        steps: How many steps each has.
    """

    settings: dict[str, tuple[Any, Any]]
    first_difference: DecisionDifference | None
    metrics: pl.DataFrame
    steps: tuple[int, int]

    @property
    def equal(self) -> bool:
        """Whether everything recorded is equal."""
        return self.first_difference is None and not self.metrics.height and self.steps[0] == self.steps[1]


def compare(first: RunReader, second: RunReader) -> Comparison:
    """Compare two runs step by step.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> one, two = (simulate(Norms(workers=4, days=2), decider="rule", seed=s, keep="nothing") for s in (1, 2))
        >>> compare(one, two).settings, compare(one, one).equal
        ({'seed': (1, 2)}, True)
    """
    for run in (first, second):
        if not isinstance(run, RunReader):
            name = repr(run) if isinstance(run, str) else "NAME"
            raise UsageError(f"{name} is no run that was opened.", f"Write: compare(run, pc.open_run({name}))")
    steps = len(first.steps), len(second.steps)
    return Comparison(
        _settings(first, second), first_decision_difference(first, second), _metrics(first, second), steps
    )


def first_decision_difference(first: RunReader, second: RunReader) -> DecisionDifference | None:
    """The first decision in which two runs differ; None where all decisions of their shared steps are equal."""
    shared = sorted(set(first.steps) & set(second.steps))
    steps = (step for step in shared if not _same_segment(first, second, step))
    return next(filter(None, (_step_difference(first, second, step) for step in steps)), None)


def _same_segment(first: RunReader, second: RunReader, step: int) -> bool:
    """Whether a step was committed with the same content, as it is in what a fork shares; no table is opened."""
    one, two = first.record, second.record
    if not (isinstance(one, Journal) and isinstance(two, Journal)):
        return False
    return one.commit_of(step).digest == two.commit_of(step).digest


def _settings(first: RunReader, second: RunReader) -> dict[str, tuple[Any, Any]]:
    one, two = (settings_of(run) for run in (first, second))
    names = sorted(name for name in one | two if name != "fork of" and one.get(name) != two.get(name))
    return {name: (one.get(name), two.get(name)) for name in names}


def _step_difference(first: RunReader, second: RunReader, step: int) -> DecisionDifference | None:
    tables = [run.record.table(step, "asks") for run in (first, second)]
    asks = [[] if table is None else list(zip(table["path"], table["question"], strict=True)) for table in tables]
    for (a, question), (b, other) in zip_longest(*asks, fillvalue=("", "")):
        if not a or not b:
            texts = ["asked" if path else "not asked" for path in (a, b)]
            return DecisionDifference(step, a or b, None, "question", *texts)
        if a != b:
            return DecisionDifference(step, a, None, "question", a, b)
        if question != other:
            return DecisionDifference(step, a, None, "question", *(json.loads(q)["text"] for q in (question, other)))
    return _answer_difference(first, second, step, [path for path, _ in asks[0]])


def _answer_difference(first: RunReader, second: RunReader, step: int, paths: list[str]) -> DecisionDifference | None:
    one, two = first.record.table(step, "answers"), second.record.table(step, "answers")
    if one is None or two is None or (one.equals(two) and _same_prompts(first, second, step)):
        return None
    if one.height != two.height or not one["person"].equals(two["person"]):
        row = _first(one["person"].head(two.height), two["person"].head(one.height))
        ids = tuple(
            str(t["person"][row]) if row is not None else plural(t.height, "person", "people") for t in (one, two)
        )
        return DecisionDifference(step, paths[0], None, "people", *ids)
    texts = [_prompt_texts(run, step, table) for run, table in ((first, one), (second, two))]
    # An answer is its value, or its status where there is none.
    answer = pl.coalesce("value", pl.col("status").cast(pl.String))
    answers = [table.select(answer).to_series() for table in (one, two)]
    for what, values in (("prompt", texts), ("answer", answers)):
        row = _first(*values)
        if row is not None:
            return DecisionDifference(
                step, paths[one["ask"][row]], one["person"][row], what, str(values[0][row]), str(values[1][row])
            )
    return None


def _same_prompts(first: RunReader, second: RunReader, step: int) -> bool:
    one, two = first.record.table(step, "prompts"), second.record.table(step, "prompts")
    return one is two is None or (one is not None and two is not None and one.equals(two))


def _prompt_texts(run: RunReader, step: int, answers: pl.DataFrame) -> pl.Series:
    prompts = run.record.table(step, "prompts")
    if prompts is None:
        return pl.repeat("", answers.height, eager=True)
    texts = prompts.group_by("ask", "prompt", maintain_order=True).agg(
        pl.concat_str("system", pl.lit("\n"), "user").first().alias("text")
    )
    table = answers.join(texts, on=["ask", "prompt"], how="left", maintain_order="left")
    return table["text"].fill_null("")


def _first(one: pl.Series, two: pl.Series) -> int | None:
    differ = one.ne_missing(two)
    return int(differ.arg_max() or 0) if differ.any() else None


def _metrics(first: RunReader, second: RunReader) -> pl.DataFrame:
    one, two = first.metrics, second.metrics
    numeric = [name for name in one.columns if name in two.columns and one[name].dtype.is_numeric() and name != "step"]
    if not numeric:
        return pl.DataFrame(schema={"step": pl.Int64, "metric": pl.String, "first": pl.Float64, "second": pl.Float64})
    long = [
        table.select("step", *numeric).unpivot(index="step", variable_name="metric", value_name=name)
        for table, name in ((one, "first"), (two, "second"))
    ]
    pairs = long[0].join(long[1], on=["step", "metric"], how="inner", maintain_order="left")
    differing = pairs.filter(pl.col("first").ne_missing(pl.col("second")))
    return differing.with_columns(difference=pl.col("second") - pl.col("first"))
