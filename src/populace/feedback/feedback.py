"""Scores and rewritings of a workspace: one file of JSON lines for each rater.

A line holds everything needed for training, so it stays useful after its run is deleted. It is appended in one write
and flushed before the next answer is shown. Of several lines by one rater about one answer the last one counts.
"""

import fcntl
import json
import math
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import StorageError, UnknownNameError, UsageError
from populace.base.foreign import for_line
from populace.base.formatting import plural, shortened
from populace.engine.workspace import Workspace
from populace.feedback.items import Item
from populace.feedback.lines import SCHEMA, FeedbackFile, JudgementKind
from populace.feedback.rewrite import parse_rewrite
from populace.journal import now
from populace.journal.segments import writing
from populace.statistics import Agreement, agreement, mean

SCORES = (1, 2, 3, 4, 5)

_NAME = re.compile(r"\w[\w.-]{0,63}")
_WHOLE, _TEXT = pl.Int64(), pl.String()
COLUMNS: dict[str, pl.DataType] = {
    "item": _TEXT, "rater": _TEXT, "verdict": _TEXT, "score": _WHOLE, "rewrite": _TEXT, "run": _TEXT,
    "experiment": _TEXT, "arm": _TEXT, "model": _TEXT, "step": _WHOLE, "path": _TEXT, "person": _TEXT,
    "kind": _TEXT, "purpose": _TEXT, "messages": pl.List(pl.Struct({"role": _TEXT, "content": _TEXT})),
    "lead": _TEXT, "reply": _TEXT, "value": _TEXT, "queue": _TEXT, "seed": _WHOLE, "held": _TEXT, "schema": _WHOLE,
}  # fmt: skip
"""The columns of the table, which are the keys of a line."""


@dataclass(frozen=True)
class RaterAgreement:
    """How far raters agree about the scores, or why it cannot be computed.

    Attributes:
        measures: The agreement over answers that several raters scored; None if there are too few.
        note: What a reader must know of it.
    """

    measures: Agreement | None
    note: str


