from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from populace import (
    AddPeople,
    Announce,
    ChangeParameters,
    ChangeThing,
    InnerVoice,
    Run,
    Selection,
    SetColumns,
    SwapModel,
    simulate,
)
from populace.base.errors import InterventionError, ParameterError, PeopleError, PopulaceError, UnknownNameError
from populace.journal import NOBODY_SELECTED
from populace.journal.intervention_list import read_interventions
from populace.runs.caveats import caveats
from populace.scenarios.discussion import Discussion
from populace.scenarios.norms import Norms
from support.models import Counting
from support.scenarios import Shirts
from support.society import debater


def run_with(*interventions: object, **options: object) -> Run:
    return simulate(Shirts(), model=Counting(), seed=1, interventions=interventions, **options)  # type: ignore[arg-type]


def announcements(run: Run, step: int) -> set[str]:
    return {user.split("\n")[0] for user in run.prompts(at=step)["user"]}


def test_an_announcement_stands_first_in_what_people_are_asked() -> None:
    run = run_with(Announce(at=2, text="Wear blue!"))
    assert announcements(run, 1) == {"Yesterday 0 wore blue."}
    assert announcements(run, 2) == {"Wear blue!"}
    assert announcements(run, 4) == {"Wear blue!"}


def test_an_announcement_with_an_end_is_forgotten() -> None:
    run = run_with(Announce(at=2, text="Wear blue!", steps=1), Announce(at=2, text="It rains."))
    assert "Wear blue!\nIt rains.\n" in run.prompts(at=2)["user"][0]
    assert run.prompts(at=3)["user"][0].startswith("It rains.\nYesterday")


def test_only_the_people_meant_hear_an_announcement() -> None:
    run = run_with(Announce(at=1, text="Psst.", to=Selection(where={"group": "group 1"})))
    heard = run.people(1)["heard"]
    assert heard.drop_nulls().len() == 4
    assert run.prompts(at=1).filter(pl.col("user").str.starts_with("Psst."))["system"].unique().to_list() == [
        "You belong to group 1."
    ]


def test_columns_are_set_for_the_people_meant() -> None:
    run = run_with(SetColumns(at=3, values={"group": "rebels"}, to=Selection(ids=[0, 5])))
    assert run.people(2).count(group="rebels") == 0
    assert run.people(3).where(group="rebels").ids.to_list() == [0, 5]


def test_a_share_is_drawn_from_the_seed_of_the_run() -> None:
    rebels = [
        run_with(SetColumns(at=1, values={"group": "rebels"}, to=Selection(share=0.5)), keep="nothing")
        .people()
        .where(group="rebels")
        for _ in range(2)
    ]
    assert len(rebels[0]) == 6
    assert rebels[0].ids.equals(rebels[1].ids)


def test_people_join_and_leave() -> None:
    run = run_with(
        {"kind": "add", "at": 2, "people": [{"name": "Zoe", "group": "group 9", "shirt": "blue"}]},
        {"kind": "remove", "at": 3, "to": {"ids": [0, 1]}},
    )
    assert [run.record.facts(step)["people"]["count"] for step in run.steps] == [12, 12, 13, 11, 11]
    assert run.people().person("Zoe").id == 12
    assert run.replay(verify=True).steps == run.steps


def test_a_parameter_changes_from_a_step_on() -> None:
    run = run_with(ChangeParameters(at=3, parameters={"wording": "Nothing is said."}))
    assert announcements(run, 2) != {"Nothing is said."}
    assert announcements(run, 3) == {"Nothing is said."}


def test_a_model_is_swapped_for_some_or_for_all() -> None:
    run = run_with(
        SwapModel(at=2, model="scripted:first", to=Selection(where={"group": "group 0"})),
        SwapModel(at=4, model="scripted:uniform"),
    )
    assert run.prompts(at=1)["model"].unique().to_list() == ["scripted:counting"]
    assert set(run.prompts(at=2)["model"]) == {"scripted:counting", "scripted:first"}
    assert set(run.prompts(at=4)["model"]) == {"scripted:uniform", "scripted:first"}
    assert run.replay(verify=True).steps == run.steps


def test_interventions_are_part_of_the_manifest() -> None:
    run = run_with(Announce(at=2, text="Wear blue!"))
    assert json.loads((run.folder / "manifest.json").read_text())["interventions"][0]["text"] == "Wear blue!"


