"""The command `panel`: a model in place of the people of a panel, beside floors and the people's own retest."""

from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.errors import HumanDataError, UsageError
from populace.cli.options import COUNT, call_options, command, current_workspace, option, settings_options
from populace.cli.output import out, report_json, table
from populace.cli.survey_run import run_survey
from populace.evaluation import Arm, GroupFlip, HumanAnswers, PanelItems, PanelStudy, Predictions, read_panel
from populace.evaluation.arms import ARMS
from populace.evaluation.human_answers import read_answer_table
from populace.evaluation.leakage import refuse_answers
from populace.evaluation.panel_study import FLOORS
from populace.evaluation.resampling import Clusters
from populace.journal import RunSettings
from populace.models.adapters import read_card
from populace.runs.fidelity_figures import keep_figures
from populace.statistics.values import library
from populace.surveys.panel_agents import panel_answers, panel_survey

FILE = click.Path(exists=True, dir_okay=False)
ANSWERS = "answers.parquet"
"""The file with the distributions of all agents."""


@command("panel")
@click.argument("panel", metavar="PANEL", type=FILE)
@click.option("--items", required=True, metavar="FILE", type=FILE, help="The items: id, text, options, role.")
@option("--wave", metavar="WAVE", default="1", help="The wave that is predicted.")
@option("--retest", metavar="WAVE", default="2", help="The wave that is the retest.")
@option("--about", multiple=True, metavar="COLUMN", help="A column that describes people; all others by default.")
@option("--held-out", metavar="FILE", type=FILE, help="The held-out people, one id in each line.")
@option("--people", type=COUNT, default=200, help="How many people are held out, without --held-out.")
@option("--arm", "arm_names", multiple=True, type=click.Choice(ARMS), help="What agents know; all three by default.")
@option("--flip", "flips", multiple=True, metavar="COLUMN=A|B", help="Measure how answers move between two groups.")
@option("--flip-people", type=COUNT, default=20, help="In place of how many people a flip is asked.")
@option("--answers", metavar="FILE", type=FILE, help="Answers of agents that an earlier call wrote; asks no model.")
@option("--floors", metavar="FILE", help="Keep the fitted floors in this file, for other models.")
@option("--only-ask", is_flag=True, help="Ask, write the answers, and evaluate later with --answers.")
@option("--subject", metavar="WORD", default="these items", help="What the items are about, such as attitudes.")
@option("--trained", multiple=True, metavar="FILE", type=FILE, help="The manifest of an adapter, to look for leaks.")
@click.option(
    "--clusters",
    type=click.Choice(["people", "items", "both"]),
    help="What is drawn anew.  [default: both; people where there is one item]",
)
@option("--name", metavar="NAME", help="The name of the report.  [default: that of the panel]")
@option("--to", metavar="FOLDER", default=".", help="Where answers and report are written.")
@option("--estimate", "only_estimate", is_flag=True, help="Say what it would cost, and ask nobody.")
@settings_options(RunSettings)
@call_options
def panel_command(
    panel: str,
    items: str,
    wave: str,
    retest: str,
    about: tuple[str, ...],
    held_out: str | None,
    people: int,
    arm_names: tuple[str, ...],
    flips: tuple[str, ...],
    flip_people: int,
    answers: str | None,
    floors: str | None,
    only_ask: bool,
    subject: str,
    trained: tuple[str, ...],
    clusters: Clusters | None,
    name: str | None,
    to: str,
    only_estimate: bool,
    **options: Any,
) -> None:
    if answers and only_ask:
        raise UsageError("--answers and --only-ask exclude each other.")
    listed = PanelItems.read(items)
    everybody = read_panel(panel, listed, wave=wave, retest=retest, about=about or None)
    others, held = _held_out(everybody, held_out, people, options["seed"])
    arms = [Arm.standard(each, held, listed.context) for each in arm_names or _possible_arms(held, listed)]
    study = PanelStudy(
        name or Path(panel).name.split(".")[0], held, others, listed.targets, tuple(arms),
        tuple(GroupFlip.read(each) for each in flips),
    )  # fmt: skip
    manifests = [read_manifest(path) for path in trained]
    refuse_answers(study.leaks(manifests))
    if not (only_ask or only_estimate or (floors and Path(floors).is_file())):
        library("sklearn.linear_model")  # Without it there are no floors; better said before a model is asked.
    folder = Path(to)
    if answers:
        given = read_answer_table(Path(answers))
    else:
        workspace = current_workspace()
        scenario = panel_survey(
            held, arms, listed.targets, everything=study.flip_arms, most_people=flip_people, workspace=workspace
        )
        run = run_survey(scenario, options, only_estimate=only_estimate)
        if run is None:
            return
        given = panel_answers(run)
        folder.mkdir(parents=True, exist_ok=True)
        given.write_parquet(folder / ANSWERS, compression="zstd")
        out.print_line(f"  wrote {folder / ANSWERS}")
        if only_ask:
            report_json({"run": run.name, "answers": given.height, "files": [str(folder / ANSWERS)]})
            return
    fitted = _floors(study, floors) if floors else None
    clusters = clusters or ("both" if len(listed.targets) > 1 else "people")
    report = study.report(
        given, floors=fitted, clusters=clusters, model=_model(given), subject=subject, manifests=manifests,
        seed=options["seed"],
    )  # fmt: skip
    files = report.write(folder)
    if report.model:
        files.append(keep_figures(current_workspace().folder, report.figures()))
    report_json(report.figures() | {"files": [str(file) for file in files]})
    table(report.table(), report.name)
    for file in files:
        out.print_line(f"  wrote {file}")


