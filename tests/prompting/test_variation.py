from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from populace import Choice, Form, Run, Text, simulate
from populace.base.errors import ParameterError, UnknownNameError
from populace.models import Request, Scripted
from populace.prompting.variation import Variation
from populace.scenarios.norms import Norms
from support.models import Counting
from support.scenarios import Shirts


def norms(variation: dict[str, Any] | None = None, **parameters: Any) -> Run:
    return simulate(Norms(workers=5, days=2, **parameters), model=Counting(), seed=3, variation=variation)


def test_labels_are_exchanged_everywhere_as_a_scenario_would_do_it_itself() -> None:
    ours, its_own = norms({"labels": True}).prompts(), norms(swap=True).prompts()
    assert ours["user"].to_list() == its_own["user"].to_list()
    assert "Options: green, blue." in ours["user"][0]
    assert ours["probabilities"].to_list() == its_own["probabilities"].to_list()


def test_options_that_nobody_is_told_of_by_name_keep_their_names() -> None:
    varied = simulate(Shirts(), model=Counting(), seed=1, variation={"labels": True}, keep="nothing")
    plain = simulate(Shirts(), model=Counting(), seed=1, keep="nothing")
    assert "green" not in plain.prompts()["user"][0].split("Options")[0]
    assert varied.prompts()["user"].to_list() == plain.prompts()["user"].to_list()


def test_options_are_reversed_as_shown_and_answers_keep_their_values() -> None:
    always_first = simulate(Norms(workers=5, days=1), model="scripted:first", seed=1, variation={"order": "reversed"})
    assert "Options: green, blue." in always_first.prompts()["user"][0]
    assert always_first.metrics["share_blue"][-1] == 0.0
    assert simulate(Norms(workers=5, days=1), model="scripted:first", seed=1).metrics["share_blue"][-1] == 1.0


def test_an_order_that_the_scenario_varies_itself_is_left_to_it() -> None:
    prompts = norms({"order": "reversed"}, order="rotate").prompts()
    assert prompts.equals(norms(order="rotate").prompts())


def test_phrases_are_replaced_in_templates_with_their_fields() -> None:
    text = norms({"phrases": {"Yesterday you wore {worn}.": "You were in {worn} yesterday."}}).prompts()["user"][0]
    assert "Yesterday you wore" not in text
    assert "You were in" in text


@pytest.mark.parametrize(
    ("wording", "where", "found"),
    [
        ("polite", "user", "Please answer this question: Which shirt"),
        ("headed", "user", "Situation: You work in an office"),
        ("role", "system", "Take the part of this person. You are"),
    ],
)
def test_paraphrases_by_rule_leave_the_words_of_the_scenario_whole(wording: str, where: str, found: str) -> None:
    assert found in norms({"wording": wording}).prompts()[where][0]


def test_the_question_may_come_first() -> None:
    text = norms({"wording": "asked first"}).prompts()["user"][0]
    assert text.startswith("Which shirt do you wear to work today?\n\nYou work in an office")
    assert text.endswith("Options: blue, green.\nAnswer with one of the options, nothing else.")


def test_white_space_changes_nothing_but_white_space() -> None:
    plain, lines = norms().prompts()["user"][0], norms({"space": "lines"}).prompts()["user"][0]
    assert lines != plain
    assert lines.split() == plain.split()


def test_other_names_are_told_and_replies_are_read_back() -> None:
    def reply(request: Request) -> str:
        name = request.messages[0][1].removeprefix("You are ").removesuffix(".")
        return f"I am {name}."

    class Introductions(Shirts):
        def profile(self) -> str:
            return "You are {name}."

        async def step(self) -> None:
            self.people["said"] = await self.ask(self.people, Text("Who are you?"))

        def setup(self) -> Any:
            return super().setup().with_columns(said="")

    run = simulate(Introductions(days=1), model=Scripted(reply, spec="scripted:names"), variation={"names": 7})
    people, prompts = run.people(), run.prompts()
    assert people["said"].to_list() == [f"I am {name}." for name in people["name"]]
    assert not {f"You are {name}." for name in people["name"]} & set(prompts["system"])
    assert run.replay(verify=True).people().frame.equals(people.frame)


def test_names_that_are_options_of_a_form_stay() -> None:
    form = Form("Whom?", questions={"who": Choice("Who?", options=("Mary", "Linda"))})
    assert Variation(names=1)._names(form) == {}
    assert Variation(names=1)._names(Text("Who?"))["Mary"] == "Linda"


def test_a_run_under_a_variation_replays_resumes_and_forks(tmp_path: Path) -> None:
    run = norms({"labels": True, "order": "reversed", "wording": "headed", "names": 3})
    assert Run.open(run.folder).manifest.regime.variation["wording"] == "headed"
    assert run.replay(verify=True).metrics.equals(run.metrics)
    fork = run.fork(2, model=Counting(), variation={})
    assert fork.manifest.regime.variation == {}
    assert "Situation:" in fork.prompts(1)["user"][0]
    assert "Situation:" not in fork.prompts(2)["user"][0]


def test_a_run_without_a_variation_does_not_mention_one() -> None:
    assert "variation" not in norms().manifest.model_dump_json()


def test_what_a_variation_does_not_have_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="wording"):
        Variation(wordings="polite")
    with pytest.raises(UnknownNameError, match="polite"):
        Variation(wording="polit")
    with pytest.raises(ParameterError, match="order"):
        Variation(order="upwards")
