"""What was set for a run, as values and in words: who decides, parameters, interventions."""

from typing import Any

from populace.journal import RunSettings
from populace.runs.reader import RunReader

_DECIDERS = {"rule": "the rule", "replay": "a recording"}


def decider_text(decider: str, model: str) -> str:
    """Who decides: the name of the model, `the rule` or `a recording`.

    Example:
        >>> decider_text("model", "embedded"), decider_text("rule", "embedded")
        ('embedded', 'the rule')
    """
    return model if decider == "model" else _DECIDERS.get(decider, decider)


def value_text(value: Any) -> str:
    """A value of a setting in words; of lists and mappings only what is set.

    Example:
        >>> value_text({"where": {}, "ids": [1, 2], "share": None}), value_text(True), value_text(None)
        ('ids 1, 2', 'yes', '–')
        >>> value_text([]), value_text(0.30000000000000004), value_text([["a", "b"], ["c"]])
        ('–', '0.3', '(a, b), (c)')
    """
    if isinstance(value, dict):
        return ", ".join(f"{name} {value_text(part)}" for name, part in value.items() if _is_set(part)) or "–"
    if isinstance(value, list | tuple):
        texts = [f"({value_text(each)})" if isinstance(each, list | tuple) else value_text(each) for each in value]
        return ", ".join(texts) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    return "–" if value is None else str(value)


def _is_set(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_is_set(part) for part in value.values())
    return value is not None and value != []


def settings_of(run: RunReader) -> dict[str, Any]:
    """The settings and parameters of a run as they are at its end, by name; what is not set has no entry."""
    manifest = run.manifest
    regime, parent = manifest.regime, manifest.parent
    settings: dict[str, Any] = {
        "scenario": manifest.scenario,
        "fork of": f"{parent.run} at step {parent.at}" if parent else None,
        **{name: getattr(regime, name) for name in RunSettings.model_fields},
        "interventions": [each.describe() for each in manifest.interventions] or None,
        "variation": regime.variation or None,
    }
    return {name: value for name, value in settings.items() if value is not None} | parameters_of_run(run)


def parameters_of_run(run: RunReader) -> dict[str, Any]:
    """The parameters of the scenario as they are at the end of a run."""
    return {name: value for regime in run.manifest.regimes for name, value in regime.parameters.items()}


def parameters_text(parameters: dict[str, Any]) -> str:
    """Parameters on one line; of a document only its name.

    Example:
        >>> parameters_text({"days": 3, "design": {"name": "repair-bench", "rules": []}})
        'days=3, design=repair-bench'
    """
    return ", ".join(f"{name}={_short_text(value)}" for name, value in parameters.items())


def _short_text(value: Any) -> str:
    if not isinstance(value, dict):
        return value_text(value)
    return str(value.get("name") or value.get("title") or value_text(value))


def settings_rows(run: RunReader) -> list[tuple[str, str]]:
    """Names and values of everything that was set, with the step from which a fork changed it."""
    manifest = run.manifest
    rows = [("scenario", manifest.scenario)]
    if manifest.parent:
        rows.append(("fork of", f"{manifest.parent.run} at step {manifest.parent.at}"))
    for regime in manifest.regimes:
        since = f" (from step {regime.since})" if regime.since else ""
        rows += [(name.replace("_", " ") + since, value_text(value)) for name, value in regime.parameters.items()]
        rows += [
            ("decided by" + since, decider_text(regime.decider, regime.model)),
            ("seed" + since, str(regime.seed)),
            ("temperature" + since, f"{regime.temperature:g}"),
        ]
        rows += [(f"variation: {name}{since}", value_text(value)) for name, value in regime.variation.items()]
    rows += [("intervention", each.describe()) for each in manifest.interventions]
    rows += [("recording", manifest.recording)] if manifest.recording else []
    return rows


def origin_rows(run: RunReader) -> list[tuple[str, str]]:
    """What a run was made with: models, the scenario's code, when, and the versions of what was installed."""
    manifest = run.manifest
    rows = [(f"fingerprint of {model}", mark) for model, mark in manifest.models.items()]
    rows += [("hash of the scenario's file", manifest.scenario_hash), ("started", manifest.created)]
    return [*rows, *sorted(manifest.environment.items())]
