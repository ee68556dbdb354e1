"""How well the adapter of a training plan predicts unseen people, in a sample that a processor scores in a few minutes.

    python benchmarks/people_scores.py recipes/people.yaml people --to scores
    python benchmarks/people_scores.py recipes/people.yaml base --to scores

The second word is an adapter, as a file, a folder or the name of one that ships, or `base`. The sample is the same for
all: every answer of some of the people who were asked twice in a survey, and some decisions of each other task, in an
order by chance. `populace train PLAN --only-score` scores every decision, which needs a GPU for two million of them.
`scores/NAME.csv` has a row for each task, and `scores/NAME.json` the figures as training writes them. Where the base
was scored into the same folder, the tasks are counted in which the adapter has the lower log-loss.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from populace.evaluation.human_decisions import HumanDecisions
from populace.models.artifacts import SMOLLM2
from populace.training.base_network import add_lora, load_adapter, load_base
from populace.training.decision_division import DecisionDivision
from populace.training.plan import TrainingPlan
from populace.training.sequences import ModelVocabulary

LENGTH, BATCH = 384, 16


def sample(division: DecisionDivision, people: int, decisions: int) -> HumanDecisions:
    """The decisions that are scored, of people who are not learned from.

    Args:
        division: The divided decisions.
        people: Of how many people every answer in a survey is taken.
        decisions: How many decisions of each other task are taken.
    """
    tasks = {name: task for name, task in division.test.tasks.items() if task.options}
    surveys = [name for name, task in tasks.items() if task.family == "attitude"]
    rows = division.test.table.filter(pl.col("task").is_in(list(tasks)))
    answers = rows.filter(pl.col("task").is_in(surveys))
    names = answers.filter(pl.col("retest").is_not_null())["person"].unique().sort()
    chosen = names.sample(min(people, len(names)), seed=0)
    others = rows.filter(~pl.col("task").is_in(surveys)).sample(fraction=1, shuffle=True, seed=0)
    table = pl.concat(
        [
            answers.filter(pl.col("person").is_in(chosen.implode())),
            others.group_by("task", maintain_order=True).head(decisions).select(rows.columns),
        ]
    )
    present = set(table["task"].unique())
    return HumanDecisions({name: task for name, task in tasks.items() if name in present}, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path)
    parser.add_argument("adapter")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--decisions", type=int, default=40)
    options = parser.parse_args()
    plan = TrainingPlan.read(options.plan)
    folder = next(part.decisions for part in plan.data if part.decisions is not None)
    division = DecisionDivision.read(folder, plan.held_out, plan.licences)
    division = replace(division, test=sample(division, options.people, options.decisions))
    base = SMOLLM2.fetch(None) if plan.base == "embedded" else Path(plan.base)
    model = load_base(base, "cpu", "bfloat16")
    if options.adapter != "base":
        model = add_lora(model, plan.settings.rank, 0, plan.settings.matrices)
        load_adapter(model, options.adapter, base)
        model = model.merge_and_unload()
    table, figures = division.score(model, ModelVocabulary(base), length=LENGTH, batch=BATCH)
    options.to.mkdir(parents=True, exist_ok=True)
    name = Path(options.adapter).stem
    table.write_csv(options.to / f"{name}.csv")
    (options.to / f"{name}.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    zero_shot = options.to / "base.csv"
    if options.adapter != "base" and zero_shot.is_file():
        known = pl.read_csv(zero_shot).select("task", zero_shot="log_loss")
        table = table.join(known, on="task", how="left").with_columns(below=pl.col("log_loss") < pl.col("zero_shot"))
    print(json.dumps(figures, indent=1))
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(table.filter(pl.col("part") == "unseen task"))
        if "below" in table.columns:
            means = pl.col("log_loss", "zero_shot", "uniform_log_loss", "below").mean()
            print(table.group_by("part", maintain_order=True).agg(means))


if __name__ == "__main__":
    main()
