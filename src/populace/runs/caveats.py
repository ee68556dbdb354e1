"""What weakens the results of runs: one list of checks for summaries, validity cards and reports."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from populace.base.foreign import for_shell
from populace.base.formatting import percent, plural
from populace.journal import NOBODY_SELECTED
from populace.models import ModelTraits, model_traits
from populace.questions import STATUSES, VALID
from populace.runs.reader import RunReader

Severity = Literal["defect", "scope"]


@dataclass(frozen=True)
class Caveat:
    """One reason to trust a result less.

    Attributes:
        id: The name of the check; it never changes.
        text: The reason, as a sentence that begins in lower case.
        severity: `defect` where answers are impaired; `scope` where the result says less about people than it seems to.
    """

    id: str
    text: str
    severity: Severity


@dataclass(frozen=True, kw_only=True)
class ResultBasis:
    """What the results of one or more runs rest on.

    Attributes:
        statuses: The number of answers by status.
        counts: See `result_counts`.
        models: The models that decided.
        deciders: Who decided: `model`, `rule` or `replay`.
        temperatures: The temperatures that were applied.
        notes: Notes of the run itself.
        unfinished: Why it is not complete; empty where it is.
    """

    statuses: Counter[str]
    counts: Counter[str]
    models: tuple[str, ...]
    deciders: frozenset[str]
    temperatures: frozenset[float]
    notes: tuple[str, ...] = ()
    unfinished: str = ""


def run_basis(run: RunReader) -> ResultBasis:
    """The basis of the results of a single run."""
    regimes, status = run.manifest.regimes, run.manifest.status
    return ResultBasis(
        statuses=Counter(run.statuses),
        counts=Counter(result_counts(run)),
        models=tuple(dict.fromkeys(regime.model for regime in regimes if regime.decider == "model")),
        deciders=frozenset(regime.decider for regime in regimes),
        temperatures=frozenset(regime.temperature for regime in regimes),
        notes=tuple(status.notes),
        unfinished="" if status.state == "complete" else status.reason or status.state,
    )


def result_counts(run: RunReader) -> dict[str, int]:
    """What caveats are computed from, besides the status of answers.

    The number of answers that were `scored`, had `low_mass` or were `sampled`. Where they are not 0, also the number of
    answers that are missing because the model `rejected` the prompt, of answers by a `human` at a desk and of those
    that stayed `human_unanswered`, of calls whose tokens are `estimated`, of interventions with `nobody_selected`
    and of those `after_the_end`, and of runs that are `recording_failures`.
    """
    counts = {name: run.count(name) for name in ("scored", "low_mass", "sampled")}
    others = {
        **{name: run.count(name) for name in ("rejected", "human", "human_unanswered")},
        "estimated": run.usage().estimated,
        "nobody_selected": _interventions_on_nobody(run),
        "after_the_end": _interventions_after_the_end(run),
        "recording_failures": int(any(regime.on_failure == "record" for regime in run.manifest.regimes)),
    }
    return counts | {name: count for name, count in others.items() if count}


def _interventions_on_nobody(run: RunReader) -> int:
    if not run.manifest.interventions:
        return 0
    return int((run.events["kind"] == NOBODY_SELECTED).sum())


def _interventions_after_the_end(run: RunReader) -> int:
    if run.manifest.status.state != "complete":
        return 0
    return sum(each.at > max(run.steps, default=0) for each in run.manifest.interventions)


def basis_caveats(basis: ResultBasis) -> list[Caveat]:
    """Every caveat that applies to a basis."""
    return [*_defects(basis), *_scope(basis)]


def caveats(run: RunReader) -> list[str]:
    """The defects of a run, as sentences.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> caveats(simulate(Norms(workers=3, days=1), decider="rule", keep="nothing"))
        []
    """
    return [caveat.text for caveat in basis_caveats(run_basis(run)) if caveat.severity == "defect"]


def script_caveat(models: Iterable[str]) -> str:
    """That scripts answered in the place of language models, as a sentence; empty where none did.

    Example:
        >>> script_caveat(["scripted:cast", "embedded"])
        'scripted:cast is a script, not a language model: this tests the machinery, not a claim.'
    """
    scripts = ", ".join(_scripts(models))
    return f"{scripts} is a script, not a language model: this tests the machinery, not a claim." if scripts else ""


def _scripts(models: Iterable[str]) -> list[str]:
    return [model for model in models if model_traits(model, ModelTraits()).scripted]


def _defects(basis: ResultBasis) -> Iterator[Caveat]:
    for note in basis.notes:
        yield Caveat("note", note, "defect")
    scored, low_mass, sampled = (basis.counts[name] for name in ("scored", "low_mass", "sampled"))
    if low_mass:
        text = (
            f"in {low_mass:,} of {scored:,} scored answers less than half of the probability fell on any option: "
            "the model was hardly answering the question."
        )
        yield Caveat("low-mass", text, "defect")
    if sampled:
        count = plural(sampled, "answer is a single sample", "answers are single samples")
        text = f"{count} rather than draws from a known distribution."
        yield Caveat("sampled", text, "defect")
    invalid = {status: basis.statuses[status] for status in STATUSES if status not in VALID and basis.statuses[status]}
    if invalid:
        share = percent(sum(invalid.values()) / basis.statuses.total())
        counts = ", ".join(f"{count:,} {status}" for status, count in invalid.items())
        yield Caveat(
            "invalid-answers", f"{share} of the answers are invalid ({counts}); they changed nothing.", "defect"
        )
    rejected = basis.counts["rejected"]
    if rejected:
        text = f"{rejected:,} answers are missing because the model rejected the prompt, which was too long for it."
        yield Caveat("rejected-prompts", text, "defect")
    missing = basis.statuses["timeout"] + basis.statuses["unanswered"] - rejected - basis.counts["human_unanswered"]
    if missing > 0 and "model" in basis.deciders:
        text = f"{missing:,} answers are missing because the service of the model failed; people did not choose that."
        yield Caveat("service-failures", text, "defect")
    if basis.counts["nobody_selected"]:
        text = plural(basis.counts["nobody_selected"], "intervention acted on nobody", "interventions acted on nobody")
        yield Caveat("nobody-selected", f"{text}: no person met the conditions at that step.", "defect")
    if basis.counts["after_the_end"]:
        text = plural(basis.counts["after_the_end"], "intervention", "interventions")
        yield Caveat("after-the-end", f"{text} did nothing: the run ended before that step.", "defect")
    traits = {model: model_traits(model, ModelTraits()) for model in basis.models}
    if any(each.artifact is not None and not each.adapter for each in traits.values()):
        text = (
            "the embedded 135M model is there so that everything runs anywhere; it hardly reacts to a persona, "
            "and its answers say nothing about people."
        )
        yield Caveat("embedded-model", text, "defect")
    for model, each in traits.items():
        if each.adapter:
            text = (
                f"{model} is a model that an adapter changed: it acts like people as far as its card shows, and no "
                f"further (populace models --describe {for_shell(each.adapter)})."
            )
            yield Caveat("adapter", text, "defect")


def _scope(basis: ResultBasis) -> Iterator[Caveat]:
    if basis.unfinished:
        yield Caveat("unfinished", f"it is not complete: {basis.unfinished}.", "scope")
    if basis.counts["human"]:
        text = f"{plural(basis.counts['human'], 'answer was', 'answers were')} given by hand, in the place of a person."
        yield Caveat("human", text, "scope")
    if basis.counts["recording_failures"]:
        text = (
            'failures of the service were recorded as missing answers (on_failure="record"): '
            "who has an answer also depends on the service."
        )
        yield Caveat("recorded-failures", text, "scope")
    if basis.counts["estimated"]:
        text = (
            f"the service did not say how many tokens {basis.counts['estimated']:,} calls used: "
            "tokens and cost are estimated, rather too high than too low."
        )
        yield Caveat("estimated-tokens", text, "scope")
    scripted = _scripts(basis.models)
    if text := script_caveat(basis.models):
        # The cast writes like people, so that even a summary must say that it is none.
        yield Caveat("scripted-model", text, "defect" if "scripted:cast" in scripted else "scope")
    if basis.deciders == {"rule"}:
        yield Caveat("rules-only", "rules decided everything; no language model was asked.", "scope")
    if 0.0 in basis.temperatures and "model" in basis.deciders:
        text = "at temperature 0 the likeliest option is always taken: spread between people and seeds is lost."
        yield Caveat("temperature-0", text, "scope")
    if len(basis.models) == 1 and not scripted:
        yield Caveat("one-model", "one model was asked: another may answer otherwise.", "scope")
