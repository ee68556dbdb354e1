"""People who move into a town or out of it while a run goes on."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from populace.base.errors import WorldError
from populace.people import People
from populace.scenarios.townlife.days import put_down
from populace.worlds.town import Town, settle_newcomers

if TYPE_CHECKING:
    from populace.scenarios.townlife.life import TownLife


def check_names(names: Sequence[str]) -> None:
    """Raise an error where two people have one name."""
    counts = Counter(name.casefold() for name in names)
    duplicates = [name for name in names if counts[name.casefold()] > 1]
    if duplicates:
        alike = " and ".join(dict.fromkeys(map(repr, duplicates[-2:])))
        raise WorldError(f"two people are called {alike}.", "Conversations go by name; give each another.")


_TIMES = ("wakes", "sleeps")
_PLACES = ("home_place", "bed_place", "workplace_place")


def check_newcomers(newcomers: People, town: Town) -> None:
    """Raise an error where people who join have no name, or a time or place that does not exist."""
    frame = newcomers.frame
    unnamed = frame.filter(pl.col("name").is_null() | (pl.col("name").str.strip_chars() == ""))
    if unnamed.height:
        raise WorldError(f"person {unnamed['id'][0]!r}, who joins, has no name.", "Give each who joins a name.")
    for name, limit in [*((name, 86_400) for name in _TIMES), *((name, len(town.places.building)) for name in _PLACES)]:
        wrong = frame.filter((pl.col(name) < 0) | (pl.col(name) >= limit)) if name in frame.columns else frame.clear()
        if wrong.height:
            hint = (
                "Give an address as `home` or `workplace`." if name in _PLACES else "It counts seconds from midnight."
            )
            who, value = wrong["name"][0], wrong[name][0]
            raise WorldError(f"{who}, who joins, has {name} = {value}, which is not below {limit:,}.", hint)
    if set(_TIMES) <= set(frame.columns):
        sleepless = frame.filter(pl.col("wakes") == pl.col("sleeps"))
        if sleepless.height:
            raise WorldError(
                f"{sleepless['name'][0]}, who joins, wakes and goes to bed at the same time.", "Change one."
            )
    homeless = frame.filter(pl.col("home").is_null() & pl.col("home_place").is_not_null())
    if homeless.height:
        raise WorldError(
            f"{homeless['name'][0]}, who joins, has a number as home_place and no address as home.",
            "Give the address alone; the number follows from it.",
        )


def follow_population(life: "TownLife", now: int) -> None:
    """Bring everything that a town knows of its people in line with the population, where people joined or left.

    New people get a home where they brought none, wake up there and know nobody. Of those who left, the others keep
    their memories.
    """
    people = life.people
    ids = people.ids.to_list()
    if ids == life.ids:
        return
    check_newcomers(people.where(id=[who for who in ids if who not in life.row]), life.town)
    settle_newcomers(people, life.town)
    check_names(people["name"].to_list())
    stay = [life.row[who] for who in ids if who in life.row]
    joined = [who for who in ids if who not in life.row]
    remaining = set(ids)
    left = [who for who in life.ids if who not in remaining]
    for who in left:
        put_down(life, who)
        life.closed.pop(who, None)
    asleep = np.concatenate([life.asleep[stay], np.ones(len(joined), np.bool_)])
    life.index_people(people)
    life.asleep = asleep
    life.presence.reorder(stay, life.beds[[life.row[who] for who in joined]], now)
    life.agenda.change_people(ids)
    life.population_changed = True
    people["town"] = life.town.name
    people["currently"] = people["currently"].fill_null("")
    for who in joined:
        life.routine.setdefault(who, [])
        life.learn_home(who)
        life.event("joined", who, name=life.names[who], at=now)
    for who in left:
        life.event("left", who, name=life.names[who], at=now)
