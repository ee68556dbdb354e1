"""Personas from a model: many people from a few seeds, or a few sentences for each row of a table."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import pydantic

from populace.base.errors import PeopleError, UnknownNameError
from populace.minds.parts import Asker
from populace.models import Embedder
from populace.people import Expansion, People, PersonaPool
from populace.people.expansion import distinct_names, near_duplicates
from populace.questions import Form, Utterance
from populace.questions.cleaning import CleaningContext, clean

Fill = Literal["rule", "stop"]

NEAR = 0.9
"""The cosine from which on two personas count as near duplicates."""
ROUNDS = 12
"""How many rounds of calls there are at most."""
IDLE = 3
"""After this many rounds in a row without anybody new, no more calls are made."""
_SHOWN = 3
_EXTRA = 1.5
_ABOUT = "A community is being set up. Its goal: {goal}"


# The names of these classes are part of the recorded questions; another name would make a recording unreplayable.
class _Described(pydantic.BaseModel):
    people: list[str]


class _Person(pydantic.BaseModel):
    name: str
    persona: str


class _Named(pydantic.BaseModel):
    people: list[_Person]


async def expand(
    asker: Asker,
    seeds: Sequence[str],
    count: int,
    *,
    goal: str,
    embedder: Embedder,
    rng: np.random.Generator,
    batch: int = 5,
    near: float = NEAR,
    limit: int = 240,
    rounds: int = ROUNDS,
    with_seeds: bool = True,
    names: Literal["list", "model"] = "list",
    fill: Fill = "rule",
) -> Expansion:
    """Many distinct people from a few seeds, with about as many people for each seed.

    A call asks for `batch` people like one seed, and shows a few existing ones from which the new ones must differ.
    Replies are cleaned like posts; duplicates and near duplicates are counted and left out, and the missing people
    are asked for again.

    Args:
        asker: Puts the questions; a scenario, also in `setup`.
        seeds: The descriptions of the people to begin with.
        count: How many people to make.
        goal: What the community is for.
        embedder: Makes the vectors with which near duplicates are found.
        rng: Draws names, the people that a call shows, and what the rule makes.
        batch: How many people one call asks for.
        near: The cosine from which on two personas count as near duplicates.
        limit: The most characters of a persona.
        rounds: How often to ask again.
        with_seeds: Whether the seeds themselves are among the people.
        names: Whether names come from our list, or from the model where it gives distinct ones.
        fill: What to do when the model cannot give enough distinct people: complete them by `rule`, marked as such,
            or `stop` with an error.
    """
    if batch < 1:
        raise PeopleError(f"a call cannot ask for {batch} people.", "batch is at least 1.")
    pool = PersonaPool(list(seeds), count, near, with_seeds)
    pool.add_seeds(embedder.embed(list(seeds)))
    question, idle = _question(batch, names), 0
    for number in range(rounds):
        seed = _calls(pool, batch, extra=_EXTRA if number else 1.0)
        if not len(seed) or idle == IDLE:
            break
        idle = 0 if await _round(asker, pool, seed, question, goal, embedder, rng, batch, limit) else idle + 1
    lacking = int(pool.missing().sum())
    if lacking and fill == "stop":
        counts = ", ".join(f"{number} {what}" for what, number in pool.counts.items())
        raise PeopleError(
            f"the model gave {count - lacking} distinct people of {count} ({counts}).",
            "Take a stronger model, more seeds, a higher near=…, or fill='rule'.",
        )
    if lacking:
        pool.fill(rng)
    return pool.expansion(rng)


async def elaborate(
    asker: Asker,
    table: People,
    *,
    goal: str,
    rng: np.random.Generator,
    columns: Sequence[str] | None = None,
    embedder: Embedder | None = None,
    near: float = NEAR,
    limit: int = 240,
    fill: Fill = "rule",
) -> Expansion:
    """A persona for each row of a table; everything else in the table stays as it is.

    Args:
        asker: Puts the questions; a scenario.
        table: The people.
        goal: What the community is for.
        rng: Draws names where the table has none.
        columns: The columns that the model sees; all but the id by default.
        embedder: With one, near repetitions are counted; nobody is left out for it.
        near: The cosine from which on two personas count as near duplicates.
        limit: The most characters of a persona.
        fill: What becomes of somebody for whom the model wrote nothing usable: what the table says stands for a
            persona by `rule`, marked as such, or `stop` with an error.
    """
    described = [name for name in table.columns if name != "id"] if columns is None else list(columns)
    for name in described:
        if name not in table:
            raise UnknownNameError("column", name, table.columns)
    if not described:
        raise PeopleError("the table says nothing about its people.", "Give it columns besides the id.")
    facts = table.frame.select(_facts(described, table.frame.schema)).to_series()
    answers = await asker.ask(
        table,
        Utterance("Describe this person in one or two sentences, without adding a name.", limit=limit),
        given=f"{_ABOUT}\nWhat is known about one of its members: {{known}}.",
        profile="",
        purpose="personas",
        goal=goal,
        known=facts,
    )
    replies = answers.values
    counts: Counter[str] = Counter(
        asked=len(table), calls=len(table), written=len(table) - replies.null_count(), invalid=replies.null_count()
    )
    if replies.null_count() and fill == "stop":
        who = table.ids.filter(replies.is_null())[0]
        raise PeopleError(
            f"the model wrote no usable persona for {replies.null_count()} of {len(table)} people, first for {who!r}.",
            "Take a stronger model, or fill='rule'.",
        )
    personas = replies.fill_null(facts)
    counts["filled"] = replies.null_count()
    counts["duplicates"] = personas.len() - personas.n_unique()
    if embedder is not None:
        alike = int((near_duplicates(embedder.embed(personas.to_list()), near=near) >= 0).sum())
        counts["near duplicates"] = alike - counts["duplicates"]
    names = (
        pl.DataFrame({"name": table["name"], "name_source": ["table"] * len(table)})
        if "name" in table
        else distinct_names(pl.Series("given", [None] * len(table), dtype=pl.String), rng)
    )
    source = pl.Series(["model", "rule"]).gather(replies.is_null().cast(pl.UInt32))
    people = People(
        table.frame.with_columns(
            names["name"],
            persona=personas,
            seed=pl.lit(None, pl.Int64),
            batch=pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
            source=source,
            name_source=names["name_source"],
        )
    )
    return Expansion(people, counts)


def _question(batch: int, names: str) -> Form:
    text = (
        f"Describe {batch} other people who might join this community and who have something in common with the person "
        "above. Each must differ from the others and from those who are there, in one or two sentences"
    )
    room = 32 + 64 * batch
    if names == "model":
        example = '{"people": [{"name": "Ada Bell", "persona": "a retired engineer who repairs clocks"}]}'
        return Form(f"{text}, with a name.", model=_Named, example=example, room=room)
    example = '{"people": ["a retired engineer who repairs clocks", "a nurse on night shifts who wants quiet"]}'
    return Form(f"{text}, without a name.", model=_Described, example=example, room=room)


def _calls(pool: PersonaPool, batch: int, extra: float) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The seed of each call of the next round: as many calls as what is missing needs, and some for repetitions."""
    calls = np.ceil(pool.missing() * extra / batch).astype(np.int64)
    return np.repeat(np.arange(len(calls)), calls)


