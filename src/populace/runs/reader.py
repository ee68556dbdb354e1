"""What a run left behind, read from its journal.

Reading never needs a model, and never changes anything.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import polars as pl

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import DamagedRunError, JournalError, UsageError
from populace.base.foreign import for_html, for_line
from populace.base.formatting import plural
from populace.base.randomness import path_key, person_keys, uniforms
from populace.broker import Usage
from populace.deciders import PROMPT_SCHEMA
from populace.journal import Journal, Manifest, Record
from populace.people import Id, People
from populace.questions import STATUS_DTYPE, VALID, cleaning_counts
from populace.runs.decision import Decision

_MOST = 2**53
_ANSWER_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "step": pl.Int64,
    "person": pl.Int64,
    "prompt": pl.Int32,
    "value": pl.String,
    "status": STATUS_DTYPE,
    "path": pl.String,
    "question": pl.String,
    "purpose": pl.String,
}
"""The columns of a table of answers, for a run or step in which nobody was asked."""


class RunReader:
    """Everything that can be read from a run without a model. Reading never changes the run.

    Args:
        record: Its journal, or its record in memory.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=2), model="scripted:uniform", seed=1, keep="nothing")
        >>> run.steps, run.answers(at=1).height, dict(run.statuses)
        ([0, 1, 2], 3, {'ok': 6})
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self._metrics = pl.DataFrame()
        self._metrics_digest = ""

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """A run from its folder."""
        return cls(Journal(Path(folder)))

    def __repr__(self) -> str:
        status = self.manifest.status
        return for_line(f"<run {self.name}: {status.state}, {plural(status.steps, 'step')}>")

    def _repr_html_(self) -> str:
        return f"<p>{for_html(repr(self))}</p>{self.metrics._repr_html_()}"

    @property
    def name(self) -> str:
        """Its name."""
        return self.record.name

    @property
    def manifest(self) -> Manifest:
        """Its manifest."""
        return self.record.manifest

    @property
    def folder(self) -> Path:
        """Its folder."""
        return self.journal.folder

    @property
    def journal(self) -> Journal:
        """Its journal; a run that is kept in memory has none."""
        if not isinstance(self.record, Journal):
            raise JournalError(f"{self.name} is kept in memory only.", "Without keep='nothing' it has a folder.")
        return self.record

    @property
    def steps(self) -> list[int]:
        """The numbers of the committed steps, 0 being the beginning."""
        return self.record.steps()

    @property
    def digest(self) -> str:
        """One hash for everything committed: equal runs have equal digests."""
        return self.journal.digest()

    @property
    def metrics(self) -> pl.DataFrame:
        """All metrics, a row for each step; only steps that are new since the last time are read."""
        steps, table = self.steps, self._metrics
        last = int(table["step"][-1]) if table.height else -1
        if last >= 0 and (last not in steps or self._digest_of(last) != self._metrics_digest):
            # The run was written anew: what was read before does not count.
            table, last = pl.DataFrame(), -1
        fresh = self.rows("metrics", since=last + 1)
        if fresh.height:
            table = pl.concat([table, fresh], how="diagonal_relaxed") if table.width else fresh
            self._metrics, self._metrics_digest = table, self._digest_of(int(table["step"][-1]))
        return table.clone()

    def _digest_of(self, step: int) -> str:
        return self.record.commit_of(step).digest if isinstance(self.record, Journal) else ""

    @property
    def events(self) -> pl.DataFrame:
        """All events; a run in which nothing happened has the same columns and no row."""
        events = self.rows("events")
        if events.width:
            return events
        types = {"step": pl.Int64(), "kind": pl.String(), "person": self._id_type(), "data": pl.String()}
        return pl.DataFrame(schema=types)

    def people(self, at: int | None = None) -> People:
        """The population after a step; at the end by default."""
        return People(self.record.people(self._step(at)))

    def table(self, name: str, at: int | None = None) -> pl.DataFrame:
        """A table of the world as it was after a step."""
        for step in range(self._step(at), -1, -1):
            table = self.record.table(step, f"tables/{name}")
            if table is not None:
                return table
        raise UsageError(f"{self.name} has no table {name!r}.")

    def history(self, name: str) -> pl.DataFrame:
        """Every version of a table of the world that a step put, with the number of the step."""
        return self.rows(f"tables/{name}")

    def rows(self, name: str, *where: pl.Expr, since: int = 0, until: int | None = None) -> pl.DataFrame:
        """The rows of a table over all steps that meet every condition; only these are read into memory.

        Args:
            name: The table, such as `answers`, `events` or `tables/memories`.
            where: The conditions.
            since: The first step that counts.
            until: The last step that counts.
        """
        steps = [step for step in self.steps if step >= since and (until is None or step <= until)]
        return self.record.rows(name, [step for step in steps if name in self.record.table_names(step)], *where)

    def answers(self, at: int | None = None, *, until: int | None = None) -> pl.DataFrame:
        """All answers, or those of one step, or those before a step, with the question that each belongs to."""
        answers = self._step_rows("answers", at, until)
        if not answers.height:
            return pl.DataFrame(schema=_ANSWER_COLUMNS | {"person": self._id_type()})
        asks = self._step_rows("asks", at, until).select("step", "ask", "path", "question", "purpose")
        asks = asks.with_columns(pl.col("question").str.json_path_match("$.text"))
        return answers.join(asks, on=["step", "ask"], how="left", maintain_order="left").drop("ask")

    def prompts(self, at: int | None = None, *, until: int | None = None) -> pl.DataFrame:
        """The distinct prompts behind the answers."""
        prompts = self._step_rows("prompts", at, until)
        return prompts if prompts.height else pl.DataFrame(schema={"step": pl.Int64, "ask": pl.Int32, **PROMPT_SCHEMA})

    def cleaning_counts(self) -> pl.DataFrame:
        """How often each cleaning rule changed a reply to an utterance, or made it invalid."""
        tables = [(self.record.table(step, "asks"), self.record.table(step, "prompts")) for step in self.steps]
        parts = [cleaning_counts(asks, prompts) for asks, prompts in tables if asks is not None and prompts is not None]
        if not parts:
            return pl.DataFrame(schema={"outcome": pl.String, "rule": pl.String, "replies": pl.Int64})
        return pl.concat(parts).group_by("outcome", "rule").agg(pl.sum("replies")).sort("outcome", "rule")

    @property
    def statuses(self) -> Counter[str]:
        """How many answers had which status."""
        return self.statuses_of(self.steps)

    def statuses_of(self, steps: Iterable[int]) -> Counter[str]:
        """How many answers of some steps had which status."""
        return sum((Counter(self.record.facts(step)["statuses"]) for step in steps), Counter())

    def count(self, fact: str) -> int:
        """A count over all steps: `scored`, `sampled` or `low_mass` answers."""
        return sum(self.record.facts(step).get(fact, 0) for step in self.steps)

    @property
    def invalid_share(self) -> float:
        """The share of invalid answers; 0 where nothing was asked."""
        return invalid_share(self.statuses)

    def usage(self, *, until: int | None = None) -> Usage:
        """What this run itself used; what a fork shares with its parent cost it nothing."""
        total = Usage()
        for line in self.record.usage():
            if until is None or line["step"] < until:
                for name, part in usage_of_step(line).__dict__.items():
                    setattr(total, name, getattr(total, name) + part)
        return total

    @property
    def seconds(self) -> float:
        """How long its own steps took."""
        return seconds_of(self.record.usage())

    def decisions(self, step: int, person: Id) -> list[Decision]:
        """The decisions of one person in a step, each with what is recorded behind it."""
        who = self.people(step).person(person)
        asks, prompts, answers = (self.record.table(step, name) for name in ("asks", "prompts", "answers"))
        if asks is None or answers is None:
            return []
        regime = self.manifest.regime_at(step)
        decisions = []
        for answer in answers.filter(pl.col("person") == who.id).iter_rows(named=True):
            ask = asks.row(answer["ask"], named=True)
            mine = pl.col("ask") == answer["ask"], pl.col("prompt") == answer["prompt"]
            rows = [] if prompts is None else prompts.filter(*mine).to_dicts()
            key = path_key(regime.seed, ask["path"])
            scored = any(row["probabilities"] for row in rows)
            draw = float(uniforms(key, person_keys(pl.Series([who.id])))[0]) if scored else None
            decisions.append(
                Decision(
                    step,
                    ask["path"],
                    dict(who),
                    json.loads(ask["question"]),
                    answer["value"],
                    answer["status"],
                    rows,
                    ask["temperature"],
                    draw,
                    ask["purpose"],
                    answer.get("memories"),
                )
            )
        return decisions

    def interviews(self) -> list[dict[str, Any]]:
        """The side interviews with its people."""
        if not isinstance(self.record, Journal) or not (self.folder / "interviews.jsonl").is_file():
            return []
        try:
            lines = read_text(self.folder / "interviews.jsonl", links=False).split("\n")
            return [parse_json_object(line, nan=True) for line in lines if line.endswith("}")]
        except (OSError, DocumentError) as error:
            raise DamagedRunError(f"{self.name}: interviews.jsonl cannot be read: {error}.") from error

    def _step(self, at: int | None) -> int:
        steps = self.steps
        if not steps:
            raise JournalError(f"{self.name} has no committed step yet.")
        if at is None:
            return steps[-1]
        if at not in steps:
            if isinstance(at, str):
                raise UsageError(f"the step {at!r} is a text, not a number.", "Write the number without quotes.")
            raise UsageError(f"{self.name} has no step {at}; it has 0 to {steps[-1]}.")
        return at

    def _id_type(self) -> pl.DataType:
        return self.people().ids.dtype if self.steps else pl.Int64()

    def _step_rows(self, name: str, at: int | None, until: int | None) -> pl.DataFrame:
        """The rows of a table of one step, or of all steps before one."""
        last = None if until is None else until - 1
        return self.rows(name, until=last) if at is None else self.rows(name, since=self._step(at), until=at)