class FeedbackStore:
    """The feedback of all raters in a workspace.

    Args:
        workspace: The workspace or its folder.

    Example:
        >>> import tempfile
        >>> FeedbackStore(tempfile.mkdtemp()).table().height
        0
    """

    def __init__(self, workspace: Workspace | str | Path | None = None) -> None:
        self.workspace = workspace if isinstance(workspace, Workspace) else Workspace(workspace)
        self.folder = self.workspace.folder / "feedback"

    def raters(self) -> list[str]:
        """The names of all raters; files with other names are left out."""
        return sorted(path.stem for path in self.folder.glob("*.jsonl") if _names_rater(path.stem))

    def score(self, item: Item, rater: str, score: int, *, queue: str = "", seed: int = 0) -> None:
        """Store a score from 1 (does not fit at all) to 5 (fits fully)."""
        if score not in SCORES:
            raise UsageError(f"{score} is not a score.", "A score is 1, 2, 3, 4 or 5.")
        self._append(item, rater, "scored", queue, seed, score=score)

    def rewrite(self, item: Item, rater: str, text: str, *, queue: str = "", seed: int = 0) -> None:
        """Store what the person should have answered."""
        self._append(item, rater, "rewritten", queue, seed, rewrite=parse_rewrite(item, text))

    def skip(self, item: Item, rater: str, *, queue: str = "", seed: int = 0) -> None:
        """Record that the rater cannot or will not judge it."""
        self._append(item, rater, "skipped", queue, seed)

    def withdraw(self, item: Item, rater: str, *, queue: str = "", seed: int = 0) -> None:
        """Withdraw the rater's feedback on it."""
        self._append(item, rater, "withdrawn", queue, seed)

    def judgements(self, rater: str) -> dict[str, dict[str, Any]]:
        """The last feedback of a rater on every answer, by the key of the answer, without withdrawn feedback."""
        last = {line["item"]: line for line in self._file(check_rater(rater)).lines}
        return {key: line for key, line in last.items() if line["verdict"] != "withdrawn"}

    def table(self) -> pl.DataFrame:
        """A row for every answer and rater, with everything needed for training."""
        rows = [
            line | {"person": str(line["person"])}
            for rater in self.raters()
            for line in self.judgements(rater).values()
        ]
        records = [{name: row.get(name) for name in COLUMNS} for row in rows]
        return pl.DataFrame(records, schema=COLUMNS, orient="row")

    def unreadable(self) -> int:
        """The number of incomplete lines, as a killed process leaves them."""
        return sum(self._file(rater).incomplete for rater in self.raters())

    def problems(self, most: int = 10) -> list[str]:
        """What does not count: files that are no rater's, and lines that are no feedback, each named.

        Args:
            most: How many are named; the others are counted.
        """
        others = [path.name for path in sorted(self.folder.glob("*.jsonl")) if not _names_rater(path.stem)]
        foreign = [f"{for_line(shortened(name))}: this cannot be the file of a rater." for name in others]
        problems = foreign + [problem for rater in self.raters() for problem in self._file(rater).problems]
        more = len(problems) - most
        return problems[:most] + ([f"{plural(more, 'more line or file', 'more lines or files')}."] if more > 0 else [])

    def counts(self) -> pl.DataFrame:
        """For every rater: how many answers were scored, rewritten and skipped, and the mean score."""
        verdict = pl.col("verdict")
        return (
            self.table()
            .group_by("rater")
            .agg(
                scored=(verdict == "scored").sum(),
                rewritten=(verdict == "rewritten").sum(),
                skipped=(verdict == "skipped").sum(),
                mean_score=pl.col("score").mean(),
                last=pl.col("held").max(),
            )
            .sort("rater")
        )

    def scores(self, by: str = "run") -> pl.DataFrame:
        """Mean score with its t interval, by `run`, `arm`, `model`, `kind` or `purpose`; this is not blind.

        Answers of one run are not independent of each other, so the interval speaks of these answers only.
        """
        if by not in ("run", "arm", "model", "kind", "purpose"):
            raise UnknownNameError("way to group scores", by, ["run", "arm", "model", "kind", "purpose"])
        rows = []
        scored = self.table().drop_nulls("score")
        for value in scored[by].unique().sort().to_list():
            scores = scored.filter(pl.col(by) == value)["score"]
            estimate = mean(scores, shares=False) if scores.len() > 1 else None
            row = {by: value, "mean": scores.mean(), "low": None, "high": None, "n": scores.len()}
            rows.append(row | ({"low": estimate.low, "high": estimate.high} if estimate else {}))
        numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64())
        table = pl.DataFrame(rows, schema={by: pl.String(), **numbers, "n": pl.Int64()}, orient="row")
        return table.with_columns(pl.selectors.float().fill_nan(None))

    def agreement(self) -> RaterAgreement:
        """Krippendorff's alpha over ordinal scores, on the answers that several raters scored."""
        scored = self.table().drop_nulls("score")
        raters = scored["rater"].n_unique()
        shared = scored.filter(pl.len().over("item") > 1)["item"].n_unique()
        if raters < 2:
            return RaterAgreement(
                None, f"{raters} rater has scored so far; agreement needs two." if raters else "No scores yet."
            )
        if shared < 2:
            return RaterAgreement(
                None,
                f"{plural(shared, 'answer was', 'answers were')} scored by several raters; "
                "agreement needs at least two.",
            )
        result = agreement(scored, item="item", rater="rater", value="score", level="ordinal")
        if math.isnan(result.alpha.value):
            return RaterAgreement(
                result, "Every score of the shared answers is the same, so chance would agree as well."
            )
        few = f" Caution: {result.alpha.warning}." if result.alpha.warning else ""
        return RaterAgreement(
            result,
            f"{plural(result.items, 'answer was', 'answers were')} scored by two or more of "
            f"{plural(result.raters, 'rater')}.{few}",
        )

    def _append(self, item: Item, rater: str, verdict: JudgementKind, queue: str, seed: int, **fields: Any) -> None:
        rater = check_rater(rater)
        line = {"schema": SCHEMA, "item": item.key, "rater": rater, "verdict": verdict, "score": None, "rewrite": None}
        line |= fields | {"run": item.run, "experiment": item.experiment, "arm": item.arm, "model": item.model}
        line |= {"step": item.step, "path": item.path, "person": item.person, "kind": item.kind}
        line |= {"purpose": item.purpose, "messages": item.messages, "lead": item.lead, "reply": item.reply}
        line |= {"value": item.value, "queue": queue, "seed": seed, "held": now()}
        path = self.folder / f"{rater}.jsonl"
        with writing(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            _append(path, (json.dumps(line, ensure_ascii=False) + "\n").encode())

    def _file(self, rater: str) -> FeedbackFile:
        return FeedbackFile.read(self.folder / f"{rater}.jsonl")


def check_rater(name: str) -> str:
    """The name of a rater, normalised; raises an error if it cannot be a file name."""
    plain = unicodedata.normalize("NFC", name).strip()
    if not _NAME.fullmatch(plain):
        raise UsageError(
            f"{name!r} cannot be the name of a rater.",
            "Use letters, digits, dots, dashes and underscores, beginning with a letter or digit, at most 64.",
        )
    return plain


def _names_rater(name: str) -> bool:
    return bool(_NAME.fullmatch(unicodedata.normalize("NFC", name)))


def _append(path: Path, line: bytes) -> None:
    """Append a line in one write, after a line break if a killed process left an incomplete line."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(file, line) != len(line):
            raise StorageError(f"{path} could not be written whole.", "Free some space and judge the answer again.")
        os.fsync(file)
    finally:
        os.close(file)
