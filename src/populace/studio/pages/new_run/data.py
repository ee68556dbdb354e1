"""A new run as a form has it: what will be started, what it will take, and the address that reproduces the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from populace.base.formatting import duration
from populace.deciders import DECIDERS
from populace.models import ModelKind, model_kind
from populace.studio.widgets.form_values import changed_texts, command_options, input_errors, option_name
from populace.tools.describe import Parameter

SETTINGS = (
    Parameter("model", "text", "embedded", required=True, help="Who decides."),
    Parameter("seed", "int", 0, help="Of everything random in the run."),
    Parameter("temperature", "number", 1.0, ge=0, help="Applied to the distributions after the fact."),
    Parameter(
        "decider", "choice", "model", choices=DECIDERS, help="Who decides for people whom no column gives another."
    ),
    Parameter("recording", "text", "", help="The run that people answer from whose decider is replay."),
)
"""What every run has beside the parameters of its scenario."""

BUDGET = (
    Parameter("max_calls", "int", None, optional=True, ge=1, help="Calls to the model."),
    Parameter("max_tokens", "int", None, optional=True, ge=1, help="Tokens read and written."),
    Parameter("max_money", "number", None, optional=True, gt=0, help="Money, by the price table."),
    Parameter("max_seconds", "number", None, optional=True, gt=0, help="Seconds."),
)
"""What may be spent before a run stops, resumable."""

_OF_ESTIMATE = frozenset({"model", "workspace", "json"})
_OF_RUN = frozenset(
    {each.name for each in (*SETTINGS, *BUDGET)}
    | {"workspace", "json", "intervention", "concurrency", "timeout", "chart", "no_chart"}
)
"""Options that the commands have for themselves; the tests hold them against the commands."""

_KEYS = _OF_RUN | {"scenario"}


@dataclass
class RunForm:
    """A new run as it was typed.

    Attributes:
        scenario: What `populace run` takes.
        parameters: The parameters of the scenario.
        texts: What was typed for them.
        settings: What was typed for `SETTINGS` and `BUDGET`.
    """

    scenario: str
    parameters: tuple[Parameter, ...]
    texts: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, scenario: str, parameters: tuple[Parameter, ...], query: Mapping[str, str]) -> RunForm:
        """The form that an address describes; what it does not name is as by default."""
        texts = {each.name: query[key] for each in parameters if (key := option_name(each.name, _KEYS)) in query}
        return cls(
            scenario, parameters, texts, {e.name: query[e.name] for e in (*SETTINGS, *BUDGET) if e.name in query}
        )

    def query(self) -> dict[str, str]:
        """What the address holds: the scenario, and whatever differs from the default."""
        own = {option_name(name, _KEYS): text for name, text in changed_texts(self.parameters, self.texts).items()}
        return {"scenario": self.scenario, **own, **changed_texts((*SETTINGS, *BUDGET), self.settings)}

    def input_errors(self) -> dict[str, str]:
        """Everything that will not do, by its name in the address."""
        own = {option_name(name, _KEYS): said for name, said in input_errors(self.parameters, self.texts).items()}
        found = own | input_errors((*SETTINGS, *BUDGET), self.settings)
        if self.settings.get("decider") == "replay" and not self.settings.get("recording", "").strip():
            found["recording"] = "a run is needed to answer from"
        return found

    def setting(self, name: str) -> str:
        """What holds for a setting: what was typed, or the default."""
        default = next(each.default for each in (*SETTINGS, *BUDGET) if each.name == name)
        return self.settings.get(name, "").strip() or ("" if default is None else str(default))

    def run(self) -> list[str]:
        """The command that starts it, without `populace`."""
        own = command_options(self.parameters, self.texts, _OF_RUN)
        return ["run", self.scenario, *own, *command_options((*SETTINGS, *BUDGET), self.settings)]

    def estimate(self) -> list[str]:
        """The command that says what it will take, without `populace`."""
        own = command_options(self.parameters, self.texts, _OF_ESTIMATE)
        return ["estimate", self.scenario, *own, *command_options(SETTINGS[:1], self.settings)]


@dataclass(frozen=True)
class EstimateRow:
    """One line of an estimate: what, how much with its unit, and what to know about it."""

    what: str
    amount: str
    note: str = ""


def estimate_rows(found: Mapping[str, Any], form: RunForm) -> list[EstimateRow]:
    """What a run will take, in words; what is not known is said."""
    model, asked = form.setting("model"), form.setting("decider") == "model"
    rows = [EstimateRow("Decisions", f"{_span(found['decisions'])} decisions", "answers that people give")]
    if not asked:
        by = "a rule decides" if form.setting("decider") == "rule" else "people answer from a recording"
        return [
            *rows,
            EstimateRow("Calls", "0 calls", f"{by}, so no model is asked, save for people whom a column gives one"),
        ]
    rows += [
        EstimateRow("Calls", f"{_span(found['calls'])} calls", "less what is in the call store already"),
        EstimateRow("Tokens", f"{_span(found['tokens'])} tokens", "read and written"),
        _time(found["seconds"], model),
        _cost(found["cost"], model),
    ]
    return rows


def _time(seconds: list[float] | None, model: str) -> EstimateRow:
    if seconds is None:
        return EstimateRow("Time", "unknown", f"no call of {model} has been made in this workspace yet")
    low, high = duration(seconds[0]), duration(seconds[1])
    return EstimateRow("Time", low if low == high else f"{low} to {high}", "judged by earlier calls of this model")


def _cost(cost: list[float] | None, model: str) -> EstimateRow:
    if cost is not None and any(cost):
        return EstimateRow("Cost", _span(cost, "{:,.4f}"), "in the money of your price table")
    if model_kind(model, ModelKind()).local:
        return EstimateRow("Cost", "nothing", "the model runs on this machine")
    if cost is not None:
        return EstimateRow("Cost", "nothing", "by your price table")
    return EstimateRow("Cost", "unknown", "no price is known for this model; `populace models` says where prices go")


def _span(found: list[float], form: str = "{:,.0f}") -> str:
    low, high = form.format(found[0]), form.format(found[1])
    return low if low == high else f"{low} to {high}"
