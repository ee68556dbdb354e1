"""The command `tasks`: a model in place of people in games, experiments and other tasks of a corpus of decisions."""

import math
from pathlib import Path
from typing import Any

import click

from populace.base.errors import UsageError
from populace.base.foreign_columns import csv_table
from populace.base.formatting import plural
from populace.cli.options import call_options, command, current_workspace, option, settings_options
from populace.cli.output import out, report_json, table
from populace.cli.survey_run import run_survey
from populace.evaluation import ExperimentEffect, HumanDecisions, effect_agreement, experiment_effect
from populace.evaluation.effects import check_conditions, effects_table
from populace.evaluation.human_answers import read_answer_table
from populace.evaluation.task_comparison import compare_tasks, comparison_table
from populace.journal import RunSettings
from populace.surveys.task_agents import task_answers, task_survey

ANSWERS = "answers.parquet"
"""The file with the distributions of agents."""


@command("tasks")
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False))
@option("--task", "names", multiple=True, metavar="TASK", help="A task; all by default.")
@option("--family", "families", multiple=True, metavar="FAMILY", help="A family of tasks; all by default.")
@option("--effect", "contrasts", multiple=True, metavar="TASK=A|B", help="Compare the effect of condition B over A.")
@option("--answers", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Answers from an earlier call.")
@option("--only-ask", is_flag=True, help="Ask, write the answers, and compare later with --answers.")
@option("--to", metavar="FOLDER", default=".", help="Where answers and tables are written.")
@option("--estimate", "only_estimate", is_flag=True, help="Say what it would cost, and ask nobody.")
@settings_options(RunSettings)
@call_options
def tasks_command(
    folder: str,
    names: tuple[str, ...],
    families: tuple[str, ...],
    contrasts: tuple[str, ...],
    answers: str | None,
    only_ask: bool,
    to: str,
    only_estimate: bool,
    **options: Any,
) -> None:
    if answers and only_ask:
        raise UsageError("--answers and --only-ask exclude each other.")
    pairs = [_contrast(text) for text in contrasts]
    decisions = HumanDecisions.read(folder, tasks=names or None, families=families or None)
    for task, *conditions in pairs:
        check_conditions(decisions, task, conditions)
    target = Path(to)
    target.mkdir(parents=True, exist_ok=True)
    files = []
    if answers:
        given = read_answer_table(Path(answers))
    else:
        workspace = current_workspace()
        scenario = task_survey(decisions, workspace=workspace)
        run = run_survey(scenario, options, only_estimate=only_estimate)
        if run is None:
            return
        given = task_answers(run)
        files.append(target / ANSWERS)
        given.write_parquet(files[0], compression="zstd")
    comparisons = [] if only_ask else compare_tasks(decisions, given, seed=options["seed"])
    result = comparison_table(comparisons)
    if not only_ask:
        files.append(target / "tasks.csv")
        csv_table(result).write_csv(files[-1])
    effects = [] if only_ask else [
        experiment_effect(decisions, given, task, control=first, treatment=second) for task, first, second in pairs
    ]  # fmt: skip
    effect_rows = effects_table(effects)
    if effects:
        files.append(target / "effects.csv")
        csv_table(effect_rows).write_csv(files[-1])
    report_json({"tasks": result, "effects": effect_rows, "files": [str(file) for file in files]})
    if not only_ask:
        table(result, "agents against people")
    if effects:
        table(effect_rows, "effects, as Cohen's d")
        out.print_line(_agreement_text(effects))
    for file in files:
        out.print_line(f"  wrote {file}")


def _contrast(text: str) -> tuple[str, str, str]:
    """A task and two of its conditions, from `TASK=A|B`."""
    task, sign, rest = text.partition("=")
    first, bar, second = rest.partition("|")
    if not (sign and bar and task and first and second):
        raise UsageError(f"--effect takes TASK=CONTROL|TREATMENT, not {text!r}.")
    return task.strip(), first.strip(), second.strip()


def _agreement_text(effects: list[ExperimentEffect]) -> str:
    known = [each for each in effects if math.isfinite(each.human.value) and math.isfinite(each.agents.value)]
    if not known:
        return "  no effect can be compared: all answers within a condition are the same"
    agreement = effect_agreement(known)
    slope = agreement.slope
    lost = f" ({len(effects) - len(known)} without variation left out)" if len(known) < len(effects) else ""
    half = "" if math.isnan(agreement.human_half) else f", a random half of the people {agreement.human_half:.0%}"
    replicated = "no human effect can be told from 0, so that none can be replicated"
    if agreement.with_effect:
        replicated = f"agents replicate {agreement.replicated:.0%} of {plural(agreement.with_effect, 'human effect')}"
        replicated += half
    line = f"slope {slope.value:.2f} [{slope.low:.2f}, {slope.high:.2f}]"
    if not math.isfinite(slope.low):
        line = "the slope can have any value"
    agreed = round(agreement.signs * agreement.experiments)
    signs = f"the signs of {agreed} of {plural(agreement.experiments, 'effect')} agree"
    return f"  {signs}{lost}; {line}; {replicated}"
