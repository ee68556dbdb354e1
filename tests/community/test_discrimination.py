from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import UnknownNameError, UsageError
from populace.community import Community
from populace.community.conversations import (
    Conversation,
    ConversationPost,
    conversations_of,
    read_threads,
    write_threads,
)
from populace.community.discrimination import SCHEMA, Ratings, arm_of, conversation_text, make_pairs
from populace.community.discrimination_result import PUBLISHED, analyse_ratings
from populace.community.importers import from_csv, from_reddit
from populace.community.raters import rate_by_model
from populace.models import Request, Scripted
from support.board import board


def real(count: int, community: str = "Balcony gardeners") -> list[Conversation]:
    return [
        Conversation(
            community,
            f"Real {n}",
            (ConversationPost("ann", f"human {n}"), ConversationPost("bo", "aye", 0), ConversationPost("ann", "so", 1)),
        )
        for n in range(count)
    ]


def discerning_rater(chance: float) -> Scripted:
    """A rater who knows which one is human, and gives it this probability."""

    def say(request: Request) -> dict[str, float]:
        first = request.messages[-1][1].split("Second conversation")[0]
        right = chance if "human" in first else 1 - chance
        return {"first": right, "second": 1 - right}

    return Scripted(say, spec=f"scripted:knowing-{chance}")


def test_threads_are_written_and_read_again(tmp_path: Path) -> None:
    conversations = conversations_of(Community(board(seed=1, offence=0.0)))
    assert [post.parent for post in conversations[0].posts] == [None, 0, 1, 0]
    again = read_threads(write_threads(conversations, tmp_path / "t.jsonl"))
    assert [each.posts for each in again] == [each.posts for each in conversations]


def test_what_moderators_removed_is_not_shown_as_generated() -> None:
    community = Community(board(seed=1, offence=0.9))
    texts = [post.text for each in conversations_of(community) for post in each.posts]
    assert not any("cheap soil" in text for text in texts)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "line 3: it is not JSON"),
        ("[]", "line 3: this is not a JSON object"),
        ('{"title": "x", "posts": []}', "line 3: `community` is missing"),
        ('{"community": "c", "posts": []}', "line 3: `posts` is missing or empty"),
        ('{"community": "c", "posts": [{"author": "a"}]}', "line 3, post 0: `text` is missing"),
        ('{"community": "c", "posts": [{"text": "a"}]}', "line 3, post 0: `author` is missing"),
        ('{"community": "c", "posts": [{"author": "a", "text": "b", "parent": 0}]}', "line 3, post 0: `parent` is 0"),
        ('{"community": "c", "title": 3, "posts": [{}]}', "line 3: `title` is not text"),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path: Path, line: str, what: str) -> None:
    good = real(1)[0].line()
    (tmp_path / "t.jsonl").write_text(f"{good}\n\n{line}\n{good}\n")
    with pytest.raises(UsageError, match=what):
        read_threads(tmp_path / "t.jsonl")