def _model(answers: pl.DataFrame) -> str:
    """The model that gave the answers; empty where the file does not say, as that of an older version."""
    names = answers["model"].drop_nulls().unique().sort().to_list() if "model" in answers.columns else []
    return ", ".join(names)


def read_manifest(path: str) -> dict[str, Any]:
    """What an adapter was trained on: its manifest as JSON, or the adapter itself."""
    if path.endswith(".gguf"):
        return dict(read_card(path).manifest)
    try:
        return parse_json_object(read_text(Path(path), most=50_000_000))
    except (OSError, DocumentError) as error:
        raise HumanDataError(f"{path} could not be read: {error}.", "It is the manifest of an adapter.") from error


def _floors(study: PanelStudy, file: str) -> list[Predictions]:
    """Floors from a file; where there is none yet they are fitted and written to it."""
    path, people = Path(file), study.human.select(study.targets)
    if path.is_file():
        fitted_before = read_answer_table(path)
        if "study" not in fitted_before.columns or (fitted_before["study"] != study.fingerprint).any():
            raise HumanDataError(
                f"the floors in {path} were fitted for other people, items or arms.",
                "Name another file, and they are fitted and written to it.",
            )
        names = [f"{kind}, {arm.name}" for arm in study.arms for kind in FLOORS]
        return [study.predictions(fitted_before, name) for name in names]
    fitted = study.floors()
    tables = [each.table(people.people).with_columns(arm=pl.lit(each.name)) for each in fitted]
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.concat(tables).with_columns(study=pl.lit(study.fingerprint)).write_parquet(path, compression="zstd")
    return fitted


def _possible_arms(human: HumanAnswers, items: PanelItems) -> list[str]:
    known = {"demographics": bool(human.profiles.width), "answers": bool(items.context)}
    names = [name for name in ARMS if all(known[part] for part in (known if name == "both" else (name,)))]
    if not names:
        raise HumanDataError("agents would know nothing.", "Give people a profile, or items the role context.")
    return names


def _held_out(everybody: HumanAnswers, path: str | None, people: int, seed: int) -> tuple[HumanAnswers, HumanAnswers]:
    if path is None:
        if people >= len(everybody.people):
            raise HumanDataError(
                f"{people} people cannot be held out of {len(everybody.people)}.", "Floors need other people."
            )
        return everybody.split(people / len(everybody.people), seed=seed)
    try:
        names = [line.strip() for line in read_text(Path(path), most=10_000_000).splitlines() if line.strip()]
    except (OSError, DocumentError) as error:
        raise HumanDataError(f"{path} could not be read: {error}.", "Write one id in each line.") from error
    return everybody.hold_out(names)
