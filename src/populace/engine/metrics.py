"""Metrics: methods of a scenario that measure something after every step."""

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from populace.base.errors import ScenarioError
from populace.base.values import kind_of, refusal

MetricT = TypeVar("MetricT", bound=Callable[[Any], Any])

_NUMBER = re.compile(r"\s*[-+−]?[\d.,]*\d[\d.,]*(?:e[-+]?\d+)?\s*%?\s*", re.IGNORECASE)
"""A number that is written as text, perhaps as a percentage."""

MARK = "__populace_metric__"
"""The attribute of a method that is a metric."""


def metric(function: MetricT | None = None) -> MetricT:
    """Mark a method as a metric: it is computed at the beginning and after every step.

    It returns a number, a truth value, a text that names a state, or None where there is nothing to measure yet.

    Example:
        >>> from populace import Scenario
        >>> class Office(Scenario):
        ...     @metric
        ...     def share_blue(self) -> float:
        ...         return self.people.share(shirt="blue")
        >>> list(Office.metrics())
        ['share_blue']
    """
    if function is None:
        raise ScenarioError("metric was called without a method.", "Write @pc.metric without parentheses.")
    if not inspect.isroutine(function):
        raise ScenarioError(
            f"metric marks a method, not an object of type {kind_of(type(function))}.",
            "Write @pc.metric alone on the line above the method, without @property and without a name in parentheses.",
        )
    setattr(function, MARK, True)
    return function


def plain_metric(value: Any, name: str) -> float | str | None:
    """The value of a metric as the journal keeps it.

    Example:
        >>> plain_metric(np.float32(0.5), "share"), plain_metric(True, "calm")
        (0.5, 1.0)
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        raise ScenarioError(
            f"the value of the metric {name!r} is the text {value!r}, of which no mean and no chart can be made.",
            "Return the number itself, without str(…) and without a format; reports round it.",
        )
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    if isinstance(value, (bool, int, float, np.generic)) and not isinstance(value, np.str_):
        return float(value)
    place = f"the value of the metric {name!r}"
    if inspect.isawaitable(value) or inspect.isroutine(value):
        raise refusal(value, place, ScenarioError)
    size = f" with {len(value)} values" if hasattr(value, "__len__") else ""
    raise ScenarioError(
        f"{place} is an object of type {kind_of(type(value))}{size}, which is neither number nor text.",
        "Return one number, such as column.mean(), or one text.",
    )
