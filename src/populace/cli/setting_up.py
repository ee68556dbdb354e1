"""models, new, doctor."""

from __future__ import annotations

import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from populace.base.errors import PopulaceError, UsageError
from populace.broker import price_file, price_of
from populace.cli import COMMANDS
from populace.cli.options import ScenarioCommand, json_option, workspace_option
from populace.cli.output import emit, err, facts, out, table, warn
from populace.engine.discovery import find_scenario
from populace.engine.event_loop import finish
from populace.engine.workspace import Workspace
from populace.models import MODEL_FORMS, SMOLLM2, Artifact, cache_folder, open_model
from populace.models.artifacts import MINILM_TOKENIZER, MINILM_WEIGHTS, fetch_together
from populace.tools.doctor import Diagnosis, diagnose
from populace.tools.scaffold import starter


@click.command("models", help=COMMANDS["models"][1])
@click.argument("model", required=False)
@click.option("--fetch", "wanted", is_flag=True, help="Fetch the embedded model and the embedder into the cache now.")
@json_option
def models_command(model: str | None, wanted: bool, as_json: bool) -> None:
    if wanted:
        fetch(SMOLLM2)
        fetch(MINILM_WEIGHTS, MINILM_TOKENIZER)
    if model:
        _check_model(model, as_json)
        return
    data = {
        "forms": MODEL_FORMS,
        "embedded": _described(SMOLLM2),
        "embedder": _described(MINILM_WEIGHTS),
        "prices": {"file": str(price_file()), "exists": price_file().is_file()},
    }
    if as_json:
        emit(data)
        return
    out.print("[bold]Models[/bold] are named with --model:")
    facts(list(MODEL_FORMS.items()))
    there = "in the cache" if SMOLLM2.present() else "not fetched yet (98 MB); it comes on first use or with --fetch"
    out.print(f"\n[bold]{SMOLLM2.name}[/bold] ({SMOLLM2.licence}): {there}")
    facts([("file", str(SMOLLM2.path)), ("sha256", SMOLLM2.sha256)])
    there = (
        "in the cache" if MINILM_WEIGHTS.present() else "not fetched yet (91 MB); it comes on first use or with --fetch"
    )
    out.print(f"\n[bold]{MINILM_WEIGHTS.name}[/bold] ({MINILM_WEIGHTS.licence}), the embedder of memories: {there}")
    facts([("file", str(MINILM_WEIGHTS.path)), ("sha256", MINILM_WEIGHTS.sha256)])
    out.print("\n[bold]Prices[/bold] for budgets in money: a TOML file that you keep")
    facts(
        [
            ("file", f"{price_file()}{'' if price_file().is_file() else '  (not there yet)'}"),
            ("form", '["openai:gpt-*"]  prompt = 0.15  completion = 0.60   money for a million tokens'),
        ]
    )


def _described(artifact: Artifact) -> dict[str, Any]:
    return {
        "name": artifact.name,
        "licence": artifact.licence,
        "path": str(artifact.path),
        "cached": artifact.present(),
        "bytes": artifact.size,
        "sha256": artifact.sha256,
    }


def _check_model(spec: str, as_json: bool) -> None:
    """Start one model and say what it can do."""
    model = open_model(spec)

    async def check() -> None:
        await model.start()
        await model.close()

    finish(check())
    able = model.capabilities
    data = {"model": spec, "fingerprint": model.fingerprint, **able.__dict__, "notes": list(model.notes)}
    if as_json:
        emit(data, model.notes)
        return
    out.print(f"[bold]{spec}[/bold] answers")
    facts(
        [
            ("fingerprint", model.fingerprint),
            ("distributions", f"yes, {able.top_tokens} alternatives" if able.top_tokens else "no: single samples"),
            ("begins replies", "yes" if able.lead else "no"),
            ("JSON schema", "yes" if able.schema else "no"),
            ("price", str(price_of(spec) or "none known")),
        ]
    )
    for note in model.notes:
        warn(note)


