"""The command `causal`: a treatment in a question, asked in every design."""

from pathlib import Path
from typing import Any, cast

import click

from populace.causal import DESIGNS, CausalDesign, CausalStudy
from populace.causal.diagnostics import drift_table
from populace.cli.causal_run import report_notes, run_study, study_notes
from populace.cli.options import call_options, command, option, settings_options
from populace.cli.output import err, out, report_json, table
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
    notes = study_notes(declared, wanted)
    if only_check:
        report_notes(declared, notes)
        return
    for note in notes:
        err.print_line(note)
    results = run_study(declared, wanted, options, diagnostics=diagnostics)
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
