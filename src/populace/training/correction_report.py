"""The report of a correction: curves over rounds with intervals over seeds, and what was lost elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from populace.base.formatting import plural
from populace.experiments.reports.blocks import Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument
from populace.experiments.reports.figures import paths
from populace.statistics import Estimate, mean
from populace.statistics.intervals import mean_band
from populace.training.correction import RoundResult
from populace.training.correction_plan import CorrectionPlan

_MEASURES = {
    "score": "mean score of decisions",
    "drift": "distance from the base on the held-out scenario",
    "mass": "probability on the options of the held-out scenario",
}


def correction_report(plan: CorrectionPlan, results: Sequence[RoundResult]) -> ReportDocument:
    """The report of a correction.

    Args:
        plan: The plan.
        results: What was measured, of some or all rounds.
    """
    table = results_table(results)
    body: list[Heading | Prose | Figure | Table] = []
    for name, meaning in _MEASURES.items():
        lines = {arm: curve(table, arm, name) for arm in plan.arms}
        svg = paths(lines, meaning, name=name, along="round")
        body += [
            Heading(meaning.capitalize()),
            Figure(name, svg, f"{meaning}, over rounds"),
        ]
    body += [Heading("Every round"), Table(table)]
    facts = [
        ("base", plan.base),
        ("simulated", plan.scenario.name),
        ("held out", plan.held_out.name),
        ("scored by", plan.score.description),
        ("method", plan.method),
        ("rounds", str(plan.rounds)),
        ("seeds", ", ".join(map(str, plan.seeds))),
    ]
    return ReportDocument(
        f"correction-{plan.name}", (Facts(facts),), (Prose(findings(plan, table), bullets=True),), tuple(body)
    )


def results_table(results: Sequence[RoundResult]) -> pl.DataFrame:
    """Results as a table, a row for each seed, arm and round."""
    rows = [vars(each) for each in results]
    table = pl.DataFrame(rows).sort("seed", "arm", "round") if rows else pl.DataFrame()
    return table.with_columns(pl.col("score").fill_nan(None)) if rows else table


def curve(table: pl.DataFrame, arm: str, measure: str) -> pl.DataFrame:
    """A measure of an arm over rounds: mean and interval over seeds."""
    mine = table.filter(pl.col("arm") == arm).drop_nulls(measure)
    seeds = [part for _, part in mine.group_by("seed", maintain_order=True)]
    return mean_band([[part["round"].to_list(), part[measure].to_list()] for part in seeds])


def changes(plan: CorrectionPlan, table: pl.DataFrame, measure: str) -> dict[str, Estimate]:
    """How much a measure changed from before training to the last round, over seeds: by arm, and between arms."""
    wide = table.filter(pl.col("round").is_in([0, plan.rounds])).pivot(
        "round", index=["seed", "arm"], values=measure, aggregate_function="first"
    )
    if "0" not in wide.columns or str(plan.rounds) not in wide.columns:
        return {}
    wide = wide.with_columns(change=pl.col(str(plan.rounds)) - pl.col("0")).drop_nulls("change")
    by_arm = {arm: wide.filter(pl.col("arm") == arm).sort("seed") for arm in plan.arms}
    mean_changes = {arm: mean(part["change"], shares=False) for arm, part in by_arm.items() if part.height > 1}
    if plan.control and len(mean_changes) == 2:
        pairs = by_arm["feedback"].join(by_arm["control"], on="seed", suffix="_control")
        mean_changes["difference"] = mean(pairs["change"] - pairs["change_control"], shares=False)
    return mean_changes


def findings(plan: CorrectionPlan, table: pl.DataFrame) -> list[str]:
    """The findings in sentences."""
    texts = []
    for name, meaning in _MEASURES.items():
        differences = changes(plan, table, name)
        if not differences:
            continue
        parts = [f"{arm} {estimate}" for arm, estimate in differences.items()]
        texts.append(f"Change of the {meaning} over {plural(plan.rounds, 'round')}: {'; '.join(parts)}.")
    silent = table.filter(pl.col("score").is_null()) if table.height else table
    if silent.height:
        rows = silent.select("seed", "arm", "round").rows()
        rounds = ", ".join(f"{arm} of seed {seed}, round {number}" for seed, arm, number in rows)
        texts.append(f"After training the model answered nothing that could be scored: {rounds}.")
    if not texts:
        texts.append("Fewer than two seeds are complete, so there is no interval.")
    if plan.score.human is None:
        texts.append(
            f"What was learned is what got high scores. They come from {plan.score.description}; "
            "that people act so is not shown by this report."
        )
    else:
        texts.append(
            f"What was learned is what {plan.score.description} chose in the same task and condition. The score is the "
            "overlap with people who were not learned from: 1 less the total variation distance."
        )
    return texts
