"""export: a run as files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from populace.base.errors import UsageError
from populace.cli.options import command, common_options
from populace.cli.output import emit, err, out
from populace.engine.workspace import Workspace
from populace.runs.export import FORMATS, RESPONSIBLE_USE, export
from populace.runs.reader import RunReader


def _write_page(run: RunReader, target: str, words: str | None, no_filter: bool) -> Path:
    """Write the page of a community, with the verdicts of judges so far."""
    from populace.community import Community
    from populace.community.judges import read_judgements
    from populace.community.page import write_page
    from populace.community.word_filter import WordFilter

    if words and no_filter:
        raise UsageError("--filter and --no-filter exclude one another.")
    word_filter = WordFilter([]) if no_filter else WordFilter.read(words) if words else None
    community = Community(run)
    return write_page(community, target, verdicts=read_judgements(community).verdicts(), word_filter=word_filter)


@command("export")
@click.argument("name", metavar="RUN")
@click.argument("target")
@click.option(
    "--format",
    "--to",
    "form",
    type=click.Choice([*FORMATS, "html"]),
    default="parquet",
    show_default=True,
    help="A folder of Parquet or CSV files, one SQLite file, or the page of a community.",
)
@click.option("--filter", "words", metavar="FILE", help="For html: words that hide a post until a reader opens it.")
@click.option("--no-filter", is_flag=True, help="For html: hide nothing.")
@common_options
def export_command(
    name: str, target: str, form: Any, words: str | None, no_filter: bool, workspace: str | None, as_json: bool
) -> None:
    run = RunReader(Workspace(workspace).open(name))
    if not run.steps:
        raise UsageError(f"{run.name} has no committed step to export.")
    if form == "html":
        files = [_write_page(run, target, words, no_filter)]
    else:
        files = export(run, target, form)
    if as_json:
        emit({"run": run.name, "files": [str(file) for file in files]}, [RESPONSIBLE_USE])
        return
    for file in files:
        out.print(str(file))
    err.print(f"[yellow]note[/yellow]  {RESPONSIBLE_USE}")
