"""Checks of an experiment before it runs: arms with equal prompts, outcomes that no run reaches."""

import hashlib
import io
from collections.abc import Callable, Sequence

from populace.base.errors import UsageError
from populace.base.formatting import plural
from populace.broker import price_of
from populace.engine.scenario_code import check_length
from populace.engine.trial import run_trial
from populace.experiments.arms import Arm
from populace.experiments.plan import ExperimentPlan
from populace.journal import RunSettings, read_interventions
from populace.models import Request, Scripted
from populace.models.scripted import first_option, uniform

_FEW_STEPS = 2
_MAX_ARMS = 64
_SEEDS = 10
_STAGES = (
    (_FEW_STEPS, uniform, 0),
    (None, first_option, 0),
    *((None, uniform, replicate) for replicate in range(_SEEDS)),
)
"""A parameter that acts by chance, such as a starting share, may change nothing under one seed."""


def check_experiment(experiment: ExperimentPlan, arms: Sequence[Arm], *, rehearse: bool = True) -> None:
    """Raise an error if an experiment cannot answer its question.

    Args:
        experiment: The experiment.
        arms: Its arms.
        rehearse: Also run arms on stand-in answers, to find arms with equal prompts.
    """
    first_arms: dict[str, Arm] = {}
    for arm in () if experiment.design.sampled else arms:
        same = first_arms.setdefault(arm.substance(), arm)
        if same is not arm:
            raise _identical_arms_error(same, arm, "they have the same parameters and settings")
    _check_lengths(experiment, arms)
    if experiment.fork_at:
        _check_forks(experiment.fork_at, arms)
    if experiment.stop.max_money is not None:
        unknown = next((arm.model for arm in arms if arm.decider == "model" and price_of(arm.model) is None), None)
        if unknown is not None:
            raise UsageError(
                f"the stop is in money, and no price is known for {unknown}.",
                "Add it to the price table (`populace models` prints where that is), or limit calls.",
            )
    if rehearse and not experiment.design.sampled and len(arms) <= _MAX_ARMS:
        _check_rehearsals(experiment, arms)


def early_interventions(arm: Arm, fork_at: int) -> list[dict[str, object]]:
    """The interventions of an arm before it forks."""
    return [each for each in arm.interventions if each["at"] < fork_at]


def _check_lengths(experiment: ExperimentPlan, arms: Sequence[Arm]) -> None:
    for arm in arms:
        length = _length(arm)
        if length is None:
            continue
        for outcome in experiment.outcomes:
            if outcome.at is not None and outcome.at > length:
                raise UsageError(
                    f"the outcome {outcome.name!r} is at step {outcome.at}, "
                    f"and runs of {arm.name} have {plural(length, 'step')}."
                )
        if experiment.fork_at and experiment.fork_at > length:
            raise UsageError(
                f"arms fork at step {experiment.fork_at}, and runs of {arm.name} have {plural(length, 'step')}."
            )


def _length(arm: Arm) -> int | None:
    scenario = arm.build()
    try:
        return check_length(scenario, scenario.length())
    except Exception:  # noqa: BLE001 - what `setup` makes is missing here; a length that is wrong fails in the run.
        return None


def _check_forks(fork_at: int, arms: Sequence[Arm]) -> None:
    first = early_interventions(arms[0], fork_at)
    other = next((arm for arm in arms if early_interventions(arm, fork_at) != first), None)
    if other is not None:
        raise UsageError(
            f"the arms {arms[0].name!r} and {other.name!r} differ in interventions before step {fork_at}, "
            "where they should share their history.",
            "Fork earlier, or let the interventions begin later.",
        )


def _check_rehearsals(experiment: ExperimentPlan, arms: Sequence[Arm]) -> None:
    """Rehearse arms whose first steps are equal to the end, with two kinds of answers and several seeds."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        if arm.decider != "replay":
            groups.setdefault(repr(arm.settings() | {"variation": {}}), []).append(arm)
    for group in groups.values():
        for until, script, replicate in _STAGES:
            if len(group) < 2:
                break
            by_digest: dict[str, list[Arm]] = {}
            for arm in group:
                digest = rehearsal_digest(arm, experiment.seed_of(replicate, arms[0]), script, until)
                if digest is not None:
                    by_digest.setdefault(digest, []).append(arm)
            group = next((each for each in by_digest.values() if len(each) > 1), [])
        if len(group) > 1:
            why = "nobody in them is asked anything different, and nothing else differs"
            raise _identical_arms_error(group[0], group[1], why)


def _identical_arms_error(one: Arm, two: Arm, why: str) -> UsageError:
    return UsageError(
        f"the arms {one.name!r} and {two.name!r} are identical: {why}.",
        "Vary something that reaches people, or run with check=False (--no-check) where it does so only rarely.",
    )


def rehearsal_digest(arm: Arm, seed: int, script: Callable[[Request], object], until: int | None) -> str | None:
    """A hash of all prompts, answers, metrics and events; None if the scenario fails on stand-in answers."""
    stand_in = Scripted(script, spec="scripted:rehearsal")  # type: ignore[arg-type]
    settings = RunSettings(seed=seed, decider=arm.decider, temperature=arm.temperature, variation=arm.variation)
    interventions = read_interventions(list(arm.interventions))
    try:
        record, _ = run_trial(arm.build(), stand_in, settings, interventions=interventions, until=until)
    except Exception:  # noqa: BLE001 - a scenario that fails on stand-in answers is judged by its real runs.
        return None
    digest = hashlib.blake2b(repr(record.manifest.status.planned).encode(), digest_size=16)
    for step in record.steps():
        for name in ("prompts", "answers", "metrics", "events"):
            table = record.table(step, name)
            if table is not None:
                buffer = io.BytesIO()
                table.write_ipc(buffer)
                digest.update(buffer.getvalue())
    return digest.hexdigest()
