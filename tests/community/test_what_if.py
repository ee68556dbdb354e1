from __future__ import annotations

import polars as pl
import pytest

from populace import Run, simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.community.community import Community
from populace.community.judges import judge_posts
from populace.community.multiverse import multiverse
from populace.community.tone import tone
from populace.community.topics import Topics
from populace.community.what_if import what_if
from populace.models import HashingEmbedder, Scripted
from populace.scenarios.forum import Forum
from support.forums import SMALL, forum, posts, threads, writer


@pytest.fixture
def run() -> Run:
    return forum(writer(), keep="run", newcomers=0, posts=4, reply_chance=0.85)


def middle(run: Run) -> dict[str, object]:
    """A post with others before it and after it in its thread."""
    table = posts(run).with_columns(
        place=pl.int_range(pl.len()).over("thread"),
        left=pl.len().over("thread") - pl.int_range(pl.len()).over("thread"),
    )
    return table.filter(pl.col("place") >= 1, pl.col("left") >= 3).row(0, named=True)


def of_thread(run: Run, thread: object) -> pl.DataFrame:
    return posts(run).filter(pl.col("thread") == thread)


def test_a_described_responder_answers_and_the_thread_goes_on(run: Run) -> None:
    at = middle(run)
    fork = what_if(run, at["post"], as_="a troll", model=writer())  # type: ignore[arg-type]
    reply = posts(fork).filter(pl.col("step") == at["step"] + 1, pl.col("thread") == at["thread"]).row(0, named=True)  # type: ignore[operator]
    assert reply["parent"] == at["post"] and reply["origin"] == "model"
    guest = fork.people().person(reply["author"])
    assert (guest["name"], guest["role"]) == ("Troll", "guest")
    prompt = fork.prompts(reply["step"]).filter(pl.col("system").str.contains("You are a troll"))
    assert prompt.height == 1 and f"{at['text']}" in prompt["user"][0]


def test_the_shared_prefix_costs_nothing_and_other_threads_stay_as_they_were(run: Run) -> None:
    at = middle(run)
    model = writer()
    fork = what_if(run, at["post"], as_="a troll", model=model)  # type: ignore[arg-type]
    step = fork.manifest.parent.at  # type: ignore[union-attr]
    assert step == at["step"] + 1  # type: ignore[operator]
    assert posts(fork).filter(pl.col("step") < step).equals(posts(run).filter(pl.col("step") < step))
    assert fork.usage(until=step).calls == 0
    own = of_thread(fork, at["thread"]).filter(pl.col("step") >= step)
    assert fork.usage().calls == own.height == model.request_count > 0
    opening = of_thread(run, at["thread"]).select("author", "text").row(0)
    before, after = threads(run), threads(fork)
    assert before.pop(opening) != after.pop(opening)
    assert before == after


def test_a_what_if_is_the_same_every_time(run: Run) -> None:
    post = middle(run)["post"]
    one, two = (what_if(run, post, as_="a troll", model=writer()) for _ in range(2))  # type: ignore[arg-type]
    assert one.digest == two.digest
    assert two.usage().calls == 0
    assert one.replay(verify=True).steps == one.steps
    other = what_if(run, post, as_="a moderator", model=writer())  # type: ignore[arg-type]
    assert threads(other) != threads(one)


def test_a_line_written_by_hand_is_put_as_it_stands_and_asks_no_model(run: Run) -> None:
    at = middle(run)
    fork = what_if(run, at["post"], line="Please stay with the bees.", model=writer())  # type: ignore[arg-type]
    reply = posts(fork).filter(origin="hand").row(0, named=True)
    assert (reply["text"], reply["parent"]) == ("Please stay with the bees.", at["post"])
    assert fork.people().person(reply["author"])["name"] == "Designer"


def test_a_named_person_answers(run: Run) -> None:
    at = middle(run)
    name = run.people().frame.filter(pl.col("id") != at["author"])["name"][0]
    fork = what_if(run, at["post"], person=name, model=writer())  # type: ignore[arg-type]
    step = at["step"] + 1  # type: ignore[operator]
    reply = of_thread(fork, at["thread"]).filter(pl.col("step") == step).row(0, named=True)
    assert fork.people().person(reply["author"])["name"] == name
    assert len(fork.people()) == len(run.people())


def test_the_last_post_of_a_run_can_get_a_reply(run: Run) -> None:
    last = posts(run).row(-1, named=True)
    fork = what_if(run, last["post"], as_="a troll", model=writer())
    assert posts(fork).filter(pl.col("parent") == last["post"]).height >= 1


def test_a_what_if_can_follow_a_what_if(run: Run) -> None:
    first = what_if(run, middle(run)["post"], as_="a troll", model=writer())  # type: ignore[arg-type]
    troll = first.people().person("Troll").id
    reply = posts(first).filter(pl.col("author") == troll).row(0, named=True)
    second = what_if(first, reply["post"], as_="a moderator", line="Enough.", model=writer())
    assert posts(second).filter(origin="hand")["parent"].to_list() == [reply["post"]]
    assert second.usage(until=reply["step"] + 1).calls == 0


