from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from populace import Field, People, Scenario, metric, simulate
from populace.base.errors import ParameterError, PeopleError, ScenarioError, ScopeError, TemplateError, UnknownNameError
from support.models import Counting
from support.scenarios import SHIRTS, Shirts


class Minimal(Scenario):
    """Nothing but a question."""

    steps: int = Field(2, ge=1)

    def setup(self) -> People:
        return People.named(2, seed=self.rng)

    async def step(self) -> None:
        await self.ask(self.people, SHIRTS)


def run(scenario: Scenario, **options: object) -> object:
    return simulate(scenario, model=Counting(), keep="nothing", **options)  # type: ignore[arg-type]


def test_a_parameter_called_steps_is_the_length() -> None:
    assert run(Minimal(steps=3)).steps == [0, 1, 2, 3]  # type: ignore[attr-defined]


def test_parameters_are_checked_when_a_scenario_is_made() -> None:
    with pytest.raises(ParameterError, match=r"shirts: days = 0: .*greater than or equal to 1"):
        Shirts(days=0)


def test_an_unknown_parameter_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"no parameter of shirts named 'dayz'.*Did you mean 'days'"):
        Shirts(dayz=3)


def test_parameters_are_inherited() -> None:
    class Longer(Shirts):
        extra: int = 5

    assert set(Longer().parameters) == {"people_count", "days", "groups", "wording", "extra"}


def test_a_parameter_cannot_take_the_name_of_something_every_scenario_has() -> None:
    class Odd(Scenario):
        people: int = 3  # type: ignore[assignment]

    with pytest.raises(ScenarioError, match="'people' is part of every scenario"):
        Odd()


def test_a_scenario_that_is_not_running_has_no_people() -> None:
    with pytest.raises(ScenarioError, match="is not running"):
        _ = Shirts().people


def test_time_is_simulated() -> None:
    times: list[datetime] = []

    class Clocked(Minimal):
        async def step(self) -> None:
            times.append(self.now)

    run(Clocked(steps=2))
    assert times == [datetime(2026, 1, 6, 8), datetime(2026, 1, 7, 8)]


def test_a_scenario_may_stop_itself_and_say_why() -> None:
    class Stopping(Minimal):
        def stop(self) -> str | None:
            return "enough" if self.t == 1 else None

    finished = run(Stopping(steps=5))
    assert finished.steps == [0, 1]  # type: ignore[attr-defined]
    assert finished.manifest.status.reason == "enough"  # type: ignore[attr-defined]


def test_setup_may_ask_questions_too() -> None:
    class Asking(Minimal):
        async def setup(self) -> People:  # type: ignore[override]
            people = People.named(2, seed=self.rng)
            answers = await self.ask(people, SHIRTS, profile="You are {name}.")
            return people.with_columns(shirt=answers.values)

    assert run(Asking(steps=1)).answers(at=0).height == 2  # type: ignore[attr-defined]


def test_a_field_that_nothing_fills_gets_the_nearest_name() -> None:
    class Misspelt(Minimal):
        async def step(self) -> None:
            await self.ask(self.people, SHIRTS, given="You are {nmae}.")

    with pytest.raises(TemplateError, match=r"\{nmae\}.*Did you mean \{name\}"):
        run(Misspelt())


def test_waiting_for_the_clock_inside_a_step_is_refused() -> None:
    import asyncio

    class Waiting(Minimal):
        async def step(self) -> None:
            await asyncio.sleep(0.01)

    with pytest.raises(ScopeError, match=r"cannot repeat"):
        run(Waiting())


def test_two_questions_at_once_in_one_scope_are_refused_with_the_way_out() -> None:
    import asyncio

    class Hasty(Minimal):
        async def step(self) -> None:
            await asyncio.gather(self.ask(self.people, SHIRTS), self.ask(self.people, SHIRTS))

    with pytest.raises(ScopeError, match=r"self\.each"):
        run(Hasty())


def test_random_numbers_of_one_scope_do_not_depend_on_another() -> None:
    draws: dict[bool, list[int]] = {True: [], False: []}

    class Drawing(Minimal):
        noisy: bool = False

        async def step(self) -> None:
            await self.each(self.people, self.one)

        async def one(self, person: object) -> None:
            if self.noisy and person.id == 0:  # type: ignore[attr-defined]
                self.rng.random(100)
            if person.id == 1:  # type: ignore[attr-defined]
                draws[self.noisy].append(int(self.rng.integers(0, 10**9)))

    run(Drawing(noisy=True))
    run(Drawing(noisy=False))
    assert draws[True] == draws[False]


def test_metrics_are_numbers_or_text() -> None:
    class Odd(Minimal):
        @metric
        def everything(self) -> object:
            return [1, 2]

    with pytest.raises(ScenarioError, match="neither number nor text"):
        run(Odd())


@pytest.mark.parametrize("text", ["0.53", "53 %", "-1,000.5", "1e-3"])
def test_a_metric_that_writes_its_number_as_text_is_refused(text: str) -> None:
    class Written(Minimal):
        @metric
        def share(self) -> str:
            return text

    with pytest.raises(ScenarioError, match="'share' is the text .* Return the number itself"):
        run(Written())