def test_a_fork_with_an_intervention_differs_only_from_there(shirts_run: Run) -> None:
    forked = shirts_run.fork(3, interventions=[Announce(at=3, text="Wear blue!")], model=Counting())
    assert forked.answers(until=3).equals(shirts_run.answers(until=3))
    assert announcements(forked, 3) == {"Wear blue!"}


def test_a_single_intervention_needs_no_brackets(shirts_run: Run) -> None:
    one = Announce(at=3, text="Wear blue!")
    forked = shirts_run.fork(3, interventions=one, model=Counting())
    assert announcements(forked, 3) == {"Wear blue!"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{not json", "not JSON"),
        ('{"kind": "shout", "at": 1}', "shout|discriminator|expected tags"),
        ('{"kind": "announce", "at": 1}', "text"),
        ('{"kind": "announce", "at": 0, "text": "x"}', "at"),
        ('{"kind": "announce", "at": 1, "text": "x", "loud": true}', "loud"),
        ("no/such/file.json", "cannot be read"),
    ],
)
def test_an_intervention_that_cannot_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(InterventionError, match=says):
        read_interventions(text)


def test_an_intervention_that_cannot_be_read_is_answered_with_an_example() -> None:
    with pytest.raises(InterventionError, match=r'^intervention 2 .*\{"kind": "announce", "at": 3'):
        read_interventions('[{"kind": "announce", "at": 1, "text": "a"}, {"kind": "announce", "at": 1}]')


@pytest.mark.parametrize("kind", ["announce", "think", "thing", "set", "add", "remove", "change", "swap"])
def test_an_intervention_that_lacks_something_is_answered_with_an_example_of_its_kind(kind: str) -> None:
    with pytest.raises(InterventionError) as error:
        read_interventions(json.dumps({"kind": kind, "at": 1, "txt": "a"}))
    example = (error.value.hint or "").partition("each like ")[2]
    assert read_interventions(example)[0].kind == kind


def test_interventions_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(
        '[{"kind": "announce", "at": 1, "text": "a"}, {"kind": "change", "at": 2, "parameters": {"days": 9}}]'
    )
    assert [each.kind for each in read_interventions(path)] == ["announce", "change"]


@pytest.mark.parametrize(
    ("intervention", "error", "says"),
    [
        ({"kind": "set", "at": 1, "values": {"shrt": "blue"}}, UnknownNameError, "Did you mean 'shirt'"),
        (
            {"kind": "set", "at": 1, "values": {"shirt": "blue"}, "to": {"where": {"grp": 1}}},
            UnknownNameError,
            "Did you mean 'group'",
        ),
        ({"kind": "add", "at": 1, "people": [{"nme": "Zoe"}]}, InterventionError, "'nme', which is not a column"),
        ({"kind": "change", "at": 1, "parameters": {"dayz": 3}}, UnknownNameError, "Did you mean 'days'"),
        ({"kind": "change", "at": 1, "parameters": {"days": 0}}, ParameterError, "days = 0"),
        ({"kind": "remove", "at": 1, "to": {"ids": [77]}}, PeopleError, "no person with id 77"),
        ({"kind": "remove", "at": 1, "who": {"ids": [77]}}, PeopleError, "no person with id 77"),
    ],
)
def test_an_intervention_that_does_not_fit_the_run_is_a_clear_error(
    intervention: dict[str, object], error: type[PopulaceError], says: str
) -> None:
    with pytest.raises(error, match=says):
        run_with(intervention, keep="nothing")


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda: Announce(text="x"), r"Announce has no 'at'. Write: Announce\(at=…, …\)"),
        (lambda: Announce(at=0, text="x"), "Announce: at = 0: input should be greater"),
        (lambda: SwapModel(at=1), "SwapModel has no 'model'"),
        (lambda: Selection(share=3), "Selection: share = 3"),
    ],
)
def test_an_intervention_that_is_written_wrong_in_python_says_what_to_write(
    write: Callable[[], object], says: str
) -> None:
    with pytest.raises(InterventionError, match=says):
        write()


def test_an_unknown_argument_of_an_intervention_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'text'"):
        Announce(at=1, txt="x")  # type: ignore[call-arg]


def discussion_with(*interventions: object, **options: object) -> Run:
    scenario = Discussion(members=3, rounds=2, embedder="hashing")
    return simulate(scenario, model=debater(), seed=1, interventions=interventions, keep="nothing", **options)  # type: ignore[arg-type]


