"""The mistakes that people make first: each is named, and the corrected line is in the message."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import populace as populace_module
from populace import (
    AddPeople,
    Announce,
    Choice,
    Experiment,
    Field,
    Form,
    Network,
    Number,
    People,
    Rating,
    RemovePeople,
    Run,
    Scenario,
    Scripted,
    SetColumns,
    Text,
    compare,
    metric,
    simulate,
)
from populace.base.errors import PopulaceError
from populace.base.templates import Template
from populace.experiments.execution import default_workers
from populace.journal.intervention_list import read_interventions
from populace.models import Request
from support.commands import populace
from support.fake_server import FakeServer

HELP = Choice("Do you help?", options=("yes", "no"))


class Garden(Scenario):
    """Neighbours help or do not."""

    weeks: int = Field(1, ge=1)

    def setup(self) -> People:
        return People.named(3, seed=1).with_columns(helped="no")

    def length(self) -> int:
        return self.weeks

    async def step(self) -> None:
        self.people["helped"] = await self.ask(self.people, HELP)


def answer(request: Request) -> dict[str, float]:
    return {option: 1 / len(request.options) for option in request.options}


def run(scenario: Any) -> Run:
    return simulate(scenario, model=Scripted(answer, spec="scripted:beginners"), seed=1, keep="nothing")


def error_of(scenario: Any) -> PopulaceError:
    """The error of a run, which is one of the family and never a fault of Populace."""
    with pytest.raises(PopulaceError) as raised:
        run(scenario)
    assert "bug" not in str(raised.value) and " at 0x" not in raised.value.paragraph()
    return raised.value


def prompt_of(scenario: Any) -> str:
    return str(run(scenario).prompts()["user"][0])


# The ten commonest mistakes. Key, address and name of a model are the last three.


def test_a_step_without_async() -> None:
    class Mistake(Garden):
        def step(self) -> None:  # type: ignore[override]
            self.people["helped"] = self.ask(self.people, HELP)

    assert str(error_of(Mistake())) == "Mistake.step is not asynchronous. Write: async def step(self):"


def test_a_forgotten_await() -> None:
    class Column(Garden):
        async def step(self) -> None:
            self.people["helped"] = self.ask(self.people, HELP)

    error = error_of(Column())
    assert error.what.startswith("test_beginners.py, line ")
    assert error.what.endswith(": self.ask(…) was called without await, so it was never carried out.")
    assert error.hint == "Write: await self.ask(…)"


def test_a_class_instead_of_an_object() -> None:
    assert str(error_of(Garden)) == (
        "Garden is a class, and a run needs a scenario made from it: the parentheses are missing. "
        "Write: pc.simulate(Garden(), …)"
    )


def test_a_column_of_pandas_is_taken_where_it_fits_and_refused_where_it_does_not() -> None:
    class Fitting(Garden):
        async def step(self) -> None:
            await self.ask(self.people, HELP, given="You earn {income}.", income=pd.Series([10, 20, 30]))

    class Longer(Garden):
        async def step(self) -> None:
            await self.ask(self.people, HELP, given="You earn {income}.", income=pd.Series([10, 20, 30, 40]))

    assert prompt_of(Fitting()).startswith("You earn 10.\n")
    assert str(error_of(Longer())) == (
        "the field 'income' holds 4 values for 3 people. Give one value for all of them, or one for each in their order."
    )


def test_a_misspelt_field() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            await self.ask(self.people, HELP, given="You are {nmae}.")

    assert str(error_of(Mistake())).startswith(
        "given: the template names {nmae}, and no column or value has that name. Did you mean {name}? There are: "
    )


def test_a_wrong_option() -> None:
    class Rule(Garden):
        async def step(self) -> None:
            await self.ask(self.people, HELP, rule=lambda people: ["Yes", "no", "no"])

    with pytest.raises(PopulaceError) as raised:
        simulate(Rule(), decider="rule", keep="nothing")
    assert str(raised.value) == (
        "the rule for 'Do you help?' gave 'Yes' to person 0, which is not an option. "
        "Did you mean 'yes'? The options are yes, no."
    )

    class Count(Garden):
        async def step(self) -> None:
            (await self.ask(self.people, HELP)).share("Yes")

    assert str(error_of(Count())) == (
        "there is no option of 'Do you help?' named 'Yes'. Did you mean 'yes'? Known: no, yes."
    )


@pytest.mark.slow
def test_a_read_only_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    # A file in the place of the folder cannot be written into by anybody, the superuser included.
    done = populace(
        "run", "norms", "--model", "scripted:uniform", "--workers", "2", "--days", "1", "--workspace", str(file)
    )
    assert done.returncode == 4
    assert str(file) in done.stderr and "--workspace" in done.stderr and "P000" not in done.stderr


def model_error(model: str) -> PopulaceError:
    with pytest.raises(PopulaceError) as raised:
        simulate(Garden(), model=model, seed=1, keep="nothing")
    assert "bug" not in str(raised.value)
    return raised.value


def test_a_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    error = model_error("openai:gpt-4o")
    assert error.what == "openai:gpt-4o needs a key of OpenAI, and none is set."
    assert error.hint == (
        "Set OPENAI_API_KEY to a valid key, which https://platform.openai.com/api-keys gives out; "
        "it is never written down."
    )


def test_a_wrong_address() -> None:
    assert model_error("http//127.0.0.1:8000/v1#llama").hint == "Did you mean http://127.0.0.1:8000/v1#llama?"
    error = model_error("http://127.0.0.1:1/v1#llama")
    assert error.what == "no server answers at http://127.0.0.1:1/v1."
    assert error.hint == "Check the address and that the server is up."
    with FakeServer(models={"llama": "fake"}) as server:
        outcomes = [
            run_on(f"{server.url.removesuffix('/v1')}{ending}#llama") for ending in ("", "/v1/chat/completions")
        ]
    assert outcomes == ["complete", "complete"]  # What can be corrected is corrected.


def test_a_model_that_the_server_lists_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(models={"llama3:latest": "library", "qwen3:8b": "library"}, aliases={"llama3"}) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        assert run_on("ollama:llama3") == "complete"  # An alias is tried before it is refused.
        error = model_error("ollama:qwen3")
    assert error.what.startswith(f"{server.url} does not know the model 'qwen3'.")
    assert error.hint == "Did you mean ollama:qwen3:8b? It lists 2 models. To get this one: ollama pull qwen3"


def run_on(model: str) -> str:
    return simulate(Garden(), model=model, seed=1, keep="nothing").manifest.status.state


# What else is easily confused.


@pytest.mark.parametrize(
    ("use", "ending"),
    [
        (lambda call: call.values, "values"),
        (lambda call: call == "yes", "equality"),
        (lambda call: bool(call), "truth"),
        (lambda call: list(call), "list"),
        (lambda call: call[0], "item"),
        (lambda call: f"{call}", "text"),
        (lambda call: len(call), "length"),
    ],
)
def test_answers_that_were_not_awaited_cannot_be_used(use: Any, ending: str) -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            use(self.ask(self.people, HELP))

    assert "called without await" in error_of(Mistake()).what


def test_a_question_that_nobody_awaits_is_found_before_the_run_begins() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            self.ask(self.people, HELP)

    error = error_of(Mistake())
    assert "self.ask(…) is called without await, so nothing would happen." in error.what
    assert error.hint == "Write: await self.ask(self.people, HELP)"


def test_a_method_of_the_user_that_nobody_awaits_is_found_before_the_run_begins() -> None:
    class Mistake(Garden):
        async def visit(self) -> None:
            """Nothing."""

        async def step(self) -> None:
            self.visit()

    assert error_of(Mistake()).hint == "Write: await self.visit()"


def test_a_question_that_is_made_and_left_is_found_at_the_end_of_the_step() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            self.pending = self.ask(self.people, HELP)

    assert "was called without await" in error_of(Mistake()).what


def definition(body: str, **parameters: int) -> Any:
    """A scenario class whose text no one can read, as in a notebook."""
    names: dict[str, Any] = {
        "Garden": Garden,
        "HELP": HELP,
        "Choice": Choice,
        "People": People,
        "Field": Field,
        "metric": metric,
        "pd": pd,
    }
    exec(f"class Mistake(Garden):\n{body}", names)
    return names["Mistake"](**parameters)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "    async def step(self):\n        yield self.ask(self.people, HELP)",
            "Mistake.step contains yield, and a step awaits its questions instead. "
            "Write: async def step(self), with await in the place of yield.",
        ),
        (
            "    def step(self):\n        yield 1",
            "Mistake.step contains yield, and a step awaits its questions instead. "
            "Write: async def step(self), with await in the place of yield.",
        ),
        (
            "    async def step(self, people):\n        pass",
            "Mistake.step takes people, and it is called with self alone. Write: async def step(self): "
            "The people are self.people, parameters are attributes of self.",
        ),
        ("    async def step():\n        pass", "Mistake.step does not take self. Write: async def step(self):"),
        (
            "    async def profile(self):\n        return 'x'",
            "Mistake.profile is asynchronous. Write: def profile(self):",
        ),
        (
            "    @metric\n    async def helping(self):\n        return 1",
            "Mistake.helping is asynchronous. Write: def helping(self):",
        ),
        (
            "    async def step(self):\n        return await self.ask(self.people, HELP)",
            "Mistake.step returned an object of type populace.Answers, which nobody uses. What a step changes goes into "
            'the people: self.people["answer"] = await self.ask(…)',
        ),
        (
            "    def setup(self):\n        people = People.named(3)",
            "Mistake.setup returned nothing. End it with the people: return people",
        ),
        (
            "    def setup(self):\n        return pd.DataFrame({'age': [1]})",
            "Mistake.setup returned an object of type pandas.DataFrame, not People. Write: return pc.People(table)",
        ),
        (
            "    def setup(self):\n        return ['Ann', 'Bo']",
            "Mistake.setup returned an object of type list, not People. Write: return pc.People.named(10)",
        ),
        (
            "    days = Field(3)",
            "Mistake: the parameter 'days' has no type. Write: days: int = pc.Field(…), with its type.",
        ),
        (
            "    def __init__(self):\n        self.x = 1",
            "Mistake: the parameter 'weeks' has no value, because __init__ was replaced. Remove __init__; parameters are "
            "attributes with a type, and other attributes are set in setup.",
        ),
        (
            "    def length(self):\n        return '5'",
            "Mistake.length returned '5'; it is a whole number of steps, or None. "
            "Write: return 5, or put int(…) around what it returns.",
        ),
        (
            "    def length(self):\n        return 2.5",
            "Mistake.length returned 2.5; it is a whole number of steps, or None. "
            "Write: return 2, or put int(…) around what it returns.",
        ),
        (
            "    async def step(self):\n        await self.ask(self.people, Choice)",
            'the second argument of ask is the class Choice, not a question. Write pc.Choice("…").',
        ),
        (
            "    async def step(self):\n        await self.ask(self.people, 'Do you help?')",
            "'Do you help?' is a text, not a question: it does not say which answers it takes. Write "
            "pc.Choice('Do you help?', options=(…)), pc.Rating, pc.Number or pc.Text('Do you help?').",
        ),
        (
            "    async def step(self):\n        await self.ask(HELP, self.people)",
            "the first argument of ask is a question, and people come first. Write: await self.ask(people, question)",
        ),
        (
            "    async def step(self):\n        await self.ask([0, 1], HELP)",
            "the first argument of ask holds an object of type int, not people. Pass self.people, a selection such as "
            "self.people.where(…) or self.people.take(ids), or persons.",
        ),
        (
            "    async def step(self):\n        await self.ask(self.people, HELP, given='{n}', n=self.people.count)",
            "the field 'n' is the function People.count, not what it returns. Call it: write count(…).",
        ),
        (
            "    async def step(self):\n        await self.each(self.people, self.visit)\n"
            "    def visit(self, person):\n        pass",
            "each was given visit, which is not asynchronous. Write: async def visit(…):",
        ),
        (
            "    @metric\n    def helping(self):\n        return self.people.share",
            "the value of the metric 'helping' is the function People.share, not what it returns. "
            "Call it: write share(…).",
        ),
        (
            "    @metric\n    def helping(self):\n        return self.people['helped']",
            "the value of the metric 'helping' is an object of type polars.Series with 3 values, which is neither number "
            "nor text. Return one number, such as column.mean(), or one text.",
        ),
        (
            "    @metric\n    def helping(self):\n        self.people['helped'] = 'yes'\n        return 1",
            "people were changed in a metric. Change them in step.",
        ),
    ],
)
def test_a_mistake_in_a_scenario_is_named_with_the_corrected_line(body: str, message: str) -> None:
    assert str(error_of(definition(body))) == message


def test_methods_with_almost_the_right_name_are_recognised() -> None:
    class Mistake(Scenario):
        def set_up(self) -> People:
            return People.named(2)

    assert str(error_of(Mistake())) == (
        "Mistake defines no setup. It defines 'set_up'; did you mean 'setup'? "
        "Write: def setup(self): … and return the People."
    )


def test_a_parameter_of_a_type_that_is_no_data_is_refused() -> None:
    class Mistake(Garden):
        friends: People

    with pytest.raises(
        PopulaceError, match=r"the parameter 'friends' has the type People, and a parameter is plain data"
    ):
        Mistake()


def test_an_exception_in_a_step_shows_the_lines_of_the_user_and_no_others() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            self.divide(0)

        def divide(self, number: int) -> float:
            return 1 / number

    error = error_of(Mistake())
    assert "test_beginners.py, line" in error.what
    assert error.what.endswith("in step 1: ZeroDivisionError: division by zero.")
    outer, inner = (error.place or "").splitlines()
    assert outer.endswith("in step: self.divide(0)") and inner.endswith("in divide: return 1 / number")
    assert inner in error.paragraph()


@pytest.mark.parametrize("method", ["length", "stop", "share"])
def test_an_exception_outside_a_step_is_reported_in_the_same_way(method: str) -> None:
    decoration = "    @metric\n" if method == "share" else ""
    error = error_of(definition(f"{decoration}    def {method}(self):\n        return self.nothing", weeks=2))
    assert "AttributeError: 'Mistake' object has no attribute 'nothing'." in error.what
    assert ("a metric" if method == "share" else method) in error.what


def test_an_error_of_populace_in_a_step_says_where_it_arose() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            self.people["helpd"]

    assert (error_of(Mistake()).place or "").endswith('in step: self.people["helpd"]')


def test_people_who_are_used_for_two_runs_are_the_same_at_the_beginning_of_both() -> None:
    people = People.named(3, seed=1).with_columns(helped="no")

    class Shared(Garden):
        def setup(self) -> People:
            return people

    assert run(Shared()).answers().equals(run(Shared()).answers())
    assert people["helped"].to_list() == ["no", "no", "no"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Choice("Vote?", ["yes", "no"]), "Choice takes its text first, and everything else by name. "
            "Write: Choice('Vote?', options=…)"),
        (lambda: Rating("Happy?", 1, 7), "Rating takes its text first, and everything else by name. "
            "Write: Rating('Happy?', low=…)"),
        (lambda: Choice("Vote?", option=("yes", "no")), "there is no argument of Choice named 'option'. "
            "Did you mean 'options'? Known: options, order, reason, scoring, text, wordings."),
        (lambda: Choice(options=("yes", "no")), 'Choice has no text. Write: Choice("…", options=…)'),
        (lambda: Choice("Vote?", options="yes, no"), "'Vote?': the options are one text, 'yes, no'. "
            "Write each by itself: options=('yes', 'no')."),
        (lambda: Choice("Vote?", options={"yes", "no"}), "'Vote?': the value of options is a set, which has no order. "
            "Write sorted(…)."),
        (lambda: Choice("Vote?", options={"yes": "Yes!"}), "'Vote?': the options are a mapping. Write options=tuple(…), "
            "and wordings={option: text} where the prompt words an option differently."),
        (lambda: Choice("Vote?", options=("yes", None)), "'Vote?': an option is None. Leave it out, or write it as a text."),
        (lambda: Choice("Vote?", options=("yes",)), "'Vote?' has 1 option; it needs at least two. "
            'Write options=("yes", "no").'),
        (lambda: Choice(["a", "b"], options=("yes", "no")), "the text of a question is an object of type list. It is one "
            "text for all people; what differs between them is a field in braces, such as {name}."),
        (lambda: Rating("Happy?", low=0, high=100), "'Happy?' has 101 options; at most 26 can be labelled. "
            "For a longer scale write pc.Number(…, low=0, high=100, whole=True)."),
        (lambda: Rating("Happy?", low=0.5, high=2), "'Happy?': low is 0.5, and the points of a scale are whole numbers. "
            "Write pc.Number(…) for other numbers."),
        (lambda: Rating("Happy?", anchors="bad, good"), "'Happy?': the anchors are 'bad, good'. "
            'Write both ends: anchors=("not at all", "very much").'),
        (lambda: Number("Age?", low="0"), "'Age?': low is '0', not a number. Write low=0, for example."),
        (lambda: Text("Why?", max_words="many"), "'Why?': an answer cannot have at most 'many' words. Write max_words=60."),
        (lambda: Form("You.", questions=[HELP]), "'You.': the questions are a list. Give each question a name: "
            'questions={"age": Number("…"), "vote": Choice("…", options=(…))}.'),
        (lambda: Template("{household income}"), "the template '{household income}' holds the field {household income}; a "
            "field is one plain name, without spaces, dots or brackets. Name the column or the value 'household_income' "
            "and write {household_income}."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_question_is_named_with_the_corrected_line(make: Any, message: str) -> None:
    with pytest.raises(PopulaceError) as raised:
        make()
    assert str(raised.value) == message


def test_a_value_in_another_case_is_not_counted_as_nobody() -> None:
    people = People({"vote": pl.Series(["yes", "no"], dtype=pl.Enum(["yes", "no", "maybe"]))})
    assert people.count(vote="maybe") == 0 and people.share(vote=["undecided"]) == 0
    for count in (lambda: people.share(vote="Yes"), lambda: people.where(vote="Yes")):
        with pytest.raises(PopulaceError, match="column 'vote' never holds 'Yes'. Did you mean 'yes'"):
            count()


def test_columns_with_a_meaning_for_the_platform_are_explained() -> None:
    class Cars(Garden):
        def setup(self) -> People:
            return People.named(3).with_columns(model="Golf")

    assert str(error_of(Cars())).startswith(
        "the column 'model' of the people says which language model answers for a person, and 'Golf' is none: "
    )

    class Deciders(Garden):
        def setup(self) -> People:
            return People.named(3).with_columns(decider="husband")

    assert "The column 'decider' of the people says who decides for a person." in str(error_of(Deciders()))


def test_a_scale_to_ten_is_shown_in_numbers() -> None:
    class Scale(Garden):
        async def step(self) -> None:
            await self.ask(self.people, Rating("How happy are you?", low=0, high=10))

    done = run(Scale())
    assert "Scale: a whole number from 0 to 10." in done.prompts()["user"][0]
    assert done.invalid_share == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("self.people.helped", 'a column is read with brackets, not as people.helped. Write: people["helped"]'),
        ("self.people.hlped", "people have no attribute 'hlped'. Did you mean people[\"helped\"]?"),
        ("self.people.helped = 'yes'", 'people.helped = … would not change a column. Write: self.people["helped"] = …'),
        ("self.people.groupby('helped')", "people have no 'groupby'; their table has. "
            "Write people.frame.to_pandas().groupby; it is a table of Polars."),
        ("self.people.group_by('helped')", "people have no 'group_by'; their table has. "
            "Write people.frame.group_by; it is a table of Polars."),
        ("self.people[0]", "people[0] names no column. Write people.person(0) for one person."),
        ("self.people[['id', 'name']]", "people[[…]] names several columns. "
            "Write people.frame[[…]] for a table of them."),
        ("self.people[self.people['helped'] == 'no']", "people[…] takes the name of a column, not an object of type "
            'polars.Series. Write people.where(age={"ge": 30}) to select people.'),
        ("list(self.people)[0].helped = 'yes'", "'helped' was assigned to one person, who is a copy of a row and cannot be "
            'changed. Change the column: self.people["helped"] = …, with a value for each person or with answers.'),
        ("list(self.people)[0]['helped'] = 'yes'", "'helped' was assigned to one person, who is a copy of a row and cannot "
            'be changed. Change the column: self.people["helped"] = …, with a value for each person or with answers.'),
        ("self.people = People.named(2)", "self.people was replaced, which a scenario cannot do. In setup write: return "
            'people. In a step change a column: self.people["…"] = …'),
        ("(await self.ask(self.people, HELP)).mean()", "answers have no 'mean'; their values have. "
            "Write: answers.values.mean"),
        ("(await self.ask(self.people, HELP)) == 'yes'", "the answers of 3 people were compared with 'yes'. Write "
            "answers.values == … for each of them, answers.one == … for one person, or answers.share(…)."),
        ("(await self.ask(self.people, HELP)).text", "answers have no 'text'. "
            "The values are answers.values, or answers.one if one person was asked."),
        ("assert list(await self.ask(self.people, HELP)) == 1", "AssertionError"),
    ],
)  # fmt: skip
def test_habits_from_pandas_and_from_objects_are_answered(line: str, message: str) -> None:
    assert message in str(error_of(definition(f"    async def step(self):\n        {line}")))


def test_settings_that_belong_to_the_scenario_are_not_passed_to_simulate() -> None:
    with pytest.raises(PopulaceError) as raised:
        simulate(Garden(), weeks=3)  # type: ignore[call-arg]
    assert (
        str(raised.value) == "weeks is a parameter of Garden, not of simulate. Write: pc.simulate(Garden(weeks=…), …)"
    )
    with pytest.raises(PopulaceError, match="Write in the class: steps: int = 3, or def length"):
        simulate(Garden(), steps=3)  # type: ignore[call-arg]


def test_answers_of_one_person_at_a_time_are_put_together_in_a_column() -> None:
    class OneByOne(Garden):
        async def step(self) -> None:
            self.people["helped"] = [await self.ask(person, HELP) for person in self.people]

    assert set(run(OneByOne()).people()["helped"]) <= {"yes", "no"}


ANSWERED = run(Garden())
SURVEY = pd.DataFrame({"code": ["a", "b", "c"], "name": ["Ann", "Bo", "Ann"], "age": [31.0, None, 27.0]})

MORE_MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "options in one text": (lambda: Choice("Jab?", options="yes no"), "options=('yes', 'no')"),
    "a numbered field": (lambda: Template("It costs {0}."), "with price=… in ask"),
    "braces in the text": (lambda: Template("{'a': 1}"), "{{ and }} for braces"),
    "a function as condition": (lambda: People(SURVEY).where(lambda person: True), 'people.where(age={"ge": 30}'),
    "names as ids": (lambda: People(SURVEY, id="name"), "leave id out, and people are numbered"),
    "an id that is no column": (lambda: People(SURVEY, id="number"), "its columns are code, name, age"),
    "a name that two have": (lambda: People(SURVEY).person("Ann"), "Name one by id: 0, 2."),
    "a matrix as network": (lambda: Network(np.eye(3)), "nx.from_numpy_array(matrix)"),
    "arguments of an intervention by position": (lambda: Announce(3, "x"), "Write: Announce(at=…, text=…)"),
    "conditions in the place of a selection": (
        lambda: SetColumns(at=1, to={"age": 31}, values={"age": 3}),
        'Selection(where={"age": {"ge": 30}})',
    ),
    "ids in the place of a selection": (lambda: RemovePeople(at=1, to=[0, 1]), "Selection(ids=[3, 5])"),
    "a table of people who join": (lambda: AddPeople(at=1, people=SURVEY), 'table.to_dict("records")'),
    "a misspelt kind of intervention": (
        lambda: read_interventions([{"kind": "anounce", "at": 1, "text": "x"}]),
        "Did you mean 'announce'?",
    ),
    "an intervention before the fork": (
        lambda: ANSWERED.fork(2, interventions=[Announce(at=1, text="x")]),
        "Fork at 1, or let the intervention happen at 2 or later.",
    ),
    "a step as text": (lambda: ANSWERED.at("1"), "without quotes"),
    "the name of a run": (lambda: compare(ANSWERED, "last"), "compare(run, pc.open_run('last'))"),
    "a function as model": (
        lambda: simulate(Garden(), model=answer, keep="nothing"),
        "Write model=pc.Scripted(function)",
    ),
    "an object as scenario of an experiment": (
        lambda: Experiment(name="x", scenario=Garden(), factors={"weeks": [1, 2]}, outcomes=["x"]),
        "Write scenario=Garden, parameters={…}",
    ),
}


@pytest.mark.parametrize("mistake", MORE_MISTAKES)
def test_another_mistake_is_named_with_the_corrected_line(mistake: str) -> None:
    attempt, correction = MORE_MISTAKES[mistake]
    with pytest.raises(PopulaceError) as raised:
        attempt()
    assert correction in str(raised.value)


def test_people_without_a_value_are_counted_and_both_ways_out_are_written() -> None:
    class Survey(Garden):
        def setup(self) -> People:
            return People(SURVEY, id="code").with_columns(helped="no")

        def profile(self) -> str:
            return "You are {name}, {age}."

    text = str(error_of(Survey()))
    assert "{age} is empty for person 'b'," in text
    assert 'people["age"].fill_null(0)' in text and 'people.where(age={"ne": None})' in text
    assert People(SURVEY).where(age={"ne": None}).ids.to_list() == [0, 2]


def test_one_person_is_interviewed_without_brackets() -> None:
    society = ANSWERED.at(1)
    (name,) = society.people.take([1])["name"]
    for who in (1, name):
        answers = society.interview(HELP, people=who, model=Scripted(answer, spec="scripted:beginners"))
        assert answers.ids.to_list() == [1]


def test_a_misspelt_public_name_is_corrected() -> None:
    with pytest.raises(AttributeError, match=r"Did you mean populace\.People\?"):
        populace_module.Peopel  # noqa: B018


@pytest.mark.parametrize("guard", ["", 'if __name__ == "__main__":\n    '])
def test_an_experiment_in_a_script_never_runs_the_script_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    script = tmp_path / "study.py"
    script.write_text(f"print(type(1).__name__)\n{guard}Experiment(…).run()", "utf-8")
    program = ModuleType("__main__")
    program.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "__main__", program)
    plan = Experiment(name="x", scenario="norms", factors={"days": [1, 2]}, decider="rule", outcomes=["share_blue"])
    if guard:
        assert default_workers(plan, plan.arms()) == min(2, os.cpu_count() or 1)
        return
    assert default_workers(plan, plan.arms()) == 1
    with pytest.raises(PopulaceError) as raised:
        plan.run(workers=2, workspace=tmp_path)
    assert "run this script again" in str(raised.value) and 'below `if __name__ == "__main__":`' in str(raised.value)


def test_a_misspelt_public_name_gets_one_guess_where_python_would_add_its_own() -> None:
    code = "import populace as pc; pc.choice"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.rstrip().endswith("has no attribute 'choice'. Did you mean populace.Choice?")


def test_parameters_without_names_are_answered_with_the_line_to_write() -> None:
    with pytest.raises(PopulaceError) as raised:
        Garden(3)  # type: ignore[call-arg, misc]
    assert str(raised.value) == "Garden takes its parameters by name. Write: Garden(weeks=…)"


def test_a_wrong_option_is_reported_with_lines_of_the_user_alone() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            await self.ask(self.people, Choice("Do you help?", options=("yes",)))

    (line,) = (error_of(Mistake()).place or "").splitlines()
    assert line.endswith('in step: await self.ask(self.people, Choice("Do you help?", options=("yes",)))')


def test_a_text_with_fields_that_is_an_f_string_by_mistake() -> None:
    class Mistake(Garden):
        async def step(self) -> None:
            await self.ask(
                self.people,
                HELP,
                given=f"Last week {helpers} of {self.weeks} helped.",  # type: ignore[name-defined]  # noqa: F821
                helpers=3,
            )

    class Plain(Garden):
        async def step(self) -> None:
            await self.ask(self.people, HELP, given="{helpers}", helpers=helpers)  # type: ignore[name-defined]  # noqa: F821

    error = error_of(Mistake())
    assert error.what.endswith("in step 1: NameError: name 'helpers' is not defined.")
    assert error.hint == (
        "If people are to be told {helpers}, remove the letter f before the quotes: what stands in braces is filled in "
        "when they are asked."
    )
    assert error_of(Plain()).hint == "Set POPULACE_DEBUG=1 to see the whole traceback."
