"""judge: models judge the posts of a community."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import percent
from populace.broker import CallSettings
from populace.cli.options import call_options, call_settings, command, common_options
from populace.cli.output import emit, out, table, warn
from populace.cli.progress import fetch_missing_model
from populace.community import Community
from populace.community.design_comparison import design_effects
from populace.community.judgements import Judgements
from populace.community.judges import judge_posts, read_judgements
from populace.community.model_caller import ModelCaller
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader
from populace.statistics import Agreement

_MODELS = click.option(
    "--model", "models", multiple=True, metavar="MODEL", help="The model that judges; may be given several times."
)


@command("judge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_MODELS
@click.option("--ask", "questions", multiple=True, metavar="QUESTION", help="Such as civil or rule_1; all by default.")
@click.option("--after", multiple=True, metavar="RUN", help="Runs of another design with the same seeds, to compare.")
@click.option(
    "--sample", nargs=2, type=(click.IntRange(min=1), str), metavar="N FILE", help="Write N posts to check by hand."
)
@click.option("--check", metavar="FILE", help="Read such a file back, filled in, and see how far judges agree with it.")
@call_options
@common_options
def judge_command(
    runs: tuple[str, ...],
    models: tuple[str, ...],
    questions: tuple[str, ...],
    after: tuple[str, ...],
    sample: tuple[int, str] | None,
    check: str | None,
    as_json: bool,
    workspace: str | None,
    **options: Any,
) -> None:
    if len(runs) > 1 and (sample or check):
        raise UsageError("--sample and --check take one run.")
    calls = call_settings(options)
    judgements = {name: _judgements(name, workspace, models, questions, calls, options) for name in (*runs, *after)}
    warnings = [_unread_warning(each) for each in judgements.values() if _unread_warning(each)]
    first = judgements[runs[0]]
    if sample:
        out.print(f"written: {first.sample(sample[0], sample[1])}") if not as_json else first.sample(*sample)
    if check:
        first = judgements[runs[0]] = first.with_check(check)
    change = None
    if after:
        change = design_effects([judgements[name] for name in runs], [judgements[name] for name in after])
    if as_json:
        documents: dict[str, Any] = {
            each.community.run.name: {
                "rates": each.rates(),
                "agreement": {name: agreement.table() for name, agreement in each.agreement().items()},
            }
            for each in judgements.values()
        }
        emit({"runs": documents, "change": change}, warnings)
        return
    for each in judgements.values():
        _show_judgements(each)
    for text in warnings:
        warn(text)
    if change is not None:
        table(change, "After minus before, paired by seed, with intervals of 95 %")


def _judgements(
    name: str,
    workspace: str | None,
    models: Sequence[str],
    questions: Sequence[str],
    calls: CallSettings,
    options: dict[str, Any],
) -> Judgements:
    """The judgements of a run by the models named, or by all earlier judges where none is named."""
    community = Community(RunReader(Workspace(workspace).open(name)))
    if not models:
        before = read_judgements(community)
        if not before.judges:
            raise UsageError(f"no judge has looked at {name} yet.", "Name one with --model.")
        return before
    parts = []
    for model in models:
        fetch_missing_model(model)
        caller = ModelCaller(model, calls)
        parts.append(judge_posts(community, caller, questions=questions or None).table)
    return Judgements(pl.concat(parts), community)


def _show_judgements(judgements: Judgements) -> None:
    rates = judgements.rates()
    count, judges = judgements.table["post"].n_unique(), ", ".join(judgements.judges)
    out.print(f"[bold]{judgements.community.run.name}[/bold]  {count} posts judged by {judges}")
    columns = ["rate", "low", "high", "low_by_thread", "high_by_thread"]
    percentages = rates.with_columns(
        pl.col(name).map_elements(percent, return_dtype=pl.String) for name in columns if name in rates.columns
    )
    table(percentages.drop("invalid"), "The share of posts with the answer yes")
    agreements = judgements.agreement()
    if agreements:
        rows = [(name, _alpha(each), percent(each.share.value), each.items) for name, each in agreements.items()]
        table(
            pl.DataFrame(rows, schema=["question", "Krippendorff's alpha", "same answer", "posts"], orient="row"),
            "How far judges agree",
        )


def _alpha(agreement: Agreement) -> str:
    return "undefined: all answers are alike" if math.isnan(agreement.alpha.value) else str(agreement.alpha)


def _unread_warning(judgements: Judgements) -> str:
    unread = int(judgements.table["value"].null_count())
    return (
        f"{judgements.community.run.name}: {unread} of {judgements.table.height} verdicts could not be read."
        if unread
        else ""
    )