def invalid_share(statuses: Mapping[str, int]) -> float:
    """The share of invalid answers among those counted by status; 0 where there are none."""
    total = sum(statuses.values())
    return 1 - sum(statuses.get(status, 0) for status in VALID) / total if total else 0.0


def usage_of_step(line: Mapping[str, Any]) -> Usage:
    """What a step used, from its line in the journal."""
    try:
        usage = Usage.from_json({name: line[name] for name in Usage.__dataclass_fields__ if name in line})
    except (TypeError, ValueError) as error:
        raise _damaged_usage(line) from error
    counts = [value for name, value in usage.__dict__.items() if name != "purposes"]
    if not all(_is_amount(value) for value in [*counts, *usage.purposes.values()]):
        raise _damaged_usage(line)
    return usage


def seconds_of(lines: Iterable[Mapping[str, Any]]) -> float:
    """How long some steps took, from their lines in the journal."""
    total = 0.0
    for line in lines:
        if not _is_amount(line.get("seconds", 0.0)):
            raise _damaged_usage(line)
        total += line.get("seconds", 0.0)
    return float(total)


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _MOST


def _damaged_usage(line: Mapping[str, Any]) -> DamagedRunError:
    return DamagedRunError(
        f"usage.jsonl: what step {line.get('step')} used cannot be read.",
        "Restore it from a copy, or remove it: what the run cost is then not known.",
    )
