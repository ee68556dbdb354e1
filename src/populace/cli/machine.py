"""Commands about this machine: Studio, models and the check of what is installed."""

import importlib.util
import platform
import shutil
from contextlib import closing
from importlib.metadata import version
from typing import Any

import click

from populace.base.errors import PopulaceError, UsageError
from populace.base.formatting import plural
from populace.broker import currency, price_file, price_of
from populace.broker.prices import EXAMPLE, Price
from populace.cli.adapters import adapter_document, show_adapters, show_card
from populace.cli.options import ScenarioCommand, command, current_workspace, option
from populace.cli.output import bold, dim, facts, out, report_json, row_table, warn
from populace.cli.progress import fetch_artifacts, fetch_hub_file, fetch_missing_models
from populace.engine.discovery import find_scenario
from populace.engine.session import run_to_end
from populace.engine.workspace import Workspace
from populace.models import MODEL_FORMS, SMOLLM2, Artifact, cache_folder, check_model, model_traits, open_model
from populace.models.adapter_listing import list_adapters
from populace.models.artifacts import MINILM_TOKENIZER, MINILM_WEIGHTS
from populace.tools.doctor import TRIAL_MODEL, Diagnosis, diagnose
from populace.tools.model_check import check_abilities


@command("studio", json=False)
@option("--host", default="127.0.0.1", help="The address to listen on; any other needs a token.")
@option("--port", type=click.IntRange(0, 65_535), default=8642, help="The port; 0 takes a free one.")
@click.option("--token", help="The token that visitors need; made at random if --host needs one and none is given.")
@click.option("--open/--no-open", "browse", default=True, help="Open a browser.")
def studio_command(host: str, port: int, token: str | None, browse: bool) -> None:
    if importlib.util.find_spec("nicegui") is None:
        raise UsageError("Studio needs NiceGUI.", "Install it with: pip install 'populace[studio]'")
    from populace.studio.server import serve

    folder = current_workspace().folder
    serve(folder, host=host, port=port, token=token, browser=browse, print_line=out.print_line)


@command("models")
@click.argument("model", required=False)
@click.option("--describe", metavar="ADAPTER", help="Show all that an adapter says of itself: a name or a file.")
@click.option(
    "--fetch",
    "fetch",
    is_flag=True,
    help="Fetch what the model needs into the cache now; without a model, the embedded model and the embedder.",
)
def models_command(model: str | None, describe: str | None, fetch: bool) -> None:
    if describe is not None:
        show_card(describe)
        return
    if fetch and model:
        _fetch_model(model)
        return
    if fetch:
        fetch_artifacts(SMOLLM2)
        fetch_artifacts(MINILM_WEIGHTS, MINILM_TOKENIZER)
    if model:
        _check_model(model)
        return
    prices, priced = price_file(), price_file().is_file()
    adapters = list_adapters(current_workspace().folder)
    report_json(
        {
            "forms": MODEL_FORMS,
            "embedded": _artifact_document(SMOLLM2),
            "embedder": _artifact_document(MINILM_WEIGHTS),
            "adapters": [adapter_document(each) for each in adapters],
            "prices": {"file": str(prices), "exists": priced, "currency": currency()},
        }
    )
    out.print_line(bold("Models"), " are named with --model:")
    facts(list(MODEL_FORMS.items()))
    for artifact, size, role in ((SMOLLM2, 98, ""), (MINILM_WEIGHTS, 91, ", the embedder of memories")):
        missing = f"not fetched yet ({size} MB); it comes on first use or with --fetch"
        there = "in the cache" if artifact.present() else missing
        out.print_line("\n", bold(artifact.name), f" ({artifact.licence}){role}: {there}")
        facts([("file", str(artifact.path)), ("sha256", artifact.sha256)])
    show_adapters(adapters)
    out.print_line("\n", bold("Prices"), " for budgets in money: a TOML file that you keep")
    facts([("file", f"{prices}{'' if priced else '  (not there yet)'}")])
    out.print_line("  It looks like this, with money for a million tokens read and written:")
    for line in EXAMPLE.splitlines():
        out.print_line(f"    {line}" if line else "")
    out.print_line("\n", dim("  what a model can do: "), " populace doctor --model MODEL")


def _price_text(price: Price | None) -> str:
    if price is None:
        return "unknown: the price table does not have it"
    if not price.prompt and not price.completion:
        return "none"
    unit = currency() or "(currency not named)"
    return f"{price.prompt:g} {unit} for a million tokens read, {price.completion:g} written"


def _fetch_model(spec: str) -> None:
    """Fetch the file of one model, the newest of its revision if it is on the hub, and say where it is."""
    traits = model_traits(spec)
    if traits.adapter_file is not None:
        fetch_hub_file(traits.adapter_file, refresh=True)
    file = traits.hub_file or traits.artifact or traits.adapter_file
    if file is None:
        raise UsageError(f"{spec} needs no file that could be fetched.", f"Try it with: populace models {spec}")
    if traits.hub_file is not None:
        fetch_hub_file(traits.hub_file, refresh=True)
    elif traits.artifact is not None:
        fetch_artifacts(traits.artifact)
    digest = file.sha256 if isinstance(file, Artifact) else (file.record or {})["sha256"]
    report_json({"model": spec, "path": str(file.path), "sha256": digest})
    facts([("model", spec), ("file", str(file.path)), ("sha256", digest)])


