"""The town without any model: a tick of walking and noticing, generated towns, and how both grow with people."""

from __future__ import annotations

import time

import numpy as np
from measure import Result, quickest, report

from populace.people import People
from populace.worlds.town import Presence, Town, generate_relations, generate_residents
from populace.worlds.town.spots import Floats, Ints

ATTENTION = 8
SIGHT = 12.0
TICK = 10
HOUR = 3600


def settled(people: int) -> tuple[Town, People]:
    rng = np.random.default_rng(1)
    town = Town.generate(people, rng)
    return town, generate_residents(town, people, rng)


def hour_of_ticks(people: int, ticks: int) -> list[float]:
    """The seconds of each tick from eight o'clock, when everybody sets out for work within half an hour."""
    town, made = settled(people)
    rng = np.random.default_rng(2)
    work = made["workplace_place"].fill_null(-1).to_numpy()
    goers = np.flatnonzero(work >= 0)
    leaves = np.full(people, -1, dtype=np.int64)
    leaves[goers] = rng.integers(0, ticks // 2 + 1, len(goers))
    presence = Presence(town, made["bed_place"].to_numpy())
    town.minutes(1, 2)
    spent = []
    for tick in range(ticks):
        now = 8 * HOUR + tick * TICK
        began = time.perf_counter()
        rows = np.flatnonzero(leaves == tick)
        presence.send(rows, work[rows], now)
        presence.pairs_in_sight(now, SIGHT, bandwidth=ATTENTION)
        presence.objects_in_sight(now)
        spent.append(time.perf_counter() - began)
    return spent


def all_pairs(x: Floats, y: Floats, room: Ints, radius: float) -> Ints:
    """What a program without groups and grid would do."""
    near = np.hypot(x[:, None] - x, y[:, None] - y) <= radius
    return np.argwhere((near & (room[:, None] == -1) & (room == -1)) | ((room[:, None] == room) & (room >= 0)))


def beside_all_pairs(people: int) -> tuple[float, float]:
    town, made = settled(people)
    presence = Presence(town, made["bed_place"].to_numpy())
    work = made["workplace_place"].fill_null(-1).to_numpy()
    goers = np.flatnonzero(work >= 0)
    presence.send(goers, work[goers], 0)
    now = 240
    where = presence.at(now)
    room = np.where(where.place >= 0, town.places.room[np.maximum(where.place, 0)], -1)
    assert len(presence.pairs_in_sight(now, SIGHT).row) == len(all_pairs(where.x, where.y, room, SIGHT)) - people
    ours = quickest(5, lambda: presence.pairs_in_sight(now, SIGHT))
    return ours, quickest(2, lambda: all_pairs(where.x, where.y, room, SIGHT))


def made_in(people: int) -> float:
    def make() -> None:
        town, residents = settled(people)
        generate_relations(town, residents, np.random.default_rng(3))

    return quickest(3, make)


def main() -> None:
    thousand = hour_of_ticks(1_000, HOUR // TICK)
    ten_thousand, hundred_thousand = hour_of_ticks(10_000, 40), hour_of_ticks(100_000, 12)
    means = [float(np.median(part)) for part in (thousand, ten_thousand, hundred_thousand)]
    slope = float(np.polyfit(np.log([1e4, 1e5]), np.log(means[1:]), 1)[0])
    ours, theirs = beside_all_pairs(3_000)
    small, large = made_in(1_000), made_in(100_000)
    town = Town.generate(100_000, 1)
    ways = quickest(1, lambda: town.minutes(1, 2))
    rng = np.random.default_rng(4)
    pairs = rng.integers(1, len(town), (2, 100_000))
    walks = quickest(3, lambda: town.minutes(*pairs))
    report(
        [
            Result("1,000 people, a tick (walk, notice people, things)", means[0] * 1e3, "ms", 50, at_most=True,
                   detail=f"median of {len(thousand)}; 99 in 100 below {np.quantile(thousand, 0.99) * 1e3:.1f} ms"),
            Result("1,000 people, person-ticks a second", 1_000 * len(thousand) / sum(thousand), "/s", 2_000),
            Result("10,000 people, a tick", means[1] * 1e3, "ms",
                   detail=f"the longest {max(ten_thousand) * 1e3:.0f} ms"),
            Result("100,000 people, a tick", means[2] * 1e3, "ms",
                   detail=f"the longest {max(hundred_thousand) * 1e3:.0f} ms"),
            Result("growth of a tick from 10⁴ to 10⁵ people: exponent", slope, "", 1.3, at_most=True),
            Result("noticing, all pairs beside groups and grid (3,000)", theirs / ours, "times", 5,
                   detail=f"{theirs * 1e3:.0f} ms, {ours * 1e3:.1f} ms"),
            Result("town, people and relations for 1,000", small, "s", 1, at_most=True),
            Result("town, people and relations for 100,000", large, "s", 20, at_most=True),
            Result("shortest paths of the town for 100,000, once", ways, "s", detail=f"{town!r}"),
            Result("walking times of 100,000 pairs", walks * 1e3, "ms"),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
