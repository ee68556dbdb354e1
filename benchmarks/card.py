"""The validity card against planted faults: each must be found in at least 95 of 100 runs, and clean runs must pass.

`python benchmarks/card.py` (or `make audit`) prints how often each check failed on clean models and on models with one
fault, scored and sampled. A check that does not fail where nothing is wrong, and fails where something is, holds.
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from populace import Choice, Field, People, Scenario, Scripted, metric, simulate
from populace.experiments import validity
from populace.experiments.evidence import evidence_of
from populace.experiments.validation import checks
from populace.experiments.validation.basis import ValidityBasis
from populace.models import Capabilities, Request

FOUND, ALARMS = 0.95, 0.05
SIZE = 100
Reply = Callable[[Request], Mapping[str, float] | str]


class Ballot(Scenario):
    """A hundred people of two moods vote day after day, and hear which day it is."""

    days: int = Field(4)
    swap: bool = Field(False)

    def setup(self) -> People:
        moods = ["sunny", "grim"] * (SIZE // 2)
        return People.named(SIZE, seed=self.rng).with_columns(mood=moods, vote="none")

    def profile(self) -> str:
        return "You are {name} and {mood}."

    def length(self) -> int:
        return self.days

    async def step(self) -> None:
        words = ("no", "yes") if self.swap else ("yes", "no")
        values = ("for", "against")
        wordings = dict(zip(values, words, strict=True))
        question = Choice("Your vote?", options=values, wordings=wordings, order="random")
        self.people["vote"] = await self.ask(self.people, question, given="It is day {day}.", day=self.t)

    @metric
    def support(self) -> float:
        """The share of votes for it."""
        return self.people.share(vote="for")


def luck(request: Request, salt: str = "") -> float:
    """A number between 0 and 1 that depends on the messages alone."""
    text = repr(request.messages) + salt
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def clean(request: Request) -> Mapping[str, float]:
    """Sunny people say yes more often than grim ones, and nobody exactly as often as another."""
    share = (0.65 if "sunny" in str(request.messages[0]) else 0.35) + 0.1 * (luck(request) - 0.5)
    return {"yes": share, "no": 1 - share}


def placed(request: Request) -> Mapping[str, float]:
    """The option that is shown first gains 30 points."""
    first = _first(request)
    shares = clean(request)
    return {word: share * 0.7 + 0.3 * (word == first) for word, share in shares.items()}


def _first(request: Request) -> str:
    """The word that is shown first."""
    text = str(request.messages[-1][1]).partition("Options:")[2]
    return min(("yes", "no"), key=text.find)


def deaf(request: Request) -> Mapping[str, float]:
    """Personas change nothing."""
    return {"yes": 0.6, "no": 0.4}


def forgetful(request: Request) -> Mapping[str, float]:
    """Personas are forgotten after the second day."""
    early = "day 1" in str(request.messages) or "day 2" in str(request.messages)
    return clean(request) if early else {"yes": 0.5 + 0.1 * (luck(request) - 0.5), "no": 0.5}


def agreeing(request: Request) -> Mapping[str, float]:
    """Everybody says yes."""
    return {"yes": 0.999, "no": 0.001}


def beside(request: Request) -> Mapping[str, float]:
    """One prompt in five is hardly answered."""
    if luck(request, "mass") < 0.2:
        return {"yes": 0.2, "no": 0.1, "the": 0.7}
    return clean(request)


def worded(request: Request) -> Mapping[str, float]:
    """The word yes draws, whatever it stands for."""
    share = 0.75 + 0.1 * (luck(request) - 0.5)
    return {"yes": share, "no": 1 - share}


def meant(request: Request) -> Mapping[str, float]:
    """Half vote for it, whatever the words are."""
    share = 0.5 + 0.1 * (luck(request) - 0.5)
    return {"yes": share, "no": 1 - share}


def spoken(reply: Reply) -> Reply:
    """A model that says one word, drawn from the same distribution."""

    def say(request: Request) -> str:
        shares = reply(request)
        assert isinstance(shares, Mapping)
        return "yes" if luck(request, "word") * sum(shares.values()) < shares["yes"] else "no"

    return say


def refusing(request: Request) -> str:
    """One person in ten is refused."""
    if luck(request, "refuse") < 0.1:
        return "I'm sorry, I can't help with that."
    return str(spoken(clean)(request))


def rambling(request: Request) -> str:
    """One answer in six cannot be read."""
    who = hashlib.blake2b(repr(request.messages[0]).encode(), digest_size=1).digest()[0]
    return "Purple elephants." if who < 43 else str(spoken(clean)(request))  # also where the question is put again


def card_of(reply: Reply, sampled: bool, seed: int) -> dict[str, str]:
    """The verdict of every check for one run."""
    name = f"scripted:{reply.__name__}-{sampled}"
    model = Scripted(reply, spec=name, capabilities=Capabilities() if sampled else None)
    run = simulate(Ballot(), model=model, seed=seed, keep="nothing")
    return {check.name: check.verdict for check in validity(run).checks}


FAULTS: list[tuple[str, str, Reply, bool]] = [
    ("invalid answers", "sampled", rambling, True),
    ("refusals", "sampled", refusing, True),
    ("mass on options", "scored", beside, False),
    ("position bias", "scored", placed, False),
    ("position bias", "sampled", spoken(placed), True),
    ("persona matters", "scored", deaf, False),
    ("persona lasts", "scored", forgetful, False),
    ("people differ", "scored", agreeing, False),
    ("people differ", "sampled", spoken(agreeing), True),
]
CHECKED = ("invalid answers", "refusals", "mass on options", "position bias", "persona matters", "persona lasts")
CHECKED += ("people differ",)


def label_verdict(reply: Reply, sampled: bool, seed: int) -> str:
    """The check of label bias over five runs with the words as they are and five with the words exchanged."""
    model = Scripted(reply, spec=f"scripted:words-{sampled}", capabilities=Capabilities() if sampled else None)
    witnesses: list[tuple[int, Any]] = []
    for arm, swap in enumerate((False, True)):
        for replicate in range(5):
            run = simulate(
                Ballot(swap=swap, days=1), model=model, seed=1000 * seed + 10 * replicate + arm, keep="nothing"
            )
            witnesses.append((arm, evidence_of(run)))
    basis = ValidityBasis(
        title="labels",
        arms=("as they are", "exchanged"),
        witnesses=tuple(witnesses),
        runs=10,
        failed=0,
        replicates=5,
        spent={},
        statuses=Counter(),
        counts=Counter(),
        models=(),
        deciders=frozenset(),
        temperatures=frozenset(),
    )
    return checks.label_check(basis).verdict


def audit(runs: int) -> list[tuple[str, str, float, float]]:
    """For each check and kind of model: the share of faults found, and of false alarms on clean models."""
    alarms: dict[str, Counter[str]] = {}
    for kind, reply, sampled in (("scored", clean, False), ("sampled", spoken(clean), True)):
        alarms[kind] = Counter()
        for seed in range(runs):
            alarms[kind].update(name for name, verdict in card_of(reply, sampled, seed).items() if verdict == "fail")
    rows = []
    for name, kind, reply, sampled in FAULTS:
        found = sum(card_of(reply, sampled, seed)[name] == "fail" for seed in range(runs)) / runs
        rows.append((name, kind, found, alarms[kind][name] / runs))
    planted = {(name, kind) for name, kind, *_ in FAULTS}
    others = [(name, kind) for kind in alarms for name in CHECKED if (name, kind) not in planted]
    rows += [(name, kind, 1.0, alarms[kind][name] / runs) for name, kind in others]
    few = max(1, runs // 5)
    for kind, wrap, sampled in (("scored", lambda reply: reply, False), ("sampled", spoken, True)):
        found = sum(label_verdict(wrap(worded), sampled, seed) == "fail" for seed in range(few)) / few
        wrong = sum(label_verdict(wrap(meant), sampled, seed) == "fail" for seed in range(few)) / few
        rows.append(("label bias", kind, found, wrong))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs of each model")
    rows = audit(parser.parse_args().runs)
    print(f"{'check':<18}{'model':<10}{'found':>8}{'false alarms':>15}")
    missed = [row for row in rows if row[2] < FOUND or row[3] > ALARMS]
    for name, kind, found, wrong in rows:
        print(f"{name:<18}{kind:<10}{found:>8.2f}{wrong:>15.2f}{'  !' if (name, kind, found, wrong) in missed else ''}")
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
