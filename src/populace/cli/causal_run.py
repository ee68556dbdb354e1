"""A causal study as the commands `causal` and `demand` check and ask it."""

from collections.abc import Mapping
from typing import Any

from populace.base.errors import CausalStudyError, PopulaceError
from populace.causal import (
    CausalDesign,
    CausalResults,
    CausalStudy,
    ask_causal_study,
    lint_study,
    recorded_causal_results,
)
from populace.causal.execution import has_all_steps
from populace.causal.responses import Responses
from populace.cli.interruption import KEPT, running_command
from populace.cli.options import current_workspace
from populace.cli.output import err, out, report_json
from populace.cli.progress import RunDisplay, fetch_missing_models
from populace.engine.workspace import Workspace
from populace.runs.reader import RunReader


def study_notes(study: CausalStudy, designs: tuple[CausalDesign, ...]) -> list[str]:
    """What the prompts of a study leave open, in sentences."""
    return [str(finding) for finding in lint_study(study, designs)]


def report_notes(study: CausalStudy, notes: list[str]) -> None:
    """Report what the prompts of a study leave open, and nothing else."""
    report_json({"title": study.title, "digest": study.digest, "findings": notes})
    for note in notes or ["The prompts of these designs leave nothing open that the lint knows of."]:
        out.print_line(note)


def recorded_results(folder: str) -> tuple[CausalResults, list[str]]:
    """The results of the causal runs of a workspace, and which of them are left out."""
    workspace = Workspace(folder)
    runs: list[RunReader] = []
    left_out: list[str] = []
    for name in workspace.names():
        try:
            run = RunReader(workspace.open(name))
            if "study" not in run.manifest.regime.parameters:
                continue
            if has_all_steps(run):
                Responses.of(run)  # Where answers are damaged, this shows only when they are read.
                runs.append(run)
            else:
                left_out.append(f"{name} did not reach its end and is left out.")
        except PopulaceError as error:
            left_out.append(f"{name} cannot be read and is left out: {error.what}")
    if left_out and not runs:
        raise CausalStudyError(
            f"{workspace.folder} has no whole run of a causal study: {left_out[0]}",
            "Start one with `populace causal FILE`.",
        )
    return recorded_causal_results(runs), left_out


def run_study(
    study: CausalStudy, designs: tuple[CausalDesign, ...], options: Mapping[str, Any], *, diagnostics: bool
) -> CausalResults:
    """Ask a study in every design and show the progress; an error says how to go on."""
    fetch_missing_models(options["model"] if options["decider"] == "model" else "")
    try:
        return ask_causal_study(
            study,
            designs=designs,
            diagnostics=diagnostics,
            workspace=current_workspace(),
            observer=RunDisplay(),
            progress=lambda name: err.print_line(f"\n{study.title}: {name}"),
            **options,
        )
    except PopulaceError as error:
        again = f"{KEPT} Go on with: {running_command()}"
        error.hint = f"{error.hint} {again}" if error.hint else again
        raise