def test_a_dump_of_reddit_becomes_threads(tmp_path: Path) -> None:
    submissions = [
        {"id": "s1", "subreddit": "tea", "author": "ann", "title": "Pots", "selftext": "Clay?"},
        {"id": "s2", "subreddit": "tea", "author": "bo", "title": "Gone", "selftext": "[removed]"},
    ]
    comments = [
        {"id": "c2", "link_id": "t3_s1", "parent_id": "t1_c1", "author": "di", "body": "Why?", "created_utc": 20},
        {"id": "c1", "link_id": "t3_s1", "parent_id": "t3_s1", "author": "cy", "body": "Glass.", "created_utc": "10"},
        {"id": "c3", "link_id": "t3_s1", "parent_id": "t3_s1", "author": "x", "body": "[deleted]", "created_utc": 15},
        {"id": "c4", "link_id": "t3_s1", "parent_id": "t1_c3", "author": "y", "body": "lost", "created_utc": 30},
    ]
    for name, rows in (("s", submissions), ("c", comments)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (conversation,) = from_reddit(tmp_path / "s", tmp_path / "c")
    assert (conversation.community, conversation.title) == ("r/tea", "Pots")
    assert conversation.posts == (
        ConversationPost("ann", "Clay?"),
        ConversationPost("cy", "Glass.", 0),
        ConversationPost("di", "Why?", 1),
    )
    assert len(from_reddit(tmp_path / "s", tmp_path / "c", most=1)[0].posts) == 2
    (tmp_path / "c").write_text('{"id": "c1"}\n')
    with pytest.raises(UsageError, match="line 1: 'link_id' is missing"):
        from_reddit(tmp_path / "s", tmp_path / "c")


def test_a_table_becomes_threads(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "community,thread,post,parent,author,text,title\ntea,1,1,,ann,Clay?,Pots\ntea,1,2,1,bo,Glass.,\ntea,2,3,,cy,Hm,Hm\n"
    )
    conversations = from_csv(tmp_path / "t.csv")
    assert [each.title for each in conversations] == ["Pots", "Hm"]
    assert conversations[0].posts == (ConversationPost("ann", "Clay?"), ConversationPost("bo", "Glass.", 0))
    (tmp_path / "u.csv").write_text("community,thread\ntea,1\n")
    with pytest.raises(UsageError, match="lacks the column 'post'"):
        from_csv(tmp_path / "u.csv")


def test_pairs_are_of_one_community_and_use_each_thread_once() -> None:
    generated = conversations_of(Community(board(seed=1, offence=0.0)))
    pairs = make_pairs([*real(3, "r/balcony Gardeners"), *real(5, "other")], {"full": generated})
    assert len(pairs) == 3
    assert len({pair.real.title for pair in pairs}) == len({pair.generated.title for pair in pairs}) == 3
    assert [pair.key for pair in pairs] == [
        pair.key for pair in make_pairs([*real(3, "r/balcony Gardeners"), *real(5, "other")], {"full": generated})
    ]
    with pytest.raises(UnknownNameError, match="no real community named 'Balcony gardeners'"):
        make_pairs(real(3, "tea"), {"full": generated})


def test_the_side_is_drawn_and_authors_are_letters() -> None:
    generated = conversations_of(Community(board(seed=1, offence=0.0, threads=40, replies=0)))
    pairs = make_pairs(real(40), {"full": generated})
    sides = [pair.real_first(rater) for pair in pairs for rater in ("a", "b")]
    assert 20 < sum(sides) < 60
    text = conversation_text(real(1)[0])
    assert text == "Real 0\nA: human 0\n  B: aye\n    A: so"
    assert "ann" not in text


@pytest.mark.parametrize(
    ("parameters", "arm"),
    [
        ({}, "full"),
        ({"describe": False}, "no_description"),
        ({"personas": False}, "no_personas"),
        ({"describe": False, "personas": False}, "neither"),
    ],
)
def test_the_ablations_of_the_paper_are_arms(parameters: dict[str, Any], arm: str) -> None:
    assert arm_of(Community(board(**parameters, threads=1, replies=0))) == arm


def test_a_model_that_knows_errs_never_and_one_that_is_fooled_always(tmp_path: Path) -> None:
    pairs = make_pairs(real(6), {"full": conversations_of(Community(board(seed=1, offence=0.0, threads=6)))})
    ratings = Ratings(tmp_path / "a.jsonl")
    assert rate_by_model(pairs, discerning_rater(0.9), ratings) == 6
    assert rate_by_model(pairs, discerning_rater(0.2), ratings) == 6
    wrong = dict(ratings.table.group_by("rater").agg(pl.col("wrong").mean()).iter_rows())
    assert wrong == {"scripted:knowing-0.9": 0.0, "scripted:knowing-0.2": 1.0}
    assert ratings.table.filter(pl.col("rater").str.ends_with("0.9"))["chance_wrong"].to_numpy() == pytest.approx(0.1)
    again = Ratings(tmp_path / "a.jsonl")
    assert again.table.equals(ratings.table)
    assert rate_by_model(pairs, discerning_rater(0.9), again) == 0


def test_a_session_goes_on_where_it_stopped(tmp_path: Path) -> None:
    pairs = make_pairs(real(4), {"full": conversations_of(Community(board(seed=1, offence=0.0)))})
    first = Ratings(tmp_path / "a.jsonl")
    todo = first.unrated(pairs, "Ann")
    first.add([todo[0].rating("Ann", "person", "first")])
    again = Ratings(tmp_path / "a.jsonl")
    assert [pair.key for pair in again.unrated(pairs, "Ann")] == [pair.key for pair in todo[1:]]
    assert len(again.unrated(pairs, "Bo")) == 4
    (tmp_path / "a.jsonl").write_text('{"rater": "x"}\n')
    with pytest.raises(UsageError, match="line 1: 'pair' is missing"):
        Ratings(tmp_path / "a.jsonl")


def random_ratings(rates: dict[str, float], raters: int = 20, each: int = 20) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for arm, rate in rates.items():
        for rater in range(raters):
            deviation = rng.normal(0, 0.1)
            for number in range(each):
                wrong = bool(rng.random() < rate + deviation)
                rows.append(
                    (f"{arm}/{number}", f"{arm} {rater}", "person", arm, f"c{number % 5}", True, "first", wrong, None)
                )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def test_arms_that_differ_as_published_are_told_apart() -> None:
    result = analyse_ratings(random_ratings(dict(PUBLISHED.select("arm", "published").iter_rows())))
    rates = result.rates.row(0, named=True)
    assert rates["arm"] == "full" and rates["published"] == 0.41 and "Prolific" in rates["rated_by"]
    assert rates["low"] < 0.41 < rates["high"]
    assert result.anova is not None and result.anova.p < 0.001
    assert (result.anova.between, result.anova.within) == (3, 76)
    assert result.tukey is not None and result.tukey.height == 6
    pair = result.tukey.filter(pl.col("a") == "full", pl.col("b") == "no_description").row(0, named=True)
    assert pair["difference"] > 0 and pair["p"] < 0.01


def test_with_very_many_answers_the_community_is_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    factors: list[tuple[list[str], list[str]]] = []

    def failing(frame: pl.DataFrame, outcome: str, fixed: list[str], random: list[str]) -> None:
        factors.append((fixed, random))
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr("populace.community.discrimination_result.fit_mixed_model", failing)
    monkeypatch.setattr("populace.community.discrimination_result.CROSSED", 50)
    result = analyse_ratings(random_ratings({"full": 0.6, "no_personas": 0.1}, raters=5, each=10))
    assert factors == [(["arm", "community"], ["rater"])]
    assert result.mixed is None
    assert any("the community is a fixed factor" in note for note in result.notes)
    assert any("the optimiser failed (Singular matrix)" in note for note in result.notes)


def test_rater_and_community_are_random_in_the_mixed_model() -> None:
    result = analyse_ratings(random_ratings({"full": 0.6, "no_personas": 0.1}, raters=5, each=10))
    assert result.mixed is not None
    assert set(result.mixed.levels) == {"rater", "community"}
    assert result.mixed["arm[no_personas]"].estimate.high < 0


def test_one_arm_gives_a_rate_and_says_what_is_missing() -> None:
    result = analyse_ratings(random_ratings({"full": 0.4}, raters=1))
    assert result.anova is result.tukey is result.mixed is None
    assert any("one arm" in note for note in result.notes)
    with pytest.raises(UsageError, match="no valid answer"):
        analyse_ratings(pl.DataFrame(schema=SCHEMA))


def test_answers_that_cannot_be_read_are_counted_and_left_out() -> None:
    table = random_ratings({"full": 0.4}, raters=2, each=5)
    unreadable = table.head(1).with_columns(wrong=pl.lit(None, pl.Boolean), pair=pl.lit("x"))
    result = analyse_ratings(pl.concat([table, unreadable]))
    assert result.rates["answers"][0] == 10
    assert any("1 answer could not be read" in note for note in result.notes)


@pytest.mark.parametrize(("name", "value"), [("pair", None), ("chosen", 3), ("wrong", "no"), ("chance_wrong", "0.5")])
def test_an_answer_of_a_wrong_type_is_named_with_its_line(tmp_path: Path, name: str, value: Any) -> None:
    answer = {"pair": "p", "rater": "r", "arm": "full", "community": "c", "chosen": "left", "wrong": True}
    lines = [json.dumps(each) + "\n" for each in (answer, {**answer, name: value})]
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    with pytest.raises(UsageError, match=rf"line 2: '{name}' is"):
        Ratings(tmp_path / "answers.jsonl")


@pytest.mark.parametrize("chance", [10**39, -0.1, True])
def test_a_chance_is_from_0_to_1(tmp_path: Path, chance: Any) -> None:
    answer = {"pair": "p", "rater": "r", "arm": "full", "community": "c", "chosen": "left", "wrong": True}
    (tmp_path / "answers.jsonl").write_text(json.dumps({**answer, "chance_wrong": chance}) + "\n")
    with pytest.raises(UsageError, match="line 1: 'chance_wrong' is"):
        Ratings(tmp_path / "answers.jsonl")


def test_raters_are_assigned_between_arms_evenly_and_keep_their_arm() -> None:
    generated = conversations_of(Community(board(seed=1, offence=0.0, threads=4, replies=0)))
    pairs = make_pairs(real(4), dict.fromkeys(("full", "no_personas", "neither"), generated))
    ratings = Ratings()
    arms: dict[str, str] = {}
    for number in range(9):
        rater = f"rater {number}"
        mine = ratings.pairs_of_rater(pairs, rater)
        (arms[rater],) = {pair.arm for pair in mine}
        assert len(mine) == 4
        ratings.add([mine[0].rating(rater, "person", "first")])
    assert sorted(list(arms.values()).count(arm) for arm in set(arms.values())) == [3, 3, 3]
    assert {pair.arm for pair in ratings.pairs_of_rater(pairs, "rater 0")} == {arms["rater 0"]}
    assert ratings.pairs_of_rater([], "rater 0") == []
