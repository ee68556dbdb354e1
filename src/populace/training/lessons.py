"""What a round of a correction teaches: how decisions are scored, and what the network learns from the scores.

Three methods learn from scores. Preference training compares two options of a decision. Reinforcement rewards replies.
Supervised training needs a score for every option: the distribution with the highest expected score, less `kl` times
the divergence from what the network answered, is then known, and is the target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from populace.base.errors import TrainingError
from populace.base.randomness import stream
from populace.engine.workspace import Workspace
from populace.training.correction_plan import CorrectionPlan
from populace.training.decision_scoring import Floats
from populace.training.human_targets import HumanTargets, Shares
from populace.training.preference import PreferencePairs, learn_preferences
from populace.training.reinforcement import reinforce
from populace.training.sequences import ModelVocabulary
from populace.training.target_learning import DecisionTargets, best_shares, learn_targets


class Lessons:
    """Scores decisions of simulated people, and trains a network on the scores.

    Args:
        plan: The plan.
        workspace: Where the runs and the feedback of people are.
        human: What people decided, where the plan compares with that.
    """

    def __init__(self, plan: CorrectionPlan, workspace: Workspace, human: HumanTargets | None) -> None:
        self.plan, self.workspace, self.human = plan, workspace, human

    def score(self, decisions: pl.DataFrame) -> Floats:
        """The score of each decision; NaN where there is none. Human data scores the whole answer.

        Args:
            decisions: As `sample_decisions` gives them.
        """
        if self.human is not None:
            overlaps = self.human.overlaps(decisions)
            if np.isnan(overlaps).all():
                raise TrainingError(
                    f"none of {decisions.height} decisions of this round was made by {self.plan.score.description}.",
                    self.human.explain(decisions),
                )
            return overlaps
        scores = self._option_scores(decisions, decisions["option"])
        if np.isnan(scores).all():
            if self.plan.score.people:
                raise TrainingError(
                    f"none of the {decisions.height} decisions of this round is scored yet.",
                    f"Score them: populace studio --workspace {self.workspace.folder}; the same command then goes on.",
                )
            raise TrainingError(f"{self.plan.score.description} scored none of {decisions.height} decisions.")
        return scores

    def teach(
        self,
        model: Any,
        vocabulary: ModelVocabulary,
        decisions: pl.DataFrame,
        scores: Floats,
        *,
        arm: str,
        seed: int,
        number: int,
    ) -> int:
        """Train the network on the scores of a round.

        Args:
            model: The network.
            vocabulary: Its tokens.
            decisions: The sampled decisions.
            scores: Their scores.
            arm: `feedback`, or `control`: the same with shuffled scores.
            seed: The seed of the correction.
            number: The number of the round.

        Returns:
            How many pairs, steps or decisions were learned from.
        """
        generator = stream(seed, f"correction/training/{number}")
        update = {"seed": seed * 1000 + number}
        if self.plan.method == "reinforcement":
            rewarding = self.plan.reinforcement.model_copy(update=update)
            reinforce(model, vocabulary, decisions, self._reward(arm, generator), rewarding)
            return rewarding.steps
        if self.plan.method == "supervised":
            settings = self.plan.supervised.model_copy(update=update)
            shares = self.target_shares(decisions, arm, generator)
            targets = DecisionTargets(decisions, shares, self.plan.score.description, settings.seed)
            learn_targets(model, vocabulary, targets, settings)
            return len(targets)
        pairs = self.pairs(decisions, scores, arm, generator)
        learn_preferences(model, vocabulary, pairs, self.plan.preference.model_copy(update=update))
        return len(pairs)

    def target_shares(self, decisions: pl.DataFrame, arm: str, generator: np.random.Generator) -> list[Shares]:
        """The shares that the options of each decision should have; NaN where that is not known.

        With human data they are the shares of people, otherwise `best_shares`. In the control arm the shares of people,
        or the scores, change places among the options of a decision.

        Args:
            decisions: The decisions.
            arm: The arm.
            generator: How the control arm is shuffled.
        """
        if self.human is not None:
            shares = self.human.shares(decisions)
            return [generator.permutation(each) for each in shares] if arm == "control" else shares
        targets = []
        for chances, scores in zip(decisions["probabilities"].to_list(), self._all_scores(decisions), strict=True):
            known = generator.permutation(scores) if arm == "control" else scores
            targets.append(best_shares(np.array(chances, np.float64), known, self.plan.supervised.kl))
        return targets

    def _all_scores(self, decisions: pl.DataFrame) -> list[Floats]:
        """The score of every option of each decision."""
        numbered = decisions.with_columns(choice=pl.int_ranges(pl.col("words").list.len())).explode("choice")
        scores = self._option_scores(numbered, numbered["choice"])
        ends = np.cumsum(decisions["words"].list.len().to_numpy())
        return np.split(scores, ends[:-1])

    def _option_scores(self, decisions: pl.DataFrame, options: pl.Series) -> Floats:
        """The score of one option of each decision; the series has its number."""
        table = decisions.with_columns(word=pl.col("words").list.get(pl.lit(options)))
        return self.plan.score.score(table, self.workspace)

    def pairs(self, decisions: pl.DataFrame, scores: Any, arm: str, generator: np.random.Generator) -> PreferencePairs:
        """Each decision beside another option that the model might have chosen; the better one by its score.

        Where the other option has no score, a decision that is better than the mean is the better one. With human data,
        the other option is drawn from what people chose, and it is the better one. In the control arm a coin says which
        is better.

        Args:
            decisions: The decisions.
            scores: The score of each.
            arm: The arm.
            generator: Draws the other options, and the coins.
        """
        if self.human is not None:
            shares = self.human.shares(decisions)
            useful = np.array([not np.isnan(each).any() for each in shares])
            others = [
                int(generator.choice(len(each), p=each)) if use else 0 for each, use in zip(shares, useful, strict=True)
            ]
            decisions = decisions.with_columns(other=pl.Series(others, dtype=pl.Int64))
            useful &= (decisions["other"] != decisions["option"]).to_numpy()
            better = np.zeros(decisions.height, bool)
        else:
            others = [_other_option(row, generator) for row in decisions.iter_rows(named=True)]
            decisions = decisions.with_columns(other=pl.Series(others, dtype=pl.Int64))
            other_scores = self._option_scores(decisions, decisions["other"])
            compared = np.where(np.isnan(other_scores), np.nanmean(scores), other_scores)
            better = scores > compared
            useful = ~np.isnan(scores) & (scores != compared)
        coins = generator.random(decisions.height) < 0.5
        if arm == "control":
            better = coins
        rows = [
            {
                **{name: row[name] for name in ("system", "user", "lead")},
                "better": row["replies"][row["option" if wins else "other"]],
                "worse": row["replies"][row["other" if wins else "option"]],
                "origin": self.plan.score.description,
            }
            for row, wins, used in zip(decisions.iter_rows(named=True), better, useful, strict=True)
            if used
        ]
        if not rows:
            raise TrainingError("no two options of a decision have different scores, so nothing can be learned.")
        return PreferencePairs.of(rows)

    def _reward(self, arm: str, generator: np.random.Generator) -> Callable[[pl.DataFrame], list[float]]:
        """The score of the option that a reply names; a reply that names none gets the lowest that there is."""

        def reward(replies: pl.DataFrame) -> list[float]:
            texts = replies["reply"].to_list()
            options = [_named_option(text, row) for text, row in zip(texts, replies["replies"], strict=True)]
            named = np.array([option is not None for option in options])
            choices = pl.Series([option or 0 for option in options], dtype=pl.Int64)
            scores = self._option_scores(replies, choices)
            lowest = float(np.nanmin(scores)) if not np.isnan(scores).all() else 0.0
            numbers = np.where(named & ~np.isnan(scores), scores, lowest - 1.0)
            return [float(each) for each in (generator.permutation(numbers) if arm == "control" else numbers)]

        return reward


def _other_option(row: dict[str, Any], generator: np.random.Generator) -> int:
    """Another option than the chosen one, by what the model gave each."""
    chances = np.array(row["probabilities"], np.float64)
    chances[row["option"]] = 0.0
    if chances.sum() <= 0:
        chances = np.ones(len(chances))
        chances[row["option"]] = 0.0
    return int(generator.choice(len(chances), p=chances / chances.sum()))


def _named_option(reply: str, replies: list[str]) -> int | None:
    """The option that a reply begins to write; None where it is none or could be several."""
    text = reply.strip()
    matches = [place for place, each in enumerate(replies) if text and each.strip().startswith(text)]
    return matches[0] if len(matches) == 1 else None
