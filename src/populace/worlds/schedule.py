"""Who acts when: by a script, when a message comes, or when something is due.

All three are entries of one table: a person, a time, and what is due then. Nobody is run who has no entry, which keeps
questions few. People whose entries are due act at the same time, in a wave; what they send for the same moment is due
in the next wave. So the result does not depend on whose answer came first.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import polars as pl

from populace.base.errors import UnknownNameError, WorldError
from populace.people import Id, People

ItemT = TypeVar("ItemT")
Moments = int | Sequence[int] | pl.Series
Texts = str | Sequence[str] | pl.Series


class ScopeRunner(Protocol):
    """Runs coroutines at the same time, each in a scope of its own; every scenario is one."""

    async def each(self, items: Iterable[ItemT], body: Callable[[ItemT], Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run a coroutine for each item, each in a scope of its own."""


class ScheduleEntry(NamedTuple):
    """Something that is due for a person.

    Attributes:
        number: The number of the entry in this schedule, from 0.
        at: When it is due.
        sender: Who sent it; None where nobody did.
        text: What it is: a message, or what is to be done.
    """

    number: int
    at: int
    sender: Id | None
    text: str


Act = Callable[[Id, Sequence[ScheduleEntry]], Coroutine[Any, Any, Any]]


class Schedule:
    """What is due for whom, and when.

    Times are whole numbers in any unit, such as steps or seconds, as long as it is one.

    Args:
        people: The people, or their ids.
        waves: The most waves in one `run`.
        messages: The number of messages at which a `run` ends.

    Attributes:
        now: The time of the last `due` or `run`.
        sent: How many messages were sent.

    Example:
        >>> schedule = Schedule(["ann", "bo"])
        >>> schedule.script({"person": ["bo", "ann"], "at": [480, 540], "text": ["open the shop", "buy bread"]})
        >>> schedule.wake(["bo"], at=1080, text="close the shop")
        >>> schedule.send("ann", ["bo"], "Good morning!", at=540)
        >>> schedule.due(500)["text"].to_list(), schedule.next_at
        (['open the shop'], 540)
    """

    def __init__(self, people: People | Sequence[Id] | pl.Series, *, waves: int = 20, messages: int = 10_000) -> None:
        if waves < 1 or messages < 1:
            raise WorldError(
                f"a schedule of {waves} waves and {messages} messages lets nobody act.", "Give 1 or more of both."
            )
        self.waves, self.messages = waves, messages
        self.now = 0
        self.sent = 0
        self._count = 0
        self._ids = _ids(people)
        self._pending = _empty(self._ids.dtype)
        self._new: list[pl.DataFrame] = []

    def __len__(self) -> int:
        return self._pending.height + sum(table.height for table in self._new)

    @property
    def next_at(self) -> int | None:
        """When the next entry is due; None where there is none."""
        self._gather()
        return None if self._pending.is_empty() else int(self._pending["at"].min())  # type: ignore[arg-type]

    @property
    def waiting(self) -> list[Id]:
        """The people for whom anything is due, now or later, in the order of the population."""
        self._gather()
        return self._ids.filter(self._ids.is_in(self._pending["person"].unique().implode())).to_list()

    def script(self, entries: pl.DataFrame | dict[str, Any]) -> None:
        """Script mode: say beforehand who does what when, as a table with the columns `person`, `at` and `text`."""
        table = entries if isinstance(entries, pl.DataFrame) else pl.DataFrame(entries)
        missing = [name for name in ("person", "at", "text") if name not in table.columns]
        if missing:
            raise WorldError(f"the script has no column {missing[0]!r}.", "It has the columns person, at and text.")
        self._add(table["person"], table["at"], table["text"], None)

    def wake(self, people: People | Sequence[Id] | pl.Series, *, at: Moments, text: Texts = "") -> None:
        """Let people act at a time: one for all, or one for each. What is due before stays due."""
        self._add(_ids(people), at, text, None)

    def send(self, sender: Id | None, receivers: Iterable[Id], text: str, *, at: int | None = None) -> None:
        """Agent mode: a message wakes its receivers, now or at another time. The sender does not get it."""
        others = [receiver for receiver in receivers if receiver != sender]
        self.sent += len(others)
        self._add(pl.Series(others, dtype=self._ids.dtype if not others else None), at, text, sender)

    def due(self, now: int) -> pl.DataFrame:
        """Take out what is due by now: number, at, person, sender and text, by time and then in the order of entry."""
        self._gather()
        self.now = now
        is_due = self._pending["at"] <= now
        due, self._pending = self._pending.filter(is_due), self._pending.filter(~is_due)
        return due.sort("at", "number")

    async def run(self, runner: ScopeRunner, act: Act, now: int) -> str:
        """Let everybody act for whom something is due, wave after wave, until nothing more is due by now.

        Args:
            runner: The scenario.
            act: What a person does with what is due; it may send messages and wake people.
            now: The time.

        Returns:
            Why it ended: `quiet`, `waves` or `messages`. What is left over stays due.
        """
        for _ in range(self.waves):
            if self.next_at is None or self.next_at > now:
                self.now = now
                return "quiet"
            if self.sent >= self.messages:
                return "messages"
            await runner.each(self._by_person(self.due(now)), lambda item: act(*item))
        return "quiet" if self.next_at is None or self.next_at > now else "waves"

    def change_people(self, people: People | Sequence[Id] | pl.Series) -> None:
        """Let people leave and join: what was due for those who left is dropped."""
        self._gather()
        self._ids = _ids(people)
        self._pending = self._pending.filter(pl.col("person").is_in(self._ids.implode()))

    def _by_person(self, due: pl.DataFrame) -> list[tuple[Id, tuple[ScheduleEntry, ...]]]:
        """The entries of each person, in the order of the population."""
        entries: dict[Id, list[ScheduleEntry]] = {}
        for number, at, person, sender, text in due.iter_rows():
            entries.setdefault(person, []).append(ScheduleEntry(number, at, sender, text))
        order = self._ids.filter(self._ids.is_in(due["person"].unique().implode())).to_list()
        return [(person, tuple(entries[person])) for person in order]

    def _add(self, people: pl.Series, at: Moments | None, text: Texts, sender: Id | None) -> None:
        unknown = people.filter(~people.is_in(self._ids.implode())) if _same(people, self._ids) else people
        if unknown.len():
            raise UnknownNameError("person", str(unknown[0]), self._ids.cast(pl.String).to_list()[:500])
        count = people.len()
        table = pl.DataFrame(
            {
                "number": pl.int_range(self._count, self._count + count, eager=True),
                "at": _column("at", self.now if at is None else at, count, pl.Int64()),
                "person": people.cast(self._ids.dtype),
                "sender": pl.Series([sender], dtype=self._ids.dtype).new_from_index(0, count),
                "text": _column("text", text, count, pl.String()),
            }
        )
        self._count += count
        self._new.append(table)

    def _gather(self) -> None:
        if self._new:
            self._pending = pl.concat([self._pending, *self._new])
            self._new = []


