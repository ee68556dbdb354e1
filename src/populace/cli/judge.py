"""judge: models judge the posts of a community."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import percent
from populace.broker import Budget
from populace.cli import COMMANDS
from populace.cli.options import budget, call_options, json_option, workspace_option
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
    "--model", "models", multiple=True, metavar="MODEL", help="Who answers; may be given several times."
)


@click.command("judge", help=COMMANDS["judge"])
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@_MODELS
@click.option("--ask", "asked", multiple=True, metavar="QUESTION", help="Such as civil or rule_1; all by default.")
@click.option("--after", multiple=True, metavar="RUN", help="Runs of another design with the same seeds, to compare.")
@click.option(
    "--sample", nargs=2, type=(click.IntRange(min=1), str), metavar="N FILE", help="Write N posts to check by hand."
)
@click.option("--check", metavar="FILE", help="Read such a file back, filled in, and see how far judges agree with it.")
@call_options
@workspace_option
@json_option
def judge_command(
    runs: tuple[str, ...],
    models: tuple[str, ...],
    asked: tuple[str, ...],
    after: tuple[str, ...],
    sample: tuple[int, str] | None,
    check: str | None,
    as_json: bool,
    workspace: str | None,
    **options: Any,
) -> None:
    if len(runs) > 1 and (sample or check):
        raise UsageError("--sample and --check take one run.")
    spending = budget(options)
    found = {name: _judgements(name, workspace, models, asked, spending, options) for name in (*runs, *after)}
    warnings = [_misread(each) for each in found.values() if _misread(each)]
    first = found[runs[0]]
    if sample:
        out.print(f"written: {first.sample(sample[0], sample[1])}") if not as_json else first.sample(*sample)
    if check:
        first = found[runs[0]] = first.with_check(check)
    change = None
    if after:
        change = design_effects([found[name] for name in runs], [found[name] for name in after])
    if as_json:
        told: dict[str, Any] = {
            each.community.run.name: {
                "rates": each.rates(),
                "agreement": {name: made.table() for name, made in each.agreement().items()},
            }
            for each in found.values()
        }
        emit({"runs": told, "change": change}, warnings)
        return
    for each in found.values():
        _show_judgements(each)
    for text in warnings:
        warn(text)
    if change is not None:
        table(change, "After minus before, paired by seed, with intervals of 95 %")


def _judgements(
    name: str,
    workspace: str | None,
    models: Sequence[str],
    asked: Sequence[str],
    spending: Budget,
    options: dict[str, Any],
) -> Judgements:
    """What judges found of a run: those named now, or all that were asked before where none is named."""
    community = Community(RunReader(Workspace(workspace).open(name)))
    if not models:
        before = read_judgements(community)
        if not before.judges:
            raise UsageError(f"no judge has looked at {name} yet.", "Name one with --model.")
        return before
    parts = []
    for model in models:
        fetch_missing_model(model)
        asking = ModelCaller(model, spending, options["concurrency"], options["timeout_s"])
        parts.append(judge_posts(community, asking, questions=asked or None).table)
    return Judgements(pl.concat(parts), community)


def _show_judgements(found: Judgements) -> None:
    rates = found.rates()
    count, judges = found.table["post"].n_unique(), ", ".join(found.judges)
    out.print(f"[bold]{found.community.run.name}[/bold]  {count} posts judged by {judges}")
    columns = ["rate", "low", "high", "low_by_thread", "high_by_thread"]
    shown = rates.with_columns(
        pl.col(name).map_elements(percent, return_dtype=pl.String) for name in columns if name in rates.columns
    )
    table(shown.drop("invalid"), "The share of posts with the answer yes")
    agreed = found.agreement()
    if agreed:
        rows = [(name, _alpha(made), percent(made.share.value), made.items) for name, made in agreed.items()]
        table(
            pl.DataFrame(rows, schema=["question", "Krippendorff's alpha", "same answer", "posts"], orient="row"),
            "How far judges agree",
        )


def _alpha(found: Agreement) -> str:
    return "none: all answers are alike" if math.isnan(found.alpha.value) else str(found.alpha)


def _misread(found: Judgements) -> str:
    lost = int(found.table["value"].null_count())
    return f"{found.community.run.name}: {lost} of {found.table.height} verdicts could not be read." if lost else ""
