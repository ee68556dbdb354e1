from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace import People
from populace.base.errors import PeopleError, UnknownNameError
from populace.minds import elaborate, expand
from populace.models import HashingEmbedder, Request
from populace.people import Expansion
from support.society import chance, run_in_step

TRADES = "baker smith nurse tutor pilot clerk miner vicar judge actor".split()
SEEDS = [f"a {trade} who came to the valley {years} years ago" for years, trade in enumerate(TRADES, 3)]
GOAL = "Neighbours help one another."


def word(number: int) -> str:
    """A made-up word for a number."""
    return "".join("bdfgklmnprst"[number // 12**place % 12] + "aeiou"[number // 5**place % 5] for place in range(4))


class Repetitive:
    """Describes new people, and every third one as it described one before."""

    def __init__(self, share: float = 1 / 3) -> None:
        self.share = share
        self.made = 0
        self.told: list[str] = []
        self.repeated = 0

    def __call__(self, request: Request) -> str:
        people = []
        for place in range(5):
            if self.told and chance(request, str(place)) < self.share:
                self.repeated += 1
                people.append(self.told[int(chance(request, f"which {place}") * len(self.told))])
            else:
                self.made += 1
                fresh = " ".join(word(self.made * 7 + part * 100_003) for part in range(6))
                people.append(f"somebody who {fresh}")
                self.told.append(people[-1])
        return json.dumps({"people": people})

    def __repr__(self) -> str:
        return f"Repetitive({self.share})"


def expanded(reply: Callable[[Request], Any], count: int = 20, seeds: list[str] = SEEDS, **options: Any) -> Expansion:
    async def body(scenario: Any) -> Expansion:
        known = {"goal": GOAL, "embedder": HashingEmbedder(), "rng": scenario.rng} | options
        return await expand(scenario, seeds, count, **known)

    made, _ = run_in_step(body, reply)
    assert isinstance(made, Expansion)
    return made


def spread(people: People) -> list[int]:
    return people.frame.group_by("seed").len().sort("seed")["len"].to_list()


def test_a_thousand_distinct_people_come_of_ten_seeds_on_a_model_that_repeats_itself_a_third_of_the_time() -> None:
    model = Repetitive()
    made = expanded(model, 1000)
    people, counts = made.people, made.counts
    assert len(people) == 1000
    assert people["persona"].str.to_lowercase().n_unique() == 1000
    assert people["name"].n_unique() == 1000
    assert spread(people) == [100] * 10
    assert 0.3 < model.repeated / (model.repeated + model.made) < 0.37
    assert counts["duplicates"] == model.repeated
    assert counts["near duplicates"] == 0
    assert counts["written"] == model.repeated + model.made == counts["asked"]
    assert counts["written"] - counts["duplicates"] - counts["surplus"] == 990
    assert counts["filled"] == counts["invalid"] == 0


def test_every_field_says_where_it_comes_from() -> None:
    made = expanded(Repetitive(), 100)
    frame = made.people.frame
    assert Counter(frame["source"]) == {"seed": 10, "model": 90}
    assert frame.filter(pl.col("source") == "seed")["persona"].to_list() == SEEDS
    assert frame.filter(pl.col("source") == "seed")["batch"].null_count() == 10
    written = frame.filter(pl.col("source") == "model")
    assert written["batch"].is_between(1, made.counts["calls"]).all()
    assert made.provenance.rows() == [("name", "list", 100), ("persona", "model", 90), ("persona", "seed", 10)]


def test_a_batch_belongs_to_one_seed() -> None:
    frame = expanded(Repetitive(), 100).people.frame.drop_nulls("batch")
    assert (frame.group_by("batch").agg(pl.col("seed").n_unique())["seed"] == 1).all()


@pytest.mark.parametrize("count", [3, 10, 11, 37])
def test_no_seed_has_two_people_more_than_another(count: int) -> None:
    counts = spread(expanded(Repetitive(), count).people)
    assert sum(counts) == count
    assert max(counts) - min(counts) <= 1


def test_a_persona_that_says_almost_the_same_is_a_near_duplicate() -> None:
    said = "a retired engineer from the north who repairs old clocks and talks about them at length"

    def reply(request: Request) -> str:
        return json.dumps({"people": [said, f"{said} indeed", "a young sailor afraid of deep water"]})

    made = expanded(reply, 4, ["a baker"], batch=3)
    assert made.counts["near duplicates"] >= 1
    assert made.people.frame.filter(pl.col("source") == "model")["persona"].to_list() == [
        said,
        "a young sailor afraid of deep water",
    ]


def test_what_a_weak_model_cannot_give_is_made_by_rule_and_marked_as_such() -> None:
    made = expanded(lambda request: json.dumps({"people": ["a plain man"] * 5}), 40)
    frame = made.people.frame
    assert Counter(frame["source"]) == {"seed": 10, "model": 1, "rule": 29}
    assert made.counts["filled"] == 29
    assert frame["persona"].n_unique() == 40
    assert spread(made.people) == [4] * 10
    by_rule = frame.filter(pl.col("source") == "rule")
    assert all(persona.startswith(SEEDS[seed - 1]) for persona, seed in by_rule.select("persona", "seed").iter_rows())


def test_a_model_that_gives_nothing_new_is_not_asked_for_ever() -> None:
    asked = []

    def reply(request: Request) -> str:
        asked.append(request)
        return json.dumps({"people": ["a plain man"] * 5})

    expanded(reply, 40, rounds=50)
    assert len(asked) < 200


def test_instead_of_the_rule_the_expansion_can_stop_and_say_what_came() -> None:
    with pytest.raises(PeopleError, match=r"gave 11 distinct people of 40 \(.*duplicates") as caught:
        expanded(lambda request: json.dumps({"people": ["a plain man"] * 5}), 40, fill="stop")
    assert "fill='rule'" in str(caught.value)


def test_replies_that_cannot_be_read_and_texts_that_are_no_persona_are_counted() -> None:
    def reply(request: Request) -> str:
        if chance(request) < 0.8:
            return "no idea"
        return json.dumps({"people": ["<br>", f"a person known as {request.seed} by {word(request.seed or 0)}"]})

    made = expanded(reply, 20)
    assert made.counts["unusable"] > 0
    assert made.counts["invalid"] > 0
    assert len(made.people) == 20


def test_personas_are_cleaned_like_posts() -> None:
    def reply(request: Request) -> str:
        return json.dumps({"people": [f"**a diver** named\x00 in\n<b>{word(request.seed or 0)}</b>" + " deep" * 200]})

    made = expanded(reply, 3, ["a baker", "a smith"], near=1.0)
    texts = made.people.frame.filter(pl.col("source") == "model")["persona"]
    assert texts.len()
    assert not any(re.search(r"[<>*\x00\n]", text) or len(text) > 240 for text in texts)


def test_the_model_may_give_names_and_those_it_gives_twice_are_drawn_from_the_list() -> None:
    def reply(request: Request) -> str:
        fresh = [f"a rower of {word((request.seed or 0) % 9973 + 31 * place)} {place}" for place in range(5)]
        return json.dumps({"people": [{"name": "Sarah Jones", "persona": text} for text in fresh]})

    made = expanded(reply, 30, names="model")
    assert made.people["name"].n_unique() == 30
    assert Counter(made.people["name_source"])["model"] == 1


def test_the_same_seed_gives_the_same_people() -> None:
    first, second = expanded(Repetitive(), 60), expanded(Repetitive(), 60)
    assert first.people.frame.equals(second.people.frame)


@pytest.mark.parametrize(
    ("seeds", "options", "told"),
    [
        ([], {}, "0 seeds"),
        (["a baker", "A baker."], {}, "seeds 1 and 2 are the same"),
        (["a baker", " "], {}, "seed 2 is empty"),
        (["a baker"], {"near": 0.0}, "near"),
        (["a baker"], {"batch": 0}, "0 people"),
    ],
)
def test_bad_seeds_and_settings_are_named(seeds: list[str], options: dict[str, Any], told: str) -> None:
    with pytest.raises(PeopleError, match=told):
        expanded(Repetitive(), 5, seeds, **options)


TABLE = People(pl.DataFrame({"id": ["a", "b", "c"], "age": [31, 45, None], "trade": ["baker", "smith", "nurse"]}))


def elaborated(reply: Callable[[Request], Any], **options: Any) -> Expansion:
    async def body(scenario: Any) -> Expansion:
        return await elaborate(scenario, TABLE, **({"goal": GOAL, "rng": scenario.rng} | options))

    made, _ = run_in_step(body, reply)
    assert isinstance(made, Expansion)
    return made


def about(request: Request) -> str:
    trade = re.search(r"trade: (\w+)", request.messages[0][1])
    assert trade
    return f"A quiet {trade.group(1)} with a large family."


def test_a_table_is_elaborated_and_stays_as_it_is() -> None:
    made = elaborated(about)
    assert made.people.frame.select(TABLE.columns).equals(TABLE.frame)
    assert made.people["persona"].to_list() == [f"A quiet {t} with a large family." for t in TABLE["trade"]]
    assert made.people["seed"].null_count() == 3
    assert set(made.people["source"]) == {"model"}


def test_what_is_empty_in_a_table_is_not_told() -> None:
    seen = []

    def reply(request: Request) -> str:
        seen.append(request.messages[0][1])
        return about(request)

    elaborated(reply)
    assert sum("age:" in text for text in seen) == 2


def test_somebody_for_whom_the_model_writes_nothing_usable_is_described_by_the_table() -> None:
    made = elaborated(
        lambda request: "" if "smith" in request.messages[0][1] else about(request), embedder=HashingEmbedder()
    )
    assert made.people["source"].to_list() == ["model", "rule", "model"]
    assert made.people["persona"][1] == "age: 45; trade: smith"
    assert (made.counts["invalid"], made.counts["filled"]) == (1, 1)
    with pytest.raises(PeopleError, match="1 of 3 people, first for 'b'"):
        elaborated(lambda request: "" if "smith" in request.messages[0][1] else about(request), fill="stop")


def test_a_column_that_the_table_lacks_is_named() -> None:
    with pytest.raises(UnknownNameError, match="trde"):
        elaborated(about, columns=["trde"])


def test_the_generator_used_for_names_is_the_only_chance_involved() -> None:
    made = [expanded(Repetitive(), 30, rng=np.random.default_rng(seed)).people["name"] for seed in (1, 1, 2)]
    assert made[0].equals(made[1])
    assert not made[0].equals(made[2])
