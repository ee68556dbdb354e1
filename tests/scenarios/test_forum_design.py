from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from populace import ChangeParameters, SetColumns, simulate
from populace.base.errors import ParameterError, PopulaceError, UnknownNameError
from populace.community.community import Community
from populace.journal import Intervention
from populace.scenarios.forum import Forum, ForumDesign, shipped_designs
from support.forums import SMALL


def design(**changes: Any) -> ForumDesign:
    return ForumDesign(**(SMALL | changes))


def test_a_design_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(
        "name: Hives\ngoal: keep bees\npersonas: [one, two]\nrules:\n  - be kind\n  - no adverts\nposts: 3\n"
    )
    parsed = Forum(design=str(path)).design
    assert (parsed.name, parsed.posts, parsed.replies) == ("Hives", 3, 8)
    assert [(rule.text, rule.kind) for rule in parsed.rules] == [
        ("be kind", "prescriptive"),
        ("no adverts", "restrictive"),
    ]


def test_the_content_of_a_design_is_among_the_parameters_and_gives_the_same_design() -> None:
    scenario = Forum(design=SMALL)
    assert scenario.parameters["design"]["goal"] == SMALL["goal"]
    assert Forum(**scenario.parameters).design == scenario.design


@pytest.mark.parametrize("name", shipped_designs())
def test_shipped_designs_are_whole_and_do_not_contradict_themselves(name: str) -> None:
    shipped = ForumDesign.read(name)
    assert len(shipped.personas) >= 5 and len(shipped.rules) >= 3
    assert shipped.contradictions() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"goal": None}, "the design has no goal"),
        ({"goal": "  "}, "the design has no goal"),
        ({"name": ""}, "the design has no name"),
        ({"personas": ["only one"]}, "1 persona; it needs at least two"),
        ({"personas": ["one", " "]}, "at least two"),
        ({"triggers": [{"words": ["x"], "rule": 9}]}, "names rule 9; there are 2 rules"),
        ({"moderate_by": "rule"}, "there are no moderators"),
    ],
)
def test_a_design_that_lacks_something_says_what(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Forum(design=SMALL | change)


def test_an_unknown_entry_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'personas'"):
        Forum(design=SMALL | {"persona": []})
    with pytest.raises(UnknownNameError, match="entry of rule 1.*Did you mean 'text'"):
        Forum(design=SMALL | {"rules": [{"txt": "be kind", "kind": "prescriptive"}]})


def test_a_value_out_of_its_bounds_is_named() -> None:
    with pytest.raises(ParameterError, match=r"design\.reply_chance = 2"):
        Forum(design=SMALL | {"reply_chance": 2})


def test_a_file_that_is_not_there_or_is_not_yaml_says_so(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"there is no design nowhere\.yaml"):
        Forum(design="nowhere.yaml")
    (tmp_path / "bad.yaml").write_text("name: x\ngoal: [\n")
    with pytest.raises(ParameterError, match=r"bad\.yaml cannot be read: it is not YAML, line 3"):
        Forum(design=str(tmp_path / "bad.yaml"))
    (tmp_path / "list.yaml").write_text("- one\n")
    with pytest.raises(ParameterError, match="a design is a mapping"):
        Forum(design=str(tmp_path / "list.yaml"))


@pytest.mark.parametrize(
    "rules",
    [
        [
            {"prescriptive": "link to the shop where you bought it"},
            {"restrictive": "links to a shop, or the shop bought"},
        ],
        [
            {"prescriptive": "post photos of your hive"},
            {"restrictive": "photos of hives, posted or linked, of your hive"},
        ],
        ["Swear words are welcome", "Swear words are not welcome"],
    ],
)
def test_rules_that_ask_for_what_another_forbids_are_warned_about(rules: list[Any]) -> None:
    (warning,) = design(rules=rules).contradictions()
    assert "rule 1 (" in warning and "rule 2 (" in warning


@pytest.mark.parametrize(
    "rules",
    [
        [{"prescriptive": "be kind to newcomers"}, {"restrictive": "advertising honey"}],
        [{"prescriptive": "never insult anybody"}, {"restrictive": "insult anybody"}],
        [{"restrictive": "no insults"}, {"restrictive": "insults"}],
        ["be kind", "be brief"],
    ],
)
def test_rules_that_agree_are_not(rules: list[Any]) -> None:
    assert design(rules=rules).contradictions() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reply_chance": 2}, r"hives\.yaml, line 5: reply_chance = 2: input should be less"),
        ({"personaz": 1}, r"hives\.yaml, line 5: there is no entry of a design named 'personaz'"),
        ({"rules": 7}, r"hives\.yaml, line 5: rules of a design are a list, not int"),
        ({"rules": [{"texd": "Be kind."}]}, r"hives\.yaml, line 5: there is no entry of rule 1 named 'texd'"),
        ({"triggers": 3}, r"hives\.yaml, line 5: triggers of a design are a list"),
        ({"moderate_by": "rule"}, r"hives\.yaml, line 5: nobody can moderate"),
    ],
)
def test_a_mistake_in_the_file_of_a_design_is_named_with_its_line(
    change: dict[str, object], says: str, tmp_path: Path
) -> None:
    lines = ["# Bees", "name: Hives", "goal: bees", 'personas: ["a beekeeper", "a neighbour"]']
    lines += [f"{name}: {json.dumps(value)}" for name, value in change.items()]
    file = tmp_path / "hives.yaml"
    file.write_text("\n".join(lines))
    with pytest.raises(PopulaceError, match=says):
        Forum(design=file)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"trolls": 20}, "20 people cannot be 20 trolls and 0 moderators"),
        ({"trolls": 19, "moderators": 1}, "somebody else must be left"),
        ({"moderators": 1, "moderate_by": "rule"}, "Write triggers: "),
        ({"rules": [{"prescritive": "be kind"}]}, "Did you mean 'prescriptive'"),
    ],
)
def test_a_design_that_could_do_nothing_of_what_it_says_is_refused(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(PopulaceError, match=message) as refused:
        ForumDesign.model_validate(SMALL | entries)
    assert refused.value.hint


def test_no_advice_names_a_command_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(json.dumps(SMALL | {"posts": 0}))
    with pytest.raises(ParameterError, match="populace new NAME --community"):
        Forum(design=str(tmp_path / "b.yaml"))
    (tmp_path / "c.yaml").write_text("name: The bench: a community\n")
    with pytest.raises(ParameterError, match="put a text that holds a colon into quotes"):
        Forum(design=str(tmp_path / "c.yaml"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (ChangeParameters(at=2, parameters={"design": SMALL | {"posts": 12}}), "posts of a design cannot change"),
        (ChangeParameters(at=2, parameters={"design": SMALL | {"trolls": 3}}), "trolls of a design cannot change"),
        (SetColumns(at=2, values={"role": "trol"}), "Did you mean 'troll'"),
        (SetColumns(at=2, values={"standing": "baned"}), "Did you mean 'banned'"),
    ],
)
def test_a_change_that_would_do_nothing_in_mid_run_is_refused(change: Intervention, message: str) -> None:
    with pytest.raises(PopulaceError, match=message):
        simulate(Forum(design=SMALL, expand=False), model="scripted:cast", keep="nothing", interventions=[change])


def test_moderation_ends_where_a_later_design_has_none() -> None:
    design = SMALL | {"trolls": 4, "moderators": 1, "moderate_by": "model"}
    change = ChangeParameters(at=3, parameters={"design": design | {"moderate_by": "nobody"}})
    scenario = Forum(design=design, expand=False)
    removed = [
        simulate(scenario, model="scripted:cast", keep="nothing", interventions=changes).metrics["removed"].to_list()
        for changes in ([], [change])
    ]
    assert removed[0][:3] == removed[1][:3] and removed[0][-1] > removed[0][2] == removed[1][-1]


def test_a_run_repeats_although_the_file_of_a_later_design_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "later.yaml"
    file.write_text(json.dumps(SMALL | {"rules": ["no shouting"]}))
    change = ChangeParameters(at=2, parameters={"design": str(file)})
    scenario = Forum(design=SMALL, expand=False)
    run = simulate(scenario, model="scripted:cast", workspace=tmp_path, interventions=[change])
    fork = run.fork(3, interventions=[ChangeParameters(at=3, parameters={"design": str(file)})])
    file.unlink()
    for each in (run, fork):
        assert each.replay(verify=True).steps == each.steps
    assert [len(Community(run, at=step).design.rules) for step in (1, 2, None)] == [2, 1, 1]


def test_a_later_design_that_is_not_there_is_refused_before_the_run(tmp_path: Path) -> None:
    change = ChangeParameters(at=2, parameters={"design": "nowhere.yaml"})
    with pytest.raises(ParameterError, match=r"there is no design nowhere\.yaml"):
        simulate(Forum(design=SMALL), model="scripted:cast", workspace=tmp_path, interventions=[change])
    assert not (tmp_path / "runs").exists()
