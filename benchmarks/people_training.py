"""Train a plan and score it at several strengths, in as little time of a GPU as many processors allow.

    python benchmarks/people_training.py PLAN.yaml --to FOLDER [--strengths 1 0.75] [--workers 14] [--every 1]

The plan has one folder of decisions. It gives what `populace train PLAN.yaml` gives, but questions without answers are
made up, and what is scored is rendered, by many processes side by side, and once for the base and all strengths.
`FOLDER/scores` gets a table of tasks and the figures for each. With `--every 3` only a third of the situations is
scored. `--development` scores the people of whom a tenth is looked at on the way, so that choices are not made on those
who are the test.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from populace.evaluation.human_decisions import HumanDecisions
from populace.models.artifacts import SMOLLM2
from populace.models.transformers_model import TransformersModel
from populace.training import held_out
from populace.training.base_network import choose_device, load_base
from populace.training.decision_division import DecisionDivision
from populace.training.decision_examples import DecisionSource
from populace.training.plan import TrainingPlan
from populace.training.planned_training import PlannedTraining
from populace.training.sequences import ModelVocabulary
from populace.training.unfamiliar import question_draw, unfamiliar_questions, write_answered

LENGTH = 1024
BEGIN = time.monotonic()
_own: dict[str, Any] = {}
"""What a process that renders holds."""


def say(*what: object) -> None:
    print(f"[{time.monotonic() - BEGIN:6.1f}]", *what, flush=True)


def base_of(plan: TrainingPlan) -> Path:
    return SMOLLM2.fetch(None) if plan.base == "embedded" else Path(plan.base)


def divided(plan: TrainingPlan) -> DecisionDivision:
    folder = next(part.decisions for part in plan.data if part.decisions is not None)
    return DecisionDivision.read(folder, plan.held_out, plan.licences)


def scored_people(division: DecisionDivision, development: bool) -> HumanDecisions:
    people = division.everything.split("person").development if development else division.test
    return people.restrict([name for name, task in people.tasks.items() if task.options])


def prepare(path: str, development: bool) -> None:
    """What a process does first."""
    plan = TrainingPlan.read(path)
    division, vocabulary = divided(plan), ModelVocabulary(base_of(plan))
    source = DecisionSource(scored_people(division, development), vocabulary, varied=False)
    _own.update(division=division, vocabulary=vocabulary, source=source, people=division.known_facts(), draws={})


def rendered(part: int) -> held_out.Rendered:
    return held_out.render_part(_own["source"], part, LENGTH)


def questions(job: tuple[Any, str, int, int]) -> tuple[tuple[Any, str, int, int], pl.DataFrame]:
    asked, licence, part, seed = job
    if asked not in _own["draws"]:
        _own["draws"][asked] = question_draw(asked, [_own["division"].training])
    draw, people = _own["draws"][asked], _own["people"]
    return job, unfamiliar_questions(_own["vocabulary"], part, seed, people=people, draw=draw, licence=licence)


class Scores:
    """Scores networks on decisions that are rendered already."""

    def __init__(self, division: DecisionDivision, parts: list[held_out.Rendered], to: Path) -> None:
        self.division, self.parts, self.to = division, parts, to
        to.mkdir(parents=True, exist_ok=True)

    def __call__(self, network: Any, vocabulary: ModelVocabulary, name: str) -> None:
        table, figures = self.division.score(network, vocabulary, length=LENGTH, rendered=self.parts)
        table.write_csv(self.to / f"{name}.csv")
        (self.to / f"{name}.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
        say(name)
        self._report(table, figures, self.to / "base.csv")

    @staticmethod
    def _report(table: pl.DataFrame, figures: dict[str, Any], zero_shot: Path) -> None:
        known = pl.read_csv(zero_shot).select("task", zero_shot="log_loss")
        table = table.join(known, on="task", how="left")
        below = (pl.col("log_loss") < pl.col("zero_shot")).sum()
        for part in sorted(set(table["part"])):
            tasks, mine = table.filter(pl.col("part") == part), figures[part]
            print(
                f"    {part}: accuracy {mine['accuracy']:.3f}, log-loss {mine['log_loss']:.3f}, below the shares in "
                f"{mine['below_majority_log_loss']:.0%}, below zero-shot ({tasks['zero_shot'].mean():.3f}) in "
                f"{tasks.select(below).item()} of {tasks.height}"
            )
        gap = figures.get("attitude", {}).get("gap", {})
        if "gap_closed" in gap:
            print(f"    of the gap {gap['gap_closed']:.2f} ({gap['low']:.2f} to {gap['high']:.2f})")
        columns = ("task", "log_loss", "zero_shot", "uniform_log_loss")
        for task, *losses in table.filter(pl.col("part") == "unseen task").select(columns).iter_rows():
            print(f"      {task}: " + ", ".join(f"{loss:.3f}" for loss in losses), flush=True)


def answered(training: PlannedTraining, tables: dict[Any, pl.DataFrame], device: str) -> Iterator[str]:
    """Write the files of questions without answers, which a training takes as they are."""
    for number, part in enumerate(training.plan.data):
        file = training.unfamiliar_file(number)
        if not part.unfamiliar or file.is_file():
            continue
        licence, seed = training.unfamiliar_licence(part), training.plan.settings.seed
        mine = [tables[part.asked, licence, each, seed] for each in range(part.unfamiliar)]
        model = TransformersModel(training.base, device=device) if part.keeps_to == "base" else None
        write_answered(file, mine, model, training.vocabulary, part.flattening)
        yield f"{part.unfamiliar} parts of questions {part.asked}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--strengths", type=float, nargs="+", default=[1.0])
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="")
    options = parser.parse_args()
    device = options.device or choose_device("")
    plan = TrainingPlan.read(options.plan)
    training = PlannedTraining(plan, options.to, say=say)
    vocabulary, division = training.vocabulary, divided(plan)
    division = replace(division, test=scored_people(division, options.development))
    parts = DecisionSource(division.test, vocabulary, varied=False).parts
    jobs = [
        (part.asked, training.unfamiliar_licence(part), each, plan.settings.seed)
        for number, part in enumerate(plan.data)
        for each in range(part.unfamiliar)
        if not training.unfamiliar_file(number).is_file()
    ]
    say(f"{parts} parts to score, {len(jobs)} of questions")
    with get_context("spawn").Pool(options.workers, prepare, (str(options.plan), options.development)) as pool:
        tables = dict(pool.imap_unordered(questions, list(dict.fromkeys(jobs))))
        score = Scores(division, pool.map(rendered, range(0, parts, options.every)), options.to / "scores")
    say("rendered")
    if jobs:
        for line in answered(training, tables, device):
            say(line)
    if not (options.to / "scores" / "base.csv").is_file():
        score(load_base(training.base, device, plan.settings.precision), vocabulary, "base")
    network = training.train(device, workers=min(8, options.workers), watch=say)
    say("trained")
    changed = {name: weights for name, weights in network.named_parameters() if ".lora_B." in name}
    whole = {name: weights.detach().clone() for name, weights in changed.items()}
    for strength in options.strengths:
        for name, weights in changed.items():
            weights.data.copy_(whole[name] * strength)
        score(network, vocabulary, f"strength-{strength:g}")


if __name__ == "__main__":
    main()
