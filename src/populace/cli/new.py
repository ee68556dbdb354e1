"""new: a scenario or a community to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from populace.base.errors import UsageError
from populace.cli.options import command, json_option
from populace.cli.output import emit, out
from populace.tools.scaffold import scenario_file


@command("new")
@click.argument("name")
@click.option("--community", is_flag=True, help="Write the design of a community for `populace run forum` instead.")
@json_option
def new_command(name: str, community: bool, as_json: bool) -> None:
    if community:
        _new_community(name, as_json)
        return
    path = Path(name if name.endswith(".py") else f"{name}.py")
    if path.exists():
        raise UsageError(f"{path} exists already.", "Name another file.")
    if not path.stem.replace("-", "_").isidentifier():
        raise UsageError(f"{path.stem!r} cannot be the name of a scenario.", "Use letters, digits and underscores.")
    path.write_text(scenario_file(path.stem))
    if as_json:
        emit({"file": str(path)})
        return
    out.print(f"Wrote {path}: a scenario that runs. Next:")
    for line, why in (
        (f"populace run {path} --model scripted:uniform", "at once, on random answers"),
        (f"populace run {path}", "on the embedded model"),
        (f"populace doctor {path}", "check that it repeats"),
    ):
        out.print(f"  {line:<52} [dim]{why}[/dim]")


def _new_community(name: str, as_json: bool) -> None:
    """Write the design of a community that ships with Populace as a file to change."""
    from populace.scenarios.forum import shipped_designs

    path = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if path.exists():
        raise UsageError(f"{path} exists already.", "Name another file.")
    path.write_text(shipped_designs()["repair-bench"].read_text(encoding="utf-8"), encoding="utf-8")
    if as_json:
        emit({"file": str(path)})
        return
    out.print(f"Wrote {path}: a community to change. Next:")
    out.print(f"  populace run forum --design {path}")
