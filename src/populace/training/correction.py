"""Correction in rounds: simulate, sample decisions, score them, train, and simulate again.

Beside the arm that learns from the scores, a control arm learns with the same compute from the same scores shuffled, so
that what training does by itself is not taken for the effect of feedback. On a scenario that is never learned from, the
distance from the base is measured in every round: what was lost elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import TrainingError, UnknownNameError
from populace.base.randomness import stream
from populace.engine.run import Run
from populace.engine.workspace import Workspace
from populace.models import SMOLLM2, from_peft
from populace.runs.reader import RunReader
from populace.training.base_network import add_lora, load_adapter, load_base
from populace.training.correction_plan import CorrectionPlan
from populace.training.correction_runs import CorrectionRuns
from populace.training.decision_records import option_shares, sample_decisions
from populace.training.human_targets import HumanTargets
from populace.training.lessons import Lessons
from populace.training.own_files import check_own_values, parse_own_json, read_own_text
from populace.training.sequences import ModelVocabulary
from populace.training.training_state import locked_folder, write_text

_NEXT_RUN = 1_000_000
"""How far apart the seeds of the runs of one round are."""


@dataclass(frozen=True)
class RoundResult:
    """What was measured before the training of a round.

    Attributes:
        seed: The seed.
        arm: `feedback` or `control`.
        round: How often was trained before.
        score: The mean score of the sampled decisions; NaN where the model answered nothing that counts.
        score_count: How many of them were scored.
        drift: The mean total variation distance from the base on the held-out scenario.
        mass: The mean probability there that fell on any option.
        lessons: How many pairs or steps the training after it had; 0 after the last.
    """

    seed: int
    arm: str
    round: int
    score: float
    score_count: int
    drift: float
    mass: float
    lessons: int


class Correction:
    """A plan in progress. What is done is in its folder, and the same call goes on after an interruption.

    Args:
        plan: The plan.
        folder: Where everything is written: runs, scores, adapters, results and the report.
        device: `cpu` or `cuda`.
    """

    def __init__(self, plan: CorrectionPlan, folder: str | Path, *, device: str = "cpu") -> None:
        self.plan, self.folder, self.device = plan, Path(folder), device
        self.base = SMOLLM2.fetch() if plan.base == "embedded" else Path(plan.base).expanduser()
        if not self.base.exists():
            raise TrainingError(f"there is no model {self.base}.", "Name a GGUF file or a folder, or `embedded`.")
        if plan.engine == "embedded" and not self.base.is_file():
            raise TrainingError(f"{self.base} is no GGUF file.", "Write `engine: transformers` for a folder.")
        for part in (plan.scenario, plan.held_out):
            part.build()  # What is wrong with a parameter is said before anything is computed.
        self.workspace = Workspace(self.folder / "workspace")
        self.runs = CorrectionRuns(self.workspace)
        self.human = None if plan.score.human is None else HumanTargets(plan.score.human)
        self.vocabulary = ModelVocabulary(self.base)
        self.lessons = Lessons(plan, self.workspace, self.human)
        self._on_phase: Callable[[str], None] = lambda phase: None
        self._check_plan()

    def _check_plan(self) -> None:
        path = self.folder / "plan.json"
        text, earlier = self.plan.model_dump_json(indent=1), read_own_text(path)
        if path.exists() and _without_seeds(earlier, path) != _without_seeds(text, path):
            raise TrainingError(
                f"{self.folder} holds the correction of another plan.",
                "Name another folder; only `seeds` may change, to add some.",
            )
        with locked_folder(self.folder):
            write_text(path, text)

    @property
    def results(self) -> list[RoundResult]:
        """What was measured so far."""
        path = self.folder / "results.jsonl"
        return [
            check_own_values(RoundResult, parse_own_json(line, path, number), path, number)
            for number, line in enumerate(read_own_text(path).split("\n"), 1) if line.strip()
        ]  # fmt: skip

    def run(
        self,
        watch: Callable[[RoundResult], None] = lambda result: None,
        *,
        seeds: Sequence[int] = (),
        on_phase: Callable[[str], None] = lambda phase: None,
    ) -> list[RoundResult]:
        """Do what is left of the plan, and return all results.

        Args:
            watch: Called with each result.
            seeds: Only these seeds of the plan, for now; all if empty.
            on_phase: Called with what is done next, in words.
        """
        self._on_phase = on_phase
        for seed in seeds:
            if seed not in self.plan.seeds:
                raise UnknownNameError("seed of the plan", str(seed), map(str, self.plan.seeds))
        with locked_folder(self.folder):
            done = {(each.seed, each.arm, each.round): each for each in self.results}
            for seed in seeds or self.plan.seeds:
                for arm in self.plan.arms:
                    if (seed, arm, self.plan.rounds) not in done:
                        self._run_arm(seed, arm, done, watch)
        return self.results

    def _run_arm(
        self,
        seed: int,
        arm: str,
        done: dict[tuple[int, str, int], RoundResult],
        watch: Callable[[RoundResult], None],
    ) -> None:
        model = add_lora(load_base(self.base, self.device, self.plan.precision), self.plan.rank, seed)
        self._on_phase(f"seed {seed}, {arm}: simulating {self.plan.held_out.name}, which is held out")
        held_out = self._held_out(seed)
        before, _ = option_shares(model, self.vocabulary, held_out)
        for number in range(self.plan.rounds + 1):
            place = self._place(seed, arm, number)
            if (seed, arm, number) in done:
                continue
            if number:
                load_adapter(model, place / "adapter", self.base)
            where = f"seed {seed}, {arm}, round {number}"
            self._on_phase(f"{where}: simulating {self.plan.scenario.name}")
            runs = self._simulate(seed, arm, number)
            generator = stream(seed, f"correction/{number}")
            decisions = sample_decisions(runs, self.plan.decisions, generator)
            if not decisions.height and not number:
                raise _nothing_to_score(runs[0], self.plan.scenario.name)
            self._on_phase(f"{where}: scoring {decisions.height} decisions")
            # After training, a model may answer nothing that counts: that is a result.
            scores = self.lessons.score(decisions) if decisions.height else np.empty(0)
            shares, masses = option_shares(model, self.vocabulary, held_out)
            distances = [float(np.abs(old - new).sum() / 2) for old, new in zip(before, shares, strict=True)]
            lessons = 0
            if number < self.plan.rounds:
                self._on_phase(f"{where}: training")
                following = self._place(seed, arm, number + 1)
                if decisions.height:
                    lessons = self.lessons.teach(
                        model, self.vocabulary, decisions, scores, arm=arm, seed=seed, number=number
                    )
                self._keep(model, following, arm, number + 1)
            known = scores[~np.isnan(scores)]
            result = RoundResult(
                seed, arm, number, float(known.mean()) if len(known) else float("nan"), len(known),
                float(np.mean(distances)), float(masses.mean()), lessons,
            )  # fmt: skip
            self._append(result)
            watch(result)

    def _simulate(self, seed: int, arm: str, number: int) -> list[Run]:
        """The simulations of a round, each with a seed of its own, which no other round has."""
        return [
            self.runs.run(
                self.plan.scenario.build(),
                model=self._spec(seed, arm, number),
                seed=_run_seed(seed, number) + _NEXT_RUN * place,
                adapter=self._adapter(seed, arm, number) if number else None,
            )
            for place in range(self.plan.runs)
        ]

    def _held_out(self, seed: int) -> pl.DataFrame:
        """Decisions of the base in the scenario that is never learned from; their prompts are asked in every round."""
        run = self.runs.run(self.plan.held_out.build(), model=self._spec(seed, "", 0), seed=_run_seed(seed, 0))
        decisions = sample_decisions([run], self.plan.decisions, stream(seed, "correction/held-out"))
        if not decisions.height:
            raise TrainingError(f"{self.plan.held_out.name} asked nothing with options.", "Hold out another one.")
        return decisions

    def _spec(self, seed: int, arm: str, number: int) -> str:
        plus = f"+{self._adapter(seed, arm, number).resolve()}" if number else ""
        device = f"?device={self.device}" if self.plan.engine == "transformers" else ""
        return f"{self.plan.engine}:{self.base.resolve()}{plus}{device}"

    def _adapter(self, seed: int, arm: str, number: int) -> Path:
        return self._place(seed, arm, number) / f"{self.plan.name}.gguf"

    def _place(self, seed: int, arm: str, number: int) -> Path:
        return self.folder / f"seed-{seed}" / arm / f"round-{number}"

    def _keep(self, model: Any, place: Path, arm: str, number: int) -> None:
        """Save the adapter, in the format of peft and as a file that names its base."""
        model.save_pretrained(place / "adapter.new")
        manifest = {
            "kind": "human" if self.human is not None and arm == "feedback" else "judge",
            "note": f"Round {number} of the correction {self.plan.name}, arm {arm}.",
            "data": [
                {"name": f"decisions of simulated people in {self.plan.scenario.name}", "licence": ""},
                *([] if self.human is None else [self.human.data()]),
            ],
            "assumptions": [f"Good is what {self.plan.score.description} scores high."] if self.human is None else [],
            "settings": self.plan.model_dump(mode="json"),
        }
        file = place / f"{self.plan.name}.gguf"
        from_peft(place / "adapter.new", self.base, file, manifest=manifest, name=f"{self.plan.name}-{arm}-{number}")
        shutil.rmtree(place / "adapter", ignore_errors=True)
        os.replace(place / "adapter.new", place / "adapter")

    def _append(self, result: RoundResult) -> None:
        path = self.folder / "results.jsonl"
        write_text(path, read_own_text(path) + json.dumps(asdict(result)) + "\n")


def _nothing_to_score(run: RunReader, scenario: str) -> TrainingError:
    if not run.answers().height:
        return TrainingError(f"{scenario} asked nothing.", "Correct a scenario in which people choose.")
    answers = ", ".join(f"{count} {status}" for status, count in run.statuses.items())
    return TrainingError(
        f"the base answered nothing in {scenario} that can be scored; its answers: {answers}.",
        "Correct a scenario in which people choose between options, with a base that names them.",
    )


def _without_seeds(plan: str, path: Path) -> dict[str, Any]:
    return {key: value for key, value in parse_own_json(plan, path).items() if key != "seeds"}


def _run_seed(seed: int, number: int) -> int:
    return seed * 1000 + number
