"""Generated residents for a town of any size, and their relations."""

import numpy as np
import polars as pl

from populace.base.errors import PeopleError, WorldError
from populace.people import People, draw_names
from populace.worlds.town.places import ROOM
from populace.worlds.town.spots import Bools, Floats, Ints
from populace.worlds.town.town import Town
from populace.worlds.town.town_generator import GENERATED

SCHOOL_AGE, GROWN_UP, RETIRED = 6, 18, 67
EMPLOYED = 0.8
NO_PARTNER = 0.15
"""The share of households of two or more whose second member is a child."""
OCCUPATIONS: dict[str, list[str]] = GENERATED["occupations"]
TRAITS: list[str] = GENERATED["traits"].split()
LEISURE = ("café", "pub", "park", "library")
CLOSENESS: dict[str, tuple[float, float]] = GENERATED["closeness"]
"""The range of closeness of each relation, the closest first: of two relations between a pair the closer one counts."""
FRIENDS = 1.5
"""The mean number of friendships that each person begins."""


def generate_residents(town: Town, n: int, rng: np.random.Generator) -> People:
    """People who live, work and spend their free time in a town.

    They have the columns of `read_residents`, and besides `sex`, `role` in the household (adult, partner or child)
    and `leisure_place`, a room where they like to be. Households are whole as long as beds allow.

    Args:
        town: The town; its homes must have enough beds.
        n: The number of people.
        rng: The source of randomness.

    Example:
        >>> people = generate_residents(Town.generate(40, seed=1), 40, np.random.default_rng(1))
        >>> people.count(), people["home"].null_count()
        (40, 0)
    """
    if n < 1:
        raise PeopleError(f"a population needs at least one person, not {n}.")
    home, member = _homes(town, n, rng)
    age, role = _ages(home, member, rng)
    work, occupation = _work(town, home, age, rng)
    rooms = _Rooms(town)
    traits = pl.Series(TRAITS)
    one = rng.integers(len(TRAITS), size=n)
    two = (one + 1 + rng.integers(len(TRAITS) - 1, size=n)) % len(TRAITS)
    leisure = rooms.pick(_near_favourite(town, home, rng), rng)
    early = np.where(age < GROWN_UP, 6.75, 6.5) + rng.normal(0, 0.5, n)
    late = np.where(age < 13, 20.5, 22.5) + rng.normal(0, 0.5, n)
    names = draw_names(n, rng)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "name": names["name"],
            "sex": names["sex"],
            "age": age,
            "role": pl.Series(role).cat.to(pl.Enum(["adult", "partner", "child"])),
            "occupation": occupation,
            "home": town.addresses(home),
            "workplace": town.addresses(work),
            "home_place": home,
            "bed_place": rooms.last(home),
            "workplace_place": work,
            "leisure_place": leisure,
            "leisure": town.addresses(leisure),
            "traits": traits.gather(one.astype(np.uint32)) + ", " + traits.gather(two.astype(np.uint32)),
            "years": np.minimum(age, rng.integers(1, 41, n)),
            "others": np.bincount(home, minlength=len(town))[home] - 1,
            "wakes": _quarters(early),
            "sleeps": _quarters(late),
        }
    )
    return People(
        frame.with_columns(workplace_place=pl.col("workplace_place").replace(-1, None)).select(_resident_columns())
    )


def generate_relations(town: Town, people: People, rng: np.random.Generator) -> pl.DataFrame:
    """The relations of generated people: family, neighbours, colleagues and classmates, friends.

    Returns:
        A table `a`, `b`, `relation`, `closeness`, each pair once with a before b.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> town = Town.generate(40, seed=1)
        >>> generate_relations(town, generate_residents(town, 40, rng), rng).columns
        ['a', 'b', 'relation', 'closeness']
    """
    home = people["home_place"].to_numpy()
    work = people["workplace_place"].fill_null(-1).to_numpy()
    pupil = (people["occupation"] == "pupil").to_numpy()
    age = people["age"].to_numpy()
    building = np.where(work >= 0, town.places.building[np.maximum(work, 0)], -1)
    ties = [
        _family(people),
        _along(np.flatnonzero((work >= 0) & ~pupil), building, "colleagues", rng),
        _along(np.flatnonzero((work >= 0) & pupil), work, "classmates", rng),
        _neighbours(town, home),
        _friends(age, rng),
    ]
    words = list(CLOSENESS)
    a, b, word = (np.concatenate(column) for column in zip(*ties, strict=True))
    low, high = np.array([CLOSENESS[name] for name in words]).T
    closeness = np.round(low[word] + (high - low)[word] * rng.random(len(word)), 2)
    ids = people.ids
    frame = pl.DataFrame({"a": np.minimum(a, b), "b": np.maximum(a, b), "word": word, "closeness": closeness})
    closest = frame.sort("a", "b", "word").unique(["a", "b"], keep="first", maintain_order=True)
    return closest.select(
        ids.gather(closest["a"].cast(pl.UInt32)).alias("a"),
        ids.gather(closest["b"].cast(pl.UInt32)).alias("b"),
        pl.Series("relation", words).gather(closest["word"].cast(pl.UInt32)),
        "closeness",
    )


