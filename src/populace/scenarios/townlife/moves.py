"""People who move into a town or out of it while a run goes on."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from populace.base.errors import WorldError
from populace.worlds.town import settle_newcomers

if TYPE_CHECKING:
    from populace.scenarios.townlife.life import TownLife


def check_names(names: Sequence[str]) -> None:
    """Raise an error where two people have one name."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise WorldError(f"two people are called {duplicates[0]!r}.", "Conversations go by name; give each another.")


def follow_population(life: "TownLife", now: int) -> None:
    """Bring everything that a town knows of its people in line with the population, where people joined or left.

    New people get a home where they brought none, wake up there and know nobody. Of those who left, the others keep
    their memories.
    """
    people = life.people
    ids = people.ids.to_list()
    if ids == life.ids:
        return
    settle_newcomers(people, life.town)
    check_names(people["name"].to_list())
    stay = [life.row[who] for who in ids if who in life.row]
    joined = [who for who in ids if who not in life.row]
    left = [who for who in life.ids if who not in set(ids)]
    asleep = np.concatenate([life.asleep[stay], np.ones(len(joined), np.bool_)])
    life.index_people(people)
    life.asleep = asleep
    life.presence.reorder(stay, life.beds[[life.row[who] for who in joined]], now)
    life.agenda.change_people(ids)
    life.population_changed = True
    people["town"] = life.town.name
    for who in joined:
        life.routine.setdefault(who, [])
        life.learn_home(who)
        life.event("joined", who, name=life.names[who], at=now)
    for who in left:
        life.event("left", who, name=life.names[who], at=now)
