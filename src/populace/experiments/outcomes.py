"""Outcomes: what is measured of a run, declared before anything runs.

An outcome is written as a metric at the end (`share_blue`), at a step (`share_blue@3`), over the steps
(`mean(share_blue)`, also max, min and sum), as the time of an event (`time(days_to_consensus)`), or as a share of
answers (`answers(blue)`, `answers(blue)@3`).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args

import polars as pl
import pydantic

from populace.base.errors import ParameterError, ScenarioError, UnknownNameError, UsageError
from populace.engine.metrics import plain_metric
from populace.engine.scenario import Scenario
from populace.questions import VALID
from populace.runs.reader import RunReader

Value = float | str | None

_PATTERN = re.compile(r"^(?:(?P<over>[a-z]+)\((?P<inner>.+)\)|(?P<metric>[A-Za-z_]\w*))(?:@(?P<at>\d+))?$")
Over = Literal["mean", "max", "min", "sum"]


class Outcome(pydantic.BaseModel):
    """One measurement of a run.

    Attributes:
        name: Its name in tables; by default derived from the other fields.
        metric: A metric of the scenario.
        answer: In place of a metric: the share of valid answers that are this value.
        question: Only answers to questions whose text holds this.
        measure: In place of a metric: `module:function`, from a RunReader to a number, a text or None.
        at: The step; the end by default.
        over: In place of a step: over all steps after the beginning.
        direction: The expected direction; it changes no result.
        primary: Whether it is the primary outcome, which a stop by precision uses.
        share: Whether it is a share, whose intervals lie between 0 and 1. Where it is not said, `answer` is one, and
            so is any other outcome whose values all lie between 0 and 1.
        time: Whether the metric is the step at which something happened. A run in which it is None at the end is
            censored: it had not happened by the last step. Means are then of the time within the steps that all runs
            have (restricted means), and `Results.survival` gives the rest.

    Example:
        >>> Outcome.read("mean(share_blue)").over
        'mean'
        >>> Outcome.read("answers(blue)@3").at
        3
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    metric: str | None = None
    answer: str | None = None
    question: str | None = None
    measure: str | None = None
    at: Annotated[int | None, pydantic.Field(ge=0)] = None
    over: Over | None = None
    direction: Literal["up", "down"] | None = None
    primary: bool = False
    share: bool | None = None
    time: bool = False

    def __init__(self, **fields: Any) -> None:
        for name in fields:
            if name not in type(self).model_fields:
                raise UnknownNameError("key of an outcome", name, type(self).model_fields)
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            message = first["msg"].removeprefix("Value error, ")
            text = f"{where} of an outcome is {first['input']!r}: {message.lower()}" if where else message
            raise ParameterError(f"{text}.", 'Write: pc.Outcome(metric="share_blue", at=3)') from error

    # Without this mark pydantic would call __init__ for data in a file too, whose errors name the line.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @pydantic.model_validator(mode="after")
    def _check_source(self) -> Outcome:
        if sum(source is not None for source in (self.metric, self.answer, self.measure)) != 1:
            raise ValueError("an outcome is one of a metric, an answer and a measure")
        if self.at is not None and self.over is not None:
            raise ValueError("an outcome is at a step or over the steps, not both")
        if self.over is not None and self.metric is None:
            raise ValueError("only a metric has a mean, max, min or sum over the steps")
        if self.time and (self.metric is None or self.over is not None or self.at is not None or self.share):
            raise ValueError("a time is a metric at the end of a run")
        if not self.name:
            object.__setattr__(self, "name", self._default_name())
        return self

    def _default_name(self) -> str:
        at = "" if self.at is None else f"@{self.at}"
        if self.time:
            return f"time({self.metric})"
        if self.metric is not None:
            return f"{self.over}({self.metric})" if self.over else f"{self.metric}{at}"
        return f"answers({self.answer}){at}" if self.answer is not None else str(self.measure)

    @classmethod
    def read(cls, text: str) -> Outcome:
        """An outcome from its one-line form."""
        match = _PATTERN.match(text.strip())
        if match is None:
            if re.fullmatch(r"[\w.]+:\w+", text.strip()):
                return cls(measure=text.strip())
            raise UsageError(
                f"the outcome {text!r} cannot be read.",
                "Write a metric, metric@STEP, mean(metric), max(metric), or answers(VALUE).",
            )
        at = int(match["at"]) if match["at"] else None
        if match["metric"]:
            return cls(metric=match["metric"], at=at)
        if match["over"] == "answers":
            return cls(answer=match["inner"].strip(), at=at)
        if match["over"] == "time":
            return cls(metric=match["inner"].strip(), time=True, at=at)
        if match["over"] not in get_args(Over):
            raise UnknownNameError("outcome over the steps", match["over"], [*get_args(Over), "answers", "time"])
        if at is not None:
            raise UsageError(f"the outcome {text!r} is both at a step and over the steps.")
        return cls.model_validate({"metric": match["inner"].strip(), "over": match["over"]})

    @property
    def is_share(self) -> bool | None:
        """Whether it is a share; None where that shows only in its values."""
        if self.time:
            return False
        return True if self.share is None and self.answer is not None else self.share

    def check(self, scenario: type[Scenario], parameters: Mapping[str, Any] | None = None) -> None:
        """Raise an error if no run of the scenario with these parameters can produce it."""
        if self.metric is not None and self.metric not in scenario.metrics():
            known = scenario(**(parameters or {})).own_metrics()
            if self.metric not in known:
                raise UnknownNameError(f"metric of {scenario.title()}", self.metric, known)
        if self.measure is not None:
            self._measure()

    def of(self, run: RunReader) -> Value:
        """The value for a run; None if there is nothing to measure."""
        if self.measure is not None:
            return plain_metric(self._measure()(run), str(self.measure))
        if self.answer is not None:
            return self._share(run)
        metrics = run.metrics
        if self.over is not None:
            after = metrics.filter(pl.col("step") > 0)[str(self.metric)].drop_nulls()
            return plain_metric(getattr(after, self.over)(), str(self.metric)) if after.len() else None
        rows = metrics.tail(1) if self.at is None else metrics.filter(pl.col("step") == self.at)
        return rows[str(self.metric)][0] if rows.height else None

    def _share(self, run: RunReader) -> float | None:
        answers = run.answers(self.at)
        if not answers.height:
            return None
        valid = answers.filter(pl.col("status").cast(pl.String).is_in(list(VALID)))
        if self.question is not None:
            valid = valid.filter(pl.col("question").str.contains(self.question, literal=True))
        return float((valid["value"] == self.answer).mean()) if valid.height else None  # type: ignore[arg-type]

    def _measure(self) -> Callable[[RunReader], Any]:
        module, _, name = str(self.measure).partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ScenarioError(f"the outcome {self.measure!r} could not be loaded: {error}.") from error
        if not callable(function):
            raise ScenarioError(f"the outcome {self.measure!r} is not a function.")
        return function  # type: ignore[no-any-return]