def _artifact_document(artifact: Artifact) -> dict[str, Any]:
    own = {name: getattr(artifact, name) for name in ("name", "licence", "sha256")}
    return own | {"path": str(artifact.path), "cached": artifact.present(), "bytes": artifact.size}


def _check_model(spec: str) -> None:
    """Start one model and say what it can do."""
    model = open_model(spec)

    async def check() -> None:
        await model.start()
        await model.close()

    run_to_end(check())
    able = model.capabilities
    data = {"model": spec, "fingerprint": model.fingerprint, **able.__dict__, "notes": list(model.notes)}
    report_json(data, model.notes)
    out.print_line(bold(spec), " answers")
    facts(
        [
            ("fingerprint", model.fingerprint),
            (
                "distributions",
                f"yes, {plural(able.top_tokens, 'alternative')}" if able.top_tokens else "no: single samples",
            ),
            ("first words", "can be given" if able.lead else "cannot be given"),
            ("JSON schema", "yes" if able.schema else "no"),
            ("price", _price_text(price_of(spec))),
        ]
    )
    warn(*model.notes)


@command("doctor", cls=ScenarioCommand)
@click.argument("scenario", required=False)
@click.option(
    "--model",
    metavar="MODEL",
    help="Check this model with at most four small calls: key, address, log-probabilities, JSON schema, seed. With a "
    f"scenario, the model of both trial runs.  [default: no model is checked; trial runs use {TRIAL_MODEL}]",
)
def doctor_command(scenario: str | None, model: str | None, **options: Any) -> int:
    if model is not None:
        check_model(model)
        fetch_missing_models(model)
    if scenario is None:
        return _check_machine(current_workspace()) if model is None else _check_abilities(model)
    scenario_class = find_scenario(scenario)
    arguments = []
    for name in scenario_class.parameter_model().model_fields:
        value = options.get(f"parameter_{name}")
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            arguments += [f"--{flag}", str(value)]
    diagnosis = diagnose(scenario, scenario_class, arguments, model=model or TRIAL_MODEL)
    difference, code = diagnosis.comparison.first_difference, 0 if diagnosis.deterministic else 6
    document = {name: getattr(diagnosis, name) for name in ("deterministic", "steps", "digests")}
    suspects = [suspect.__dict__ for suspect in diagnosis.suspects]
    document |= {"scenario": scenario, "parting": difference and difference.__dict__, "suspects": suspects}
    report_json(document, code=code)
    _show_diagnosis(scenario, diagnosis)
    return code


def _check_abilities(spec: str) -> int:
    """Check what a model can do; returns the exit code. What is missing is no failure."""
    with closing(current_workspace().store()) as store:
        checks = check_abilities(spec, store)
    report_json({"model": spec, "checks": [check.__dict__ for check in checks]})
    out.print_line(bold(spec), " answers")
    marks = {"yes": ("✓", "green"), "no": ("✗", "red"), "unknown": ("?", "yellow")}
    for check in checks:
        out.print_line("  ", marks[check.state], f" {check.name:<17} {check.result}")
        if check.meaning:
            out.print_line(" " * 22, dim(f"so {check.meaning}"))
    return 0


def _show_diagnosis(name: str, diagnosis: Diagnosis) -> None:
    difference = diagnosis.comparison.first_difference
    if diagnosis.deterministic:
        out.print_line(
            (f"{name} is deterministic", "bold green"),
            f": two runs in separate processes, with 1 and 64 calls at once, different hash seeds and time zones, "
            f"recorded exactly the same (digest {diagnosis.digests[0][:12]}).",
        )
    else:
        out.print_line((f"{name} is not deterministic", "bold red"), ": two runs of it differ.")
        if difference:
            whom = f", person {difference.person}" if difference.person is not None else ""
            out.print_line(
                f"  first at step {difference.step}{whom}, in the {difference.what}: "
                f"{difference.first!r} and {difference.second!r}"
            )
        else:
            out.print_line("  every decision is equal, but the people, events or metrics that they lead to are not")
    if diagnosis.suspects:
        rows = [(s.line, s.code, s.why) for s in diagnosis.suspects]
        row_table(["line", "code", "why"], rows, "Lines that may be the cause")


def _check_machine(workspace: Workspace) -> int:
    """Check packages, the embedded model, the call store and the disk; returns the exit code."""
    packages = ("populace", "polars", "xllamacpp", "openai")
    checks = [("python", True, platform.python_version()), *((name, True, version(name)) for name in packages)]
    present = SMOLLM2.present()
    checks.append(("embedded model", present, str(SMOLLM2.path) if present else "not fetched: populace models --fetch"))
    try:
        store = workspace.store()
        checks.append(("call store", True, f"{store.path}, {plural(len(store), 'call')}"))
        store.close()
    except PopulaceError as error:
        checks.append(("call store", False, str(error)))
    nearest = next(folder for folder in (cache_folder(), *cache_folder().parents) if folder.exists())
    free = min(shutil.disk_usage(place).free for place in (workspace.folder, nearest)) / 1e9
    checks.append(("disk", free > 1, f"{free:.1f} GB free"))
    code = 0 if all(ok for _, ok, _ in checks) else 3
    report_json([{"check": name, "ok": ok, "found": text} for name, ok, text in checks], code=code)
    for name, ok, text in checks:
        out.print_line("  ", ("✓", "green") if ok else ("✗", "red"), f" {name:<15} {text}")
    return code
