"""A run in a few facts.

What the command line, reports and Studio say about a run comes from here, so that they say the same.
"""

from dataclasses import dataclass
from typing import Literal

from populace.base.errors import DamagedRunError
from populace.broker import Price, Usage, price_of
from populace.journal import Journal, Parent, Record, Regime, Stop, check_end
from populace.questions import STATUSES, VALID
from populace.runs.caveats import caveats
from populace.runs.reader import RunReader
from populace.runs.settings_text import decider_text
from populace.statistics import Estimate, proportion

RunState = Literal["running", "pausing", "paused", "died", "complete", "stopped", "failed", "damaged"]


def run_state(record: Record) -> RunState:
    """The state of a run, the process that writes it included.

    `pausing` is a run that was asked to wait and is still in a step; `died` one whose process is gone although it
    never recorded an end, as after `kill -9` or a power cut. `overview` also tells `damaged` runs, whose folder is not
    as their manifest says.
    """
    state = record.manifest.status.state
    if not isinstance(record, Journal):
        return state
    if not record.busy():
        return "died" if state == "running" else state
    if not record.paused():
        return "running"
    return "paused" if record.waiting() else "pausing"


@dataclass(frozen=True)
class RunOverview:
    """A run in a few facts.

    Attributes:
        name: The name of the run.
        scenario: The name of the scenario, or its file and class.
        state: How the run stands.
        reason: Why it ended, in words.
        stop: Why it ended, as data.
        last: The last committed step; None before the first.
        planned: How many steps there will be, where that is known.
        people: How many people there are after the last step.
        decided_by: The name of the model, `the rule` or `a recording`.
        regime: Model, decider, seed and temperature at the end.
        fingerprint: What identifies the model; empty where none was called.
        parent: The run that it is a fork of, and the step at which it left it.
        author: Who made it.
        created: When it was started.
        usage: What it used.
        price: The price of its model, where it is known.
        seconds: How long its steps took.
        statuses: How many answers had which status.
        invalid: The share of invalid answers with its interval; None where nothing was asked.
        scored: How many answers were drawn from a distribution.
        sampled: How many answers are single samples.
        low_mass: How many scored answers had less than half of the probability on any option.
        interventions: The interventions in words.
        caveats: What a reader of the results must know.
        damage: Why the run folder is not as its manifest says; empty where it is.
        bound: Whether the manifest records where the journal ends; folders of earlier versions do not.
        digest: One hash for everything committed; empty before the first step and for a run in memory.
        tables: The tables of its world.
    """

    name: str
    scenario: str
    state: RunState
    reason: str
    stop: Stop | None
    last: int | None
    planned: int | None
    people: int
    decided_by: str
    regime: Regime
    fingerprint: str
    parent: Parent | None
    author: str
    created: str
    usage: Usage
    price: Price | None
    seconds: float
    statuses: dict[str, int]
    invalid: Estimate | None
    scored: int
    sampled: int
    low_mass: int
    interventions: list[str]
    caveats: list[str]
    damage: str
    bound: bool
    digest: str
    tables: frozenset[str]

    @property
    def steps(self) -> int:
        """How many steps are committed, the beginning not counted."""
        return self.last or 0

    @property
    def answers(self) -> int:
        """How many answers people gave."""
        return sum(self.statuses.values())

    @property
    def invalid_share(self) -> float:
        """The share of invalid answers; 0 where nothing was asked."""
        return self.invalid.value if self.invalid else 0.0

    @property
    def progress(self) -> float | None:
        """The share of the planned steps that is done; None where nobody knows how many there will be."""
        if self.state == "complete":
            return 1.0
        return None if not self.planned else min(1.0, self.steps / self.planned)

    @property
    def limit(self) -> str:
        """The limit at which the run stopped: calls, tokens, money or seconds; empty where it was none of them."""
        return (self.stop.limit or "") if self.stop else ""

    @property
    def statuses_text(self) -> str:
        """How many answers had which status, in words."""
        return ", ".join(f"{count:,} {status}" for status, count in self.statuses.items()) or "none"


def overview(run: RunReader) -> RunOverview:
    """A run in a few facts.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> facts = overview(simulate(Norms(workers=3, days=2), decider="rule", keep="nothing"))
        >>> facts.state, facts.steps, facts.people, facts.decided_by, facts.statuses_text
        ('complete', 2, 3, 'the rule', '6 ok')
    """
    manifest, steps = run.manifest, run.steps
    regime, status = manifest.regime, manifest.status
    counts = run.statuses
    statuses: dict[str, int] = {name: counts[name] for name in STATUSES if counts[name]}
    answers = sum(statuses.values())
    damage, bound = _integrity(run.record)
    return RunOverview(
        name=run.name,
        scenario=manifest.scenario,
        state="damaged" if damage else run_state(run.record),
        reason=status.reason,
        stop=status.stop,
        last=steps[-1] if steps else None,
        planned=status.planned,
        people=int(run.record.facts(steps[-1])["people"]["count"]) if steps else 0,
        decided_by=decider_text(regime.decider, regime.model),
        regime=regime,
        fingerprint=manifest.models.get(regime.model, ""),
        parent=manifest.parent,
        author=manifest.environment.get("author", ""),
        created=manifest.created,
        usage=run.usage(),
        price=price_of(regime.model),
        seconds=run.seconds,
        statuses=statuses,
        invalid=proportion(answers - sum(counts[name] for name in VALID), answers) if answers else None,
        scored=run.count("scored"),
        sampled=run.count("sampled"),
        low_mass=run.count("low_mass"),
        interventions=[each.describe() for each in manifest.interventions],
        caveats=caveats(run),
        damage=damage,
        bound=bound,
        digest=run.digest if steps and isinstance(run.record, Journal) else "",
        tables=_world_tables(run, steps),
    )


def _integrity(record: Record) -> tuple[str, bool]:
    """What is wrong with the end of a journal, and whether it is bound."""
    if not isinstance(record, Journal):
        return "", True
    try:
        return "", check_end(record)
    except DamagedRunError as error:
        return error.what, True


def _world_tables(run: RunReader, steps: list[int]) -> frozenset[str]:
    """The tables of the world that the first steps or the last ones hold."""
    names = [name for step in {*steps[:3], *steps[-3:]} for name in run.record.table_names(step)]
    return frozenset(name.removeprefix("tables/") for name in names if name.startswith("tables/"))
