"""The command `causal`: a treatment in a question, asked in every design."""

from pathlib import Path
from typing import Any, cast

import click

from populace.base.errors import PopulaceError
from populace.causal import DESIGNS, CausalDesign, CausalStudy, ask_causal_study, lint_study
from populace.causal.diagnostics import drift_table
from populace.cli.options import call_options, command, current_workspace, option, settings_options
from populace.cli.output import err, out, report_json, table
from populace.cli.progress import RunDisplay, fetch_missing_models
from populace.experiments.reports.causal_report import write_causal_report
from populace.journal import RunSettings


@command("causal")
@click.argument("study", metavar="FILE", type=click.Path(dir_okay=False))
@option("--design", "designs", multiple=True, type=click.Choice(DESIGNS), help="A design; all of them by default.")
@option("--diagnostics/--no-diagnostics", default=True, help="Whether to look for drift and effects of the range too.")
@option("--check", "only_check", is_flag=True, help="Say what the prompts leave open, and ask nobody.")
@option("--to", metavar="FOLDER", default=".", help="Where the report is written.")
@settings_options(RunSettings)
@call_options
def causal_command(
    study: str, designs: tuple[str, ...], diagnostics: bool, only_check: bool, to: str, **options: Any
) -> None:
    declared = CausalStudy.read(Path(study))
    wanted = cast("tuple[CausalDesign, ...]", designs or DESIGNS)
    notes = [str(finding) for finding in lint_study(declared, wanted)]
    if only_check:
        report_json({"title": declared.title, "digest": declared.digest, "findings": notes})
        for note in notes or ["The prompts of these designs leave nothing open that the lint knows of."]:
            out.print_line(note)
        return
    for note in notes:
        err.print_line(note)
    fetch_missing_models(options["model"] if options["decider"] == "model" else "")
    try:
        results = ask_causal_study(
            declared,
            designs=wanted,
            diagnostics=diagnostics,
            workspace=current_workspace(),
            observer=RunDisplay(),
            progress=lambda name: err.print_line(f"\n{declared.title}: {name}"),
            **options,
        )
    except PopulaceError as error:
        again = "Replies that were paid for are kept: run the same command again to go on."
        error.hint = f"{error.hint} {again}" if error.hint else again
        raise
    files = write_causal_report(results, to, notes)
    report_json(results.figures() | {"notes": notes, "files": [str(file) for file in files]})
    out.print_line()
    for text in results.findings():
        out.print_line(text)
    out.print_line()
    table(results.table(), "Designs")
    if results.drifts:
        table(drift_table(results.drifts), "Drift of unstated variables")
    for file in files:
        out.print_line(f"  wrote {file}")
