"""How well a network predicts people whom it did not learn from: by task, beside floors and ceiling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from populace.base.randomness import stream
from populace.evaluation.human_decisions import HumanDecisions
from populace.training.base_network import enough_memory, training_library
from populace.training.decision_examples import DecisionSource
from populace.training.sequences import ModelVocabulary, Sequences, pack
from populace.training.tree_attention import TreeAttention

_SITUATION = ["task", "profile", "seen"]


Rendered = tuple[Sequences, pl.DataFrame]
"""Situations packed with every option, and the task, the profile and what was seen of each."""


def rendered_parts(source: DecisionSource, length: int = 1024) -> Iterator[Rendered]:
    """The situations of a source that is not varied, part by part."""
    return (render_part(source, part, length) for part in range(source.parts))


def render_part(source: DecisionSource, part: int, length: int = 1024) -> Rendered:
    """The situations of one part."""
    examples, situations = source.plain_examples(part)
    return pack(examples, source.vocabulary, length, every_option=True), situations


def score_decisions(
    model: Any,
    vocabulary: ModelVocabulary,
    decisions: HumanDecisions,
    *,
    length: int = 1024,
    batch: int = 64,
    rendered: Iterable[Rendered] | None = None,
) -> pl.DataFrame:
    """What the network gives to every decision, each task asked as its card words it.

    Args:
        model: The network.
        vocabulary: Its tokens.
        decisions: The decisions.
        length: How many tokens a packed sequence has.
        batch: How many sequences are computed at once.
        rendered: The situations, where they are rendered already; decisions in others are left out.

    Returns:
        A row for each decision about options, with `task`, `person`, `answer`, `retest`, `prediction` (the likeliest
        option), `chance` (of the answer), `brier` and `mass` (the probability on the options).
    """
    chosen = {name: task for name, task in decisions.tasks.items() if task.options}
    if rendered is None:
        rendered = rendered_parts(DecisionSource(decisions.restrict(chosen), vocabulary, varied=False), length)
    attention = TreeAttention(model)
    model.eval()
    situations = pl.concat([_score_part(*part, attention, batch) for part in rendered])
    rows = decisions.table.filter(pl.col("task").is_in(list(chosen))).with_columns(
        pl.col("profile", "seen").fill_null("{}")
    )
    rows = rows.join(situations, on=_SITUATION, how="inner", maintain_order="left")
    options = pl.DataFrame(
        [(name, option, place) for name, task in chosen.items() for place, option in enumerate(task.options)],
        schema={"task": pl.String, "answer": pl.String, "code": pl.Int64},
        orient="row",
    )
    rows = rows.join(options, on=["task", "answer"], how="left", maintain_order="left")
    chance = pl.col("chances").list.get(pl.col("code"))
    squares = pl.col("chances").list.eval(pl.element() ** 2).list.sum()
    best = options.rename({"answer": "prediction", "code": "best"})
    return rows.join(best, on=["task", "best"], how="left", maintain_order="left").select(
        "task", "person", "answer", "retest", "prediction", chance.alias("chance"),
        (1 - 2 * chance + squares).alias("brier"), "mass",
    )  # fmt: skip


def _score_part(sequences: Sequences, situations: pl.DataFrame, attention: TreeAttention, batch: int) -> pl.DataFrame:
    torch = training_library("torch")
    logs, owners = [], []
    with torch.no_grad(), enough_memory(f"scoring {batch} sequences at once", "Score with --only-score --device cpu."):
        for start in range(0, len(sequences), batch):
            rows = np.arange(start, min(start + batch, len(sequences)))
            piece = sequences.take(rows)
            logs.append(attention.log_probabilities(piece, batch).float().cpu().numpy())
            owners.append(piece.target_examples)
    table = pl.DataFrame({"row": np.concatenate(owners), "chance": np.exp(np.concatenate(logs).astype(np.float64))})
    table = table.group_by("row", maintain_order=True).agg(pl.col("chance").alias("chances"))
    table = table.with_columns(mass=pl.col("chances").list.sum())
    table = table.with_columns(
        chances=pl.col("chances").list.eval(pl.element() / pl.element().sum()),
        best=pl.col("chances").list.arg_max().cast(pl.Int64),
        row=pl.col("row").cast(pl.UInt32),
    )
    return situations.with_row_index("row").join(table, on="row", how="inner").drop("row")


def task_scores(scored: pl.DataFrame, others: HumanDecisions) -> pl.DataFrame:
    """The scores of each task.

    Args:
        scored: What `score_decisions` gives.
        others: The decisions of other people in the same tasks, which give the majority and the entropy.

    Returns:
        A row for each task: `decisions`, `accuracy`, `log_loss`, `brier`, `mass`; `majority` (the accuracy of the most
        common answer of others), `majority_log_loss` (that of their shares), `uniform_log_loss`; and, among those who
        were asked twice, `retested`, `retest` (the share who answered the same), `retest_accuracy` and
        `retest_majority`.
    """
    counts = others.table.group_by("task", "answer").agg(pl.len().alias("count")).sort("task", "answer")
    shares = counts.with_columns(share=pl.col("count") / pl.col("count").sum().over("task"))
    common = (
        shares.sort("task", "count", "answer", descending=[False, True, False])
        .unique("task", keep="first", maintain_order=True)
        .select("task", common="answer")
    )
    sizes = pl.DataFrame({"task": list(others.tasks), "options": [len(task.options) for task in others.tasks.values()]})
    rows = (
        scored.join(common, on="task", how="left")
        .join(shares.select("task", "answer", "share"), on=["task", "answer"], how="left")
        .join(sizes, on="task", how="left")
        .with_columns(pl.col("share").fill_null(1e-3))
    )
    asked_twice = pl.col("retest").is_not_null()
    return (
        rows.group_by("task", maintain_order=True)
        .agg(
            pl.len().alias("decisions"),
            (pl.col("prediction") == pl.col("answer")).mean().alias("accuracy"),
            (-pl.col("chance").clip(1e-6).log()).mean().alias("log_loss"),
            pl.col("brier").mean(),
            pl.col("mass").mean(),
            (pl.col("common") == pl.col("answer")).mean().alias("majority"),
            (-pl.col("share").log()).mean().alias("majority_log_loss"),
            pl.col("options").first().cast(pl.Float64).log().alias("uniform_log_loss"),
            asked_twice.sum().alias("retested"),
            (pl.col("retest") == pl.col("answer")).mean().alias("retest"),
            (pl.col("prediction") == pl.col("answer")).filter(asked_twice).mean().alias("retest_accuracy"),
            (pl.col("common") == pl.col("answer")).filter(asked_twice).mean().alias("retest_majority"),
        )
        .sort("task")
    )


def gap_closed(scored: pl.DataFrame, others: HumanDecisions, seed: int = 0) -> Mapping[str, float]:
    """The share of the gap between majority and retest that is closed, among people who were asked twice.

    The interval is a bootstrap over people. Without a gap, or without such people, there is no share.
    """
    common = dict(
        others.table.group_by("task", "answer").agg(pl.len().alias("count"))
        .sort("task", "count", "answer", descending=[False, True, False])
        .unique("task", keep="first", maintain_order=True).select("task", "answer").iter_rows()
    )  # fmt: skip
    rows = scored.filter(pl.col("retest").is_not_null()).with_columns(
        common=pl.col("task").replace_strict(common, default=None, return_dtype=pl.String)
    )
    people = rows.group_by("person", maintain_order=True).agg(
        pl.len().alias("decisions"),
        (pl.col("prediction") == pl.col("answer")).sum().alias("model"),
        (pl.col("common") == pl.col("answer")).sum().alias("majority"),
        (pl.col("retest") == pl.col("answer")).sum().alias("retest"),
    )
    if not people.height:
        return {}
    sums = people.drop("person").to_numpy().astype(float)
    rng = stream(seed, "gap")
    weights = rng.multinomial(people.height, np.full(people.height, 1 / people.height), size=2_000)
    resamples = weights @ sums
    total = sums.sum(0)
    shares = {
        "people": float(people.height),
        "decisions": float(total[0]),
        "accuracy": float(total[1] / total[0]),
        "majority": float(total[2] / total[0]),
        "retest": float(total[3] / total[0]),
    }
    if total[3] <= total[2]:
        return shares  # Nobody repeats themselves more often than the majority is right: there is no gap to close.
    possible = resamples[resamples[:, 3] > resamples[:, 2]]
    gaps = (possible[:, 1] - possible[:, 2]) / (possible[:, 3] - possible[:, 2])
    low, high = np.quantile(gaps, (0.025, 0.975))
    closed = (total[1] - total[2]) / (total[3] - total[2])
    return shares | {"gap_closed": float(closed), "low": float(low), "high": float(high)}
