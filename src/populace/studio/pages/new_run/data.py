"""The form of a new run: its command, its address, and the estimate of what it will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from populace.base.errors import PopulaceError
from populace.base.formatting import duration
from populace.broker import CallSettings, money_text
from populace.journal import RunSettings
from populace.models import ModelTraits, check_model, model_traits
from populace.studio.widgets.form_values import changed_texts, command_options, input_errors, option_name
from populace.tools.describe import Parameter, fields_of

SETTINGS = (
    *fields_of(RunSettings),
    Parameter("recording", "text", "", help="The recorded run that answers for people whose decider is replay."),
)
"""The settings of every run, besides the parameters of its scenario."""

LIMITS = tuple(each for each in fields_of(CallSettings) if each.name.startswith("max_"))
"""The limits at which a run stops; it can be resumed."""

FIELDS = (*SETTINGS, *LIMITS)
_OF_ESTIMATE = frozenset({"model", "workspace", "json"})
_OF_RUN = frozenset(
    {each.name for each in FIELDS}
    | {"workspace", "json", "intervention", "concurrency", "retries", "timeout_s", "chart", "no_chart", "trust"}
    | {"desk", "play_timeout_s", "memories_on"}
)
"""The commands' own options; a test compares them with the commands."""

_KEYS = _OF_RUN | {"scenario"}


@dataclass
class RunForm:
    """The texts in the form of a new run.

    Attributes:
        scenario: The scenario as `populace run` takes it.
        parameters: The parameters of the scenario.
        texts: The texts of their fields.
        settings: The texts of the fields of `SETTINGS` and `LIMITS`.
    """

    scenario: str
    parameters: tuple[Parameter, ...]
    texts: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, scenario: str, parameters: tuple[Parameter, ...], query: Mapping[str, str]) -> RunForm:
        """The form that an address describes; what it does not name has its default."""
        texts = {each.name: query[key] for each in parameters if (key := option_name(each.name, _KEYS)) in query}
        return cls(scenario, parameters, texts, {e.name: query[e.name] for e in FIELDS if e.name in query})

    def query(self) -> dict[str, str]:
        """The query of the address: the scenario, and what differs from the default."""
        own = {option_name(name, _KEYS): text for name, text in changed_texts(self.parameters, self.texts).items()}
        return {"scenario": self.scenario, **own, **changed_texts(FIELDS, self.settings)}

    def input_errors(self) -> dict[str, str]:
        """What is wrong with the input, by its name in the address."""
        own = {option_name(name, _KEYS): error for name, error in input_errors(self.parameters, self.texts).items()}
        errors = own | input_errors(FIELDS, self.settings)
        if self.settings.get("decider") == "replay" and not self.settings.get("recording", "").strip():
            errors["recording"] = "needs the name of a recorded run"
        try:
            check_model(self.setting_text("model"))
        except PopulaceError as error:
            errors["model"] = str(error)
        return errors

    def setting_text(self, name: str) -> str:
        """The text of a setting, or its default."""
        default = next(each.default for each in FIELDS if each.name == name)
        return self.settings.get(name, "").strip() or ("" if default is None else str(default))

    def run(self) -> list[str]:
        """The command that starts it, without `populace`."""
        own = command_options(self.parameters, self.texts, _OF_RUN)
        return ["run", self.scenario, *own, *command_options(FIELDS, self.settings)]

    def estimate(self) -> list[str]:
        """The command that estimates it, without `populace`."""
        own = command_options(self.parameters, self.texts, _OF_ESTIMATE)
        return ["estimate", self.scenario, *own, *command_options(SETTINGS[:1], self.settings)]


class EstimateRow(NamedTuple):
    """One row of an estimate: a quantity, its amount with the unit, and a note."""

    what: str
    amount: str
    note: str = ""


def estimate_rows(estimate: Mapping[str, Any], form: RunForm) -> list[EstimateRow]:
    """An estimate in words; what is not known is stated as unknown."""
    model, decider = form.setting_text("model"), form.setting_text("decider")
    decisions = EstimateRow("Decisions", f"{_span(estimate['decisions'])} decisions", "answers that people give")
    if decider != "model":
        who = "a rule decides" if decider == "rule" else "people answer from a recording"
        reason = f"{who}: no model is called, except for people whose own decider is one"
        return [decisions, EstimateRow("Calls", "0 calls", reason)]
    stored = "minus the replies that are in the call store already"
    return [
        decisions,
        EstimateRow("Calls", f"{_span(estimate['calls'])} calls", stored),
        EstimateRow("Tokens", f"{_span(estimate['tokens'])} tokens", "read and written"),
        EstimateRow("Time", *_time(estimate["seconds"], model)),
        EstimateRow("Cost", *_cost(estimate["cost"], model)),
    ]


def _time(seconds: list[float] | None, model: str) -> tuple[str, str]:
    if seconds is None:
        return "unknown", f"{model} has not been called in this workspace yet"
    low, high = duration(seconds[0]), duration(seconds[1])
    return low if low == high else f"{low} to {high}", "estimated from earlier calls of this model"


def _cost(cost: list[float] | None, model: str) -> tuple[str, str]:
    if cost is not None and any(cost):
        return f"{cost[0]:,.4f} to {money_text(cost[1])}", "by your price table"
    if model_traits(model, ModelTraits()).local:
        return "nothing", "the model runs on this machine"
    if cost is not None:
        return "nothing", "by your price table"
    return "unknown", "no price is known for this model; `populace models` says where prices go"


def _span(bounds: list[float], form: str = "{:,.0f}") -> str:
    low, high = form.format(bounds[0]), form.format(bounds[1])
    return low if low == high else f"{low} to {high}"