def _ids(people: People | Sequence[Id] | pl.Series) -> pl.Series:
    ids = people.ids if isinstance(people, People) else pl.Series("person", people)
    return ids.alias("person")


def _same(people: pl.Series, ids: pl.Series) -> bool:
    return people.len() == 0 or people.dtype.is_integer() == ids.dtype.is_integer()


def _empty(dtype: pl.DataType) -> pl.DataFrame:
    types = {"number": pl.Int64(), "at": pl.Int64(), "person": dtype, "sender": dtype, "text": pl.String()}
    return pl.DataFrame(schema=types)


def _column(name: str, value: Any, count: int, dtype: pl.DataType) -> pl.Series:
    """One value for all, or one for each, as a column without gaps."""
    several = isinstance(value, pl.Series) or (isinstance(value, Sequence) and not isinstance(value, str))
    try:
        column = pl.Series(name, value if several else [value] * count, dtype=dtype)
    except (TypeError, pl.exceptions.PolarsError) as error:
        kind = "whole numbers" if name == "at" else "texts"
        raise WorldError(f"{name!r} of a schedule holds {kind}: {error}.") from error
    if column.len() != count or column.null_count():
        raise WorldError(
            f"{column.len() - column.null_count()} values of {name!r} were given for {count} people.",
            "Give one, or one for each.",
        )
    return column