def test_a_description_that_is_the_name_of_a_member_is_refused(run: Run) -> None:
    name = run.people()["name"][0]
    with pytest.raises(UsageError, match=f"--person {name}"):
        what_if(run, 1, as_=name, line="Me again.")


def test_an_invalid_what_if_is_refused(run: Run) -> None:
    at = middle(run)
    with pytest.raises(UsageError, match=rf"no post 999\.\s*Its posts are numbered 1 to {posts(run).height}"):
        what_if(run, 999, as_="a troll")
    with pytest.raises(UnknownNameError, match="no person named 'Nobody'"):
        what_if(run, 1, person="Nobody")
    with pytest.raises(UsageError, match="cannot reply to themselves"):
        what_if(run, at["post"], person=at["author"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="both"):
        what_if(run, 1, as_="a troll", person=2)
    with pytest.raises(UsageError, match="needs a post"):
        multiverse(run, 2, as_="a troll")


def test_a_post_continues_in_several_ways_and_the_rest_stays(run: Run) -> None:
    at = middle(run)
    forks = multiverse(run, 3, at["post"], model=writer())  # type: ignore[arg-type]
    opening = of_thread(run, at["thread"]).select("author", "text").row(0)
    continuations = []
    for fork in forks:
        by_opening = threads(fork)
        continuations.append(by_opening.pop(opening))
        assert by_opening == {key: value for key, value in threads(run).items() if key != opening}
        assert fork.usage(until=at["step"] + 1).calls == 0  # type: ignore[operator]
    assert len({tuple(continuation) for continuation in continuations}) == 3
    place = of_thread(run, at["thread"])["post"].to_list().index(at["post"])
    assert len({tuple(continuation[: place + 1]) for continuation in continuations}) == 1
    assert all(len(continuation) > place + 1 for continuation in continuations)
    compared = forks.compare()
    assert compared["run"].to_list() == [run.name, *(fork.name for fork in forks)]
    assert compared["utterances"].to_list()[1:] == [len(continuation) - place - 1 for continuation in continuations]


def test_a_community_runs_again_with_the_same_people_and_other_draws(run: Run) -> None:
    forks = multiverse(run, 2, model=writer())
    for fork in forks:
        assert fork.people(0).frame.equals(run.people(0).frame)
        assert threads(fork).keys().isdisjoint(threads(run).keys())
    again = multiverse(run, 2, model=writer())
    assert [one.digest for one in forks] == [two.digest for two in again]
    assert sum(fork.usage().calls for fork in again) == 0
    for each in (forks.original, *forks[:1]):
        judge_posts(Community(each), Scripted(lambda request: {"yes": 1.0, "no": 0.0}, spec="scripted:strict"))
    compared = forks.compare()
    assert (
        compared["violations"].to_list()[:2] == [1.0, 1.0] and compared["violations"][2:].null_count() == len(forks) - 1
    )
    assert compared.columns == [
        "run", "utterances", "people", "length", "inequality", "vocabulary", "tone", "topics_apart", "removed", "violations",
    ]  # fmt: skip
    assert compared["topics_apart"][0] == 0 and (compared["topics_apart"][1:] > 0).all()
    shares = forks.topics().drop("typical").sum().row(0)
    assert all(abs(share - 1) < 1e-9 for share in shares)


def test_tone_counts_words() -> None:
    friendly, hostile, plain, empty = tone(
        pl.Series(["Thanks, great!", "You stupid liar", "The hive stands", ""])
    ).to_list()
    assert friendly == 100 and hostile < 0 and plain == 0 and empty is None


def test_topics_do_not_depend_on_the_order_of_the_sets() -> None:
    tea, train = ["a cup of tea", "tea in a cup"], ["the late train", "a train came late"]
    one, two = Topics([tea, train], HashingEmbedder(), 2), Topics([train, tea], HashingEmbedder(), 2)
    assert one.shares.tolist() == [[1, 0], [0, 1]] or one.shares.tolist() == [[0, 1], [1, 0]]
    assert sorted(two.typical) == sorted(one.typical)
    assert Topics([[], []], HashingEmbedder(), 2).typical == []


def test_a_multiverse_with_new_people_draws_them_again_from_the_same_design() -> None:
    run = simulate(Forum(design=SMALL | {"posts": 2}, expand=False), model=writer(), seed=3)
    same = multiverse(run, 1, model=writer())
    new = multiverse(run, 2, people="new", model=writer())
    names = [set(each.people()["name"]) for each in (run, *same, *new)]
    assert names[0] == names[1]
    assert len({frozenset(each) for each in (names[0], *names[2:])}) == 3
    assert [each.manifest.regime.parameters for each in new] == [run.manifest.regime.parameters] * 2
    assert new.compare().height == 3
    with pytest.raises(UsageError, match="is a fork"):
        multiverse(same[0], 1, people="new", model=writer())
    with pytest.raises(UsageError, match="only be continued by the people"):
        multiverse(run, 1, 1, people="new", model=writer())
