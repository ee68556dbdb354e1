"""Estimates the calls, tokens, money and time of a run before anything is spent.

The scenario is run on a scripted model that answers at random, which shows how many different
prompts it asks and how long they are. Real answers lead elsewhere, so the result is a range.

Trials end after a few seconds. What a long run takes is then extrapolated from its first steps, and the range is
widened.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from populace.broker import CallStore, Price
from populace.engine.scenario import Scenario
from populace.engine.trial import run_trial
from populace.journal import RunSettings
from populace.models import Capabilities, Request, Scripted, check_model, model_traits
from populace.models.scripted import first_option, uniform

_CHARACTERS_A_TOKEN = 4.0
_TOKEN_ERROR = 0.3
_SECONDS = 1.4
"""How long all trials together may take; a trial that is longer is extrapolated from its first steps."""
_PARTIAL_ERROR = 2.0
"""Steps differ, as day and night do: what is extrapolated may be at least so many times less or more."""
_EXTRAPOLATION_ERROR = 1.75
"""The same, where it is more: multiplied by the root of how many times longer the whole run is."""
_LONE_ERROR = 2.0
"""The same for what rests on a single trial: how much is asked depends on what is answered."""


@dataclass(frozen=True)
class Range:
    """A lower and an upper bound."""

    low: float
    high: float


@dataclass(frozen=True)
class CostEstimate:
    """What a run is expected to take.

    Attributes:
        decisions: Answers that people give.
        calls: Calls to the model, if none is in the call store yet.
        tokens: Tokens read and written.
        cost: Money, where a price is known.
        seconds: Time, where calls of this model are in the call store to judge by.
        runs: How many trial runs it rests on.
        trial_steps: How many steps the trials made, where they ended before the scenario did; else None.
        steps: How many steps the scenario has, where that is known.
    """

    decisions: Range
    calls: Range
    tokens: Range
    cost: Range | None
    seconds: Range | None
    runs: int
    trial_steps: int | None = None
    steps: int | None = None


@dataclass(frozen=True)
class _Trial:
    """What one trial run took: decisions, calls, characters read, tokens written, and how far it came."""

    decisions: float
    calls: float
    characters: float
    written_tokens: float
    steps: int
    planned: int | None

    @property
    def is_partial(self) -> bool:
        return self.planned is not None and self.steps < self.planned

    def scaled(self, factor: float) -> "_Trial":
        """The trial with every figure multiplied."""
        names = ("decisions", "calls", "characters", "written_tokens")
        return replace(self, **{name: round(getattr(self, name) * factor) for name in names})


class _Counter:
    """A script that counts what it is asked."""

    def __init__(self, script: Callable[[Request], object]) -> None:
        self.script, self.characters, self.written_tokens = script, 0, 0

    def __call__(self, request: Request) -> object:
        self.characters += sum([len(text) for _, text in request.messages])
        self.written_tokens += 1 if request.top else request.max_tokens
        return self.script(request)


def estimate(
    scenario: Scenario,
    *,
    model: str = "embedded",
    price: Price | None = None,
    store: CallStore | None = None,
    seeds: int = 3,
) -> CostEstimate:
    """Estimate a run by trial runs on random answers.

    Args:
        scenario: The scenario, with its parameters.
        model: The model string, to judge by what it did before.
        price: Money for its tokens.
        store: Where earlier calls of the model are.
        seeds: How many trial runs of each kind.

    Example:
        >>> from populace.scenarios.norms import Norms
        >>> estimate(Norms(workers=5, days=2), seeds=1).decisions
        Range(low=10, high=10)
    """
    check_model(model)
    kinds = [(script, True, seed) for seed in range(seeds) for script in (uniform, first_option)]
    if not model_traits(model).local:
        kinds[1:1] = [(uniform, False, seed) for seed in range(seeds)]
    trials, truncated = _trials(scenario, kinds)
    counts = [each for trial in trials for each in _bounds(trial, lone=truncated and len(trials) == 1)]
    decisions = Range(min(c.decisions for c in counts), max(c.decisions for c in counts))
    calls = Range(min(c.calls for c in counts), max(c.calls for c in counts))
    reads = [c.characters / _CHARACTERS_A_TOKEN for c in counts]
    tokens = Range(
        min(r * (1 - _TOKEN_ERROR) + c.calls for r, c in zip(reads, counts, strict=True)),
        max(r * (1 + _TOKEN_ERROR) + c.written_tokens for r, c in zip(reads, counts, strict=True)),
    )
    cost = None
    if price is not None:
        written = max(c.written_tokens for c in counts)
        cost = Range(
            min(reads) * (1 - _TOKEN_ERROR) * price.prompt / 1e6 + calls.low * price.completion / 1e6,
            max(reads) * (1 + _TOKEN_ERROR) * price.prompt / 1e6 + written * price.completion / 1e6,
        )
    pace = store.pace(model) if store is not None else None
    seconds = Range(calls.low * pace, calls.high * pace) if pace is not None else None
    partial = [trial.steps for trial in trials if trial.is_partial]
    steps = min(partial) if partial else None
    return CostEstimate(decisions, calls, tokens, cost, seconds, len(trials), steps, trials[0].planned)


def _trials(
    scenario: Scenario, kinds: Sequence[tuple[Callable[[Request], object], bool, int]]
) -> tuple[list[_Trial], bool]:
    """As many of the trials as there is time for, at least one, and whether some were left out."""
    ends = time.monotonic() + _SECONDS
    trials: list[_Trial] = []
    for script, scored, seed in kinds:
        left = ends - time.monotonic()
        if trials and left <= 0:
            return trials, True
        trial = _trial(scenario, script, scored, seed, left)
        if trial.is_partial:
            return trials or [trial], True
        trials.append(trial)
    return trials, False


def _bounds(trial: _Trial, *, lone: bool) -> list[_Trial]:
    """The least and the most that a whole run may take by a trial."""
    if trial.is_partial and trial.planned:
        whole = trial.planned / max(trial.steps, 1)
        error = max(_PARTIAL_ERROR, _EXTRAPOLATION_ERROR * math.sqrt(whole))
        return [trial.scaled(whole / error), trial.scaled(whole * error)]
    return [trial.scaled(1 / _LONE_ERROR), trial.scaled(_LONE_ERROR)] if lone else [trial]


def _trial(scenario: Scenario, script: Callable[[Request], object], scored: bool, seed: int, seconds: float) -> _Trial:
    """One trial run, for as long as there is time."""
    counter = _Counter(script)
    able = Capabilities(top_tokens=20 if scored else 0, lead=True, schema=True, seed=True)
    stand_in = Scripted(counter, spec="scripted:estimate", capabilities=able)  # type: ignore[arg-type]
    # Which memories are recalled hardly changes how long a prompt is, and an embedder that reads words is slow.
    embedder = {"embedder": "hashing"} if "embedder" in scenario.parameters else {}
    trial = type(scenario)(**(scenario.parameters | embedder))
    record, usage = run_trial(trial, stand_in, RunSettings(seed=seed), seconds=seconds)
    status = record.manifest.status
    planned = None if status.state == "complete" else status.planned
    done = status.steps if planned is not None else 0
    return _Trial(usage.decisions, usage.calls, counter.characters, counter.written_tokens, done, planned)
