from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.community import Community
from populace.community.judges import judge_posts
from populace.community.multiverse import multiverse
from populace.community.what_if import what_if
from populace.community.word_filter import WordFilter
from populace.scenarios.forum import Forum
from populace.studio.pages.forum.data import ForumView, thread_facts
from populace.studio.pages.whatif.data import comparison, continuation_command, continuations, thread_side
from support.board import board
from support.board import judge as knowing
from support.forums import SMALL, WORDS, writer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    triggers = [{"words": [f"wax {word}" for word in WORDS], "rule": 2}]
    design = SMALL | {"votes": 6, "moderators": 1, "moderate_by": "rule", "triggers": triggers, "reply_chance": 0.9}
    place = tmp_path_factory.mktemp("workspace")
    return simulate(Forum(design=design, expand=False), model=writer(), seed=3, workspace=place)


def test_as_of_a_step_nothing_written_or_voted_later_is_shown(run: Run) -> None:
    early, late = ForumView(run, 2), ForumView(run)
    assert 0 < early.posts.height < late.posts.height
    assert early.posts["step"].max() == 2
    votes = run.history("votes").filter(pl.col("step") <= 2)
    assert early.posts["ups"].sum() + early.posts["downs"].sum() == votes.height
    assert early.threads()["posts"].sum() == early.posts.height


def test_another_step_of_what_was_read_is_as_if_it_were_read_anew(run: Run) -> None:
    whole = ForumView(run).load()
    for step in (2, 0, None):
        again = ForumView(run, step, like=whole)
        assert again.posts.equals(ForumView(run, step).posts)
        assert again.community.people.frame.equals(run.people(step).frame)
    assert whole.posts.height > ForumView(run, 2, like=whole).posts.height


def test_before_anybody_wrote_there_is_an_empty_list(run: Run) -> None:
    start = ForumView(run, 0)
    assert start.threads("new").height == 0
    assert start.members().height == SMALL["people"]


def test_a_thread_is_read_with_votes_and_what_moderators_did(run: Run) -> None:
    view = ForumView(run)
    acts = run.history("moderation")
    number = int(acts["post"][0])
    (found,) = [each for each in view.thread(number) if each.post == number]
    assert found.removed and found.marks[0].power == "remove"
    assert found.marks[0].rule_text == "advertising honey" and "wax" in found.marks[0].reason
    assert found.score == found.ups - found.downs
    facts = thread_facts(view.thread(number))
    assert facts["removed"] >= 1 and facts["replies"] + 1 == len(view.thread(number))


def test_every_utterance_of_a_model_leads_to_its_decision(run: Run) -> None:
    view = ForumView(run)
    for said in view.some_posts(view.posts["post"].to_list()):
        decisions = run.decisions(said.step, said.author)
        assert said.text.split()[1] in next(each.value for each in decisions if each.path == said.path)


def test_search_finds_words_and_authors_in_any_case(run: Run) -> None:
    view = ForumView(run)
    name = view.posts["name"][0]
    assert view.threads(search=name.upper()).height >= 1
    word = view.threads(search=" CLOVER ")
    assert all("clover" in view.posts.filter(pl.col("post") == n)["text"][0] for row in word["found"] for n in row)
    assert view.threads(search="no such words (at all").height == 0


def test_hidden_texts_follow_the_filter(run: Run) -> None:
    assert ForumView(run, word_filter=WordFilter([])).posts["hidden"].sum() == 0
    hidden = ForumView(run, word_filter=WordFilter(["honey"])).posts
    assert hidden.filter("hidden").height == hidden.filter(pl.col("text").str.contains(r"\bhoney\b")).height > 0


def test_a_member_is_known_by_what_they_wrote_and_got(run: Run) -> None:
    view = ForumView(run)
    most = view.members().row(0, named=True)
    found = view.member(str(most["id"]))
    assert found.posts == found.wrote.height == most["posts"] > 0
    assert found.votes == found.wrote["score"].sum()
    assert found.persona
    with pytest.raises(UnknownNameError):
        view.member("nobody")


def test_violations_name_criterion_judge_and_how_sure_it_was() -> None:
    made = board(seed=1, offence=0.5, keep="run")
    judge_posts(Community(made), knowing())
    view = ForumView(made)
    flagged = [each for each in view.some_posts(view.posts["post"].to_list()) if each.flags]
    assert flagged and all("cheap soil" in each.text for each in flagged)
    found = next(flag for flag in flagged[0].flags if flag.text == "breaks rule 2")
    assert "No advertising" in found.wording and found.judge.startswith("scripted:judge") and found.chance == 0.98
    off = next(flag for flag in flagged[0].flags if flag.text == "off topic")
    assert (off.answer, round(off.chance or 0, 2)) == ("no", 0.98)
    assert view.rules()["broken"].to_list() == [0, len(flagged)]
    assert view.threads(flagged=True)["flags"].sum() == len(flagged)
    assert ForumView(made, 0).rules()["broken"].sum() == 0


def test_a_run_without_posts_is_no_forum(shirts_run: Run) -> None:
    with pytest.raises(UsageError, match="has no posts"):
        ForumView(shirts_run)


def test_a_whatif_stands_beside_the_original_from_where_it_differs(run: Run) -> None:
    post, step = run.history("posts").filter(pl.col("parent").is_not_null()).select("post", "step").row(0)
    turned = what_if(run, post, as_="a troll", line="Bees are boring.", model=writer())
    original = ForumView(run)
    beside = thread_side(ForumView(turned), original, post, "a troll")
    new = beside.posts[beside.shared]
    assert (new.text, new.parent, new.origin, new.path) == ("Bees are boring.", post, "hand", "")
    assert all(each.post <= post or each.step <= step for each in beside.posts[: beside.shared])
    alone = thread_side(original, original, post)
    assert alone.shared == len(alone.posts)
    found = continuations([turned.manifest, run.manifest], original, post)
    assert [each.run for each in found] == [turned.name]
    assert "a troll" in found[0].text and "boring" in found[0].text and found[0].draw == 0
    assert continuations([turned.manifest], original, post + 1) == []


def test_a_reply_that_happens_to_be_the_same_is_still_a_reply_of_the_fork(run: Run) -> None:
    post, step = run.history("posts").filter(pl.col("parent").is_not_null()).select("post", "step").row(0)
    same = run.fork(step + 1, model=writer())
    beside = thread_side(ForumView(same), ForumView(run), post)
    assert [each.text for each in beside.posts] == [each.text for each in ForumView(run).thread(post)]
    assert [each.post for each in beside.posts[: beside.shared]][-1] == post
    assert len(beside.posts) > beside.shared > 0


def test_a_multiverse_is_compared_with_the_original_first(run: Run) -> None:
    others = multiverse(run, 2, 1, model=writer())
    table = comparison(run, list(others), 1)
    assert table["run"].to_list() == [run.name, *(each.name for each in others)]
    assert [each.draw for each in continuations([each.manifest for each in others], ForumView(run), 1)] == [1, 2]


def test_words_that_look_like_options_stay_words(tmp_path: Path) -> None:
    made = continuation_command("forum-1", 3, line="--help me", model="scripted:uniform", judge="embedded", count=2)
    assert made[:4] == ("multiverse", "forum-1", "--n", "2")
    assert "--say=--help me" in made and made[-4:] == ("--model", "scripted:uniform", "--judge", "embedded")
