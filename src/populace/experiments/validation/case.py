"""What a card is made from, whether one run is judged or an experiment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from populace.experiments.evidence import Evidence, evidence_of
from populace.experiments.results import Results
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class Case:
    """A run or an experiment, as far as checks need to know it.

    Attributes:
        title: Its name.
        arms: The names of its arms; one for a run.
        statuses: How many answers had which status.
        facts: How many answers were scored, rested on little mass, or were sampled.
        witnesses: For each run that was looked into, the number of its arm and what was seen.
        models: The models that decided.
        deciders: Who decided: `model`, `rule` or `replay`.
        temperatures: The temperatures that were applied.
        runs: How many runs there are.
        failed: How many of them failed.
        replicates: How many runs the smallest arm has that came through; None for a single run.
        spent: Calls, reused calls, tokens and cost.
        unfinished: Why it is not complete, where it is not.
    """

    title: str
    arms: tuple[str, ...]
    statuses: Counter[str]
    facts: Counter[str]
    witnesses: tuple[tuple[int, Evidence], ...]
    models: tuple[str, ...]
    deciders: frozenset[str]
    temperatures: frozenset[float]
    runs: int
    failed: int
    replicates: int | None
    spent: dict[str, float]
    unfinished: str = ""

    @property
    def by_model(self) -> bool:
        """Whether any answer came from a model."""
        return self.facts["scored"] + self.facts["sampled"] > 0

    def questions(self) -> list[tuple[int, dict[str, Any]]]:
        """The questions with fixed options of every witness, with the number of its arm."""
        return [(arm, each) for arm, seen in self.witnesses for each in seen.get("questions", [])]

    def mean_by_arm(self, found: list[tuple[int, float, float]]) -> dict[str, float]:
        """Values with weights, averaged within every arm that has any."""
        made = {}
        for number in sorted({arm for arm, _, _ in found}):
            mine = [(value, weight) for arm, value, weight in found if arm == number]
            made[self.arms[number]] = float(np.average([v for v, _ in mine], weights=[w for _, w in mine]))
        return made


def case_of(subject: RunReader | Results) -> Case:
    """A run or the results of an experiment as a case."""
    return _run(subject) if isinstance(subject, RunReader) else _experiment(subject)


def _run(run: RunReader) -> Case:
    manifest, usage = run.manifest, run.usage()
    state = manifest.status.state
    return Case(
        title=run.name,
        arms=(run.name,),
        statuses=Counter(run.statuses),
        facts=Counter({name: run.count(name) for name in ("scored", "low_mass", "sampled")}),
        witnesses=((0, evidence_of(run)),),
        models=tuple(dict.fromkeys(r.model for r in manifest.regimes if r.decider == "model")),
        deciders=frozenset(regime.decider for regime in manifest.regimes),
        temperatures=frozenset(regime.temperature for regime in manifest.regimes),
        runs=1,
        failed=int(state == "failed"),
        replicates=None,
        spent={"calls": usage.calls, "reused": usage.reused, "tokens": usage.tokens, "cost": usage.cost},
        unfinished="" if state == "complete" else manifest.status.reason or state,
    )


def _experiment(results: Results) -> Case:
    rows, arms = results.rows, results.folder.arms
    done = Counter(row["arm"] for row in rows if row["status"] == "complete")
    facts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    for row in rows:
        facts.update(row.get("facts", {}))
        statuses.update(row.get("answers", {}))
    spent = {name: float(sum(row.get(name) or 0 for row in rows)) for name in ("calls", "reused", "tokens", "cost")}
    return Case(
        title=results.name,
        arms=tuple(arm.name for arm in arms),
        statuses=statuses,
        facts=facts,
        witnesses=tuple((row["arm"], row["evidence"]) for row in rows if "evidence" in row),
        models=tuple(dict.fromkeys(arm.model for arm in arms if arm.decider == "model")),
        deciders=frozenset(arm.decider for arm in arms),
        temperatures=frozenset(arm.temperature for arm in arms),
        runs=len(rows),
        failed=sum(row["status"] == "failed" for row in rows),
        replicates=min((done[arm.number] for arm in arms), default=0),
        spent=spent,
        unfinished="" if results.state == "complete" else results.reason or results.state,
    )
