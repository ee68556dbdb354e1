"""The folder of an experiment: its manifest, and a line for every run that ended.

Every process appends to a file of its own, one line in one write as a run ends, so that a process that is killed loses
only its current run. An incomplete line, as a power failure leaves it, is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pydantic

from populace.base.documents import (
    DocumentError,
    parse_json_object,
    read_bytes,
    read_json,
    read_text,
    refuse_outside_links,
)
from populace.base.errors import DamagedRunError, RunBusyError, RunNotFoundError, RunVersionError, UsageError
from populace.base.locks import acquire, is_locked
from populace.engine.workspace import Workspace, find_folder
from populace.experiments.analysis_plan import PlanRecord
from populace.experiments.arms import Arm
from populace.experiments.plan import ExperimentPlan, RecordedPlan
from populace.journal import environment, now
from populace.journal.segments import writing

FORMAT = 1
LOCK = "lock"
RunRow = dict[str, Any]


class Look(pydantic.BaseModel):
    """A time at which the results of an experiment could be looked at.

    Attributes:
        replicates: The number of replicates then.
        reason: `precision` where the width of intervals was judged, `end` where the experiment came to its end.
        widest: The widest interval among the effects on the primary outcome, where it was judged.
    """

    replicates: int = pydantic.Field(ge=0)
    reason: Literal["precision", "end"] = "end"
    widest: float | None = None


class ExperimentManifest(pydantic.BaseModel):
    """The manifest of an experiment folder.

    Attributes:
        format: The version of the folder's format.
        experiment: The experiment as data.
        arms: Its arms as data.
        environment: Versions of Python and of libraries.
        created: When it began.
        state: Whether it is running, complete, or stopped early.
        reason: Why it ended, in words.
        stop: Why it stopped early, as the kind of the stop of a run; None where it did not.
        replicates: The number of replicates, which a stop by precision may raise.
        looks: Every time that the results could be looked at, at another number of replicates than before.
        plans: The analysis plans, in the order in which they were frozen.
        end: The digest of everything else in the folder once it ended, so that later changes are noticed; empty while
            it runs, and in folders written before this was recorded.
    """

    format: int = FORMAT
    experiment: dict[str, Any]
    arms: list[dict[str, Any]]
    environment: dict[str, str] = {}
    created: str = ""
    state: Literal["running", "complete", "stopped"] = "running"
    reason: str = ""
    stop: str | None = None
    replicates: int = pydantic.Field(default=0, ge=0)
    looks: list[Look] = pydantic.Field(default=[], exclude_if=lambda looks: not looks)
    plans: list[PlanRecord] = pydantic.Field(default=[], exclude_if=lambda plans: not plans)
    end: str = pydantic.Field(default="", exclude_if=lambda end: not end)

    @property
    def plan(self) -> PlanRecord | None:
        """The analysis plan that holds: the last that was frozen before there were data, else the first."""
        before = [plan for plan in self.plans if not plan.runs]
        return before[-1] if before else self.plans[0] if self.plans else None

    @property
    def counted_looks(self) -> int:
        """How often somebody could have stopped because of what the results were; a stop by width does not."""
        ends = sum(look.reason == "end" for look in self.looks)
        return max(1, ends + int(len(self.looks) > ends))


@dataclass
class ExperimentFolder:
    """An experiment on disk."""

    path: Path
    manifest: ExperimentManifest

    @classmethod
    def find_existing(cls, experiment: ExperimentPlan, workspace: Workspace) -> ExperimentFolder | None:
        """The folder of this experiment if it was started before, else None."""
        path = workspace.experiments / experiment.label
        return cls.open(path) if (path / "manifest.json").is_file() else None

    @classmethod
    def make(cls, experiment: ExperimentPlan, arms: Sequence[Arm], workspace: Workspace) -> ExperimentFolder:
        """Create the folder of an experiment."""
        path, data = workspace.experiments / experiment.label, [arm.model_dump(mode="json") for arm in arms]
        folder = cls(
            path, ExperimentManifest(experiment=experiment.data(), arms=data, environment=environment(), created=now())
        )
        with writing(path / "rows"):
            (path / "rows").mkdir(parents=True, exist_ok=True)
        folder.write()
        return folder

    @classmethod
    def open(cls, path: Path) -> ExperimentFolder:
        """The folder of an experiment that ran before."""
        try:
            data = read_json(path / "manifest.json")
            refuse_outside_links(path, skip=("runs",))
            if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
                raise RunVersionError(
                    f"{path.name} was written in format {data['format']}; this Populace reads up to {FORMAT}.",
                    "Upgrade Populace.",
                )
            return cls(path, ExperimentManifest.model_validate(data))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RunNotFoundError(f"{path} is not an experiment: it holds no manifest.json.") from error
        except (OSError, DocumentError, pydantic.ValidationError, RecursionError) as error:
            what = f": {error}" if isinstance(error, (OSError, DocumentError)) else ""
            raise DamagedRunError(f"{path}/manifest.json cannot be read{what}.", "Restore it from a copy.") from error

    @property
    def experiment(self) -> ExperimentPlan:
        """The plan of the experiment; its code is neither checked nor imported."""
        with self._reading():
            return RecordedPlan(**self.manifest.experiment)

    @property
    def arms(self) -> list[Arm]:
        """The arms, as they were when it began."""
        with self._reading():
            return [Arm(**data) for data in self.manifest.arms]

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise what is wrong with the data in the manifest as DamagedRunError."""
        try:
            yield
        except (UsageError, pydantic.ValidationError, TypeError, ValueError) as error:
            what = error.what if isinstance(error, UsageError) else str(error).splitlines()[0]
            raise DamagedRunError(f"{self.path}/manifest.json: {what}", "Restore it from a copy.") from error

    def write(self, **changes: Any) -> None:
        """Change fields of the manifest, and replace its file atomically."""
        self.manifest = self.manifest.model_copy(update=changes | {"end": ""})
        if self.manifest.state != "running":
            self.manifest.end = self._digest(json.loads(self.manifest.model_dump_json()))
        temporary = self.path / f".manifest-{os.getpid()}.json"
        with writing(temporary):
            temporary.write_text(self.manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
            os.replace(temporary, self.path / "manifest.json")

    def look(self, look: Look) -> None:
        """Record a look; one at a number of replicates that was looked at before is no other look."""
        known = [each for each in self.manifest.looks if each.replicates != look.replicates]
        self.write(looks=[*known, look])

    def freeze(self, plan: ExperimentPlan) -> None:
        """Record the analysis plan with the time and the number of runs that ended, unless it is the last recorded."""
        analysis, known = plan.analysis_plan, self.manifest.plans
        if analysis is None or (known and known[-1].hash == analysis.hash):
            return
        frozen = PlanRecord(hash=analysis.hash, frozen=now(), runs=len(self.rows()), plan=analysis)
        self.write(plans=[*known, frozen])

    def rows(self) -> dict[tuple[int, int], RunRow]:
        """The row of each run by arm and replicate; of several attempts the first that is complete.

        A run that was repeated only to keep its folder has the row of the first attempt, with the name of the folder.
        """
        rows: dict[tuple[int, int], RunRow] = {}
        for file in sorted((self.path / "rows").glob("*.jsonl")):
            for row in self._rows_of(file):
                key = (row["arm"], row["replicate"])
                if key not in rows or rows[key]["status"] == "failed":
                    rows[key] = row
                elif row["status"] == "complete" and row.get("repeated"):
                    rows[key] = rows[key] | {"run": row["run"]}
                elif rows[key].get("repeated"):
                    rows[key] = row | {"run": rows[key]["run"]}
        return rows

    def _rows_of(self, file: Path) -> Iterator[RunRow]:
        """The rows in a file; its last line may be cut off."""
        try:
            *lines, last = read_text(file, links=False).split("\n")
            rows = [parse_json_object(line, nan=True) for line in lines if line]
            with contextlib.suppress(DocumentError):
                rows += [parse_json_object(last, nan=True)] if last else []
            for row in rows:
                places = (row.get("arm"), row.get("replicate"))
                if not all(isinstance(place, int) and 0 <= place < 2**31 for place in places):
                    raise DocumentError("a row names no arm or no replicate")
                if row["arm"] >= len(self.manifest.arms) or not isinstance(row.get("status"), str):
                    raise DocumentError("a row is of no arm of this experiment")
        except (OSError, DocumentError) as error:
            raise DamagedRunError(
                f"{self.path.name}: rows/{file.name} cannot be read: {error}.",
                "Restore it from a copy, or remove it: its runs are then run again.",
            ) from error
        yield from rows

    def _digest(self, manifest: Mapping[str, Any]) -> str:
        """One hash for the data of a manifest and for all files of rows."""
        settings = {name: value for name, value in manifest.items() if name != "end"}
        digest = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16)
        for file in sorted((self.path / "rows").glob("*.jsonl")):
            digest.update(f"{file.name}\n".encode() + read_bytes(file))
        return digest.hexdigest()

    def check(self) -> None:
        """Raise DamagedRunError if the folder of an experiment that ended is not as it was then."""
        try:
            data = read_json(self.path / "manifest.json")
            changed = self.manifest.end and self._digest(data) != self.manifest.end
        except (OSError, DocumentError) as error:
            raise DamagedRunError(f"{self.path} cannot be read: {error}.", "Restore it from a copy.") from error
        if changed:
            raise DamagedRunError(
                f"{self.path.name}: its manifest or its rows were changed after it ended.", "Restore it from a copy."
            )

    def busy(self) -> bool:
        """Whether a process is running it now."""
        return is_locked(self.path / LOCK)

    @staticmethod
    def changing_folders(path: Path) -> list[Path]:
        """The folders in which files change while the experiment of a folder runs."""
        return [path, path / "rows"]

    @staticmethod
    def activity(path: Path) -> tuple[bool, int]:
        """Whether a process runs the experiment of a folder now, and when it was last written, in nanoseconds.

        Raises:
            OSError: There is no experiment.
        """
        files = [path / "manifest.json", *path.glob("rows/*.jsonl")]
        return is_locked(path / LOCK), max(file.stat().st_mtime_ns for file in files)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from running the same experiment."""
        with (self.path / LOCK).open("w", encoding="utf-8") as file:
            try:
                acquire(file)
            except BlockingIOError:
                raise RunBusyError(
                    f"another process is running the experiment {self.path.name}.", "Wait for it to end."
                ) from None
            yield


class RowWriter:
    """Appends the rows of one process to its file."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        for number in itertools.count():
            with contextlib.suppress(FileExistsError):
                self._file = os.open(folder / "rows" / f"{os.getpid()}-{number}.jsonl", flags, 0o644)
                return

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one row, in one write."""
        os.write(self._file, (json.dumps(row, ensure_ascii=False) + "\n").encode())

    def flush(self) -> None:
        """Wait until the rows are on the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def experiment_names(workspace: Workspace) -> list[str]:
    """The experiments of a workspace."""
    place = workspace.experiments
    entries = place.iterdir() if place.is_dir() else ()
    return sorted(each.name for each in entries if not each.name.startswith("."))


def find_experiment(name: str | Path, workspace: Workspace) -> ExperimentFolder:
    """An experiment by its path, its name, or the beginning of its name."""
    if (Path(name) / "manifest.json").is_file():
        return ExperimentFolder.open(Path(name))
    names, hint = experiment_names(workspace), "`populace experiment --list` shows them."
    return ExperimentFolder.open(find_folder(workspace.experiments, str(name), names, "experiment", hint))