class _Rooms:
    def __init__(self, town: Town) -> None:
        rooms = np.flatnonzero(town.places.level == ROOM)
        parent = town.places.parent[rooms]
        self.count = np.bincount(parent, minlength=len(town))
        order = np.argsort(parent, kind="stable")
        self.rooms = rooms[order]
        self.first = np.cumsum(self.count) - self.count

    def pick(self, buildings: Ints, rng: np.random.Generator) -> Ints:
        return self.room(buildings, rng.integers(np.maximum(self.count[buildings], 1)))

    def last(self, buildings: Ints) -> Ints:
        """The last room of each building, which in a generated home is the bedroom."""
        return self.room(buildings, np.maximum(self.count[buildings] - 1, 0))

    def room(self, buildings: Ints, number: Ints) -> Ints:
        """The room of this number in each building; the building itself where it has no room, -1 where it is -1."""
        has = (buildings >= 0) & (self.count[buildings] > 0)
        if not len(self.rooms):
            return buildings
        row = np.minimum(self.first[buildings] + number, len(self.rooms) - 1)
        return np.where(has, self.rooms[row], buildings)


def _homes(town: Town, n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    homes = town.of_kind("home")
    beds = town.places.beds[homes]
    if beds.sum() < n:
        raise WorldError(
            f"{town.name} has {beds.sum()} beds, too few for {n} people.",
            f"Make a larger one: Town.generate({n}).",
        )
    order = rng.permutation(len(homes))
    home = np.sort(np.repeat(homes[order], beds[order])[:n])
    first = np.searchsorted(home, home)
    return home, np.arange(n) - first


def _ages(home: Ints, member: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The age of each person, as fits the household, and the role: 0 adult, 1 partner, 2 child."""
    n = len(home)
    size = np.bincount(home)[home]
    head_row = np.searchsorted(home, home)
    low, high = np.where(size >= 3, 27, 20), np.where(size >= 3, 56, 86)
    head = rng.integers(low, high)[head_row]
    alone = (rng.random(n) < NO_PARTNER)[head_row] & (head >= 27)
    role = np.where(member == 0, 0, np.where((member == 1) & ~alone, 1, 2))
    partner = np.clip(np.rint(head + rng.normal(0, 4, n)), 19, 95)
    child = np.maximum(head - rng.integers(20, 38, n), SCHOOL_AGE)
    return np.choose(role, [head, partner, child]).astype(np.int64), role


def _work(town: Town, home: Ints, age: Ints, rng: np.random.Generator) -> tuple[Ints, pl.Series]:
    """The room where each person works or learns, -1 for none, and the occupation."""
    rooms = _Rooms(town)
    work = np.full(len(age), -1, dtype=np.int64)
    word = np.full(len(age), "at home", dtype=object)
    word[age >= RETIRED] = "retired"
    grown = (age >= GROWN_UP) & (age < RETIRED)
    posts = np.repeat(np.arange(len(town)), town.places.posts)
    seekers = rng.permutation(np.flatnonzero(grown & (rng.random(len(age)) < EMPLOYED)))
    hired = seekers[: len(posts)]
    word[seekers] = "looking for work"
    work[hired] = rng.permutation(posts)[: len(hired)]
    kinds = town.places.kind.fill_null("").to_numpy()
    for kind in sorted(set(kinds[work[hired]])):
        here = hired[kinds[work[hired]] == kind]
        titles = np.array(OCCUPATIONS.get(kind, [f"works at the {kind}"]), dtype=object)
        word[here] = titles[rng.integers(len(titles), size=len(here))]
    # Colleagues meet: everybody works in the first room, save in a school, where each has a classroom.
    spread = np.where(kinds[work] == "school", rng.integers(np.maximum(rooms.count[work], 1)), 0)
    work = rooms.room(work, spread)
    pupils = np.flatnonzero(age < GROWN_UP)
    schools = np.flatnonzero(kinds == "school")
    if len(schools) and len(pupils):
        school = schools[_nearest(town, home[pupils], schools)]
        year = np.clip(age[pupils] - SCHOOL_AGE + 1, 0, np.maximum(rooms.count[school] - 1, 0))
        work[pupils] = rooms.room(school, year)
    word[pupils] = "pupil"
    return work, pl.Series("occupation", word, dtype=pl.String)


def _nearest(town: Town, home: Ints, places: Ints) -> Ints:
    """Which of a few places is nearest to each home in a straight line."""
    x, y = town.places.x, town.places.y
    best, nearest = np.full(len(home), np.inf), np.zeros(len(home), dtype=np.int64)
    for number, place in enumerate(places):
        away: Floats = np.hypot(x[home] - x[place], y[home] - y[place])
        nearer: Bools = away < best
        best[nearer], nearest[nearer] = away[nearer], number
    return nearest


def _near_favourite(town: Town, home: Ints, rng: np.random.Generator) -> Ints:
    kinds = town.places.kind.fill_null("").to_numpy()
    there = [places for kind in LEISURE if len(places := np.flatnonzero(kinds == kind))]
    building = home.copy()
    liked = rng.integers(max(1, len(there)), size=len(home))
    for number, places in enumerate(there):
        rows = np.flatnonzero(liked == number)
        building[rows] = places[_nearest(town, home[rows], places)]
    return building


def _quarters(hours: Floats) -> Ints:
    """Times of day in seconds, to the quarter of an hour."""
    return (np.rint(hours * 4) * 900).astype(np.int64)


def _resident_columns() -> list[str | pl.Expr]:
    day = pl.when(pl.col("workplace").is_null()).then(
        pl.format("10:00 being about the house ({}); ", "home")
    ).otherwise(pl.format("08:30 working or learning ({}); ", "workplace"))  # fmt: skip
    routine = day + pl.format("17:30 spending some time out ({}); 19:00 being at home ({})", "leisure", "home")
    company = (
        pl.when(pl.col("others") == 0).then(pl.lit("alone"))
        .when(pl.col("others") == 1).then(pl.lit("with one other person"))
        .otherwise(pl.format("with {} others", "others"))
    )  # fmt: skip
    story = pl.format(
        "You have lived here for {} years, at {} {}. People who know you say: {}.",
        "years", "home", company, "traits",
    )  # fmt: skip
    plain = "id name sex age role occupation home workplace home_place bed_place workplace_place leisure_place traits"
    return [*plain.split(), story.alias("backstory"), "wakes", "sleeps", routine.alias("routine")]


_Ties = tuple[Ints, Ints, Ints]


def _ties(a: Ints, b: Ints, word: str) -> _Ties:
    return a, b, np.full(len(a), list(CLOSENESS).index(word), dtype=np.int64)


def _family(people: People) -> _Ties:
    child = people["role"] == "child"
    rows = pl.DataFrame({"row": np.arange(len(people)), "home": people["home_place"], "child": child})
    pairs = rows.join(rows, on="home", suffix="_other").filter(pl.col("row") < pl.col("row_other"))
    words = list(CLOSENESS)
    word = (
        pl.when(pl.col("child") & pl.col("child_other"))
        .then(words.index("siblings"))
        .when(pl.col("child") | pl.col("child_other"))
        .then(words.index("parent and child"))
        .otherwise(words.index("partners"))
    )
    ties = pairs.sort("row", "row_other").select("row", "row_other", word.cast(pl.Int64).alias("word"))
    return ties["row"].to_numpy(), ties["row_other"].to_numpy(), ties["word"].to_numpy()


def _along(rows: Ints, group: Ints, word: str, rng: np.random.Generator) -> _Ties:
    """Ties within each group: in a random order, everybody knows the next three."""
    order = rng.permutation(rows)
    order = order[np.argsort(group[order], kind="stable")]
    return _next_few(order, group[order], 3, word)


def _next_few(people: Ints, group: Ints, reach: int, word: str) -> _Ties:
    """Ties of each person with the next few of the same group, which stand beside each other."""
    same = [group[:-step] == group[step:] for step in range(1, reach + 1)]
    a = [people[: -step - 1][tied] for step, tied in enumerate(same)]
    b = [people[step + 1 :][tied] for step, tied in enumerate(same)]
    return _ties(np.concatenate(a), np.concatenate(b), word)


def _neighbours(town: Town, home: Ints) -> _Ties:
    """Ties between neighbours: one person of each household knows one of each of the next two on the street."""
    homes, first = np.unique(home, return_index=True)
    return _next_few(first, town.doors.section[homes - 1], 2, "neighbours")


def _friends(age: Ints, rng: np.random.Generator) -> _Ties:
    order = np.argsort(age + rng.normal(0, 3, len(age)), kind="stable")
    friendships = rng.poisson(FRIENDS, len(age))
    one = np.repeat(np.arange(len(age)), friendships)
    other = one + rng.integers(1, 31, len(one))
    inside = other < len(age)
    return _ties(order[one[inside]], order[other[inside]], "friends")


def ordinary_routines(people: People) -> pl.DataFrame:
    """The routines of generated people, a table like that of `read_routines`: work, leisure, the evening at home."""
    frame = people.frame.with_columns(pl.col("workplace_place").fill_null(pl.col("home_place")))
    parts = [
        (9 * 3600, "workplace_place", "working"),
        (16 * 3600, "leisure_place", "spending free time"),
        (19 * 3600, "home_place", "having supper and a quiet evening"),
    ]
    return pl.concat(
        frame.select(
            pl.col("id").alias("person"),
            pl.lit(time, pl.Int64).alias("time"),
            pl.col(column).cast(pl.Int64).alias("place"),
            pl.lit(what).alias("what"),
        )
        for time, column, what in parts
    ).sort("person", "time")
