from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from populace.cli import cli
from populace.engine.discovery import find_scenario
from populace.studio.pages.new_run import data as starting
from populace.studio.pages.new_run.data import RunForm, estimate_rows
from populace.studio.widgets.form_values import (
    changed_texts,
    command_options,
    format_value,
    infer_parameters,
    input_error,
    input_errors,
    parse_value,
    read_parameters,
)
from populace.tools.describe import Parameter, describe_scenario, parameters_of

NORMS = tuple(parameters_of(find_scenario("norms")))
NUMBER = Parameter("share", "number", 0.5, ge=0, lt=1)
ESTIMATE = {"decisions": [140, 140], "calls": [26, 130], "tokens": [4000.2, 9000.0], "cost": None, "seconds": None}


@pytest.mark.parametrize(
    ("parameter", "typed", "said"),
    [
        (Parameter("days", "int", 7, ge=1), "0", "must be >= 1"),
        (Parameter("days", "int", 7, ge=1), "2.5", "must be a whole number"),
        (Parameter("days", "int", required=True), " ", "needs a value"),
        (NUMBER, "1", "must be >= 0 and < 1"),
        (NUMBER, "nan", "must be a number"),
        (NUMBER, "", ""),
        (Parameter("sort", "choice", "red", choices=("red", "green")), "blue", "must be one of red, green"),
        (Parameter("own", "bool", True), "perhaps", "must be yes or no"),
    ],
)
def test_what_will_not_do_is_said(parameter: Parameter, typed: str, said: str) -> None:
    assert input_error(parameter, typed) == said


def test_text_that_is_not_json_is_refused_with_the_place() -> None:
    assert "line 2" in input_error(Parameter("wages", "json", {}), '{"day":\n 2,,}')


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, min_size=1)))
def test_a_value_that_is_typed_as_it_is_shown_is_the_same_value(value: Any) -> None:
    parameter = Parameter("any", "json", default=None)
    assert parse_value(parameter, json.dumps(value)) == value
    if isinstance(value, list):
        assert parse_value(parameter, format_value(value)) == value


def test_only_what_differs_from_the_default_becomes_an_option() -> None:
    typed = {each.name: format_value(each.default) for each in NORMS}
    assert command_options(NORMS, typed) == []
    assert input_errors(NORMS, typed) == {}
    typed |= {"days": "3", "counts": "false", "personas": "none", "initial_share": "0.50"}
    assert command_options(NORMS, typed) == ["--days", "3", "--personas", "none", "--no-counts"]
    assert list(changed_texts(NORMS, typed)) == ["days", "personas", "counts"]


def test_a_value_that_looks_like_an_option_stays_with_its_name() -> None:
    assert command_options([Parameter("owner", "text", "")], {"owner": "--json"}) == ["--owner=--json"]


def test_the_address_of_a_form_gives_the_same_form() -> None:
    parameters = (*NORMS, Parameter("seed", "int", 1))
    form = RunForm(
        "norms", parameters, {"days": "3", "seed": "9"}, {"seed": "4", "max_calls": "50", "temperature": "1.0"}
    )
    query = form.query()
    assert query == {"scenario": "norms", "days": "3", "scenario_seed": "9", "seed": "4", "max_calls": "50"}
    again = RunForm.read("norms", parameters, query)
    assert again.query() == query
    assert again.run() == form.run() == [
        "run", "norms", "--days", "3", "--scenario-seed", "9", "--seed", "4", "--max-calls", "50",
    ]  # fmt: skip


def test_something_half_typed_is_kept_in_the_address() -> None:
    form = RunForm("norms", NORMS, {"days": "0"})
    assert form.query()["days"] == "0"
    assert form.input_errors() == {"days": "must be >= 1"}


def test_an_answer_from_a_recording_needs_a_run() -> None:
    assert "recording" in RunForm("norms", NORMS, settings={"decider": "replay"}).input_errors()
    assert not RunForm("norms", NORMS, settings={"decider": "replay", "recording": "norms-1"}).input_errors()


@pytest.mark.parametrize(("command", "taken"), [("run", starting._OF_RUN), ("estimate", starting._OF_ESTIMATE)])
def test_names_that_a_command_has_for_itself_are_known_here(command: str, taken: frozenset[str]) -> None:
    with cli.make_context("populace", [], resilient_parsing=True) as context:
        found = cli.get_command(context, command)  # type: ignore[attr-defined]
    options = {each for param in found.params for each in (*param.opts, *param.secondary_opts) if each.startswith("--")}
    assert {each[2:].replace("-", "_") for each in options} == taken


def test_an_estimate_says_what_is_not_known() -> None:
    form = RunForm("norms", NORMS, settings={"model": "openai:x"})
    rows = {row.what: row for row in estimate_rows(ESTIMATE, form)}
    assert rows["Calls"].amount == "26 to 130 calls"
    assert rows["Tokens"].amount == "4,000 to 9,000 tokens"
    assert rows["Time"].amount == "unknown" and "openai:x" in rows["Time"].note
    assert rows["Cost"].amount == "unknown"
    timed = {row.what: row for row in estimate_rows(ESTIMATE | {"seconds": [4.0, 4000.0]}, RunForm("norms", NORMS))}
    assert (timed["Time"].amount, timed["Cost"].amount) == ("4.0 s to 1 h 06 min", "nothing")


def test_where_a_rule_decides_no_call_is_expected() -> None:
    rows = estimate_rows(ESTIMATE, RunForm("norms", NORMS, settings={"decider": "rule"}))
    assert [row.amount for row in rows] == ["140 decisions", "0 calls"]


def test_parameters_come_back_from_their_description() -> None:
    described = json.loads(json.dumps(describe_scenario(find_scenario("norms"))))
    assert read_parameters(described) == NORMS


def test_parameters_are_guessed_from_values_where_the_scenario_cannot_be_asked() -> None:
    assert input_error(infer_parameters({"days": 3})[0], "many") == "must be a whole number"


@pytest.mark.parametrize(("model", "meant"), [("gpt-4o", "openai:gpt-4o"), ("embeded", "embedded")])
def test_the_form_of_a_new_run_refuses_a_string_that_names_no_model(model, meant):
    form = RunForm("norms", NORMS, settings={"model": model})
    assert f"Did you mean {meant}?" in form.input_errors()["model"]


def test_the_form_of_a_new_run_imports_no_module_that_it_is_given(tmp_path, monkeypatch):
    (tmp_path / "planted_script.py").write_text("raise SystemExit('the module was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert RunForm("norms", NORMS, settings={"model": "scripted:planted_script:answer"}).input_errors() == {}
