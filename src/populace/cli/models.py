"""models: which models can be named, and what is cached."""

from __future__ import annotations

from typing import Any

import click

from populace.broker import price_file, price_of
from populace.cli.options import command, json_option
from populace.cli.output import emit, facts, out, warn
from populace.cli.progress import fetch_artifacts
from populace.engine.session import run_to_end
from populace.models import MODEL_FORMS, SMOLLM2, Artifact, open_model
from populace.models.artifacts import MINILM_TOKENIZER, MINILM_WEIGHTS


@command("models")
@click.argument("model", required=False)
@click.option("--fetch", "fetch", is_flag=True, help="Fetch the embedded model and the embedder into the cache now.")
@json_option
def models_command(model: str | None, fetch: bool, as_json: bool) -> None:
    if fetch:
        fetch_artifacts(SMOLLM2)
        fetch_artifacts(MINILM_WEIGHTS, MINILM_TOKENIZER)
    if model:
        _check_model(model, as_json)
        return
    data = {
        "forms": MODEL_FORMS,
        "embedded": _artifact_document(SMOLLM2),
        "embedder": _artifact_document(MINILM_WEIGHTS),
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


def _artifact_document(artifact: Artifact) -> dict[str, Any]:
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

    run_to_end(check())
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
