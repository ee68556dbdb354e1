"""The command `train`: a model learns from a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from populace.cli.adapters import licence_rows
from populace.cli.interruption import repeatable_command
from populace.cli.options import command, option
from populace.cli.output import dim, facts, out, report_json, row_table, warn
from populace.cli.progress import fetch_missing_models
from populace.models.adapters import read_card

if TYPE_CHECKING:
    from populace.training import Look, PlannedTraining


@command("train")
@click.argument("plan", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))
@click.option("--to", metavar="FOLDER", help="Where everything is written.  [default: the name of the plan]")
@option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute.")
@option("--workers", type=click.IntRange(0, 256), default=0, help="Processes that render examples.")
@option("--score/--no-score", default=True, help="Score on unseen people, topics and tasks afterwards.")
@option("--only-score", is_flag=True, help="Score the adapter in the folder, without training.")
@option("--zero-shot", is_flag=True, help="Score the base instead of an adapter, without training.")
def train_command(
    plan: str, to: str | None, device: str, workers: int, score: bool, only_score: bool, zero_shot: bool
) -> None:
    from populace.training import PlannedTraining, TrainingPlan, choose_device, load_base

    read = TrainingPlan.read(plan)
    kept = "What was learned up to the last look is kept."
    with repeatable_command(f"the training of {read.name}", kept):
        fetch_missing_models("embedded" if read.base == "embedded" else "")
        training = PlannedTraining(read, to or read.name, say=_show_preparation)
        place = choose_device(device)
        if zero_shot:
            model = load_base(training.base, place)
        elif only_score:
            model = training.saved_network(place)
        else:
            _show_beginning(training, place)
            model = training.train(place, workers=workers, watch=_show_look)
            if training.too_long:
                length = f"{read.settings.length:,} tokens"
                warn(f"{training.too_long:,} examples were left out, as they are longer than {length} (`length`).")
        figures = {} if zero_shot else training.figures()
        if score or only_score or zero_shot:
            figures = training.score(model, "zero_shot" if zero_shot else "figures", trained=not zero_shot)
        if not zero_shot and read.settings.rank:
            path = training.write_adapter(training.looks(), figures)
            use = f"populace run norms --model {_model_string(read.base, path)}"
            facts([("adapter", str(path)), *licence_rows(read_card(path)), ("use it", use)])
        report_json({"folder": str(training.folder), "figures": figures})
        _show_tasks({part: each for part, each in figures.items() if "tasks" in each})
        _show_sessions({part: each for part, each in figures.items() if "predictors" in each})


def _show_beginning(training: PlannedTraining, device: str) -> None:
    look, name = training.last_look(), training.plan.name
    if look is None:
        out.print_line(f"  training {name} on {device}; interrupt it at any time, and the same command goes on.")
    elif look.progress == 1:
        out.print_line(f"  {name} is trained already; to train it anew, name another folder with --to.")
    else:
        out.print_line(f"  going on with the training of {name} on {device}, from the last look:")
        _show_look(look)


def _show_preparation(text: str) -> None:
    out.print_line("  ", dim(text))


def _show_look(look: Look) -> None:
    unseen = "" if look.unseen_loss is None else f"  unseen people {look.unseen_loss:.4f}"
    out.print_line(f"  {look.progress:6.1%}  step {look.step:,}  loss {look.loss:.4f}{unseen}  {look.tokens:,} tokens")


def _model_string(base: str, adapter: Path) -> str:
    """The model string of an adapter on the base that it was trained for."""
    if base == "embedded":
        return f"embedded+{adapter}"
    return f"{'transformers' if Path(base).is_dir() else 'embedded'}:{base}+{adapter}"


def _show_tasks(figures: dict[str, Any]) -> None:
    names = ("accuracy", "majority", "log_loss", "majority_log_loss", "mass")
    rows = [
        (part, _number(each["tasks"], 0), *(_number(each.get(name)) for name in names))
        for part, each in figures.items()
    ]
    if rows:
        row_table(("part", "tasks", "accuracy", "of majority", "log-loss", "of shares", "mass"), rows)
        out.print_line(
            "  ", dim("majority: the most common answer of other people; shares: the shares of their answers;")
        )
        out.print_line(
            "  ", dim("mass: the probability that falls on any option. All on people who were not in training.")
        )


def _show_sessions(figures: dict[str, Any]) -> None:
    names = ("accuracy", "macro F1 of outcomes", "distance of actions")
    rows = [
        (
            part,
            _number(each.get("cases"), 0),
            predictor,
            *(_number(_object(scores.get(name)).get("value")) for name in names),
        )
        for part, each in figures.items()
        for predictor, scores in _object(each["predictors"]).items()
        if isinstance(scores, dict)
    ]
    if rows:
        row_table(("part", "actions", "predictor", "accuracy", "F1 of outcomes", "distance"), rows)


def _number(value: Any, digits: int = 3) -> str:
    """A figure as text; nothing where there is none, or where a file that somebody changed holds something else."""
    return f"{value:.{digits}f}" if isinstance(value, int | float) else ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
