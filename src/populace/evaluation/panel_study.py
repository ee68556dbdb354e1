"""A model in place of the people of a panel: arms, floors on the same information, and the report."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.arms import Arm
from populace.evaluation.fidelity_report import FidelityReport
from populace.evaluation.floors import FloorKind, fit_floor
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.leakage import Leak, find_leaks, refuse_answers
from populace.evaluation.predictions import Predictions
from populace.evaluation.resampling import Clusters
from populace.evaluation.sensitivity import GroupFlip, GroupSensitivity, group_sensitivity

MOST_GROUPS = 12
"""A column with more values makes no groups."""
FLOORS: tuple[FloorKind, ...] = ("regression", "boosting")


@dataclass(frozen=True)
class PanelStudy:
    """Which people and items of a panel are predicted, and what agents know.

    Attributes:
        name: Its name.
        human: The held-out people, with the answers to all items.
        others: The people on whom floors are fitted.
        targets: The items that are predicted.
        arms: What agents know.
        flips: The groups between which answers of agents are moved.

    Raises:
        HumanDataError: If none of the held-out people has a retest, or a group of a flip has fewer than two people.
    """

    name: str
    human: HumanAnswers
    others: HumanAnswers
    targets: tuple[str, ...]
    arms: tuple[Arm, ...]
    flips: tuple[GroupFlip, ...] = ()

    def __post_init__(self) -> None:
        held_out = self.human.select(self.targets)
        if len(held_out.people) < 2:
            raise HumanDataError("one person alone is held out.", "Intervals are over people: hold out two or more.")
        if not ((held_out.answers >= 0) & (held_out.retest >= 0)).any():
            raise HumanDataError(
                "none of the held-out people answered an item that is predicted in both waves.",
                "The ceiling is their own answer in another wave: name other waves, or hold out other people.",
            )
        for flip in self.flips:
            flip.members(self._everybody)

    @functools.cached_property
    def _everybody(self) -> HumanAnswers:
        return _joined(self.human, self.others).select(self.targets)

    @property
    def flip_arms(self) -> tuple[Arm, ...]:
        """The agents of both groups of every flip; each knows the whole profile."""
        profile = self.human.profiles.columns
        return tuple(arm for flip in self.flips for arm in flip.arms(profile))

    @property
    def fingerprint(self) -> str:
        """A digest of what floors depend on: items, people, what is known of them, and the answers of the others."""
        digest = hashlib.sha256(repr((self.human.items, self.targets, self.arms)).encode())
        known = self.human.select([name for arm in self.arms for name in arm.context])
        for people, codes in ((self.others, self.others.answers), (self.human, known.answers)):
            digest.update(repr(people.people).encode())
            digest.update(codes.astype("<i8").tobytes())
            digest.update(repr((people.profiles.columns, people.profiles.rows())).encode())
        return digest.hexdigest()

    def predictions(self, answers: pl.DataFrame, arm: str) -> Predictions:
        """What the agents of an arm answer, from a table as `ask_panel` returns it."""
        missing = [name for name in ("person", "arm", "item", "probabilities") if name not in answers.columns]
        if missing:
            raise HumanDataError(f"the table of answers has no column {missing[0]!r}.")
        mine = answers.filter(pl.col("arm") == arm)
        if not mine.height:
            raise HumanDataError(
                f"there are no answers of the arm {arm!r}.",
                f"There are: {', '.join(answers['arm'].unique().sort().to_list())}.",
            )
        return Predictions.from_table(arm, mine, self.human.select(self.targets))

    def floors(self, *, kinds: Sequence[FloorKind] = FLOORS) -> list[Predictions]:
        """Simple models on the information of each arm, fitted on the others."""
        return [
            replace(
                fit_floor(
                    kind,
                    self.human,
                    self.others,
                    profile=arm.profile,
                    context=arm.context,
                    targets=self.targets,
                ),
                name=f"{kind}, {arm.name}",
            )
            for arm in self.arms
            for kind in kinds
        ]

    def sensitivities(self, answers: pl.DataFrame, *, seed: int = 0) -> list[GroupSensitivity]:
        """How far agents move between the groups of each flip, against all people."""
        results = []
        for flip in self.flips:
            first, second = flip.arms(self.human.profiles.columns)
            results.append(
                group_sensitivity(
                    flip,
                    self._everybody,
                    self.predictions(answers, first.name),
                    self.predictions(answers, second.name),
                    seed=seed,
                )
            )
        return results

    def report(
        self,
        answers: pl.DataFrame,
        *,
        floors: Sequence[Predictions] | None = None,
        clusters: Clusters = "both",
        model: str = "",
        subject: str = "these items",
        manifests: Sequence[Mapping[str, Any]] = (),
        seed: int = 0,
    ) -> FidelityReport:
        """Score the answers of agents beside floors and ceiling.

        Args:
            answers: A table as `ask_panel` returns it.
            floors: What floors answer; they are fitted where they are not given.
            clusters: What the intervals are about.
            model: The model that answered.
            subject: What the items are about, in a word.
            manifests: What adapters of the model were trained on.
            seed: The seed of the bootstrap.

        Raises:
            HumanDataError: If an answer stands in the prompt.
        """
        leaks = refuse_answers(self.leaks(manifests))
        columns = list(dict.fromkeys(flip.column for flip in self.flips if _makes_groups(self.human, flip.column)))
        return FidelityReport.of(
            self.name,
            self.human.select(self.targets),
            self.others.select(self.targets),
            [self.predictions(answers, arm.name) for arm in self.arms],
            floors=self.floors() if floors is None else floors,
            clusters=clusters,
            model=model,
            subject=subject,
            by=columns,
            sensitivities=self.sensitivities(answers, seed=seed),
            leaks=leaks,
            seed=seed,
        )

    def leaks(self, manifests: Sequence[Mapping[str, Any]] = ()) -> list[Leak]:
        """Ways in which agents may know answers."""
        return find_leaks(self.human, self.others, self.arms, self.targets, manifests=manifests)


def _makes_groups(human: HumanAnswers, column: str) -> bool:
    """Whether a column has few values, so that its groups can be compared."""
    return column in human.profiles.columns and 2 <= human.profiles[column].drop_nulls().n_unique() <= MOST_GROUPS


def _joined(human: HumanAnswers, others: HumanAnswers) -> HumanAnswers:
    return replace(
        human,
        people=human.people + others.people,
        answers=np.vstack([human.answers, others.answers]),
        retest=np.vstack([human.retest, others.retest]),
        profiles=pl.concat([human.profiles, others.profiles]) if human.profiles.width else human.profiles,
    )
