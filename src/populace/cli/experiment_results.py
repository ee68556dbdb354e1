"""The results of an experiment as text and as the data of a JSON document."""

from typing import Any

import polars as pl

from populace.base.errors import PopulaceError
from populace.base.formatting import percent, plural
from populace.cli.options import command_line
from populace.cli.output import Part, bold, dim, out, table, warn
from populace.experiments import Results, planned_effects
from populace.experiments.planned import level_text
from populace.experiments.validation import ValidityCard, validity
from populace.experiments.validation.basis import validity_basis
from populace.experiments.validation.card import MARKS
from populace.runs.caveats import basis_caveats
from populace.statistics import p_text

_BOUNDS = ("missing", "bound_low", "bound_high")


def results_document(results: Results) -> dict[str, Any]:
    """An experiment as the data of a JSON document."""
    names = ("state", "reason", "failure_rate", "failures", "arms", "digest")
    return {name: getattr(results, name) for name in names} | {
        "experiment": results.name,
        "folder": str(results.folder.path),
        "question": results.experiment.question,
        "runs": results.runs.height,
        "outcomes": {each.name: _or_none(results.outcome, each.name) for each in results.experiment.outcomes},
        "effects": {each.name: _or_none(results.effects, each.name) for each in results.experiment.outcomes},
        "analyses": results.analyses(),
        "planned": planned_effects(results),
        "validity": validity(results).table(),
        "plans": [plan.model_dump(mode="json") for plan in results.folder.manifest.plans],
    }


def result_caveats(results: Results) -> list[str]:
    """What a reader of the results must know."""
    texts = []
    if results.failures.height:
        first = results.failures.row(0, named=True)
        texts.append(
            f"{results.failures.height} of {plural(results.runs.height, 'run')} failed "
            f"({percent(results.failure_rate)}); "
            f"the first, {first['arm']} with seed {first['seed']}: {first['failure']}"
        )
    basis = validity_basis(results)
    texts += [each.text for each in basis_caveats(basis) if each.severity == "defect" or each.id == "unfinished"]
    return texts


def show_results(results: Results, command: str) -> None:
    """Print effects, failures and what to do next."""
    out.print_line("\n", bold(results.name), f"  {results.state}: {results.reason}")
    if results.experiment.question:
        out.print_line(f"  {results.experiment.question}")
    for outcome in results.experiment.outcomes:
        out.print_line()
        _show_outcome(results, outcome.name)
    for analysis, found in zip(results.experiment.analyses, results.analyses().values(), strict=True):
        out.print_line()
        empty = [name for name in ("note", "p") if not found[name].count()]
        table(found.drop(empty), f"{analysis.name}, 95 % intervals")
    plan = results.analysis_plan
    if plan is not None:
        out.print_line("\n  ", dim("analysis plan"), f"  {plan.hash}, frozen {plan.when}")
        _show_planned(results)
    card = validity(results)
    for text in result_caveats(results):
        if text not in card.warnings:
            warn(text)
    rate = percent(results.failure_rate)
    out.print_line(
        "\n  ", dim("failed"), f"  {results.failures.height} of {plural(results.runs.height, 'run')} ({rate})"
    )
    out.print_line("  ", dim("folder"), f"  {results.folder.path}   ", dim("table"), f" {results.digest[:12]}")
    if results.state != "complete" or results.failures.height:
        out.print_line("  ", dim("continue:"), f"  {command}{(' --retry' if results.failures.height else '')}")
    print_validity(card)
    out.print_line("  ", *how_to_open(results))
    out.print_line("  ", dim("report:"), f"  {command_line('report', results.name)}")
    out.print_line("  ", dim("in Python:"), f"  populace.experiments.Results.open({str(results.folder.path)!r}).runs")


def _show_outcome(results: Results, name: str) -> None:
    try:
        if results.runs[name].dtype == pl.String:
            table(results.probabilities(name).drop("seeds"), f"{name}: how often each outcome came about")
            return
        means = results.outcome(name)
        lost = bool(means["missing"].sum())
        shown = means.drop("seeds", "method", "warning", *([] if lost else _BOUNDS))
        table(shown, f"{name}, 95 % intervals{' of shares' if results.is_share(name) else ''}")
        warnings = means["warning"].to_list()
        if lost:
            out.print_line("  ", dim(_missing_text(results, name)))
        if not results.experiment.design.sampled:
            effects = results.effects(name)
            out.print_line()
            together = [] if effects.height > 1 else ["low_all", "high_all"]
            hidden = ["seeds", "mean", "baseline_mean", "standardised", "standardised_as", "method", "warning", "looks"]
            if results.analysis_plan is None:
                hidden.append("planned")
            columns = effects.drop(*hidden, *together, *([] if lost else _BOUNDS))
            texts = {column: [p_text(p) for p in effects[column]] for column in ("p", "p_adjusted")}
            table(
                columns.with_columns(**{name: pl.Series(text) for name, text in texts.items()}),
                f"Effects on {name}, {level_text(results)} intervals",
            )
            warnings += effects["warning"].to_list()
        for note in dict.fromkeys(note for text in warnings if text for note in text.split("; ")):
            out.print_line("  ", dim(f"note: {note}"))
    except PopulaceError as error:
        warn(f"{name}: {error.what}")


def _show_planned(results: Results) -> None:
    """The comparisons that the plan names, each with what it says."""
    planned = planned_effects(results)
    texts = {column: pl.Series([p_text(p) for p in planned[column]]) for column in ("p", "p_adjusted")}
    title = f"Planned comparisons, {level_text(results)} intervals; p adjusted for those on one outcome"
    out.print_line()
    table(planned.with_columns(**texts).drop("warning"), title)
    for note in dict.fromkeys(note for text in planned["warning"] if text for note in text.split("; ")):
        out.print_line("  ", dim(f"note: {note}"))


def _missing_text(results: Results, name: str) -> str:
    runs = results.runs.filter(pl.col(name).is_null())
    failed = runs.filter(pl.col("status") == "failed").height
    parts = [f"{plural(failed, 'failed run')}"] if failed else []
    if runs.height > failed:
        parts.append(f"{plural(runs.height - failed, 'complete run')} without a value")
    text = f"not counted: {' and '.join(parts)}; bounds say what they could have changed"
    if runs.height > failed and not results.experiment.outcome(name).time:
        text += f". If {name} is the time of an event that had not come, declare it as time({name})"
    return text


def print_validity(card: ValidityCard) -> None:
    """A card in a few lines: its verdict, what failed, and its warnings."""
    out.print_line("  ", dim("validity"), f"  {card.verdict}")
    for check in card.failed:
        out.print_line(f"    {MARKS[check.verdict]} {check.name}: {check.shown} ({check.threshold})")
    warn(*card.warnings)


def how_to_open(results: Results) -> tuple[Part, Part]:
    """The command that opens the first run of an experiment, or how to keep runs."""
    first = next((row["run"] for row in results.rows if row.get("run")), None)
    if first is None:
        return dim("runs:"), "  no folders were kept; with --keep run each run can be opened by `populace show`"
    return dim("open a run:"), f"  {command_line('show', f'{results.name}/{first}')}"


def _or_none(table_of: Any, name: str) -> pl.DataFrame | None:
    """A table of an outcome, or None where the runs do not allow one."""
    try:
        result: pl.DataFrame = table_of(name)
    except PopulaceError:
        return None
    return result
