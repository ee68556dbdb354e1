"""What a validity card is computed from, for a run or an experiment."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from populace.experiments.evidence import Evidence, evidence_of
from populace.experiments.results import Results
from populace.runs.caveats import ResultBasis, run_basis
from populace.runs.reader import RunReader

_SPENT = ("calls", "reused", "tokens", "cost")


@dataclass(frozen=True, kw_only=True)
class ValidityBasis(ResultBasis):
    """What a validity card of a run or an experiment is computed from.

    Attributes:
        title: The name of the run or experiment.
        arms: The names of its arms; one for a run.
        witnesses: For each run whose answers were examined, the number of its arm and the evidence.
        runs: The number of runs.
        failed: The number of failed runs.
        replicates: The number of complete runs in the smallest arm; None for a single run.
        spent: Calls, reused calls, tokens and cost.
    """

    title: str
    arms: tuple[str, ...]
    witnesses: tuple[tuple[int, Evidence], ...]
    runs: int
    failed: int
    replicates: int | None
    spent: dict[str, float]

    @property
    def by_model(self) -> bool:
        """Whether any answer came from a model."""
        return self.counts["scored"] + self.counts["sampled"] > 0

    def questions(self) -> list[tuple[int, dict[str, Any]]]:
        """The questions with fixed options of every witness, with the number of its arm."""
        return [(arm, question) for arm, evidence in self.witnesses for question in evidence.get("questions", [])]

    def mean_by_arm(self, values: list[tuple[int, float, float]]) -> dict[str, float]:
        """Values with weights, averaged within every arm that has any."""
        means = {}
        for number in sorted({arm for arm, _, _ in values}):
            mine = [(value, weight) for arm, value, weight in values if arm == number]
            means[self.arms[number]] = float(np.average([v for v, _ in mine], weights=[w for _, w in mine]))
        return means

    def worst_arm(
        self, values: list[tuple[int, float, float]], badness: Callable[[float], float]
    ) -> tuple[float, str, int]:
        """The mean of the worst arm, a phrase that names this arm if there are several, and the sum of the weights."""
        arm, value = max(self.mean_by_arm(values).items(), key=lambda item: badness(item[1]))
        where = f" in the arm where it is worst ({arm})" if len(self.arms) > 1 else ""
        return value, where, int(sum(weight for _, _, weight in values))


def validity_basis(subject: RunReader | Results) -> ValidityBasis:
    """The basis of a run, or of the results of an experiment."""
    return _run_basis(subject) if isinstance(subject, RunReader) else _experiment_basis(subject)


def _run_basis(run: RunReader) -> ValidityBasis:
    usage = run.usage()
    return ValidityBasis(
        **vars(run_basis(run)),
        title=run.name,
        arms=(run.name,),
        witnesses=((0, evidence_of(run)),),
        runs=1,
        failed=int(run.manifest.status.state == "failed"),
        replicates=None,
        spent={name: getattr(usage, name) for name in _SPENT},
    )


def _experiment_basis(results: Results) -> ValidityBasis:
    rows, arms = results.rows, results.folder.arms
    complete = Counter(row["arm"] for row in rows if row["status"] == "complete")
    counts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for row in rows:
        counts.update(row.get("facts", {}))
        statuses.update(row.get("answers", {}))
    return ValidityBasis(
        title=results.name,
        arms=tuple(arm.name for arm in arms),
        statuses=statuses,
        counts=counts,
        witnesses=tuple((row["arm"], row["evidence"]) for row in rows if "evidence" in row),
        models=tuple(dict.fromkeys(arm.model for arm in arms if arm.decider == "model")),
        deciders=frozenset(arm.decider for arm in arms),
        temperatures=frozenset(arm.temperature for arm in arms),
        notes=tuple(dict.fromkeys(note for row in rows for note in row.get("notes", []))),
        runs=len(rows),
        failed=sum(row["status"] == "failed" for row in rows),
        replicates=min((complete[arm.number] for arm in arms), default=0),
        spent={name: float(sum(row.get(name) or 0 for row in rows)) for name in _SPENT},
        unfinished="" if results.state == "complete" else results.reason or results.state,
    )