def fetch(*artifacts: Artifact) -> None:
    """Fetch files that are not in the cache yet, those of one source together, with a progress bar."""
    missing = [artifact for artifact in artifacts if not artifact.present()]
    if not missing:
        return
    columns = (TextColumn("fetching {task.description}"), BarColumn(bar_width=28), DownloadColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(missing[0].name, total=None)
        paths = fetch_together(missing, lambda done, total: bar.update(task, completed=done, total=total))
    for artifact, path in zip(missing, paths, strict=True):
        err.print(f"fetched and verified {artifact.name}: {path}")


@click.command("new", help=COMMANDS["new"][1])
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
    path.write_text(starter(path.stem))
    if as_json:
        emit({"file": str(path)})
        return
    out.print(f"Wrote {path}: a scenario that runs. Next:")
    for command, why in (
        (f"populace run {path} --model scripted:uniform", "at once, on random answers"),
        (f"populace run {path}", "on the embedded model"),
        (f"populace doctor {path}", "does it repeat?"),
    ):
        out.print(f"  {command:<52} [dim]{why}[/dim]")


def _new_community(name: str, as_json: bool) -> None:
    """A design to begin with: the one that ships, as a file of one's own."""
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


@click.command("doctor", cls=ScenarioCommand, help=COMMANDS["doctor"][1])
@click.argument("scenario", required=False)
@workspace_option
@json_option
def doctor_command(scenario: str | None, workspace: str | None, as_json: bool, **options: Any) -> int:
    if scenario is None:
        return _check_machine(Workspace(workspace), as_json)
    found = find_scenario(scenario)
    arguments = []
    for name in found.parameter_model().model_fields:
        value = options.get(f"parameter_{name}")
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            arguments += [f"--{flag}", str(value)]
    diagnosis = diagnose(scenario, found, arguments)
    _show_diagnosis(scenario, diagnosis, as_json)
    return 0 if diagnosis.deterministic else 6


def _show_diagnosis(name: str, found: Diagnosis, as_json: bool) -> None:
    parting = found.comparison.first_difference
    if as_json:
        emit(
            {
                "scenario": name,
                "deterministic": found.deterministic,
                "steps": found.steps,
                "digests": found.digests,
                "parting": parting.__dict__ if parting else None,
                "suspects": [s.__dict__ for s in found.suspects],
            }
        )
        return
    if found.deterministic:
        out.print(
            f"[bold green]{name} is deterministic[/bold green]: two runs in separate processes, with 1 and 64 "
            f"calls at once, other hash seeds and time zones, wrote one journal ({found.digests[0][:12]})."
        )
    else:
        out.print(f"[bold red]{name} is not deterministic[/bold red]: two runs of it differ.")
        if parting:
            whom = f", person {parting.person}" if parting.person is not None else ""
            out.print(
                f"  first at step {parting.step}{whom}, in the {parting.what}: {parting.first!r} and {parting.second!r}"
            )
        else:
            out.print("  every decision is equal, but the people, events or metrics that they lead to are not")
    if found.suspects:
        rows = [(s.line, s.code, s.why) for s in found.suspects]
        table(pl.DataFrame(rows, schema=["line", "code", "why"], orient="row"), "Lines that may be the cause")


def _check_machine(workspace: Workspace, as_json: bool) -> int:
    """What is here, and whether it is enough."""
    checks: list[tuple[str, bool, str]] = []
    for package in ("populace", "polars", "xllamacpp", "openai"):
        checks.append((package, True, version(package)))
    checks.insert(0, ("python", True, platform.python_version()))
    present = SMOLLM2.present()
    checks.append(("embedded model", present, str(SMOLLM2.path) if present else "not fetched: populace models --fetch"))
    try:
        store = workspace.store()
        checks.append(("call store", True, f"{store.path}, {len(store):,} calls"))
        store.close()
    except PopulaceError as error:
        checks.append(("call store", False, str(error)))
    nearest = next(folder for folder in (cache_folder(), *cache_folder().parents) if folder.exists())
    free = min(shutil.disk_usage(place).free for place in (workspace.folder, nearest)) / 1e9
    checks.append(("disk", free > 1, f"{free:.1f} GB free"))
    if as_json:
        emit([{"check": name, "ok": ok, "found": said} for name, ok, said in checks])
    else:
        for name, ok, said in checks:
            mark = "[green]✓[/green]" if ok else "[red]✗[/red]"
            out.print(f"  {mark} {name:<15} {said}")
    return 0 if all(ok for _, ok, _ in checks) else 3