def test_a_metric_may_name_a_state() -> None:
    class Named(Minimal):
        @metric
        def leader(self) -> str:
            return "blue"

    assert run(Named()).metrics["leader"].to_list()[-1] == "blue"


def test_asking_nobody_is_an_error() -> None:
    class Empty(Minimal):
        async def step(self) -> None:
            await self.ask(self.people.where(id=99), SHIRTS)

    with pytest.raises(Exception, match="was put to nobody"):
        run(Empty())


def test_values_of_the_wrong_length_are_an_error() -> None:
    class Short(Minimal):
        async def step(self) -> None:
            await self.ask(self.people, SHIRTS, given="{x}", x=[1])

    with pytest.raises(ScenarioError, match="'x' holds 1 value for 2 people"):
        run(Short())


class Ledger(Scenario):
    """One table is put at the beginning, another in every step."""

    def setup(self) -> People:
        self.tables["streets"] = pl.DataFrame({"street": ["High Street"]})
        return People.named(2)

    def length(self) -> int:
        return 3

    async def step(self) -> None:
        self.tables["weather"] = pl.DataFrame({"degrees": [self.t]})


def test_a_table_is_recorded_with_the_steps_that_put_it_and_no_others() -> None:
    run = simulate(Ledger(), decider="rule", keep="nothing")
    assert run.history("streets")["step"].to_list() == [0]
    assert run.history("weather")["step"].to_list() == [1, 2, 3]
    assert run.table("streets", at=3)["street"].to_list() == ["High Street"]


def user_prompt(scenario: Scenario) -> str:
    return str(run(scenario).prompts()["user"][0])  # type: ignore[attr-defined]


class Budgeted(Minimal):
    """A parameter that the prompt names."""

    budget: int = 40

    async def step(self) -> None:
        await self.ask(self.people, SHIRTS, given="The town has {budget} coins.")


def test_a_parameter_is_a_field_of_every_template() -> None:
    assert user_prompt(Budgeted(budget=7)).startswith("The town has 7 coins.")


def test_a_parameter_in_a_profile_is_there_in_an_interview_too() -> None:
    class Profiled(Budgeted):
        def profile(self) -> str:
            return "You live in a town with {budget} coins."

    done = run(Profiled(budget=7))
    answers = done.at(1).interview(SHIRTS, given="You have {budget}.", model=Counting())  # type: ignore[attr-defined]
    assert len(answers) == 2


def test_a_value_that_is_passed_to_ask_wins_over_a_parameter() -> None:
    class Passing(Budgeted):
        async def step(self) -> None:
            await self.ask(self.people, SHIRTS, given="The town has {budget} coins.", budget="many")

    assert user_prompt(Passing()).startswith("The town has many coins.")


def test_a_name_that_is_a_parameter_and_a_column_is_refused_with_both_ways_out() -> None:
    class Ambiguous(Budgeted):
        def setup(self) -> People:
            return People.named(2).with_columns(budget=3)

    with pytest.raises(TemplateError) as raised:
        run(Ambiguous())
    assert str(raised.value) == (
        "given: {budget} could be the column 'budget' of the people or the parameter 'budget'. "
        'Say which to ask: budget=people["budget"] or budget=self.budget; or rename one of them.'
    )


def test_a_parameter_that_changes_is_told_as_it_is_now() -> None:
    class Changing(Budgeted):
        steps: int = 2

    changed = {"kind": "change", "at": 2, "parameters": {"budget": 9}}
    prompts = run(Changing(), interventions=[changed]).prompts()["user"].to_list()  # type: ignore[attr-defined]
    assert [text.split(".")[0][13:] for text in prompts[::2]] == ["40 coins", "9 coins"]


def test_missing_values_of_a_column_of_numbers_do_not_reach_a_prompt() -> None:
    class Missing(Minimal):
        async def step(self) -> None:
            await self.ask(self.people, SHIRTS, given="{x}", x=[1.5, float("nan")])

    with pytest.raises(TemplateError, match=r"\{x\} is nan for person 1, which marks a missing value"):
        run(Missing())


def test_a_scenario_without_an_end_does_not_start() -> None:
    class Endless(Scenario):
        """Neither length nor stop."""

        def setup(self) -> People:
            return People.named(2)

        async def step(self) -> None:
            pass

    with pytest.raises(ScenarioError, match="Endless has no end"):
        simulate(Endless(), model="scripted:first", keep="nothing")


def test_a_profile_that_is_a_text_is_answered_with_the_method_to_write() -> None:
    class Plain(Minimal):
        profile = "You are {name}."  # type: ignore[assignment]

    with pytest.raises(
        ScenarioError, match=r"Plain.profile is the text .* Write: def profile\(self\): return 'You are"
    ):
        simulate(Plain(), model="scripted:first", keep="nothing")


def test_an_unknown_value_of_keep_is_refused_before_anything_is_lost() -> None:
    with pytest.raises(UnknownNameError, match="no value of keep named 'all'.*run"):
        simulate(Minimal(), model="scripted:first", keep="all")  # type: ignore[arg-type]


def test_a_number_of_people_that_is_a_text_is_refused() -> None:
    with pytest.raises(PeopleError, match="not a whole number"):
        People.named("4")  # type: ignore[arg-type]
