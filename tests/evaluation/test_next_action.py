"""Next actions: a predictor that knows the truth scores 1, one that guesses does not, and every figure has its floor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import HumanDataError, UnknownNameError
from populace.broker import CallSettings
from populace.engine.run import simulate
from populace.evaluation.next_action import (
    NextActionCases,
    NextActionPredictions,
    NextActionReport,
    accuracy_difference,
    answered_questions,
    compare_sessions,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
    predict_actions,
    score_next_actions,
    shuffle_reasoning,
)
from populace.evaluation.next_action.asking import shuffled_thoughts
from populace.evaluation.next_action.scores import category_shares
from populace.models import Request, Scripted
from populace.prompting import conversations, scoring_mode
from populace.scenarios.shop import Shop
from populace.scenarios.shop.report import run_sessions
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions

SESSIONS = generate_sessions(120, shops=5, visits=2, seed=2)
PARTS = SESSIONS.split()
CASES = NextActionCases.from_sessions(PARTS["unseen_people"], purchase_elements=SESSIONS.purchase_elements)


def truth(**changes: Any) -> NextActionPredictions:
    table = CASES.table.select("case", "action", "element", "text").with_columns(**changes)
    return NextActionPredictions.certain("truth", table)


def test_cases_are_all_but_the_first_action_with_what_was_done_before() -> None:
    table = CASES.table
    assert table["step"].min() == 2 and table.filter(pl.col("is_last")).height == table["session"].n_unique()
    row = table.filter(pl.col("step") == 3).row(0, named=True)
    assert len(row["deeds"].split("\n")) == 2 and row["deeds"].startswith("You ")
    assert (
        len(NextActionCases.from_sessions(PARTS["unseen_people"], first=True))
        == len(CASES) + table["session"].n_unique()
    )


def test_the_truth_scores_one_everywhere_and_its_session_length_is_that_of_people() -> None:
    scores = score_next_actions(CASES, truth())
    assert scores.accuracy.value == scores.right_type.value == scores.macro_f1.value == 1  # type: ignore[union-attr]
    assert {name: value.value for name, value in scores.by_action.items()} == dict.fromkeys(scores.by_action, 1.0)
    assert scores.distance.value == 0
    lengths = PARTS["unseen_people"].outcomes["length"]
    assert scores.length.value == scores.human_length.value == pytest.approx(lengths.mean())
    assert scores.invalid == 0


def test_one_wrong_part_of_an_action_makes_it_wrong() -> None:
    texts = truth(text=pl.when(pl.col("text").is_not_null()).then(pl.lit("something else")))
    by_action = score_next_actions(CASES, texts).by_action
    assert by_action["type_and_submit"].value == 0 and by_action["click"].value == 1
    shouted = truth(text=pl.concat_str(pl.lit("  "), pl.col("text").str.to_uppercase()))
    assert score_next_actions(CASES, shouted).accuracy.value == 1
    elements = truth(element=pl.when(pl.col("action") == "click").then(pl.lit("header.home")).otherwise("element"))
    scores = score_next_actions(CASES, elements)
    assert scores.by_action["click"].value == 0 and scores.right_type.value == 1


def test_an_invalid_prediction_counts_as_wrong_and_is_counted() -> None:
    nothing = truth(**{name: pl.lit(None, pl.String) for name in ("action", "element", "text")})
    scores = score_next_actions(CASES, nothing)
    assert scores.accuracy.value == 0 and scores.invalid == scores.cases == len(CASES)


def test_outcomes_are_scored_on_the_last_actions_of_sessions() -> None:
    rng = np.random.default_rng(1)
    leaves = pl.Series(rng.random(len(CASES)) < 0.4)
    guess = truth(
        action=pl.when(leaves).then(pl.lit("terminate")).otherwise("action"), element=pl.when(~leaves).then("element")
    )
    scores = score_next_actions(CASES, guess)
    last = CASES.table.with_columns(leaves=leaves).filter(pl.col("is_last"))
    predicted = pl.select(pl.when(last["leaves"]).then(pl.lit("terminate")).otherwise(last["outcome"])).to_series()
    for outcome in ("purchase", "terminate"):
        is_true, is_guess = last["outcome"] == outcome, predicted == outcome
        precision = int((is_true & is_guess).sum()) / int(is_guess.sum())
        recall = int((is_true & is_guess).sum()) / int(is_true.sum())
        expected = 2 * precision * recall / (precision + recall)
        assert scores.outcome_f1[outcome].value == pytest.approx(expected)


def test_intervals_are_over_people_and_not_over_actions() -> None:
    half = set(CASES.table["person"].unique().sort().to_list()[::2])
    only = truth(action=pl.when(CASES.table["person"].is_in(list(half))).then("action"))
    scores = score_next_actions(CASES, only)
    people, cases = CASES.table["person"].n_unique(), len(CASES)
    over_actions = 2 * 1.96 * (0.25 / cases) ** 0.5
    assert scores.accuracy.n == people
    assert scores.right_type.high - scores.right_type.low > 1.5 * over_actions


def test_the_preferences_behind_sessions_are_the_ceiling_and_majorities_the_floors() -> None:
    arms = [majority_predictions(CASES, PARTS["training"]), page_majority_predictions(CASES, PARTS["training"])]
    floor, page, ceiling = (score_next_actions(CASES, arm).accuracy.value for arm in (*arms, known_preferences(CASES)))
    assert floor > 0.3 and page + 0.1 < ceiling < 1
    for arm in arms:
        WebSessions.from_table(
            CASES.table.select("person", "page").with_columns(
                session=pl.int_range(pl.len()).cast(pl.String),
                step=pl.lit(1),
                **arm.table.select("action", "element", "text").to_dict(),
            )
        )
    with pytest.raises(HumanDataError, match="Only generated sessions"):
        known_preferences(
            NextActionCases.from_sessions(
                WebSessions.from_table(
                    SESSIONS.table.select("person", "session", "step", "page", "action", "element", "text")
                )
            )
        )


def oracle(seen: list[str] | None = None, *, needs_thought: bool = False) -> Scripted:
    """A model that knows what each person does next; with `needs_thought`, only where its own thought says so."""
    rows = CASES.table.select("page", "deeds", "profile", "action", "element", "text")
    known = {(page, deeds, profile): rest for page, deeds, profile, *rest in rows.iter_rows()}

    def reply(request: Request) -> Any:
        system, user = (text for _, text in request.messages)
        if seen is not None:
            seen.append(user)
        key = next(key for key in known if key[2] == system and key[0] in user and f"so far:\n{key[1]}\n\n" in user)
        action, element, text = known[key]
        if "What do you want to do next" in user:
            return f"My plan is {action} {element}."
        sure = not needs_thought or f"What you think: My plan is {action} {element}." in user
        if not request.top:
            return text or "nothing"
        options = dict(line.split(". ", 1) for line in user.split("\n") if line[1:3] == ". ")
        right = [label for label, word in options.items() if word in (action.replace("_", " "), element)]
        best = right[0] if right and sure else "B" if "B" in options else "A"
        return {option: float(option == best) for option in request.options}

    return Scripted(reply, spec=f"scripted:oracle-{needs_thought}")


def test_a_model_that_knows_people_predicts_every_action_in_the_words_of_the_scenario() -> None:
    seen: list[str] = []
    predictions = predict_actions(CASES, oracle(seen))
    scores = score_next_actions(CASES, predictions)
    assert scores.accuracy.value == 1 and scores.invalid == 0 and scores.distance.value == 0
    assert scores.type_log_loss is not None and scores.type_log_loss.value == pytest.approx(0, abs=1e-9)
    assert not any("What you think" in user for user in seen)


def test_the_same_page_and_deeds_give_the_same_prompt_as_a_simulation() -> None:
    run = simulate(Shop(shoppers=6, actions=12), decider="model", model="scripted:cast", seed=3, keep="nothing")
    sessions = run_sessions(run)
    seen: list[str] = []

    def reply(request: Request) -> Any:
        seen.append("\n".join(text for _, text in request.messages))
        return {option: 1 / len(request.options) for option in request.options} if request.top else "words"

    predict_actions(
        NextActionCases.from_sessions(sessions, first=True), Scripted(reply, spec="scripted:echo"), draws=False
    )
    prompts = run.prompts().filter(pl.col("user").str.contains("What do you do now?"))
    simulated = {f"{system}\n{user}" for system, user in prompts.select("system", "user").iter_rows()}
    assert simulated and simulated <= set(seen)


def test_only_reasoning_of_ones_own_helps_a_model_that_needs_it() -> None:
    arms = {
        how: predict_actions(CASES, oracle(needs_thought=True), thinking=how, name=how, draws=False)
        for how in ("none", "own", "shuffled")
    }
    accuracy = {how: score_next_actions(CASES, arm).accuracy.value for how, arm in arms.items()}
    assert accuracy["own"] == 1 and accuracy["none"] < 0.5 and accuracy["shuffled"] < 0.6
    gain = accuracy_difference(CASES, arms["own"], arms["shuffled"])
    assert gain.low > 0 and gain.value == pytest.approx(1 - accuracy["shuffled"])
    assert accuracy_difference(CASES, arms["own"], arms["own"]).value == 0


def test_shuffled_thoughts_are_those_of_other_people() -> None:
    people = pl.Series(["a", "a", "a", "b", "b", "c", "c", "d"])
    mixed = shuffled_thoughts(people, people, seed=3)
    assert not (mixed == people).any() and sorted(mixed.to_list()) == sorted(people.to_list())


def test_the_predictions_repeat_at_any_concurrency() -> None:
    few = CASES.take(30)
    tables = [
        predict_actions(few, "scripted:cast", thinking="own", calls=CallSettings(concurrency=n)).table for n in (1, 64)
    ]
    assert tables[0].equals(tables[1])


def test_a_page_with_too_many_elements_is_left_out_and_counted() -> None:
    page = "".join(f'<a name="e{n}">x</a>' for n in range(600))
    rows = [
        {
            "person": "a",
            "session": "1",
            "step": n,
            "page": page if n == 2 else '<a name="e1">x</a>',
            "action": "click",
            "element": "e1",
            "text": None,
        }
        for n in (1, 2, 3)
    ]
    cases = NextActionCases.from_sessions(WebSessions.from_table(pl.DataFrame(rows)))
    assert (len(cases), cases.left_out) == (1, 1)


def test_a_report_says_everything_side_by_side(tmp_path: Path) -> None:
    arms = [
        majority_predictions(CASES, PARTS["training"]),
        predict_actions(CASES, "scripted:uniform", name="<b>zero"),
        known_preferences(CASES),
    ]
    report = NextActionReport.of("trial", CASES, arms, compare=[("known preferences", "majority")])
    files = report.write(tmp_path)
    assert [file.suffix for file in files][-1] == ".json"
    figures = json.loads(files[-1].read_text())
    assert figures["differences"]["known preferences - majority"]["low"] > 0
    assert "&lt;b&gt;zero" in files[0].read_text() and "<b>zero" not in files[0].read_text()
    shares = category_shares(CASES, *arms)
    assert shares.select(pl.exclude("category").sum()).row(0) == pytest.approx((1, 1, 1, 1))
    with pytest.raises(UnknownNameError, match="nobody"):
        NextActionReport.of("x", CASES, arms, compare=[("nobody", "majority")])
    with pytest.raises(HumanDataError, match="names of their own"):
        NextActionReport.of("x", CASES, [arms[0], arms[0]])


def test_fewer_cases_are_those_of_whole_people() -> None:
    few = CASES.take(40)
    assert 0 < len(few) <= 40
    sizes = CASES.table["person"].value_counts()
    mine = few.table["person"].value_counts().join(sizes, on="person", suffix="_all")
    assert (mine["count"] == mine["count_all"]).all()


def with_reasoning(sessions: WebSessions) -> WebSessions:
    words = pl.concat_str(pl.lit("thought of "), pl.col("person"), pl.lit(" at "), pl.col("step").cast(pl.String))
    return WebSessions(sessions.table.with_columns(reasoning=pl.when(pl.col("step") % 3 != 0).then(words)))


def test_questions_that_a_log_answers_have_the_words_of_a_run_and_every_action_once() -> None:
    few = CASES.take(25)
    pairs = answered_questions(few)
    kinds = [answers for inquiry, answers in pairs if inquiry.question.text == "What do you do now?"]
    assert sum(len(answers) for answers in kinds) == len(few)
    seen: list[str] = []
    predict_actions(few, oracle(seen), draws=False)
    asked = {
        (inquiry.question.text, str(person))
        for inquiry, _ in pairs
        for person in inquiry.people["person"].unique().to_list()
    }
    assert {text for text, _ in asked} >= {"What do you do now?", "Which element do you click?"}
    rendered = {
        user
        for inquiry, _ in pairs
        for user in conversations(inquiry, mode=scoring_mode(inquiry.question, oracle()), scored=True).user.to_list()
    }
    assert rendered == set(seen)


def test_recorded_thoughts_are_asked_for_where_there_are_any_and_shuffled_ones_are_those_of_others() -> None:
    sessions = with_reasoning(PARTS["unseen_people"])
    cases = NextActionCases.from_sessions(sessions)
    pairs = answered_questions(cases, thinking=True)
    thoughts = [answers for inquiry, answers in pairs if inquiry.purpose == "reasoning"]
    assert [len(each) for each in thoughts] == [cases.table["reasoning"].count()]
    mixed = shuffle_reasoning(sessions, seed=1).table
    assert mixed["reasoning"].count() == sessions.table["reasoning"].count()
    own = mixed.filter(pl.col("reasoning").is_not_null()).select(
        pl.col("reasoning").str.contains(pl.concat_str(pl.lit("of "), pl.col("person"), pl.lit(" at ")), literal=True)
    )
    assert not own["reasoning"].any()


def test_whole_sessions_are_compared_by_length_outcome_and_actions() -> None:
    same = generate_sessions(120, shops=5, visits=2, seed=9)
    figures = {row["figure"]: row for row in compare_sessions(same, SESSIONS).iter_rows(named=True)}
    for figure in ("difference of length", "difference of purchases"):
        assert figures[figure]["low"] < 0 < figures[figure]["high"]
    assert figures["distance of actions"]["value"] < figures["distance by chance"]["high"] + 0.05
    assert figures["length of the second"]["value"] == pytest.approx(SESSIONS.outcomes["length"].mean())
    short = WebSessions(SESSIONS.table.filter(pl.col("step") <= 2).with_columns(outcome=pl.lit("terminate")))
    other = {row["figure"]: row for row in compare_sessions(short, SESSIONS).iter_rows(named=True)}
    assert other["difference of length"]["high"] < -2 and other["purchases of the first"]["value"] == 0
    assert other["distance of actions"]["low"] > other["distance by chance"]["high"]
