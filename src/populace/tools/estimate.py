"""Estimates the calls, tokens, money and time of a run before anything is spent.

The scenario is run on a scripted model that answers at random, which shows how many different
prompts it asks and how long they are. Real answers lead elsewhere, so the result is a range.
"""

from collections.abc import Callable
from dataclasses import dataclass

from populace.broker import CallStore, Price
from populace.engine.scenario import Scenario
from populace.engine.trial import run_trial
from populace.journal import RunSettings
from populace.models import Capabilities, Request, Scripted, check_model, model_traits
from populace.models.scripted import first_option, uniform

_CHARACTERS_A_TOKEN = 4.0
_TOKEN_ERROR = 0.3


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
    """

    decisions: Range
    calls: Range
    tokens: Range
    cost: Range | None
    seconds: Range | None
    runs: int


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
    trials = [(script, True, seed) for script in (uniform, first_option) for seed in range(seeds)]
    if not model_traits(model).local:
        trials += [(uniform, False, seed) for seed in range(seeds)]
    counts = [_trial(scenario, script, scored, seed) for script, scored, seed in trials]
    decisions, calls = (Range(min(c[i] for c in counts), max(c[i] for c in counts)) for i in (0, 1))
    reads = [c[2] / _CHARACTERS_A_TOKEN for c in counts]
    tokens = Range(
        min(r * (1 - _TOKEN_ERROR) + c[1] for r, c in zip(reads, counts, strict=True)),
        max(r * (1 + _TOKEN_ERROR) + c[3] for r, c in zip(reads, counts, strict=True)),
    )
    cost = None
    if price is not None:
        cost = Range(
            min(reads) * (1 - _TOKEN_ERROR) * price.prompt / 1e6 + calls.low * price.completion / 1e6,
            max(reads) * (1 + _TOKEN_ERROR) * price.prompt / 1e6 + max(c[3] for c in counts) * price.completion / 1e6,
        )
    pace = store.pace(model) if store is not None else None
    seconds = Range(calls.low * pace, calls.high * pace) if pace is not None else None
    return CostEstimate(decisions, calls, tokens, cost, seconds, len(trials))


def _trial(
    scenario: Scenario, script: Callable[[Request], object], scored: bool, seed: int
) -> tuple[int, int, int, int]:
    """Decisions, calls, characters read and tokens written in one trial run."""
    counter = _Counter(script)
    able = Capabilities(top_tokens=20 if scored else 0, lead=True, schema=True, seed=True)
    stand_in = Scripted(counter, spec="scripted:estimate", capabilities=able)  # type: ignore[arg-type]
    _, usage = run_trial(type(scenario)(**scenario.parameters), stand_in, RunSettings(seed=seed))
    return usage.decisions, usage.calls, counter.characters, counter.written_tokens
