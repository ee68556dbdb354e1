"""The report of a believability study as one HTML page and as Markdown."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from populace.base.formatting import plural
from populace.evaluation.believability.analysis import Believability
from populace.evaluation.believability.study import BelievabilityStudy
from populace.experiments.reports import figures
from populace.experiments.reports.blocks import Block, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import ReportDocument

_QUOTES = 3


def believability_report(study: BelievabilityStudy, result: Believability | None = None) -> ReportDocument:
    """Question, design, skill with intervals by condition, tests, judges, quotations.

    Args:
        study: The study.
        result: What it found; read from its folder if left out.
    """
    plan, result = study.plan, result or study.result()
    lead: tuple[Block, ...] = (
        Heading(f"Believability: {plan.name}", 1),
        Prose(
            ["How believable are the answers of residents, and which parts of their mind make them so?"],
            kind="question",
        ),
    )
    first, *others = result.findings()
    summary: tuple[Block, ...] = (Prose([first]), Prose(others, bullets=True))
    return ReportDocument(f"believability-{plan.name}", lead, summary, tuple(_body(study, result)))


def _body(study: BelievabilityStudy, result: Believability) -> Iterator[Block]:
    plan = study.plan
    yield Heading("Design")
    lives = study.lives
    yield Facts(
        [
            ("runs", ", ".join(plan.runs)),
            ("residents", f"{lives.height}"),
            ("questions", f"{len(study.questions)} in {plural(len({q.area for q in study.questions}), 'area')}"),
            ("conditions", ", ".join(plan.condition_names)),
            ("answered by", plan.model or "the model of the run"),
            ("judges", ", ".join(result.judges)),
        ]
    )
    yield Prose(
        [
            "Every resident is asked every question after the same life. A condition says what may come to mind: "
            "in an ablation some kinds of memories, or all, are left out. Judges see the answers in random order, "
            "without the conditions."
        ]
    )
    skills = result.skills()
    yield Heading("Skill by condition")
    rows = [
        figures.IntervalRow(
            row["condition"], row["mean"], row["low_by_cluster"], row["high_by_cluster"],
            f"{row['mean']:.1f} {_ends(row)}, mean rank {row['mean_rank']:.2f}",
        )
        for row in skills.iter_rows(named=True)
    ]  # fmt: skip
    caption = "TrueSkill by condition. The diamond is the mean, the bar the 95 % interval from drawing residents anew."
    yield Figure("skill", figures.intervals(rows, "TrueSkill (prior 25)", name="skill"), caption)
    yield Table(skills, "TrueSkill: mean, sd, its own 95 % interval, the interval over residents, rankings, mean rank")
    yield Table(result.areas(), "Mean rank by area (1 is the most believable)")
    yield Heading("Tests")
    yield Table(result.test().table(), "Kruskal and Wallis, as the source reports it; every rank counts as independent")
    caption = (
        "Every pair: a negative difference favours a. p_residents comes from exchanging both within residents; p is "
        "Dunn's, which counts every rank as independent and is too small. Both adjusted by Holm."
    )
    yield Table(result.pairs(), caption)
    yield Heading("Judges")
    yield Prose(result.cautions(), bullets=True)
    yield Table(_positions(result), "Share of first picks by the position in which the answer was shown")
    yield Table(result.failed_rankings(), "Rankings by judge")
    yield Heading("Answers")
    yield Table(result.invalid_answers(), "Invalid answers by condition")
    yield Prose(["The first residents and questions, as they were answered; not chosen."], kind="soft")
    yield Table(_quotes(result.answers), "Answers by condition")


def _ends(row: dict[str, Any]) -> str:
    if row["low_by_cluster"] is None:
        return "(no interval)"
    return f"[{row['low_by_cluster']:.1f}, {row['high_by_cluster']:.1f}]"


def _positions(result: Believability) -> pl.DataFrame:
    rows = [
        {"judge": bias.judge, "position": place, "share": share, "expected": expected, "p": bias.p, "n": bias.n}
        for bias in result.position_biases()
        for place, (share, expected) in enumerate(zip(bias.shares, bias.expected, strict=True), 1)
    ]
    return pl.DataFrame(rows) if rows else pl.DataFrame({"judge": []})


def _quotes(answers: pl.DataFrame) -> pl.DataFrame:
    first = answers.select("run", "resident").unique(maintain_order=True).head(1)
    questions = answers.unique("area", maintain_order=True).select("question")
    mine = answers.join(first, on=["run", "resident"]).join(questions, on="question", maintain_order="right")
    return mine.select("name", "question", "condition", "answer").head(_QUOTES * 10)
