"""A believability study in its folder: interviews, rankings and what they say. It can be stopped and continued."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.documents import read_json, refuse_outside_links
from populace.base.errors import DamagedRunError, UnknownNameError, UsageError
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.broker import CallSettings, price_of
from populace.community.model_caller import ModelCaller
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.evaluation.believability.analysis import Believability
from populace.evaluation.believability.conditions import Condition
from populace.evaluation.believability.files import read_people_answers, read_rankings
from populace.evaluation.believability.interview_questions import InterviewQuestion, interview_questions
from populace.evaluation.believability.interviews import hold_interviews
from populace.evaluation.believability.judging import RANKINGS, RankingTask, rank_by_model, ranking_tasks
from populace.evaluation.believability.plan import BelievabilityPlan
from populace.journal.segments import writing

FOLDER = "believability"
Progress = Callable[[str, int, int], None]
"""Gets what is under way, how much of it is done, and how much there is."""

_TOKENS_PER_CALL = {"interview": (500, 90), "judging": (1100, 2)}
"""A rough number of tokens read and written in a call, for an estimate before anything is spent."""


@dataclass(frozen=True)
class StudyEstimate:
    """What a study takes at most; replies in the call store cost nothing, and equal prompts are asked once.

    Attributes:
        residents: How many residents are interviewed.
        questions: How many questions each is asked.
        interviews: Calls for answers.
        judging: Calls for rankings, by judge.
        cost: About how much money; None where a price is not known.
    """

    residents: int
    questions: int
    interviews: int
    judging: dict[str, int]
    cost: float | None

    @property
    def calls(self) -> int:
        """All calls."""
        return self.interviews + sum(self.judging.values())


class BelievabilityStudy:
    """A study of a workspace.

    Args:
        plan: The plan; a study of this name that exists is continued.
        workspace: The workspace or its folder.

    Raises:
        UsageError: There is a study of this name with other runs, questions or conditions.
    """

    def __init__(self, plan: BelievabilityPlan, workspace: Workspace | str | Path | None = None) -> None:
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
        self.plan = plan
        self.folder = self.workspace.folder / FOLDER / plan.name
        if self.folder.is_dir():
            refuse_outside_links(self.folder)
        known = self._manifest()
        if known is not None and known["identity"] != plan.identity():
            raise UsageError(
                f"there is a study {plan.name!r} with other runs, questions, conditions or settings.",
                "Give this one another name.",
            )
        self.questions: tuple[InterviewQuestion, ...] = interview_questions(plan.questions)

    @classmethod
    def open(cls, name: str, workspace: Workspace | str | Path | None = None) -> BelievabilityStudy:
        """A study that was begun, by its name."""
        place = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
        names = believability_names(place)
        if name not in names:
            raise UnknownNameError("believability study", name, names, "Begin with `populace believability RUN`.")
        try:
            plan = BelievabilityPlan(**read_json(place.folder / FOLDER / name / "study.json")["plan"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DamagedRunError(f"the study {name} cannot be read.", "Begin it again under another name.") from error
        return cls(plan, place)

    def estimate(self) -> StudyEstimate:
        """What the study takes at most, before anything is spent; a condition that was answered before is free."""
        residents, interviews, cost = 0, 0, 0.0
        priced = True
        for name in self.plan.runs:
            run = Run(self.workspace.open(name))
            count = len(run.people(self.plan.step)) if self.plan.residents is None else len(self.plan.residents)
            residents += count
            left = [each for each in self.plan.conditions if not self._answer_file(name, each).is_file()]
            calls = count * len(self.questions) * len(left)
            interviews += calls
            model = self.plan.model or run.manifest.regime_at(run.steps[-1]).model
            money = _money(model, calls, "interview")
            priced, cost = priced and money is not None, cost + (money or 0.0)
        picks = residents * len(self.questions) * (len(self.plan.condition_names) - 1)
        judging = {judge: picks for judge in self.plan.judges if not self._ranking_file(judge).is_file()}
        for judge, calls in judging.items():
            money = _money(judge, calls, "judging")
            priced, cost = priced and money is not None, cost + (money or 0.0)
        return StudyEstimate(residents, len(self.questions), interviews, judging, cost if priced else None)

    def interview(self, *, calls: CallSettings | None = None, on_progress: Progress | None = None) -> None:
        """Hold the interviews that are missing; each condition is written when it is complete."""
        self._write_manifest()
        for name in self.plan.runs:
            for condition in self.plan.conditions:
                file = self._answer_file(name, condition)
                if file.is_file():
                    continue
                what = f"interviews: {condition.name}"
                held = hold_interviews(
                    Run(self.workspace.open(condition.run or name)),
                    condition,
                    self.questions,
                    step=self.plan.step,
                    residents=self.plan.residents,
                    model=self.plan.model,
                    words=self.plan.words,
                    calls=calls,
                    on_progress=_named(what, on_progress),
                )
                own = Run(self.workspace.open(name)).name
                _write_table(held.lives.with_columns(run=pl.lit(own)), self._life_file(name), only_new=True)
                _write_table(held.answers.with_columns(run=pl.lit(own)), file)

    def judge(self, *, calls: CallSettings | None = None, on_progress: Progress | None = None) -> None:
        """Let the models of the plan rank the answers, each that has not yet."""
        self._write_manifest()
        for judge in self.plan.judges:
            file = self._ranking_file(judge)
            if file.is_file():
                continue
            rankings = rank_by_model(
                self.tasks(judge),
                ModelCaller(judge, calls),
                open_store=self.workspace.store,
                on_progress=_named(f"judge {judge}", on_progress),
            )
            _write_table(rankings, file)

    def add_rankings(self, path: str | Path, judge: str) -> None:
        """Add the rankings that a person made in a form."""
        self.add_judgements(read_rankings(path, self.tasks(f"person {judge}"), judge))

    def add_judgements(self, rankings: pl.DataFrame) -> None:
        """Add rankings with the columns of `RANKINGS`; those of a judge replace earlier ones of the same judge."""
        for (judge,), mine in rankings.group_by("judge", maintain_order=True):
            _write_table(mine, self._ranking_file(str(judge)))

    def tasks(self, judge: str) -> list[RankingTask]:
        """What a judge is to rank, in the orders drawn for this judge."""
        wordings = {question.id: question.text for question in self.questions}
        return ranking_tasks(self.answers, self.lives, wordings, judge, self.plan.seed)

    @cached_property
    def answers(self) -> pl.DataFrame:
        """All answers, with those that people wrote."""
        files = [self._answer_file(name, each) for name in self.plan.runs for each in self.plan.conditions]
        missing = [file for file in files if not file.is_file()]
        if missing:
            raise UsageError(f"{len(missing)} of {len(files)} interviews are not held yet.", "Run the study first.")
        tables = [_read_table(file) for file in files]
        if self.plan.people:
            tables.append(read_people_answers(self.plan.people, self.lives, self.questions))
        return pl.concat(tables, how="vertical_relaxed")

    @property
    def lives(self) -> pl.DataFrame:
        """What is known of every resident: run, resident, name, life."""
        return pl.concat([_read_table(self._life_file(name)) for name in self.plan.runs])

    def rankings(self) -> pl.DataFrame:
        """The rankings of all judges so far."""
        files = sorted((self.folder / "rankings").glob("*.parquet"))
        tables = [_read_table(file) for file in files]
        return pl.concat(tables) if tables else pl.DataFrame(schema=RANKINGS)

    def result(self) -> Believability:
        """What was found so far."""
        return Believability(self.answers, self.rankings(), self.plan.condition_names, self.plan.seed)

    def _answer_file(self, run: str, condition: Condition) -> Path:
        return self.folder / "answers" / f"{_file_name(f'{run}-{condition.name}')}.parquet"

    def _life_file(self, run: str) -> Path:
        return self.folder / "lives" / f"{_file_name(run)}.parquet"

    def _ranking_file(self, judge: str) -> Path:
        version = f"{judge}|{self.plan.people or ''}"
        return self.folder / "rankings" / f"{_file_name(judge, version)}.parquet"

    def _manifest(self) -> dict[str, Any] | None:
        path = self.folder / "study.json"
        try:
            known = read_json(path) if path.is_file() else None
        except (OSError, ValueError) as error:
            raise DamagedRunError(f"{path} cannot be read: {error}.", "Begin again under another name.") from error
        return known if isinstance(known, dict) and "identity" in known else None

    def _write_manifest(self) -> None:
        path = self.folder / "study.json"
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                {"identity": self.plan.identity(), "plan": self.plan.data()}, indent=2, ensure_ascii=False
            )
            path.write_text(text + "\n", encoding="utf-8")


def believability_names(workspace: Workspace) -> list[str]:
    """The names of all believability studies of a workspace."""
    return sorted(path.parent.name for path in (workspace.folder / FOLDER).glob("*/study.json"))


def _money(model: str, calls: int, purpose: str) -> float | None:
    price = price_of(model)
    if price is None:
        return None
    read, written = _TOKENS_PER_CALL[purpose]
    return calls * (read * price.prompt + written * price.completion) / 1e6


def _named(what: str, on_progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if on_progress is None else lambda done, total: on_progress(what, done, total)


def _file_name(text: str, version: str | None = None) -> str:
    """A name for a file that is unique to the text."""
    digest = hashlib.blake2b((version or text).encode(), digest_size=3).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', text).strip('-.')[-60:]}-{digest}"


def _read_table(path: Path) -> pl.DataFrame:
    try:
        return read_plain_table(path)
    except UNREADABLE as error:
        raise DamagedRunError(
            f"{path} cannot be read ({reading_problem(error)}).", "Remove it and run the study again, which writes it."
        ) from error


def _write_table(table: pl.DataFrame, path: Path, *, only_new: bool = False) -> None:
    if only_new and path.is_file():
        return
    temporary = path.with_name(f".{path.name}")
    with writing(temporary):
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(temporary, compression="zstd")
        temporary.replace(path)
