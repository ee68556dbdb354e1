"""One decision over a grid of situations, personas and models, without simulating.

A probe maps the response function itself. It takes the first question that a scenario asks, as
the scenario's own code puts it, under every combination of what is varied.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import ScenarioError, UnknownNameError, UsageError
from populace.base.foreign import for_figure
from populace.base.randomness import stream
from populace.deciders import InquiryResult
from populace.engine.scenario import Scenario
from populace.engine.scopes import Driver, Scope, call_and_wait
from populace.engine.session import Session
from populace.engine.stage import Stage
from populace.journal import RunSettings, SetColumns
from populace.prompting import Inquiry
from populace.questions import Answers, Finite
from populace.runs.charts import PALETTE, new_figure, save


@dataclass(frozen=True)
class Probe:
    """The answers to one question over a grid.

    Attributes:
        question: What was asked.
        options: Its possible values.
        varied: What was varied, in order.
        table: A row for each distinct prompt: what was varied, the model, the persona, how many people share it,
            status, mass, and the probability of every option.
    """

    question: str
    options: tuple[str, ...]
    varied: tuple[str, ...]
    table: pl.DataFrame

    def curve(self) -> pl.DataFrame:
        """The mean probability of every option at each point of the grid, over personas weighted by people."""
        people = pl.col("people")
        means = [
            (pl.col(option) * people).sum() / people.filter(pl.col(option).is_not_null()).sum()
            for option in self.options
        ]
        return self.table.group_by(*self.varied, "model", maintain_order=True).agg(
            *(mean.alias(option) for mean, option in zip(means, self.options, strict=True)),
            people.sum(),
            (pl.col("mass") * people).sum().truediv(people.sum()).alias("mass"),
            ((pl.col("status") != "ok") * people).sum().truediv(people.sum()).alias("invalid"),
        )


def probe(
    scenario: type[Scenario],
    *,
    parameters: Mapping[str, Any] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    models: Sequence[str] = ("embedded",),
    seed: int = 0,
    people: int | None = None,
    session: Session | None = None,
) -> Probe:
    """Ask the scenario's first question over a grid.

    Args:
        scenario: The scenario.
        parameters: Parameters that stay as they are.
        vary: Values by name: of a parameter, of a column of the population, or of a field of the prompt.
        models: The models to ask.
        seed: Of the population.
        people: Ask only so many of the people; all by default.
        session: Gives access to models; one that keeps replies in memory by default. It is closed at the end.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> probe(Norms, vary={"initial_share": [0.0, 1.0]}, models=["scripted:uniform"]).curve()["blue"].to_list()
        [0.5, 0.5]
    """
    session = session or Session()
    return session.finish(_ask_grid(scenario, session, dict(parameters or {}), vary or {}, models, seed, people))


async def _ask_grid(
    scenario: type[Scenario],
    session: Session,
    parameters: dict[str, Any],
    vary: Mapping[str, Sequence[Any]],
    models: Sequence[str],
    seed: int,
    people: int | None,
) -> Probe:
    rows: list[pl.DataFrame] = []
    inquiry: Inquiry | None = None
    for point in _grid(vary):
        inquiry = await first_inquiry(scenario, parameters, point, seed, session)
        if people is not None and people < len(inquiry.people):
            inquiry = inquiry.for_rows(np.arange(people))
        for model in models:
            result = await session.decide(replace(inquiry, model=model, decider="model"))
            rows.append(_rows(result, point, model))
    if inquiry is None:
        raise UsageError("the grid is empty.")
    question = inquiry.question
    options = tuple(map(str, question.values)) if isinstance(question, Finite) else ()
    if not options:
        raise UsageError(f"{question.text!r} has no fixed options, so there is no response curve to draw.")
    return Probe(question.text, options, tuple(vary), pl.concat(rows, how="diagonal_relaxed"))


def _grid(vary: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*vary.values()):
        yield dict(zip(vary, values, strict=True))


class _CaughtError(Exception):
    def __init__(self, inquiries: list[Inquiry]) -> None:
        self.inquiries = inquiries


async def first_inquiry(
    scenario: type[Scenario], parameters: dict[str, Any], point: dict[str, Any], seed: int, session: Session
) -> Inquiry:
    """Run a scenario up to its first question, with a point of the grid put in."""
    known = scenario.parameter_model().model_fields
    instance = scenario(**parameters, **{name: value for name, value in point.items() if name in known})
    others = {name: value for name, value in point.items() if name not in known}

    async def catch(inquiries: list[Inquiry]) -> list[Answers]:
        raise _CaughtError(inquiries)

    driver = Driver[Inquiry](catch)
    stage = Stage(instance, driver, RunSettings(seed=seed), session)
    try:
        stage.people = await driver.run(call_and_wait(instance.setup), Scope("0"))
        columns = {name: value for name, value in others.items() if name in instance.people}
        if columns:
            SetColumns(at=1, values=columns).apply(stage, stream(seed, "probe"))
        stage.step = 1
        await driver.run(instance.step(), Scope("1"))
    except _CaughtError as caught:
        return _with_fields(caught.inquiries[0], {n: v for n, v in others.items() if n not in instance.people})
    raise ScenarioError(f"{scenario.__name__} asked nothing in its first step.", "A probe needs a question.")


def _with_fields(inquiry: Inquiry, fields: dict[str, Any]) -> Inquiry:
    situation = inquiry.situation
    for name in fields:
        if name not in situation.constants and name not in situation.columns:
            known = {*situation.constants, *situation.columns, *inquiry.people.columns}
            raise UnknownNameError("parameter, column or field", name, known)
    columns = {name: column for name, column in situation.columns.items() if name not in fields}
    return replace(inquiry, situation=replace(situation, constants={**situation.constants, **fields}, columns=columns))


def _rows(result: InquiryResult, point: dict[str, Any], model: str) -> pl.DataFrame:
    """One row for each distinct prompt of one point and model."""
    answers, question = result.answers, result.answers.question
    prompts = result.prompts.group_by("prompt", maintain_order=True).agg(
        pl.first("system").alias("persona"), pl.first("method"), pl.first("status")
    )
    counts = np.bincount(answers.prompt, minlength=prompts.height)
    table = prompts.with_columns(people=pl.Series(counts), model=pl.lit(model))
    options = [str(value) for value in question.values] if isinstance(question, Finite) else []
    if answers.probabilities is not None and answers.mass is not None:
        valid = pl.col("status") == "ok"
        shares = [pl.when(valid).then(pl.Series(answers.probabilities[:, i])).alias(o) for i, o in enumerate(options)]
        table = table.with_columns(*shares, mass=pl.Series(answers.mass))
    else:
        values = answers.values.cast(pl.String)
        samples = [(values == option).cast(pl.Float64).alias(option) for option in options]
        table = table.with_columns(*samples, pl.lit(None, pl.Float64).alias("mass"))
    varied = [pl.lit(value).alias(name) for name, value in point.items()]
    return table.select(*varied, "model", "persona", "people", "method", "status", "mass", *options)


def draw_probe(probe: Probe, path: Path) -> Path:
    """The response curves of a probe: the first thing varied along the axis, a line for each other combination."""
    curve = probe.curve()
    axis, *others = probe.varied or ("model",)
    lines = [*others, "model"] if curve["model"].n_unique() > 1 or not others else others
    options = probe.options if len(probe.options) > 2 else probe.options[:1]
    figure, panels = new_figure(len(options), height=3.2)
    for option, axes in zip(options, panels, strict=True):
        for index, (key, part) in enumerate(curve.group_by(lines, maintain_order=True)):
            pairs = zip(lines, key, strict=True)
            label = ", ".join(str(value) if name == "model" else f"{name}={value}" for name, value in pairs)
            x: Any = part[axis].to_list()
            if not part[axis].dtype.is_numeric():
                x = [for_figure(value) for value in x]
            axes.plot(
                x, part[option], marker="o", markersize=4, color=PALETTE[index % len(PALETTE)], label=for_figure(label)
            )
        axes.set_ylim(-0.03, 1.03)
        axes.set_ylabel(for_figure(f"P({option})"))
        axes.grid(alpha=0.3)
        if curve.height > 1:
            axes.legend(fontsize=8)
    panels[0].set_title(for_figure(probe.question), loc="left", fontsize=10)
    panels[-1].set_xlabel(for_figure(axis.replace("_", " ")))
    return save(figure, path)