def memories(run: Run, kind: str) -> list[tuple[object, str]]:
    tables = [run.record.table(step, "tables/memories") for step in run.steps]
    rows = pl.concat([table for table in tables if table is not None]).unique("memory", maintain_order=True)
    return rows.filter(kind=kind).select("person", "text").rows()


def test_an_inner_voice_becomes_a_thought_of_those_who_are_meant() -> None:
    run = discussion_with(InnerVoice(at=2, text="You distrust the mayor.", to=Selection(ids=[1])))
    assert memories(run, "thought") == [(1, "You distrust the mayor.")]
    prompts = run.prompts(at=2)["user"]
    assert prompts.str.contains("You distrust the mayor.").any()
    assert not run.prompts(at=1)["user"].str.contains("distrust").any()
    assert run.replay(verify=True).steps == run.steps


def test_an_announcement_is_remembered_by_people_with_a_memory() -> None:
    run = discussion_with(Announce(at=2, text="The mayor resigned.", to=Selection(ids=[0, 2])))
    assert memories(run, "announcement") == [(who, "It was announced: The mayor resigned.") for who in (0, 2)]


def test_an_inner_voice_needs_a_memory() -> None:
    with pytest.raises(InterventionError, match="the people of this scenario have none"):
        run_with(InnerVoice(at=2, text="You like green."), keep="nothing")


@pytest.mark.parametrize("importance", [0, 11, float("nan")])
def test_a_thought_has_an_importance_from_1_to_10(importance: float) -> None:
    with pytest.raises(InterventionError, match="importance"):
        InnerVoice(at=1, text="You like green.", importance=importance)


class Kitchen(Shirts):
    """A kitchen with a stove."""

    def change_thing(self, place: str, state: str) -> None:
        self.event("stove", place=place, state=state)


def test_a_thing_changes_in_a_world_that_has_things() -> None:
    change = ChangeThing(at=2, place="stove", state="burning")
    run = simulate(Kitchen(), decider="rule", interventions=change, keep="nothing")
    assert run.events.filter(kind="stove").select("step", "data").rows() == [(2, '{"place":"stove","state":"burning"}')]
    with pytest.raises(InterventionError, match="shirts has no things"):
        run_with(change, keep="nothing")


def test_interventions_are_read_from_json_as_they_are_written() -> None:
    text = '[{"kind":"think","at":2,"text":"Hm."},{"kind":"thing","at":3,"place":"stove","state":"off"}]'
    one, other = read_interventions(text)
    assert (one, other) == (InnerVoice(at=2, text="Hm."), ChangeThing(at=3, place="stove", state="off"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "x"}, "'x' does not fit the column 'id', which holds whole numbers"),
        ({"id": 2**70}, "does not fit the column 'id'"),
        ({"id": 3}, "identifies more than one person"),
        ({"group": 7}, "7 does not fit the column 'group', which holds texts"),
        ({"colour": "red"}, "not a column of the population"),
    ],
)
def test_a_person_who_does_not_fit_is_refused_with_the_column(row: dict[str, object], message: str) -> None:
    with pytest.raises(InterventionError, match=message):
        run_with(AddPeople(at=2, people=[row]), keep="nothing")


@pytest.mark.parametrize(("shirt", "count"), [("blue", 0), ("green", 1)])
def test_an_intervention_that_acts_on_nobody_is_a_defect_of_the_run(shirt: str, count: int) -> None:
    told = Announce(at=2, text="Wear green.", to=Selection(where={"shirt": shirt}))
    run = simulate(Norms(workers=6, days=3, initial_share=1), decider="rule", interventions=[told], keep="nothing")
    assert (run.events["kind"] == NOBODY_SELECTED).sum() == count
    assert [text for text in caveats(run) if "acted on nobody" in text] == (
        ["1 intervention acted on nobody: no person met the conditions at that step."] if count else []
    )


@pytest.mark.parametrize(("at", "texts"), [(3, 0), (4, 1)])
def test_an_intervention_after_the_end_is_a_defect_of_the_run(at: int, texts: int) -> None:
    late = Announce(at=at, text="Wear green.")
    run = simulate(Norms(workers=4, days=3), decider="rule", interventions=[late], keep="nothing")
    assert caveats(run) == ["1 intervention did nothing: the run ended before that step."] * texts
