"""Web sessions as a plan uses them: what may be learned from, what is looked at, and what is predicted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import TrainingError
from populace.evaluation.next_action import (
    NextActionCases,
    NextActionReport,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
    predict_actions,
)
from populace.models.artifacts import sha256
from populace.training.examples import TrainingExamples
from populace.training.plan import DataPart, GeneratedSessions
from populace.training.sequences import ModelVocabulary
from populace.training.session_examples import SessionSource
from populace.training.situations import Assumption
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions

HELD_OUT = {"unseen_people": "sessions of unseen people", "unseen_shops": "sessions in unseen shops"}
"""The parts of sessions that are predicted, with their names among figures."""
SHOPPER_ASSUMPTION = Assumption(
    "made-up shoppers",
    "every possible action on a page has a probability that follows from a person's wishes, budget and patience",
    "None; the form of sessions follows Lu and others (2025), arXiv 2503.20749.",
    "All of it.",
)
"""What a model that learned from made-up sessions assumes."""
_UNSEEN = 500
"""How many actions of unseen people are looked at on the way, about."""
_MOST = 2_000
"""How many actions of each part are predicted at most."""


class SessionDivision:
    """The sessions of a log or of the generator, divided by people and shops.

    Args:
        part: The part of the plan.
        licences: The licences that the plan names.

    Attributes:
        sessions: All sessions.
        parts: The sessions in the parts of `WebSessions.split`.
        made_up: Whether the sessions come from the generator; a log of them has columns with the known truth.

    Raises:
        TrainingError: If the licence of a log is missing or not named by the plan, or nobody is left to learn from.
        WorldError: If the log cannot be read; the text names the line.
    """

    def __init__(self, part: DataPart, licences: tuple[str, ...]) -> None:
        where = part.sessions
        if isinstance(where, GeneratedSessions):
            self.path, self.name, self.licence = None, "made-up web sessions", "CC0-1.0"
            self._digest = hashlib.sha256(json.dumps(where.model_dump()).encode()).hexdigest()
            self.sessions = generate_sessions(where.people, shops=where.shops, visits=where.visits, seed=where.seed)
        else:
            self.path, self.licence = Path(str(where)), part.licence
            self.name = f"web sessions: {self.path.name}"
            if self.licence not in licences:
                raise TrainingError(
                    f"{self.path.name} is under a licence that the plan does not name: {self.licence!r}.",
                    "Add the licence under `licences:` if it allows this use, or leave the log out.",
                )
            self.sessions = WebSessions.read(self.path)
            self._digest = sha256(self.path)
        self.reasoning = part.reasoning
        self.made_up = "likely_action" in self.sessions.table.columns
        self.parts = self.sessions.split()
        for name in ("training", "development"):
            if not self.parts[name].table.height:
                counts = ", ".join(f"{each} {len(sessions)}" for each, sessions in self.parts.items())
                raise TrainingError(
                    f"no session of {self.name} is in the part {name}.",
                    f"Take more people. Sessions by part: {counts}.",
                )

    @property
    def people(self) -> pl.Series:
        """The people who are learned from."""
        return self.parts["training"].table["person"]

    def source(self, part: DataPart, vocabulary: ModelVocabulary, seed: int) -> SessionSource:
        """The examples that a part of a plan learns from."""
        return SessionSource(
            self.parts["training"], vocabulary, reasoning=part.reasoning, licence=self.licence, seed=seed
        )

    def unseen(self, vocabulary: ModelVocabulary, seed: int) -> list[TrainingExamples]:
        """Some examples of people who are not in training; with reasoning where it is learned and they have some."""
        sessions = self.parts["development"]
        reasoning = "none" if sessions.table["reasoning"].null_count() == sessions.table.height else self.reasoning
        source = SessionSource(sessions, vocabulary, reasoning=reasoning, licence=self.licence, size=_UNSEEN, seed=seed)
        return [source.examples(0)]

    def score(self, model: str, folder: Path, name: str, seed: int) -> dict[str, Mapping[str, Any]]:
        """Predict the actions of unseen people and in unseen shops, and write a report of each.

        Args:
            model: Who predicts, as a model string.
            folder: Where the reports are written.
            name: The name of the predictor.
            seed: The seed of the cases that are drawn, of draws and of the bootstrap.
        """
        figures: dict[str, Mapping[str, Any]] = {}
        for part, title in HELD_OUT.items():
            held_out = self.parts[part]
            if held_out.table["person"].n_unique() < 2:
                continue  # There is no interval over people.
            cases = NextActionCases.from_sessions(held_out, purchase_elements=self.sessions.purchase_elements)
            cases = cases.take(_MOST, seed=seed)
            training = self.parts["training"]
            arms = [majority_predictions(cases, training), page_majority_predictions(cases, training)]
            arms.append(predict_actions(cases, model, name=name, seed=seed))
            if "likely_action" in cases.table.columns:
                arms.append(known_preferences(cases))
            compare = [(name, "majority"), (name, "majority by page")]
            report = NextActionReport.of(f"{name}-{part}", cases, arms, compare=compare, seed=seed)
            report.write(folder)
            figures[title] = report.figures()
        return figures

    def manifest(self) -> dict[str, Any]:
        """What an adapter says of this data."""
        table = self.parts["training"].table
        return {
            "name": self.name,
            "sha256": self._digest,
            "licence": self.licence,
            "actions": table.height,
            "people": table["person"].n_unique(),
        }

    def digest(self) -> str:
        """A digest of the log, or of what is made up."""
        return self._digest
