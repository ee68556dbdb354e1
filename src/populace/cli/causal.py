"""The command `causal`: a treatment in a question, asked in every design."""

from pathlib import Path
from typing import Any, cast

import click

from populace.base.errors import ParameterError
from populace.causal import DESIGNS, CausalDesign, CausalResults, CausalStudy
from populace.causal.diagnostics import drift_table
from populace.cli.causal_run import recorded_results, report_notes, run_study, study_notes
from populace.cli.options import call_options, command, option, settings_options
from populace.cli.output import err, out, report_json, table
from populace.experiments.reports.causal_report import write_causal_report
from populace.journal import RunSettings


@command("causal")
@click.argument("study", metavar="FILE", required=False, type=click.Path(dir_okay=False))
@option("--design", "designs", multiple=True, type=click.Choice(DESIGNS), help="A design; all of them by default.")
@option("--diagnostics/--no-diagnostics", default=True, help="Whether to look for drift and effects of the range too.")
@option("--check", "only_check", is_flag=True, help="Say what the prompts leave open, and ask nobody.")
@option("--runs", metavar="FOLDER", help="Report the causal runs of this workspace, and ask nobody.")
@option("--to", metavar="FOLDER", default=".", help="Where the report is written.")
@settings_options(RunSettings)
@call_options
def causal_command(
    study: str | None,
    designs: tuple[str, ...],
    diagnostics: bool,
    only_check: bool,
    runs: str | None,
    to: str,
    **options: Any,
) -> None:
    if bool(study) is bool(runs):
        raise ParameterError(
            "name the file of a study, or a workspace with recorded runs: one of the two.",
            "populace causal FILE, or populace causal --runs FOLDER",
        )
    if runs:
        results, unfinished = recorded_results(runs)
        _report(results, [*unfinished, *study_notes(results.study, tuple(results.responses))], to)
        return
    declared = CausalStudy.read(Path(str(study)))
    wanted = cast("tuple[CausalDesign, ...]", designs or DESIGNS)
    notes = study_notes(declared, wanted)
    if only_check:
        report_notes(declared, notes)
        return
    for note in notes:
        err.print_line(note)
    _report(run_study(declared, wanted, options, diagnostics=diagnostics), notes, to)


def _report(results: CausalResults, notes: list[str], to: str) -> None:
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