async def _round(
    asker: Asker,
    pool: PersonaPool,
    seed: np.ndarray[Any, np.dtype[np.int64]],
    question: Form,
    goal: str,
    embedder: Embedder,
    rng: np.random.Generator,
    batch: int,
    limit: int,
) -> int:
    """Ask once for what is missing; returns how many people came of it."""
    first = pool.counts["calls"] + 1
    numbers = np.arange(first, first + len(seed))
    pool.counts["calls"] += len(seed)
    pool.counts["asked"] += len(seed) * batch
    answers = await asker.ask(
        People(pl.DataFrame({"id": numbers})),
        question,
        given=f"{_ABOUT}\nOne of its members: {{seed}}\nSome of those who are there:\n{{there}}",
        profile="",
        purpose="personas",
        goal=goal,
        seed=pl.Series([pool.seeds[row] for row in seed.tolist()]),
        there=_examples(pool, seed, rng),
    )
    pool.counts["invalid"] += answers.values.null_count()
    of_call: list[int] = []
    texts: list[str] = []
    model_names: list[str | None] = []
    for call, value in enumerate(answers.values.to_list()):
        for person in json.loads(value)["people"] if value else []:
            text = person["persona"] if isinstance(person, dict) else person
            persona = clean(text, CleaningContext(limit)).text
            if persona is None:
                pool.counts["unusable"] += 1
                continue
            of_call.append(call)
            texts.append(" ".join(persona.split()))
            model_names.append(clean(person["name"], CleaningContext(60)).text if isinstance(person, dict) else None)
    if not texts:
        return 0
    calls = np.array(of_call, np.int64)
    return pool.add_personas(seed[calls], texts, embedder.embed(texts), batch=numbers[calls], names=model_names)


def _examples(pool: PersonaPool, seed: np.ndarray[Any, np.dtype[np.int64]], rng: np.random.Generator) -> pl.Series:
    there = pool.texts or list(pool.seeds)
    rows = rng.integers(0, len(there), (len(seed), _SHOWN))
    return pl.Series(["\n".join(f"- {there[row]}" for row in dict.fromkeys(some)) for some in rows.tolist()])


def _facts(columns: Sequence[str], schema: pl.Schema) -> pl.Expr:
    """What a table says of each person: `age: 41; trade: baker`, without what is empty."""
    parts = []
    for name in columns:
        if schema[name].is_nested():
            raise PeopleError(f"column {name!r} holds {schema[name]}, which cannot be told in words.", "Leave it out.")
        parts.append(pl.format(f"{name.replace('{', '(').replace('}', ')')}: {{}}", pl.col(name)))
    return pl.concat_str(parts, separator="; ", ignore_nulls=True).alias("known")
